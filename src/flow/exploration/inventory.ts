/** The files of a folder: their categories and size tiers, and how each is read. Reads nothing itself. */

export type FileCategory = 'code' | 'docs' | 'config' | 'data' | 'media' | 'other'

/** Up to 10 KB, up to 100 KB, up to 1 MB, and above. */
export type SizeTier = 'small' | 'medium' | 'large' | 'huge'

export type ExploredFile = {
  readonly path: string
  readonly bytes: number
  readonly category: FileCategory
  readonly tier: SizeTier
  /** `not-read`: a file without text, or one beyond the limit of files. */
  readonly reading: 'full' | 'preview' | 'not-read'
}

const EXTENSIONS: Readonly<Record<Exclude<FileCategory, 'other'>, string>> = {
  code: 'c cc cpp cs css dart ex exs go h hpp hs html java jl js jsx kt lua m mjs cjs ml mts cts php pl ps1 py r rb rs scala sh sql svelte swift ts tsx vue zig',
  docs: 'adoc md mdx org rst tex txt',
  config: 'cfg conf editorconfig env gitignore ini json5 lock properties toml yaml yml',
  data: 'csv db geojson h5 json jsonl ndjson npy parquet pkl sqlite tsv xls xlsx xml',
  media:
    '7z avi bin bmp bz2 doc docx dll dylib exe flac gif gz ico jar jpeg jpg mov mp3 mp4 o ogg otf pdf png ppt pptx so svgz tar tgz tif tiff ttf wasm wav webm webp woff woff2 xz zip zst',
}

const CATEGORIES: ReadonlyMap<string, FileCategory> = new Map(
  Object.entries(EXTENSIONS).flatMap(([category, names]) =>
    names.split(' ').map((name) => [name, category as FileCategory] as const),
  ),
)
/** Data without text. */
const BINARY_DATA = new Set(['db', 'h5', 'npy', 'parquet', 'pkl', 'sqlite', 'xls', 'xlsx'])
const NAMES: ReadonlyMap<string, FileCategory> = new Map([
  ['dockerfile', 'config'],
  ['makefile', 'config'],
  ['license', 'docs'],
  ['readme', 'docs'],
  ['package.json', 'config'],
  ['tsconfig.json', 'config'],
])

function extensionOf(path: string): string {
  const name = path.slice(path.lastIndexOf('/') + 1).toLowerCase()
  return name.includes('.') ? name.slice(name.lastIndexOf('.') + 1) : ''
}

export function categoryOf(path: string): FileCategory {
  const name = path.slice(path.lastIndexOf('/') + 1).toLowerCase()
  return NAMES.get(name) ?? CATEGORIES.get(extensionOf(path)) ?? 'other'
}

const KB = 1000

export function tierOf(bytes: number): SizeTier {
  if (bytes <= 10 * KB) return 'small'
  if (bytes <= 100 * KB) return 'medium'
  return bytes <= 1000 * KB ? 'large' : 'huge'
}

export interface InventoryOptions {
  readonly maxFiles: number
  readonly fullReadBytes: number
  /** From the folder, with slashes: the report itself is no part of what is explored. */
  readonly reportPath: string
}

const FILE_LINE = /^\[FILE\] (.+) \((\d+) bytes?\)$/

/** From the result of list_files. Docs and config come first: they say what the rest is about. */
export function inventoryFrom(listing: string, options: InventoryOptions): readonly ExploredFile[] {
  const found = listing.split('\n').flatMap((line) => {
    const [, name, size] = FILE_LINE.exec(line) ?? []
    const path = name?.startsWith('"') ? (JSON.parse(name) as string) : name
    if (path === undefined || path === options.reportPath) return []
    return [{ path, bytes: Number(size), category: categoryOf(path) }]
  })
  const order: readonly FileCategory[] = ['docs', 'config', 'code', 'data', 'other', 'media']
  const sorted = found.toSorted((a, b) => order.indexOf(a.category) - order.indexOf(b.category))
  let read = 0
  return sorted.map((file) => {
    const isText = file.category !== 'media' && !BINARY_DATA.has(extensionOf(file.path)) && file.bytes > 0
    const isRead = isText && read < options.maxFiles
    if (isRead) read += 1
    const reading = !isRead ? 'not-read' : file.bytes <= options.fullReadBytes ? 'full' : 'preview'
    return { ...file, tier: tierOf(file.bytes), reading }
  })
}

/** The last lines of a listing: entries that it does not show. */
export function notShownIn(listing: string): string {
  const [, note = ''] = /\n\n((?:At least )?\d+ more entr[^\n]*)/.exec(listing) ?? []
  return note
}

/** The inventory as text: counts by category and tier, and one line for each file. */
export function inventoryText(files: readonly ExploredFile[], notShown: string): string {
  const count = (name: 'category' | 'tier'): string => {
    const counts = new Map<string, number>()
    for (const file of files) counts.set(file[name], (counts.get(file[name]) ?? 0) + 1)
    return [...counts].map(([value, number]) => `${value} ${number}`).join(', ')
  }
  const rows = files.map(
    ({ path, bytes, category, reading }) => `- ${path} (${category}, ${bytes} bytes, ${READING[reading]})`,
  )
  return [
    `${files.length} files. By category: ${count('category') || 'none'}. By size: ${count('tier') || 'none'}.`,
    ...rows,
    ...(notShown === '' ? [] : [notShown]),
  ].join('\n')
}

const READING = { full: 'read', preview: 'read in part', 'not-read': 'not read' } as const
