/** A temporary folder in memory where the system has one: for tests whose point is not the disk. */
import { existsSync, mkdtempSync, realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const MEMORY = '/dev/shm'

export function memoryFolder(prefix: string): string {
  return realpathSync(mkdtempSync(join(existsSync(MEMORY) ? MEMORY : tmpdir(), prefix)))
}
