/** The sources of documents: files, folders and texts in memory. Finds and reads them; parses none. */
import { type Dirent, type Stats } from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import { basename, extname, join, resolve } from 'node:path'
import { invalidOption, shown } from '../protocol/index.ts'
import { DocumentError, type DocumentLimits } from './parser.ts'

/** The path of a file or of a folder, or a document in memory. */
export type DocumentSource = string | DocumentContent

export interface DocumentContent {
  /** The path or address of the document. Its ending names the format, such as `notes.md`. */
  readonly source: string
  readonly content: string | Uint8Array
  readonly title?: string
}

export interface FoundSource {
  readonly source: string
  readonly title?: string
  /** Reads the file. Rejects with a `DocumentError`. */
  readonly read: () => Promise<Uint8Array>
  /** True if `read` rejects, whatever its ending: there is nothing at its path, or a folder that may not be read. */
  readonly isUnreadable?: boolean
}

export interface FindOptions {
  /** The endings of files that are taken from folders. */
  readonly extensions: ReadonlySet<string>
  readonly limits: Required<DocumentLimits>
  readonly signal?: AbortSignal
  /** Receives the files of folders that have other endings. */
  readonly onIgnored?: (path: string) => void
}

/**
 * In the order given, each source once, with the last content given for it; of a folder, every readable file by its path, without
 * hidden folders, links and node_modules.
 */
export async function findSources(
  sources: readonly DocumentSource[],
  options: FindOptions,
): Promise<readonly FoundSource[]> {
  checkSources(sources)
  const found = new Map<string, FoundSource>()
  for (const each of sources) {
    const several =
      typeof each === 'string' ? await atPath(resolve(each), options) : [inMemory(each, options)]
    for (const one of several) found.set(one.source, one)
  }
  return [...found.values()]
}

/** A text is a list, too, of its characters, and an empty path is the current folder. */
function checkSources(sources: unknown): void {
  if (!Array.isArray(sources)) throw invalidOption('sources', `must be a list, not ${shown(sources)}`)
  for (const each of sources as readonly unknown[])
    if (!isSource(each))
      throw invalidOption(
        'sources',
        `must be paths, or texts as { source, content, title? }, not ${shown(each)}`,
      )
}

function isSource(each: unknown): boolean {
  if (typeof each === 'string') return each !== ''
  const { source, content, title = '' } = Object(each) as Readonly<Record<string, unknown>>
  const isTexts = typeof source === 'string' && typeof title === 'string'
  return isTexts && (typeof content === 'string' || content instanceof Uint8Array)
}

function inMemory({ source, content, title }: DocumentContent, { limits }: FindOptions): FoundSource {
  const read = async (): Promise<Uint8Array> => {
    const bytes = typeof content === 'string' ? Buffer.from(content) : content
    checkSize(bytes.byteLength, limits)
    return bytes
  }
  return { source, read, ...(title === undefined ? {} : { title }) }
}

async function atPath(path: string, options: FindOptions): Promise<readonly FoundSource[]> {
  const stats = await stat(path).catch(() => undefined)
  if (stats?.isDirectory() === true) return inFolder(path, options)
  return [{ source: path, read: () => readSource(path, options.limits), isUnreadable: stats === undefined }]
}

async function inFolder(folder: string, options: FindOptions): Promise<readonly FoundSource[]> {
  options.signal?.throwIfAborted()
  const entries = await entriesOf(folder)
  if (entries instanceof DocumentError)
    return [{ source: folder, read: () => Promise.reject(entries), isUnreadable: true }]
  const found: FoundSource[] = []
  for (const entry of entries) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) for (const each of await inFolder(path, options)) found.push(each)
    else if (entry.isFile()) {
      if (options.extensions.has(extensionOf(path)))
        found.push({ source: path, read: () => readSource(path, options.limits) })
      else options.onIgnored?.(path)
    }
  }
  return found
}

async function entriesOf(folder: string): Promise<readonly Dirent[] | DocumentError> {
  try {
    const entries = await readdir(folder, { withFileTypes: true })
    return entries
      .filter(({ name }) => !name.startsWith('.') && name !== 'node_modules')
      .toSorted((one, other) => (one.name < other.name ? -1 : 1))
  } catch (error) {
    return unreadable(error, 'There is no such folder.')
  }
}

async function readSource(path: string, limits: Required<DocumentLimits>): Promise<Uint8Array> {
  let stats: Stats
  try {
    stats = await stat(path)
    // A pipe or a device would block, or never end.
    if (!stats.isFile()) throw new DocumentError('unreadable', 'It is neither a file nor a folder.')
    checkSize(stats.size, limits)
    return await readFile(path)
  } catch (error) {
    throw error instanceof DocumentError ? error : unreadable(error, 'There is no such file.')
  }
}

function unreadable(error: unknown, missing: string): DocumentError {
  const { code, message } = error as NodeJS.ErrnoException
  return new DocumentError('unreadable', code === 'ENOENT' ? missing : `${message}.`)
}

function checkSize(bytes: number, limits: Required<DocumentLimits>): void {
  if (bytes <= limits.bytes) return
  const [size, most] = [bytes, limits.bytes].map((number) => number.toLocaleString('en'))
  throw new DocumentError('too-large', `The file has ${size} bytes; the limit is ${most}.`)
}

/** Lower case, without the dot. Of an address, that of its path. */
export function extensionOf(source: string): string {
  return extname(pathOf(source)).slice(1).toLowerCase()
}

/** The title of a document that has none. */
export function nameOf(source: string): string {
  return basename(pathOf(source)) || source
}

function pathOf(source: string): string {
  return /^https?:/.test(source) && URL.canParse(source) ? new URL(source).pathname : source
}
