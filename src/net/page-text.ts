/** Bytes of a web page as text: by its byte order mark, its header, its own declaration, or a guess. */

export interface PageText {
  readonly text: string
  /** The name of the encoding, such as `utf-8`. */
  readonly charset: string
  /** Some bytes were not valid in it, and `�` stands for them. */
  readonly isDamaged: boolean
}

export interface PageBytes {
  readonly body: Uint8Array
  readonly mediaType: string
  /** The header `content-type`. */
  readonly contentType?: string | undefined
}

export function pageText({ body, mediaType, contentType = '' }: PageBytes): PageText {
  const declared = markOf(body) ?? parameterOf(contentType) ?? declarationIn(body, mediaType)
  const charset = declared === undefined ? undefined : charsetOf(declared)
  if (charset !== undefined) return decodedAs(charset, body)
  const utf8 = decodedAs('utf-8', body)
  // Old pages without any declaration are mostly Western European; JSON is UTF-8 by definition.
  return utf8.isDamaged && isText(mediaType) ? decodedAs('windows-1252', body) : utf8
}

function decodedAs(charset: string, body: Uint8Array): PageText {
  try {
    return { text: new TextDecoder(charset, { fatal: true }).decode(body), charset, isDamaged: false }
  } catch {
    return { text: new TextDecoder(charset).decode(body), charset, isDamaged: true }
  }
}

/** The usual name of an encoding; undefined for one that is not known. */
function charsetOf(label: string): string | undefined {
  try {
    return new TextDecoder(label).encoding
  } catch {
    return undefined
  }
}

const MARKS: readonly (readonly [charset: string, bytes: readonly number[]])[] = [
  ['utf-8', [0xef, 0xbb, 0xbf]],
  ['utf-16be', [0xfe, 0xff]],
  ['utf-16le', [0xff, 0xfe]],
]

function markOf(body: Uint8Array): string | undefined {
  return MARKS.find(([, bytes]) => bytes.every((byte, at) => body[at] === byte))?.[0]
}

function parameterOf(text: string): string | undefined {
  return /charset\s*=\s*["']?([\w.:-]+)/i.exec(text)?.[1]
}

const DECLARED_WITHIN = 1024
const META = /<meta\s[^>]*?charset\s*=\s*["']?\s*([\w.:-]+)/i
const XML = /^\s*<\?xml\s[^>]*?encoding\s*=\s*["']([\w.:-]+)/i

/** A page that declares UTF-16 in bytes that can be read as ASCII is not in UTF-16. */
function declarationIn(body: Uint8Array, mediaType: string): string | undefined {
  if (!/html|xml/.test(mediaType)) return undefined
  const start = Buffer.from(body.subarray(0, DECLARED_WITHIN)).toString('latin1')
  const label = (XML.exec(start) ?? META.exec(start.replaceAll(/<!--[\s\S]*?(?:-->|$)/g, '')))?.[1]
  return label !== undefined && /^utf-?16/i.test(label) ? 'utf-8' : label
}

function isText(mediaType: string): boolean {
  return mediaType.startsWith('text/') || mediaType.includes('html')
}
