/** The tool `read_file`: a file of the working folder, or a range of it, as text for a model. */
import type { JsonObject } from '../protocol/index.ts'
import { defineTool, jsonSchema, redactorOf, type Tool, type ToolContext } from '../tool/index.ts'
import { imageType } from './image-type.ts'
import { isKnown, knownContent, remember } from './known-content.ts'
import { readBytes } from './read-bytes.ts'
import { counted, readRange, type TextRange } from './text-range.ts'
import type { ToolboxContext } from './toolbox-context.ts'
import { contentHash, type OpenFile, type Workspace } from './workspace.ts'

interface ReadInput {
  readonly path: string
  readonly offset?: number
  readonly limit?: number
  readonly limit_bytes?: number
}

/** The most bytes of one result. Longer files are read in ranges. */
const MOST_BYTES = 100_000

const INPUT: JsonObject = {
  type: 'object',
  properties: {
    path: { type: 'string', description: 'The path of the file, from the working folder.' },
    offset: {
      type: 'integer',
      minimum: 0,
      description: 'The number of lines to skip. Not together with limit_bytes.',
    },
    limit: {
      type: 'integer',
      minimum: 1,
      description: 'The most lines to read. Not together with limit_bytes.',
    },
    limit_bytes: {
      type: 'integer',
      minimum: 1,
      description: `The most bytes to read from the beginning, at most ${MOST_BYTES}. Not together with offset or limit.`,
    },
  },
  required: ['path'],
  additionalProperties: false,
}

export function readFile({ workspace }: ToolboxContext): Tool {
  return defineTool({
    name: 'read_file',
    description: `Reads a file as text: all of it, a range of lines (offset, limit), or its first bytes (limit_bytes). The first line of the result, in brackets, says what is shown and what is left out; the content begins after an empty line. At most ${MOST_BYTES} bytes at a time.`,
    input: jsonSchema<ReadInput>(INPUT),
    replay: 'safe',
    // Escapes of JSON take more room than the text.
    maxResultBytes: 7 * MOST_BYTES,
    run: async (input, context) => {
      checkRange(input)
      return workspace.withFile(input.path, (file) => read({ workspace, file, input }, context))
    },
  })
}

function checkRange({ offset, limit, limit_bytes }: ReadInput): void {
  if (limit_bytes !== undefined && (offset !== undefined || limit !== undefined))
    throw new Error('limit_bytes cannot be used with offset or limit. Give lines or bytes, not both.')
}

interface Reading {
  readonly workspace: Workspace
  readonly file: OpenFile
  readonly input: ReadInput
}

async function read({ workspace, file, input }: Reading, context: ToolContext): Promise<string> {
  const { path, offset = 0, limit = Number.POSITIVE_INFINITY, limit_bytes = MOST_BYTES } = input
  const limitBytes = Math.min(limit_bytes, MOST_BYTES)
  const range = await readRange(file.handle, { offset, limit, limitBytes, signal: context.signal })
  const { hash } = range
  const known = await knownContent(context, workspace, path)
  if (hash !== undefined && !isKnown(known, hash))
    await remember(context, { workspace, path, known: { ...known, hash } })
  const image = imageType(range.start)
  if (image !== undefined) return imageText({ file, image, range }, context)
  if (range.start.includes(0)) return binaryText(file, range)
  if (offset > 0 && offset >= range.totalLines) throw beyondEnd(file, range, offset)
  return shownText(file, { range, input }, context)
}

function beyondEnd(
  { path }: OpenFile,
  { totalLines, totalBytes, bytesRead }: TextRange,
  offset: number,
): Error {
  const lines = counted(totalLines, 'line')
  return new Error(
    bytesRead === totalBytes
      ? `offset ${offset} is beyond the end: ${path} has ${lines}. Use a smaller offset.`
      : `offset ${offset} is beyond the first ${counted(bytesRead, 'byte')} of ${path}, which have ${lines}; the rest is not read. Use execute_command to look at it.`,
  )
}

interface Shown {
  readonly range: TextRange
  readonly input: ReadInput
}

