/**
 * The way from the working folder to a path, one name at a time, so that no check is separate from its use.
 *
 * W1. Every folder on the way is held open, and the next name is resolved in the held folder: on Linux by
 *     `/proc/self/fd/N/name`, because Node has no openat. A folder swapped behind our back is not entered.
 * W2. The kernel never follows a link: opens carry O_NOFOLLOW, and a link is read and resolved here, name by name, from
 *     the held folder or from the root.
 * W3. `..` goes back to the folder held before, never to the kernel's `..`; at the root it leaves the folder and is refused.
 * W4. Without /proc a folder's address is its path. The path is compared with its real path after every open, which finds
 *     a swapped folder unless it is swapped back in between.
 * W5. The journals of conversations, `.holdfast` in the root, are entered by no name and by no link: a tool that writes there
 *     could approve its own calls.
 */

import type { Stats } from 'node:fs'
import { constants } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, readlink, realpath, rmdir, stat } from 'node:fs/promises'
import { foldedName } from '../tool/index.ts'
import { errorCode, PathError } from './path-error.ts'

export interface Root {
  /** The real path. */
  readonly path: string
  /** Other absolute paths of the same folder, such as the one that the user gave. */
  readonly aliases: readonly string[]
  readonly device: number
  readonly inode: number
  /** Folders are addressed by handle (W1), or by path (W4). */
  readonly byHandle: boolean
}

export interface HeldFolder {
  readonly handle: FileHandle
  /** The path from the root with `/`; empty for the root. */
  readonly path: string
  /** The path prefix at which names in this folder are opened. */
  readonly address: string
}

/** The last name of a path, in its held folder. The name is no link. */
export interface Leaf {
  readonly folder: HeldFolder
  /** Undefined: the path is that of the folder itself. */
  readonly name: string | undefined
  /** Undefined: there is nothing. */
  readonly stats: Stats | undefined
  /** The path from the root, after links. `.` for the root. */
  readonly path: string
  /** The address of the leaf itself. */
  readonly address: string
}

export interface WalkOptions {
  /** Creates missing folders on the way. Those that are left by `..`, and all after a failure, are removed again. */
  readonly create?: boolean
  /** Refuses links instead of following them. */
  readonly noLinks?: boolean
}

/** The name of the folder of journals in the root (W5). */
export const JOURNALS = '.holdfast'

function isJournals(name: string): boolean {
  return foldedName(name) === JOURNALS
}

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants
const FOLDER_FLAGS = O_RDONLY | O_DIRECTORY | O_NOFOLLOW

/** As many as Linux follows. Repeated names, because of a swap, count as links. */
const MOST_LINKS = 40
const LONGEST_PATH = 4096
/** Each one is an open handle. */
const MOST_FOLDERS = 128

/** Calls `work` with the leaf of a path; its folder is held until `work` ends. */
export async function atLeaf<T>(
  root: Root,
  path: string,
  { work, ...options }: WalkOptions & { readonly work: (leaf: Leaf) => Promise<T> },
): Promise<T> {
  const names = namesOf(root, path)
  const walk = new Walk(root, path, options)
  try {
    return await work(await walk.to(names))
  } catch (error) {
    await walk.removeCreated()
    throw error
  } finally {
    await walk.close()
  }
}

/** The names of a path from the root. Refuses everything that is no path into the folder. */
function namesOf(root: Root, path: string): readonly string[] {
  const refuse = (sentence: string): PathError => new PathError('invalid-path', path, sentence)
  if (path === '') throw refuse('is empty. Give a path, such as "." for the working folder.')
  if (path.includes('\0')) throw refuse('contains a NUL character. Remove it.')
  if (path.length > LONGEST_PATH)
    throw refuse(`is longer than ${LONGEST_PATH} characters. Use a shorter one.`)
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(path) || /^file:/i.test(path))
    throw refuse('is a URL. Give a path from the working folder.')
  if (path === '~' || path.startsWith('~/'))
    throw refuse(
      'begins with "~", which stands for no folder here. Give a path from the working folder; begin it with "./" for a name with "~".',
    )
  if (!path.startsWith('/')) return path.split('/')
  return belowRoot(root, path) ?? refuseOutside(path)
}

