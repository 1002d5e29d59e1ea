/**
 * The working folder of the toolbox. Every path that a model gives is located, read and written through it, and nothing
 * outside of the folder is reached: workspace-walk.ts has the rules. Knows nothing of tools.
 */
import { createHash } from 'node:crypto'
import { constants, type Stats } from 'node:fs'
import {
  access,
  type FileHandle,
  link,
  lstat,
  open,
  opendir,
  realpath,
  rename,
  stat,
  unlink,
} from 'node:fs/promises'
import { posix, resolve } from 'node:path'
import { systemIds } from '../base/index.ts'
import { HoldfastError, quote } from '../protocol/index.ts'
import { foldedName, keyedQueue } from '../tool/index.ts'
import { errorCode, PathError, pathFailure } from './path-error.ts'
import {
  atLeaf,
  belowRoot,
  type HeldFolder,
  hasProc,
  isAt,
  JOURNALS,
  type Leaf,
  type Root,
  type WalkOptions,
} from './workspace-walk.ts'

/**
 * Paths are relative to the folder, or absolute and inside of it. Links that stay inside are followed, others refused.
 * Devices, pipes and sockets are refused. Every method rejects with a `PathError`, a sentence for the model.
 *
 * `handles` (Linux): holds while other processes swap files, folders and links. `paths` (elsewhere): what is opened is
 * compared with its real path afterwards; a swap in exactly that moment is found when it has happened, not prevented.
 * Neither sees that a file has a second name outside (a hard link), nor that a folder is a mount of another one.
 */
export interface Workspace {
  /** The real path of the folder. */
  readonly root: string
  readonly confinement: 'handles' | 'paths'
  /** The path from the folder as it is written, no link followed: one for every way to write it. Checks nothing. */
  nameOf(path: string): string
  /** Finds out what is at a path, and opens nothing. A missing path is no error. */
  locate(path: string): Promise<Located>
  /** Opens a regular file for reading; it is closed when `work` ends. */
  withFile<T>(path: string, work: (file: OpenFile) => Promise<T>): Promise<T>
  /** Opens a folder; it is closed when `work` ends. For listing, and as the folder of a child process. */
  withFolder<T>(path: string, work: (folder: OpenFolder) => Promise<T>, options?: FolderOptions): Promise<T>
  /** Replaces or creates a file: readers see the old content or the new, also after a crash. Creates missing folders. */
  write(path: string, write: FileWrite): Promise<Written>
  /** Removes what writes with this id have left when their process died. */
  removeTemporary(path: string, id: string): Promise<void>
}

export interface Located {
  /** The path from the folder, after links, with `/`. `.` for the folder itself. Below a missing folder: as given. */
  readonly path: string
  readonly kind: 'file' | 'folder' | 'missing' | 'other'
  /** In bytes; 0 if it is no file. */
  readonly size: number
}

export interface OpenFile extends Located {
  readonly handle: FileHandle
  readonly stats: Stats
}

export interface OpenFolder {
  /** As in `Located`. */
  readonly path: string
  /** The folder itself, as a path for `node:fs` in this process: `opendir(address)`, `lstat(address + '/' + name)`. */
  readonly address: string
  /** The folder itself, as the `cwd` of a child process that starts before `work` ends. */
  readonly cwd: string
}

export type FolderOptions = Pick<WalkOptions, 'noLinks'>

export interface FileWrite {
  readonly content: string | Uint8Array
  /** Identifies the writer: temporary files carry it. */
  readonly id: string
  /** The hash of the content to be replaced, or null for a new file: otherwise nothing is written. Default: any. */
  readonly expected?: string | null
}

export interface Written {
  readonly path: string
  readonly created: boolean
  readonly bytes: number
}

export interface WorkspaceOptions {
  /** Default: `handles` where /proc is there, else `paths`. */
  readonly confinement?: 'handles' | 'paths'
}

