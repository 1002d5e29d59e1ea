/** Texts in the guide that a test has captured. */
import { readFileSync, writeFileSync } from 'node:fs'

/** The capture in a page of the guide. `UPDATE_CAPTURES=1` makes it this text. */
export function capture(name: string, text: string, page: string): string {
  const path = `docs/guide/${page}.md`
  const guide = readFileSync(path, 'utf8')
  const from = guide.indexOf('```text\n', guide.indexOf(`<!-- capture: ${name} -->`)) + 8
  const to = guide.indexOf('```\n', from)
  if (!process.env['UPDATE_CAPTURES']) return guide.slice(from, to - 1)
  writeFileSync(path, `${guide.slice(0, from)}${text}\n${guide.slice(to)}`)
  return text
}
