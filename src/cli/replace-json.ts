/** Writes a small JSON file so that a reader sees the old text or the new one, whichever processes write it. */
import { renameSync, writeFileSync } from 'node:fs'

export function replaceJson(path: string, value: object): void {
  // A name for each process: another one would rename this file away.
  const draft = `${path}.${process.pid}.new`
  writeFileSync(draft, `${JSON.stringify(value, undefined, 2)}\n`, { mode: 0o600 })
  renameSync(draft, path)
}
