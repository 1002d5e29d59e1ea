/** Texts, parts and files in all formats. Plain JSON in, plain JSON out. */
import { defined, type FilePart, type JsonObject, quote } from '../../protocol/index.ts'
import type { Reading } from './foreign.ts'

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function textIn(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

export function objectsIn(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

export function hasContent({ content }: JsonObject): boolean {
  return typeof content === 'string' || Array.isArray(content)
}

/** Content as a list of parts; a string is one text. List items that are no parts are dropped with a note. */
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
  note('part-dropped', `A part of the kind ${quote(type)} was left out: messages have no such part.`)
}

export function joinedText(parts: readonly JsonObject[]): string {
  return parts.flatMap(({ text }) => textIn(text) ?? []).join('\n')
}

/** Splits a data URL into its type and bytes; keeps anything else, with the declared or default type. */
export function filePart(
  data: string,
  declared: { mediaType?: unknown; name?: unknown; guess: string },
): FilePart {
  const [inUrl, bytes] = data.startsWith('data:') ? dataUrl(data) : [undefined, data]
  const name = textIn(declared.name)
  return {
    type: 'file',
    mediaType: textIn(declared.mediaType) ?? textIn(inUrl) ?? declared.guess,
    ...defined({ name }),
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
