/** Copies of a whole file: made under another name, and given their own only when they are complete. */
import { closeSync, existsSync, linkSync, openSync, renameSync, rmSync } from 'node:fs'
import { systemIds } from '../../base/index.ts'
import { HoldfastError } from '../../protocol/index.ts'
import { backup } from './node-sqlite.ts'
import { openFile } from './open.ts'
import { translate } from './sqlite-errors.ts'

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

/**
 * Lets `fill` make a file under a provisional name. What exists already is never replaced: of several calls with one
 * target at once, one wins. A process that is killed leaves its `<target>.partial-…` behind, for people to remove.
 */
export async function makeFile(target: string, fill: (partial: string) => Promise<void>): Promise<void> {
  if (existsSync(target)) throw exists(target)
  const partial = ownName(target, 'partial')
  try {
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

/** A name beside a target that no other call uses, and no file of somebody else's has. */
export function ownName(target: string, what: string): string {
  return `${target}.${systemIds.next(`${what}-${process.pid}`)}`
}

/** Gives a file its name, unless there is one of that name: then it throws `exists`. */
export function appear(partial: string, target: string): void {
  try {
    linkSync(partial, target)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw exists(target)
    return appearWithoutLink(partial, target)
  }
  rmSync(partial)
}

/** Where there are no hard links, the name is reserved first: a rename alone would replace what has it. */
function appearWithoutLink(partial: string, target: string): void {
  try {
    closeSync(openSync(target, 'wx'))
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'EEXIST' ? exists(target) : error
  }
  try {
    renameSync(partial, target)
  } catch (error) {
    rmSync(target, { force: true })
    throw error
  }
}

function exists(target: string): HoldfastError {
  return new HoldfastError('exists', {
    message: `${target} exists already and was left as it is. Choose a new path.`,
    details: { path: target },
  })
}
