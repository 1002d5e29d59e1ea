/** Copies a whole file under a temporary name, and renames the copy when it is complete. */
import { closeSync, existsSync, linkSync, openSync, renameSync, rmSync } from 'node:fs'
import { systemIds } from '../../base/index.ts'
import { HoldfastError } from '../../protocol/index.ts'
import { backup } from './node-sqlite.ts'
import { openFile } from './open.ts'
import { translate } from './sqlite-errors.ts'

/** More pages than a file can have: a backup in one step is a consistent snapshot under concurrent writes. */
const ALL_PAGES = 2 ** 30

/** Uses a connection of its own, so that neither readers nor writers wait. */
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
 * Lets `fill` write a file under a temporary name. Never replaces an existing file: of several concurrent calls with
 * one target, one wins. A killed process leaves its `<target>.partial-…` behind, for people to remove.
 */
export async function makeFile(target: string, fill: (partial: string) => Promise<void>): Promise<void> {
  if (existsSync(target)) throw exists(target)
  const partial = ownName(target, 'partial')
  try {
    await fill(partial)
    moveIntoPlace(partial, target)
  } catch (error) {
    if (existsSync(partial)) removeFile(partial)
    throw translate(error, target)
  }
}

/** Removes a database file and SQLite's files beside it. */
export function removeFile(path: string): void {
  for (const side of ['', '-journal', '-wal', '-shm']) rmSync(`${path}${side}`, { force: true })
}

/** A unique name beside the target. */
export function ownName(target: string, what: string): string {
  return `${target}.${systemIds.next(`${what}-${process.pid}`)}`
}

/** Gives a file its final name; throws `exists` if that is taken. */
export function moveIntoPlace(partial: string, target: string): void {
  try {
    linkSync(partial, target)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw exists(target)
    return moveWithoutLink(partial, target)
  }
  rmSync(partial)
}

/** Without hard links, reserve the name first: a rename alone would replace an existing file. */
function moveWithoutLink(partial: string, target: string): void {
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
