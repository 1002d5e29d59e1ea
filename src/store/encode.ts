/**
 * Encodes entry data as text and back. Values over 64 KB are extracted and kept as content-addressed blobs (R16); the
 * extracted paths are stored beside the text, never inside it, so data that looks like a reference stays data.
 */
import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import {
  type Entry,
  HoldfastError,
  type Json,
  type JsonObject,
  MAX_ENTRY_BYTES,
  quote,
} from '../protocol/index.ts'
import { plainCopy } from './plain.ts'
import type { AppendRequest } from './port.ts'

/** Larger values become blobs. */
export const BLOB_THRESHOLD: number = 64 * 1024

export interface Encoded {
  readonly json: string
  readonly cuts: readonly CutValue[]
  readonly blobs: ReadonlyMap<string, Buffer>
  /** The result of `decode`, if already known. One object: return it to one reader only. */
  readonly plain: JsonObject | undefined
}

/** A value that the text holds as null. An empty path is the whole data. */
export interface CutValue {
  readonly path: readonly (string | number)[]
  readonly hash: string
  readonly kind: 'text' | 'json'
}

/** The request's data, encoded once before any transaction, keyed by the data objects themselves. */
export type EncodedData = ReadonlyMap<JsonObject, Encoded>

export function encodeRequest(request: AppendRequest): EncodedData {
  const encoded = new Map<JsonObject, Encoded>()
  for (const { type, data } of request.inbox ?? []) encoded.set(data, encode(type, data))
  for (const { type, data } of request.entries ?? []) encoded.set(data, encode(type, data))
  return encoded
}

export function encode(type: string, data: JsonObject): Encoded {
  const { json, plain } = toJson(type, data)
  if (json.length * 3 <= BLOB_THRESHOLD || Buffer.byteLength(json) <= BLOB_THRESHOLD) {
    return { json, cuts: NO_CUTS, blobs: NO_BLOBS, plain }
  }
  const bytes = Buffer.byteLength(json)
  if (bytes > MAX_ENTRY_BYTES) throw tooLarge(type, bytes)
  const cuts: CutValue[] = []
  const blobs = new Map<string, Buffer>()
  const rest = cutLarge(JSON.parse(json) as Json, { path: [], cuts, blobs })
  return { json: JSON.stringify(rest), cuts, blobs, plain: undefined }
}

/** The inverse of `encode`. An undefined `blob` makes the entry corrupt. */
export function decode(
  json: string,
  cuts: readonly CutValue[],
  blob: (hash: string) => Uint8Array | undefined,
): JsonObject {
  let data = JSON.parse(json) as Json
  for (const { path, hash, kind } of cuts) {
    const bytes = blob(hash)
    if (bytes === undefined) throw new Error(`blob ${hash} is missing`)
    const text = Buffer.from(bytes).toString('utf8')
    data = withValue(data, path, kind === 'text' ? text : (JSON.parse(text) as Json))
  }
  return data as JsonObject
}

/** The data as a reader gets it. The copy made with the text suffices, unless several entries share the data (`shared`). */
export function readerData({ json, cuts, blobs, plain }: Encoded, shared: boolean): JsonObject {
  return shared || plain === undefined ? decode(json, cuts, (hash) => blobs.get(hash)) : plain
}

/** True if several entries of the request share one data object. */
export function isShared(encoded: EncodedData, { inbox = [], entries = [] }: AppendRequest): boolean {
  return encoded.size < inbox.length + entries.length
}

export function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** Equal for inbox entries with equal content. */
export function digestOf(type: string, json: string): string {
  let prefix = digestPrefixes.get(type)
  if (prefix === undefined) {
    prefix = `${crc32(type)}-`
    digestPrefixes.set(type, prefix)
  }
  return `${prefix}${crc32(json)}-${json.length}`
}

/** By type; there are four types of inbox entries. */
const digestPrefixes = new Map<string, string>()

/** Equal for inbox entries with equal content, extracted values included. */
export function inboxDigest(type: string, { json, cuts }: Encoded): string {
  return digestOf(type, cuts.length === 0 ? json : json + JSON.stringify(cuts))
}

