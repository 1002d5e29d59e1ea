/**
 * The tool `list_files`: what is in a folder of the working folder, in a stable order. Entries stream by: at most the
 * lines to be shown, and the names of folders still to be counted, are in memory.
 */
import { lstat, opendir, readlink } from 'node:fs/promises'
import type { JsonObject } from '../protocol/index.ts'
import { defineTool, jsonSchema, type Tool } from '../tool/index.ts'
import { PathError } from './path-error.ts'
import { pathArgument } from './search-path.ts'
import { counted } from './text-range.ts'
import type { ToolboxContext } from './toolbox-context.ts'
import type { Workspace } from './workspace.ts'

interface ListInput {
  readonly path: string
  readonly recursive?: boolean
}

const INPUT: JsonObject = {
  type: 'object',
  properties: {
    path: { type: 'string', description: 'The path of the folder, from the working folder. "." for itself.' },
    recursive: { type: 'boolean', description: 'Also lists what is in the folders below. Default: false.' },
  },
  required: ['path'],
  additionalProperties: false,
}

const MOST_LINES = 1000
const MOST_CHARS = 100_000
/** Beyond it the rest is not counted any more. */
const MOST_ENTRIES = 200_000
/** Large, and rarely meant: a recursive listing does not enter them. */
const NOT_ENTERED: ReadonlySet<string> = new Set(['.git', 'node_modules', '.holdfast'])

export function listFiles({ workspace }: ToolboxContext): Tool {
  return defineTool({
    name: 'list_files',
    description: `Lists the files and folders in a folder, sorted by name, with sizes; hidden and ignored files, too. At most ${MOST_LINES} entries are shown, and the rest is counted. A recursive listing does not enter .git, node_modules and .holdfast: list the first two by their own path.`,
    input: jsonSchema<ListInput>(INPUT),
    replay: 'safe',
    // Escapes of JSON take more room than the text.
    maxResultBytes: 7 * MOST_CHARS,
    run: ({ path, recursive = false }, { signal }) =>
      new FolderListing(workspace, { recursive, signal }).of(path),
  })
}

interface Entry {
  readonly name: string
  readonly isFolder: boolean
}

interface Shown {
  readonly path: string
  readonly line: string
  /** The entries in it are listed, too. */
  readonly isEntered: boolean
}

interface ListingOptions {
  readonly recursive: boolean
  readonly signal: AbortSignal
}

class FolderListing {
  readonly #workspace: Workspace
  readonly #options: ListingOptions
  readonly #lines: string[] = []
  #chars = 0
  #entries = 0
  /** Folders whose entries are counted and not shown. */
  readonly #uncounted: string[] = []
  #unreadable = 0

  constructor(workspace: Workspace, options: ListingOptions) {
    this.#workspace = workspace
    this.#options = options
  }

  async of(path: string): Promise<string> {
    const folder = await this.#workspace.withFolder(path, async (open) => open.path)
    await this.#list(folder)
    for (let next = this.#uncounted.pop(); next !== undefined && !this.#isOver; next = this.#uncounted.pop())
      await this.#entriesOf(next, 0)
    return this.#text(folder)
  }

  get #isFull(): boolean {
    return this.#lines.length >= MOST_LINES || this.#chars >= MOST_CHARS
  }

