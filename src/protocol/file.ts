/**
 * Checks that a file part is well formed: its type, its bytes and its name. Must not know which files a model accepts:
 * that depends on its vendor.
 */
import type { FilePart, TextPart, UserContent } from './message.ts'
import { quote } from './quote.ts'

const TOKEN = "[\\w!#$&^'`.+-]+"
const MEDIA_TYPE: RegExp = new RegExp(`^${TOKEN}/(?:\\*|${TOKEN})(?:\\s*;[\\x20-\\x7e]*)?$`)
const LONGEST_SCHEME = 16
/** Base64 characters of all files of one message: an entry holds 32 MB. */
const MOST_CHARS = 30_000_000

/** The problem with the files of a message, and what to do; undefined if there is none. */
export function filesProblem(content: UserContent): string | undefined {
  if (typeof content === 'string') return undefined
  let chars = 0
  for (const [index, part] of content.entries()) {
    if (part.type !== 'file') continue
    const problem = fileProblem(part)
    if (problem !== undefined) return `Part ${index + 1} of the message, ${fileTitle(part)}: ${problem}`
    chars += part.data.length
  }
  if (chars <= MOST_CHARS) return undefined
  return `The files of the message have ${chars} characters; at most ${MOST_CHARS} are stored. Send fewer or smaller files, or pass their URLs.`
}

/** The problem with one file, and what to do; undefined if there is none. */
export function fileProblem({ mediaType, data, name }: FilePart): string | undefined {
  if (!MEDIA_TYPE.test(mediaType))
    return 'mediaType must be a type and a subtype, such as image/png or application/pdf.'
  if (name !== undefined && (typeof name !== 'string' || name.trim() === ''))
    return 'name must be a text that is not blank. Leave it out if there is none.'
  if (name?.isWellFormed() === false)
    return 'name holds half of a character, as left by cutting a text inside of an emoji. Cut it between characters, or call toWellFormed() on it.'
  return dataProblem(data)
}

function dataProblem(data: string): string | undefined {
  if (data.startsWith('data:')) {
    const comma = data.indexOf(',')
    if (!data.slice(0, comma + 1).endsWith(';base64,'))
      return "a data URL must hold base64, as in 'data:image/png;base64,…'."
    return isBase64(data.slice(comma + 1)) ? undefined : NOT_BASE64
  }
  const isUrl = data.slice(0, LONGEST_SCHEME).includes(':')
  if (isUrl) return URL.canParse(data) ? undefined : 'data is not a URL that can be read.'
  return isBase64(data) ? undefined : NOT_BASE64
}

const NOT_BASE64 =
  "data is not valid base64. Encode the bytes with Buffer.from(bytes).toString('base64'), or pass a URL."

/** Standard base64, padded, without line breaks: the only kind that every vendor accepts. */
function isBase64(data: string): boolean {
  const padding = data.endsWith('==') ? 2 : data.endsWith('=') ? 1 : 0
  if (data.length === 0 || data.length % 4 !== 0) return false
  return !/[^A-Za-z0-9+/]/.test(data.slice(0, data.length - padding))
}

/** Describes a file. */
export function fileTitle({ mediaType, name }: Pick<FilePart, 'mediaType' | 'name'>): string {
  const type = quote(mediaType).slice(1, -1)
  return name === undefined ? `a file of type ${type}` : `the file ${quote(name)} (${type})`
}

/** The text that replaces a file in a prompt. */
export function absentFile(file: FilePart, why: string = 'It could not be read.'): TextPart {
  return { type: 'text', text: `[Here was ${fileTitle(file)}. ${why}]`, by: 'program' }
}