/** Opens a working folder, which must exist. Nothing is held open. */
export async function openWorkspace(folder: string, options: WorkspaceOptions = {}): Promise<Workspace> {
  if (process.platform === 'win32')
    throw new HoldfastError('invalid-option', {
      message: 'The toolbox does not support Windows: it could not keep tools inside of a folder. Use WSL.',
    })
  const path = await realpath(folder)
  await checkJournals(path)
  const { dev, ino } = await stat(path)
  const { confinement = (await hasProc(path)) ? 'handles' : 'paths' } = options
  const byHandle = confinement === 'handles'
  const root: Root = { path, aliases: [resolve(folder)], device: dev, inode: ino, byHandle }
  const at = async <T>(
    given: string,
    walk: WalkOptions & { work: (leaf: Leaf) => Promise<T> },
  ): Promise<T> => {
    try {
      return await atLeaf(root, given, walk)
    } catch (error) {
      throw pathFailure(given, error)
    }
  }
  return {
    root: path,
    confinement,
    nameOf: (given) => nameIn(root, given),
    locate: async (given) => {
      try {
        return await at(given, { work: async (leaf) => located(leaf) })
      } catch (error) {
        if (!(error instanceof PathError && error.code === 'missing')) throw error
        return { path: nameIn(root, given), kind: 'missing', size: 0 }
      }
    },
    withFile: (given, work) => at(given, { work: (leaf) => openFile(root, { given, leaf, work }) }),
    withFolder: (given, work, { noLinks = false } = {}) =>
      at(given, { noLinks, work: (leaf) => work(openFolder(root, given, leaf)) }),
    write: async (given, write) => {
      if (given.endsWith('/'))
        throw new PathError(
          'invalid-path',
          given,
          'ends with a slash, so it is no file. Give the path of a file.',
        )
      return at(given, { create: true, work: (leaf) => writeFile(root, { given, leaf, write }) })
    },
    removeTemporary: async (given, id) => {
      try {
        await at(given, { work: (leaf) => removeTemporary(leaf.folder, id) })
      } catch (error) {
        if (!(error instanceof PathError)) throw error
      }
    },
  }
}

function nameIn(root: Root, given: string): string {
  const below = belowRoot(root, given)
  const path = below === undefined ? posix.resolve(root.path, given) : posix.join(root.path, ...below)
  return posix.relative(root.path, path)
}

/** A link would give the journals a second name, which no tool refuses (W5). */
async function checkJournals(root: string): Promise<void> {
  const journals = posix.join(root, JOURNALS)
  const stats = await lstat(journals).catch(() => undefined)
  if (stats === undefined || stats.isDirectory()) return
  throw new HoldfastError('invalid-option', {
    message: `${quote(journals)} is ${stats.isSymbolicLink() ? 'a link' : 'no folder'}. The journals of conversations belong there, out of reach of tools. Remove it, or move its content there.`,
  })
}

export function contentHash(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex')
}

/** The same for an open file, which is not loaded as a whole. */
async function fileHash(handle: FileHandle): Promise<string> {
  const hash = createHash('sha256')
  const buffer = Buffer.alloc(64 * 1024)
  for (let position = 0; ; ) {
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, position)
    if (bytesRead === 0) return hash.digest('hex')
    hash.update(buffer.subarray(0, bytesRead))
    position += bytesRead
  }
}

function located({ path, stats }: Leaf): Located {
  const kind =
    stats === undefined ? 'missing' : stats.isFile() ? 'file' : stats.isDirectory() ? 'folder' : 'other'
  return { path, kind, size: stats?.isFile() ? stats.size : 0 }
}

interface LeafWork {
  /** The path as the model gave it. */
  readonly given: string
  readonly leaf: Leaf
}

// O_NONBLOCK: opening a pipe that was swapped in must not wait for its writer.
const READ_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

async function openFile<T>(
  root: Root,
  { given, leaf, work }: LeafWork & { readonly work: (file: OpenFile) => Promise<T> },
): Promise<T> {
  checkIsFile(given, located(leaf))
  const handle = await openLeaf(root, given, leaf)
  try {
    const stats = await handle.stat()
    const place = located({ ...leaf, stats })
    checkIsFile(given, place)
    return await work({ ...place, handle, stats })
  } finally {
    await handle.close()
  }
}

async function openLeaf(root: Root, given: string, { address }: Leaf): Promise<FileHandle> {
  let handle: FileHandle
  try {
    handle = await open(address, READ_FLAGS)
  } catch (error) {
    throw ['ELOOP', 'EMLINK', 'ENXIO'].includes(errorCode(error) ?? '') ? changed(given) : error
  }
  if (root.byHandle || (await isAt(root, address, handle))) return handle
  await handle.close()
  throw changed(given)
}

function checkIsFile(given: string, { kind }: Located): void {
  if (kind === 'file') return
  if (kind === 'missing')
    throw new PathError('missing', given, 'does not exist. List the folder to see what is there.')
  if (kind === 'folder') throw new PathError('wrong-kind', given, 'is a folder. Give the path of a file.')
  throw new PathError(
    'wrong-kind',
    given,
    'is a device, a pipe or a socket. Give the path of a regular file.',
  )
}

function changed(given: string): PathError {
  return new PathError('changed', given, 'changed while it was used. Try again.')
}