/** The names of an absolute path below the root; undefined if it is outside. */
export function belowRoot({ path: root, aliases }: Root, path: string): readonly string[] | undefined {
  const prefix = [root, ...aliases].find(
    (each) => path === each || path.startsWith(`${each.replace(/\/$/, '')}/`),
  )
  return prefix === undefined ? undefined : path.slice(prefix.length).split('/')
}

function refuseOutside(path: string): never {
  throw new PathError('outside', path, 'is outside of the working folder. Give a path inside of it.')
}

class Walk {
  readonly #root: Root
  readonly #path: string
  readonly #options: WalkOptions
  /** From the root down. */
  #held: HeldFolder[] = []
  #links = 0
  /** Addresses of the held folders that were created, by path. */
  readonly #created = new Map<string, string>()

  constructor(root: Root, path: string, options: WalkOptions) {
    this.#root = root
    this.#path = path
    this.#options = options
  }

  async to(names: readonly string[]): Promise<Leaf> {
    let rest = names
    this.#held.push(await this.#openRoot())
    for (;;) {
      const [name, ...after] = rest
      if (name === undefined) return folderLeaf(this.#last(), await this.#last().handle.stat())
      rest = after
      if (name === '' || name === '.') continue
      if (name === '..') {
        await this.#leave()
        continue
      }
      const step = await this.#enter(name, after)
      if ('leaf' in step) return step.leaf
      rest = step.rest
    }
  }

  async close(): Promise<void> {
    const held = this.#held
    this.#held = []
    await Promise.all(held.map(({ handle }) => handle.close()))
  }

  /** Removes the folders that were created, as far as they are empty. */
  async removeCreated(): Promise<void> {
    for (const path of [...this.#created.keys()].toReversed()) await this.#removeIfCreated(path)
  }

  /** The folder above must be held. */
  async #removeIfCreated(path: string): Promise<void> {
    const address = this.#created.get(path)
    this.#created.delete(path)
    if (address !== undefined) await rmdir(address).catch(() => {})
  }

  async #enter(
    name: string,
    after: readonly string[],
  ): Promise<{ readonly leaf: Leaf } | { readonly rest: readonly string[] }> {
    const folder = this.#last()
    if (folder.path === '' && isJournals(name)) throw this.#journals()
    const address = `${folder.address}/${name}`
    const stats = await statsAt(address)
    if (stats?.isSymbolicLink()) return { rest: [...((await this.#target(address)) ?? [name]), ...after] }
    if (after.length === 0 && !stats?.isDirectory()) {
      const path = joined(folder.path, name)
      return { leaf: { folder, name, stats, path, address } }
    }
    if (stats === undefined && !this.#options.create) throw this.#refuse('ENOENT')
    if (this.#held.length > MOST_FOLDERS) throw this.#tooDeep()
    if (stats === undefined) {
      if (await makeFolder(folder, address)) this.#created.set(joined(folder.path, name), address)
    } else if (!stats.isDirectory()) throw this.#refuse('ENOTDIR')
    const opened = await this.#openFolder(address, joined(folder.path, name))
    // Swapped since it was looked at: look again.
    if (opened === undefined) return { rest: [name, ...after] }
    this.#held.push(opened)
    return { rest: after }
  }

  #journals(): PathError {
    return new PathError('outside', this.#path, 'holds the journals of conversations. Use another path.')
  }

  /** The names behind a link, from the folder that holds it; undefined if it is no link any more. */
  async #target(address: string): Promise<readonly string[] | undefined> {
    this.#count()
    if (this.#options.noLinks)
      throw new PathError(
        'changed',
        this.#path,
        'is a link, or goes through one. Give the path that it leads to.',
      )
    const target = await linkAt(address)
    if (target === undefined) return undefined
    if (!target.startsWith('/')) return target.split('/')
    const names = belowRoot(this.#root, target)
    if (names === undefined)
      throw new PathError(
        'outside',
        this.#path,
        'leads outside of the working folder by a link. Use another path.',
      )
    while (this.#held.length > 1) await this.#leave()
    return names
  }

  async #openRoot(): Promise<HeldFolder> {
    const { path, device, inode } = this.#root
    const handle = await open(path, FOLDER_FLAGS)
    const { dev, ino } = await handle.stat()
    const folder = this.#heldAt(handle, '')
    if (dev === device && ino === inode) return folder
    await handle.close()
    throw new PathError(
      'changed',
      this.#path,
      'cannot be reached: the working folder was replaced. Load the tools again.',
    )
  }

  /** Undefined if it is no folder any more. */
  async #openFolder(address: string, path: string): Promise<HeldFolder | undefined> {
    let handle: FileHandle
    try {
      handle = await open(address, FOLDER_FLAGS)
    } catch (error) {
      if (!['ELOOP', 'ENOTDIR', 'EMLINK'].includes(errorCode(error) ?? '')) throw error
      this.#count()
      return undefined
    }
    const folder = this.#heldAt(handle, path)
    if (this.#root.byHandle || (await isAt(this.#root, folder.address, handle))) return folder
    await handle.close()
    throw new PathError('changed', this.#path, 'changed while it was used. Try again.')
  }

  #heldAt(handle: FileHandle, path: string): HeldFolder {
    const { byHandle, path: root } = this.#root
    return { handle, path, address: byHandle ? `/proc/self/fd/${handle.fd}` : joined(root, path) }
  }

  async #leave(): Promise<void> {
    if (this.#held.length === 1) refuseOutside(this.#path)
    const left = this.#held.pop() as HeldFolder
    await this.#removeIfCreated(left.path)
    await left.handle.close()
  }

  #last(): HeldFolder {
    return this.#held.at(-1) as HeldFolder
  }

  #count(): void {
    this.#links += 1
    if (this.#links > MOST_LINKS)
      throw new PathError(
        'invalid-path',
        this.#path,
        'goes through too many links, or is being changed. Use another path.',
      )
  }

  #tooDeep(): PathError {
    return new PathError(
      'invalid-path',
      this.#path,
      `is more than ${MOST_FOLDERS} folders deep. Use a shorter path.`,
    )
  }

  #refuse(code: 'ENOENT' | 'ENOTDIR'): Error {
    return Object.assign(new Error(code), { code, syscall: 'walk' })
  }
}

function folderLeaf(folder: HeldFolder, stats: Stats): Leaf {
  const path = folder.path === '' ? '.' : folder.path
  return { folder, name: undefined, stats, path, address: folder.address }
}

function joined(folder: string, name: string): string {
  if (folder === '' || name === '') return folder + name
  return folder.endsWith('/') ? `${folder}${name}` : `${folder}/${name}`
}

async function statsAt(address: string): Promise<Stats | undefined> {
  try {
    return await lstat(address)
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw error
  }
}

async function linkAt(address: string): Promise<string | undefined> {
  try {
    return await readlink(address)
  } catch (error) {
    if (['EINVAL', 'ENOENT'].includes(errorCode(error) ?? '')) return undefined
    throw error
  }
}

/** False if another process has created it meanwhile. */
async function makeFolder(parent: HeldFolder, address: string): Promise<boolean> {
  try {
    await mkdir(address)
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error
    return false
  }
  await parent.handle.sync()
  return true
}

/** W4: the real path of `address` is inside of the root, and is what `handle` has opened. */
export async function isAt(root: Root, address: string, handle: FileHandle): Promise<boolean> {
  const real = await realpath(address)
  const [held, there] = await Promise.all([handle.stat(), lstat(real)])
  return belowRoot(root, real) !== undefined && held.ino === there.ino && held.dev === there.dev
}

/** Whether names can be resolved in a held folder (W1). */
export async function hasProc(folder: string): Promise<boolean> {
  if (process.platform !== 'linux') return false
  const handle = await open(folder, FOLDER_FLAGS)
  try {
    const [held, there] = await Promise.all([handle.stat(), stat(`/proc/self/fd/${handle.fd}/.`)])
    return held.ino === there.ino && held.dev === there.dev
  } catch {
    return false
  } finally {
    await handle.close()
  }
}
