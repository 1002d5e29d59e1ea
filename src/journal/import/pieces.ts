/** The pieces that histories of all formats are made of: texts, arguments, files, outputs. Plain JSON in, plain JSON out. */
import type { FilePart, Json, JsonObject, TextPart, UserContent } from '../../protocol/index.ts'
import { quote } from '../../protocol/index.ts'
import type { ForeignCall, ForeignResult, Reading } from './foreign.ts'

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The value if it is a text with something in it. */
export function textIn(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

export function objectsIn(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

/** A string, a list of parts, or something that is said in neither way. */
export function hasContent({ content }: JsonObject): boolean {
  return typeof content === 'string' || Array.isArray(content)
}

/** Content as a list of parts; a string is one text. What is in the list and no object is left out, and said so. */
export function partsOf(content: unknown, reading: Reading): readonly JsonObject[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  if (!Array.isArray(content)) return []
  return content.flatMap((part: unknown): readonly JsonObject[] => {
    if (isObject(part)) return [part]
    if (typeof part === 'string') return [{ type: 'text', text: part }]
    dropPart(part, reading)
    return []
  })
}

export function dropPart(part: unknown, { note }: Reading): void {
  const type = isObject(part) ? (part['type'] ?? Object.keys(part)[0]) : part
  note('part-dropped', `A part of the kind ${quote(type)} was left out: there is no place for it.`)
}

/** One text is said as it is, more than one as a list. */
export function userContent(parts: readonly (TextPart | FilePart)[]): UserContent {
  const [only] = parts
  return parts.length === 1 && only?.type === 'text' && only.provider === undefined ? only.text : parts
}

/** The texts among the parts, one below the other. */
export function joinedText(parts: readonly JsonObject[]): string {
  return parts.flatMap(({ text }) => textIn(text) ?? []).join('\n')
}

/** A data URL gives its type and its bytes; anything else stays as it is, and is of the type that was told or guessed. */
export function filePart(
  data: string,
  told: { mediaType?: unknown; name?: unknown; guess: string },
): FilePart {
  const [inUrl, bytes] = data.startsWith('data:') ? dataUrl(data) : [undefined, data]
  const name = textIn(told.name)
  return {
    type: 'file',
    mediaType: textIn(told.mediaType) ?? textIn(inUrl) ?? told.guess,
    ...(name === undefined ? {} : { name }),
    data: bytes,
  }
}

function dataUrl(url: string): readonly [type: string | undefined, bytes: string] {
  const comma = url.indexOf(',')
  if (comma < 0) return [undefined, url]
  const [type, ...options] = url.slice('data:'.length, comma).split(';')
  const body = url.slice(comma + 1)
  if (options.includes('base64')) return [type, body]
  try {
    return [type, Buffer.from(decodeURIComponent(body)).toString('base64')]
  } catch {
    return [type, url]
  }
}

/** The id that a call has where it comes from, if it has one. */
export function callIds(given: unknown): Pick<ForeignCall, 'type' | 'id' | 'providerId'> {
  const id = textIn(given)
  return { type: 'tool-call', ...(id === undefined ? {} : { id, providerId: id }) }
}

/** The id of the call that a result belongs to, if it names one. */
export function resultIds(given: unknown): Pick<ForeignResult, 'id'> {
  const id = textIn(given)
  return id === undefined ? {} : { id }
}

/** What a provider attached, under its name; nothing if it is no text. */
export function attached(vendor: string, key: string, value: unknown): { readonly provider?: JsonObject } {
  const text = textIn(value)
  return text === undefined ? {} : { provider: { [vendor]: { [key]: text } } }
}

const LONGEST_NAME = 128

export function toolName(name: unknown): string {
  return textIn(name)?.slice(0, LONGEST_NAME).toWellFormed() ?? 'unnamed'
}

type Arguments = Pick<ForeignCall, 'args' | 'malformed'>

/** Arguments are an object, or the text of one. A call without any is a call with none. */
export function argumentsOf(raw: Json | undefined, { note }: Reading): Arguments {
  if (raw === undefined || raw === null || (typeof raw === 'string' && raw.trim() === '')) return { args: {} }
  const parsed = typeof raw === 'string' ? parse(raw) : raw
  if (isObject(parsed)) return { args: parsed }
  const text = typeof raw === 'string' ? raw : JSON.stringify(raw)
  const malformed =
    parsed === undefined ? 'the arguments are not JSON' : 'the arguments are not a JSON object'
  note('arguments-malformed', `A call was kept with arguments that no tool can use: ${malformed}.`)
  return { args: text, malformed }
}

function parse(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}

/**
 * What a tool returned. A list of typed parts is read as their texts; what else was in it is left out, and said so. Any
 * other list is data of the tool, and stays.
 */
export function outputOf(content: Json | undefined, reading: Reading): Json {
  if (content === undefined) return null
  if (!Array.isArray(content)) return content
  const parts = objectsIn(content).filter(({ type }) => typeof type === 'string')
  if (parts.length === 0 || parts.length < content.length) return content as Json[]
  for (const part of parts) if (typeof part['text'] !== 'string') dropPart(part, reading)
  return joinedText(parts)
}