function openFolder({ path: root, byHandle }: Root, given: string, leaf: Leaf): OpenFolder {
  const { folder, name, stats, path } = leaf
  if (stats === undefined)
    throw new PathError('missing', given, 'does not exist. List the folder above it to see what is there.')
  if (name !== undefined) throw new PathError('wrong-kind', given, 'is no folder. Give the path of a folder.')
  const realPath = path === '.' ? root : `${root.replace(/\/$/, '')}/${path}`
  const { address, handle } = folder
  return { path, address, cwd: byHandle ? `/proc/${process.pid}/fd/${handle.fd}` : realPath }
}

const WRITE_FLAGS = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW

async function writeFile(
  root: Root,
  { given, leaf, write }: LeafWork & { readonly write: FileWrite },
): Promise<Written> {
  const { folder, path, stats, address } = leaf
  if (stats !== undefined) checkIsFile(given, located(leaf))
  // A rename replaces a file that may not be written, too.
  if (stats !== undefined) await access(address, constants.W_OK)
  const temporary = `${folder.address}/${temporaryPrefix(write.id)}${systemIds.next('w')}.tmp`
  try {
    const bytes = await fillTemporary(root, { temporary, content: write.content, stats })
    return await writers.run(await writerKey(leaf), async () => {
      const before = await hashAt(root, given, leaf)
      if (write.expected !== undefined && before !== write.expected) throw changed(given)
      if (write.expected === null) await giveNewName(given, { temporary, address })
      else await rename(temporary, address)
      await folder.handle.sync()
      return { path, created: before === null, bytes }
    })
  } catch (error) {
    await unlink(temporary).catch(() => {})
    throw error
  }
}

/** Writes of one file in this process: the last check and the change are one step to the others. */
const writers = keyedQueue()

/** The same file has the same key in every workspace. */
async function writerKey({ folder, name = '' }: Leaf): Promise<string> {
  const { dev, ino } = await folder.handle.stat()
  return `${dev}:${ino}/${foldedName(name)}`
}

interface NewName {
  readonly temporary: string
  readonly address: string
}

/** A link, unlike a rename, replaces nothing that another process has put there since the check. */
async function giveNewName(given: string, { temporary, address }: NewName): Promise<void> {
  try {
    await link(temporary, address)
  } catch (error) {
    if (errorCode(error) === 'EEXIST') throw changed(given)
    if (!NO_LINKS.includes(errorCode(error) ?? '')) throw error
    return rename(temporary, address)
  }
  await unlink(temporary)
}

/** The answers of file systems without hard links. */
const NO_LINKS = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']

interface Temporary {
  readonly temporary: string
  readonly content: string | Uint8Array
  /** Of the file to be replaced. */
  readonly stats: Stats | undefined
}

async function fillTemporary(root: Root, { temporary, content, stats }: Temporary): Promise<number> {
  const handle = await open(temporary, WRITE_FLAGS, stats === undefined ? 0o666 : 0o600)
  try {
    if (!root.byHandle && !(await isAt(root, temporary, handle))) throw changed(temporary)
    await handle.writeFile(content)
    if (stats !== undefined) await keepAccess(handle, stats)
    await handle.sync()
    return (await handle.stat()).size
  } finally {
    await handle.close()
  }
}

/**
 * Owner, group and permissions, without the bits that a write would clear. A user that may not keep the owner may still keep
 * the group; if not even that, the new group has the rights that it had before, those of all others.
 */
async function keepAccess(handle: FileHandle, { uid, gid, mode }: Stats): Promise<void> {
  await handle
    .chown(uid, gid)
    .catch(() => handle.chown(-1, gid))
    .catch(() => {})
  const isKept = (await handle.stat()).gid === gid
  await handle.chmod(isKept ? mode & 0o777 : (mode & 0o707) | ((mode & 0o007) << 3))
}

/** The hash of the content now; null if there is none. */
async function hashAt(root: Root, given: string, leaf: Leaf): Promise<string | null> {
  let handle: FileHandle
  try {
    handle = await openLeaf(root, given, leaf)
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return null
    throw error
  }
  try {
    checkIsFile(given, located({ ...leaf, stats: await handle.stat() }))
    return await fileHash(handle)
  } finally {
    await handle.close()
  }
}

function temporaryPrefix(id: string): string {
  return `.holdfast-${contentHash(id).slice(0, 20)}-`
}

async function removeTemporary({ address }: HeldFolder, id: string): Promise<void> {
  const prefix = temporaryPrefix(id)
  for await (const { name } of await opendir(address))
    if (name.startsWith(prefix)) await unlink(`${address}/${name}`)
}