/** Covers everything that a reader gets, so that a flipped bit in a file is detected. */
export function checksum(entry: Omit<Entry, 'data'>, json: string, cuts: string): number {
  const { seq, turn, at, type, v, key = '', takes = '', refs = '', optional = '' } = entry
  const header = `${seq}\n${turn}\n${at}\n${type}\n${v}`
  return crc32(`${header}\n${key}\n${String(takes)}\n${String(refs)}\n${optional}${cuts}${json}`)
}

/** Each level of the search serialises the whole value again. */
const DEEPEST_CUT = 16

const NO_CUTS: readonly CutValue[] = []
const NO_BLOBS: ReadonlyMap<string, Buffer> = new Map()

interface Cutting {
  readonly path: readonly (string | number)[]
  readonly cuts: CutValue[]
  readonly blobs: Map<string, Buffer>
}

function cutLarge(value: Json, cutting: Cutting): Json {
  const text = JSON.stringify(value)
  if (Buffer.byteLength(text) <= BLOB_THRESHOLD) return value
  // UTF-8 cannot encode a lone surrogate; JSON can.
  if (typeof value === 'string')
    return value.isWellFormed() ? cutOut('text', value, cutting) : cutOut('json', text, cutting)
  if (cutting.path.length >= DEEPEST_CUT) return cutOut('json', text, cutting)
  const inner: Cutting = { path: cutting.path, cuts: [], blobs: new Map() }
  const rest = cutChildren(value, inner)
  if (Buffer.byteLength(JSON.stringify(rest)) > BLOB_THRESHOLD) return cutOut('json', text, cutting)
  cutting.cuts.push(...inner.cuts)
  for (const [hash, bytes] of inner.blobs) cutting.blobs.set(hash, bytes)
  return rest
}

function cutChildren(value: Json, cutting: Cutting): Json {
  const child = (key: string | number, item: Json) =>
    cutLarge(item, { ...cutting, path: [...cutting.path, key] })
  if (Array.isArray(value)) return value.map((item: Json, index) => child(index, item))
  return Object.fromEntries(
    Object.entries(value as JsonObject).map(([key, item]) => [key, child(key, item ?? null)]),
  )
}

function cutOut(kind: CutValue['kind'], text: string, { path, cuts, blobs }: Cutting): null {
  const bytes = Buffer.from(text)
  const hash = hashOf(bytes)
  cuts.push({ path, hash, kind })
  blobs.set(hash, bytes)
  return null
}

function withValue(root: Json, path: readonly (string | number)[], value: Json): Json {
  const last = path.at(-1)
  if (last === undefined) return value
  let at = root as Record<string | number, Json>
  for (const key of path.slice(0, -1)) at = at[key] as Record<string | number, Json>
  // Assignment would set the prototype for the key `__proto__`.
  Object.defineProperty(at, last, { value, enumerable: true, writable: true, configurable: true })
  return root
}

function toJson(type: string, data: JsonObject): { json: string; plain: JsonObject | undefined } {
  let json: string | undefined
  let plain: JsonObject | undefined
  try {
    plain = typeof data === 'object' && data !== null ? plainCopy(data) : undefined
    // Serialise the copy, so that both agree even if getters return another value each time.
    json = JSON.stringify(plain ?? data)
  } catch (cause) {
    throw unwritable(type, quote((cause as Error).message.split('\n')[0], 200), cause)
  }
  if (json?.startsWith('{')) return { json, plain }
  throw unwritable(type, 'it is not an object')
}

function unwritable(type: string, why: string, cause?: unknown): HoldfastError {
  return new HoldfastError('invalid-entry', {
    message: `The data of a ${type} entry cannot be written as JSON (${why}). Convert it first.`,
    details: { type },
    cause,
  })
}

function tooLarge(type: string, bytes: number): HoldfastError {
  return new HoldfastError('too-large', {
    message: `The ${type} has ${bytes} bytes, and an entry at most ${MAX_ENTRY_BYTES}. Send less, or write large data into an artifact, piece by piece.`,
    details: { type, bytes, limit: MAX_ENTRY_BYTES },
  })
}
