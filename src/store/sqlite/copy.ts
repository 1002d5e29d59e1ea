/** Copies of a whole file: made under another name, and given their own only when they are complete. */
import { existsSync, linkSync, renameSync, rmSync } from 'node:fs'
import { backup } from 'node:sqlite'
import { HoldfastError } from '../../protocol/index.ts'
import { openFile } from './open.ts'
import { translate } from './trouble.ts'

/** More pages than a file can have: a copy in one step is of one moment, however much is written meanwhile. */
const ALL_PAGES = 2 ** 30

/** Through a connection of its own, so that neither readers nor writers have to wait. */
export async function backupFile(path: string, target: string): Promise<void> {
  await makeFile(target, async (partial) => {
    const source = openFile(path, { synchronous: 'NORMAL', readOnly: true, waitMs: 0 })
    try {
      await backup(source, partial, { rate: ALL_PAGES })
    } finally {
      source.close()
    }
  })
}

/** Lets `fill` make a file under a provisional name. What exists already is never replaced. */
export async function makeFile(target: string, fill: (partial: string) => Promise<void>): Promise<void> {
  if (existsSync(target)) throw exists(target)
  const partial = `${target}.partial`
  try {
    // A journal that an interrupted attempt left behind would be played back into the new file.
    removeFile(partial)
    await fill(partial)
    appear(partial, target)
  } catch (error) {
    if (existsSync(partial)) removeFile(partial)
    throw translate(error, target)
  }
}

/** A database file with what SQLite keeps beside it. */
export function removeFile(path: string): void {
  for (const side of ['', '-journal', '-wal', '-shm']) rmSync(`${path}${side}`, { force: true })
}

function appear(partial: string, target: string): void {
  try {
    linkSync(partial, target)
    rmSync(partial)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw exists(target)
    renameSync(partial, target)
  }
}

function exists(target: string): HoldfastError {
  return new HoldfastError('exists', {
    message: `${target} exists already and was left as it is. Choose a new path.`,
    details: { path: target },
  })
}
