/** The folders and names of log files. */
import { createHash } from 'node:crypto'
import { constants, existsSync, lstatSync, mkdirSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'

const HOME = '.holdfast'

/** `HOLDFAST_HOME`, else the folder of the store's file if that is `.holdfast`, else `.holdfast` in the working folder. */
export function homeFolder(storePath: string | undefined): string {
  const home = process.env['HOLDFAST_HOME']
  if (home) return resolve(/^~(?:[/\\]|$)/.test(home) ? join(homedir(), home.slice(1)) : home)
  const folder = storePath === undefined ? undefined : dirname(resolve(storePath))
  return folder !== undefined && basename(folder) === HOME ? folder : resolve(HOME)
}

/** Creates a folder for files that only this user reads. A new `.holdfast` is kept out of Git. */
function makeFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const home = dirname(folder)
  const ignore = join(home, '.gitignore')
  if (isHome(home) && !lstatSync(ignore, { throwIfNoEntry: false }))
    writeFileSync(ignore, '*\n', { flag: 'wx' })
}

function isHome(folder: string): boolean {
  return basename(folder) === HOME
}

/**
 * Throws if a folder in `.holdfast`, or `.holdfast` itself, is a link: a command of an agent may have put it there. Other
 * folders are those that the program chose, links included.
 */
export function refuseLinks(folder: string): void {
  const home = dirname(folder)
  if (!isHome(home)) return
  for (const path of [home, folder])
    if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink())
      throw new Error(`${path} is a link; a folder must be there`)
}

/** The flag by which a link in the place of a file of this folder is not opened. */
export function noFollow(folder: string): number {
  // Windows has none.
  return isHome(dirname(folder)) ? (constants.O_NOFOLLOW ?? 0) : 0
}

/** Runs `work`; if its folder is missing, creates it and runs it again. */
export function inFolder<T>(folder: string, work: () => T): T {
  refuseLinks(folder)
  try {
    return work()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || existsSync(folder)) throw error
    makeFolder(folder)
    return work()
  }
}

const PLAIN = /^[A-Za-z0-9](?:[\w.-]{0,62}[\w-])?$/
const RESERVED = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i
const HASHED = /-[0-9a-f]{10}$/
const MOST_CHARACTERS = 40

/** The agent's name as part of a file name. A name that is no safe one is cut to its safe characters, with a hash. */
export function fileNameOf(name: string): string {
  if (PLAIN.test(name) && !RESERVED.test(name) && !HASHED.test(name)) return name
  const hash = createHash('sha256').update(Buffer.from(name, 'utf16le')).digest('hex').slice(0, 10)
  const readable = name
    .toWellFormed()
    .normalize('NFC')
    .replaceAll(/[^\p{L}\p{N}_-]+/gu, '_')
  return `${Array.from(readable).slice(0, MOST_CHARACTERS).join('')}-${hash}`
}