function shownText(
  { path }: OpenFile,
  { range, input }: Shown,
  { credentials }: Pick<ToolContext, 'credentials'>,
): string {
  const { offset = 0 } = input
  const { bytes, lines, totalLines, totalBytes, bytesRead } = range
  const decoded = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
  // Half a credential would not be recognised in the result.
  const hasMore = range.skipped + bytes.length < totalBytes
  const text = hasMore && isCut(bytes) ? redactorOf(credentials).ended(decoded) : decoded
  const last = offset + lines
  const isWhole = bytes.length === totalBytes
  const head = isWhole
    ? `${path}: ${counted(totalLines, 'line')}, ${counted(totalBytes, 'byte')}`
    : `${path}: ${lines === 0 ? 'nothing' : `lines ${offset + 1} to ${last}`} of ${bytesRead === totalBytes ? '' : 'at least '}${totalLines}, ${bytes.length} of ${counted(totalBytes, 'byte')}`
  return `[${[head, ...leftOut(range, input), ...invalidNote(bytes)].join('. ')}.]\n\n${text}`
}

function leftOut(range: TextRange, { offset = 0, limit_bytes }: ReadInput): string[] {
  const { bytes, lines, skipped, totalLines, totalBytes, bytesRead } = range
  const after = totalBytes - skipped - bytes.length
  if (after === 0) return offset === 0 ? [] : [`Left out: lines 1 to ${offset}`]
  if (limit_bytes !== undefined) return [`Left out: ${counted(after, 'byte')} after this`]
  if (bytesRead < totalBytes && offset + lines >= totalLines)
    return [
      `Left out: ${counted(after, 'byte')} after this, and what is beyond the first ${counted(bytesRead, 'byte')} is not read. Use execute_command to look at it`,
    ]
  const last = offset + lines
  const before = offset === 0 ? '' : `lines 1 to ${offset} and `
  // A line that is cut off in the middle is read again as a whole, if it fits.
  if (isCut(bytes) && lines === 1)
    return [
      `Left out: ${before}${counted(after, 'byte')} after this, because line ${last} is too long to be shown. Read on behind it with offset ${last}`,
    ]
  const next = isCut(bytes) ? last - 1 : last
  return [
    `Left out: ${before}${counted(after, 'byte')} after this${isCut(bytes) ? `, line ${last} is cut off` : ''}. Read on with offset ${Math.min(next, totalLines)}`,
  ]
}

/** The last line has no end, be it because the file has none. */
function isCut(bytes: Uint8Array): boolean {
  return bytes.length > 0 && bytes[bytes.length - 1] !== 0x0a
}

function invalidNote(bytes: Uint8Array): string[] {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return []
  } catch {
    return ['Some bytes are no valid UTF-8 and are shown as \uFFFD']
  }
}

function binaryText({ path }: OpenFile, { totalBytes, start }: TextRange): string {
  const isUtf16 = (start[0] === 0xff && start[1] === 0xfe) || (start[0] === 0xfe && start[1] === 0xff)
  const kind = isUtf16 ? 'text in UTF-16' : 'a binary file'
  return `[${path} is ${kind} of ${counted(totalBytes, 'byte')}, which cannot be shown as text. Use execute_command to look into it or to convert it.]`
}

const LARGEST_IMAGE = 20 * 1024 * 1024

interface Image {
  readonly file: OpenFile
  readonly image: string
  readonly range: TextRange
}

/** Results carry no files: the picture becomes an artifact of the conversation, and `analyze_image` can look at it. */
async function imageText({ file, image, range }: Image, { artifacts }: ToolContext): Promise<string> {
  const { path, handle } = file
  const what = `${path} is an image (${image}, ${counted(range.totalBytes, 'byte')})`
  if (range.totalBytes > LARGEST_IMAGE)
    return `[${what}, too large to be kept as an artifact. Use analyze_image with this path to look at it.]`
  const bytes = await readBytes(handle, 0, range.totalBytes)
  const id = `image.${contentHash(bytes).slice(0, 24)}`
  const isKept = (await artifacts.list()).some(({ artifactId }) => artifactId === id)
  if (!isKept) await artifacts.writeFile(id, bytes, { name: path, mediaType: image })
  return `[${what}. It is kept as artifact ${id}. Use analyze_image with this path to look at it.]`
}
