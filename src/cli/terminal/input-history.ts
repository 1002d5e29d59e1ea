/** The history of typed lines across starts, in a file. Its loss is harmless. */
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

/** Texts of several lines are left out: the editor shows one line. */
export function remember(path: string, line: string): void {
  if (line.trim() === '' || line.includes('\n')) return
  try {
    appendFileSync(path, `${line}\n`, { mode: 0o600 })
  } catch {
    // Harmless: the conversation itself is in the journal.
  }
}