  get #isOver(): boolean {
    return this.#entries >= MOST_ENTRIES
  }

  /** Shows a folder, and below each folder in it the entries of that one. */
  async #list(folder: string): Promise<void> {
    for (const { path, line, isEntered } of await this.#entriesOf(folder, MOST_LINES - this.#lines.length)) {
      if (this.#isFull) {
        if (isEntered) this.#uncounted.push(path)
        continue
      }
      this.#lines.push(line)
      this.#chars += line.length + 1
      if (isEntered) await this.#list(path)
    }
  }

  /** The first entries by name; all of them are counted, and the other folders are left to be counted. */
  async #entriesOf(folder: string, most: number): Promise<readonly Shown[]> {
    const shown: Shown[] = []
    try {
      await this.#workspace.withFolder(
        pathArgument(folder),
        async ({ address }) => {
          const first = await this.#firstOf(address, { folder, most })
          for (const entry of first) shown.push(await this.#shown(address, folder, entry))
        },
        { noLinks: true },
      )
    } catch (error) {
      if (!(error instanceof PathError)) throw error
      this.#unreadable += 1
    }
    return shown
  }

  async #firstOf(
    address: string,
    { folder, most }: { folder: string; most: number },
  ): Promise<readonly Entry[]> {
    const first = new FirstByName(most)
    for await (const entry of await opendir(address)) {
      this.#options.signal.throwIfAborted()
      // The list shows the first names of all, so only counting may end early.
      if (this.#isOver && most === 0) break
      this.#entries += 1
      const dropped = first.add({ name: entry.name, isFolder: entry.isDirectory() })
      if (dropped !== undefined && this.#isEntered(dropped))
        this.#uncounted.push(pathIn(folder, dropped.name))
    }
    return first.entries
  }

  #isEntered({ name, isFolder }: Entry): boolean {
    return this.#options.recursive && isFolder && !NOT_ENTERED.has(name)
  }

  async #shown(address: string, folder: string, entry: Entry): Promise<Shown> {
    this.#options.signal.throwIfAborted()
    const path = pathIn(folder, entry.name)
    const isEntered = this.#isEntered(entry)
    const line = await this.#lineOf(`${address}/${entry.name}`, path)
    return {
      path,
      isEntered,
      line: this.#options.recursive && entry.isFolder && !isEntered ? `${line} (not entered)` : line,
    }
  }

  async #lineOf(address: string, path: string): Promise<string> {
    const name = shownName(path)
    try {
      const stats = await lstat(address)
      if (stats.isDirectory()) return `[DIR]  ${name}/`
      if (stats.isFile()) return `[FILE] ${name} (${counted(stats.size, 'byte')})`
      if (!stats.isSymbolicLink()) return `[OTHER] ${name} (a device, a pipe or a socket)`
      return `[LINK] ${name} -> ${shownName(await readlink(address))}${await this.#linkNote(path)}`
    } catch {
      return `[OTHER] ${name} (${name.includes('\uFFFD') ? 'its name is no valid UTF-8' : 'cannot be read'})`
    }
  }

  async #linkNote(path: string): Promise<string> {
    try {
      const { kind } = await this.#workspace.locate(pathArgument(path))
      return kind === 'folder' ? ' (a folder)' : kind === 'missing' ? ' (leads nowhere)' : ''
    } catch (error) {
      return error instanceof PathError && error.code === 'outside'
        ? ' (outside, cannot be used)'
        : ' (cannot be used)'
    }
  }

  #text(folder: string): string {
    const more = this.#entries - this.#lines.length
    const name = folder === '.' ? 'the working folder' : shownName(folder)
    if (this.#entries === 0) return `Nothing in ${name}${this.#unreadable > 0 ? ': it cannot be read' : ''}.`
    const notes = [
      ...(more > 0
        ? [
            `${this.#isOver ? 'At least ' : ''}${counted(more, 'more entry').replace('entrys', 'entries')}, not shown. List a folder by its own path.`,
          ]
        : []),
      ...(this.#unreadable > 0 ? [`${counted(this.#unreadable, 'folder')} could not be read.`] : []),
    ]
    return [`Contents of ${name}:`, '', ...this.#lines, ...(notes.length > 0 ? ['', ...notes] : [])].join(
      '\n',
    )
  }
}

function pathIn(folder: string, name: string): string {
  return folder === '.' ? name : `${folder}/${name}`
}

/** A name with a line break, or the like, must not look like two entries, and a name in quotes is always JSON. */
function shownName(name: string): string {
  if (!name.startsWith('"') && name.search(BREAKING) < 0) return name
  // JSON leaves some of them as they are.
  return JSON.stringify(name).replaceAll(
    BREAKING,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

const BREAKING = /[\p{Cc}\p{Zl}\p{Zp}]/gu

/** The first entries by name, of any number. */
class FirstByName {
  readonly #most: number
  /** Sorted. */
  readonly entries: Entry[] = []

  constructor(most: number) {
    this.#most = most
  }

  /** Returns the entry that is not among the first any more, or never was. */
  add(entry: Entry): Entry | undefined {
    const { entries } = this
    const last = entries.at(-1)
    if (entries.length < this.#most || (last !== undefined && entry.name < last.name))
      entries.splice(this.#placeOf(entry.name), 0, entry)
    else return entry
    return entries.length > this.#most ? entries.pop() : undefined
  }

  #placeOf(name: string): number {
    let [low, high] = [0, this.entries.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.entries[middle] as Entry).name < name) low = middle + 1
      else high = middle
    }
    return low
  }
}
