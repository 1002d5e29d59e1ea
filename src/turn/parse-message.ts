/** Parses a caller's message: a text, or text and file parts. Bytes become base64, URLs their text. */
import {
  boundedReplacer,
  type FilePart,
  filesProblem,
  fileTitle,
  HoldfastError,
  isObject,
  shown,
  type TextPart,
  type UserContent,
} from '../protocol/index.ts'

/** A file as a caller has it: base64, a URL or the bytes. */
export type FileInput = Omit<FilePart, 'data'> & { readonly data: string | URL | Uint8Array | ArrayBuffer }

/** A message as a caller writes it. */
export type MessageInput = string | readonly (TextPart | FileInput)[]

/** Throws `invalid-option` for an invalid message, with the part and `advice` at its end. */
export function parseMessage(message: unknown, advice = ''): UserContent {
  // The copy is checked: that is what gets stored.
  const copy = Array.isArray(message) ? copyOf(message.map(withText)) : message
  const problem = problemOf(copy)
  if (problem === undefined) return copy as UserContent
  throw new HoldfastError('invalid-option', { message: `${problem} ${advice}`.trim() })
}

const EMPTY = 'The message is empty. Write a text that is not blank, or a list of text and file parts.'
const SHAPE = 'A message must be a text that is not blank, a list of text and file parts, or null to go on.'

function problemOf(message: unknown): string | undefined {
  if (typeof message === 'string') return message.trim() === '' ? EMPTY : undefined
  if (!Array.isArray(message)) return SHAPE
  for (const [index, part] of (message as unknown[]).entries()) {
    const problem = partProblem(part)
    if (problem !== undefined) return `Part ${index + 1} of the message${problem}`
  }
  const content = message as Exclude<UserContent, string>
  const isBlank = content.every((part) => part.type === 'text' && part.text.trim() === '')
  return isBlank ? EMPTY : filesProblem(content)
}

function partProblem(part: unknown): string | undefined {
  if (!isObject(part)) return ` must be a text or a file part, not ${shown(part)}.`
  const { type, text, data, mediaType, name } = part as Record<string, unknown>
  if (type === 'text')
    return typeof text === 'string' ? undefined : `: text must be a text, not ${shown(text)}.`
  if (type !== 'file')
    return ` has the type ${shown(type)}; write { type: 'text', text } or { type: 'file', mediaType, data }.`
  if (typeof mediaType !== 'string')
    return `, a file: mediaType must be a text such as image/png, not ${shown(mediaType)}.`
  if (typeof data === 'string') return undefined
  const title = fileTitle({ mediaType, ...(typeof name === 'string' ? { name } : {}) })
  return `, ${title}: data must be base64, a URL or bytes, not ${shown(data)}.`
}

function withText(part: unknown): unknown {
  const { type, data } = (part ?? {}) as Partial<FileInput>
  if (type !== 'file' || typeof data !== 'object' || data === null) return part
  const text = dataText(data)
  return text === undefined ? part : { ...(part as object), data: text }
}

function dataText(data: object): string | undefined {
  if (data instanceof URL) return data.href
  if (data instanceof ArrayBuffer) return Buffer.from(data).toString('base64')
  if (!ArrayBuffer.isView(data)) return undefined
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64')
}

function copyOf(parts: readonly unknown[]): unknown {
  try {
    return JSON.parse(JSON.stringify(parts, boundedReplacer()))
  } catch (error) {
    const why = error instanceof RangeError ? `, and ${error.message}` : ''
    throw new HoldfastError('invalid-option', {
      message: `A message must be something JSON can carry${why}.`,
    })
  }
}
