/** What was typed before, across starts: one line of a file for each. Losing it loses nothing that matters. */
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'

const MOST = 1000

/** Newest first. A file that cannot be read is an empty history. */
export function readHistory(path: string): string[] {
  try {
    const lines = readFileSync(path, 'utf8').split('\n').filter(Boolean)
    if (lines.length > MOST * 2) writeFileSync(path, `${lines.slice(-MOST).join('\n')}\n`, { mode: 0o600 })
    return [...new Set(lines.slice(-MOST).toReversed())]
  } catch {
    return []
  }
}

/** Texts of several lines are left out: the editor has room for one. */
export function remember(path: string, line: string): void {
  if (line.trim() === '' || line.includes('\n')) return
  try {
    appendFileSync(path, `${line}\n`, { mode: 0o600 })
  } catch {
    // The conversation itself is in the journal.
  }
}
