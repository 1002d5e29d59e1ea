/**
 * Values of programs as JSON: what has an obvious form gets it, what would silently be lost is named with its path.
 * It does not know what the value is for.
 */
import { types } from 'node:util'
import { systemClock } from '../base/index.ts'
import type { Json } from '../protocol/index.ts'
import { pathText } from './path-text.ts'

/** Why a value cannot be JSON; its message is a sentence without a full stop. */
export class JsonProblem extends Error {
  /** The value is too large or takes too long to read, whatever it is. */
  readonly isTooMuch: boolean

  constructor(message: string, isTooMuch = false) {
    super(message)
    this.isTooMuch = isTooMuch
  }
}

export interface JsonBounds {
  /** Texts, numbers, lists and objects, each as often as it is named: a few shared lists can unfold to billions. Fewer than usual. */
  readonly values?: number
  readonly bytes?: number
  /** Refuses values without a form in JSON: NaN, infinities, bigints, invalid dates. A date has one, by its `toJSON`. */
  readonly isExact?: boolean
}

/**
 * A copy that survives JSON unchanged. As JSON does it: undefined becomes null or is left out, NaN and infinities
 * become null, `toJSON` is respected. Beyond that: bigints become text, errors keep name and message, halves of
 * characters become U+FFFD. Never throws, and stops at 1,000,000 values, 64 MB, 200 levels and 10 seconds.
 */
export function toJson(
  value: unknown,
  { values = MOST_VALUES, bytes = LARGEST, isExact = false }: JsonBounds = {},
): Json | JsonProblem {
  const most = { values: Math.min(values, MOST_VALUES), bytes: Math.min(bytes, LARGEST) }
  const left = { bytesLeft: most.bytes, valuesLeft: most.values }
  const place = { path: [], above: new Set<object>(), ...left, most, isExact, until: 0 }
  try {
    return copy(value, place) ?? null
  } catch (error) {
    return error instanceof JsonProblem ? error : new JsonProblem(`reading it failed: ${messageOf(error)}`)
  }
}

/** What a getter threw may throw as well when it is read. */
function messageOf(error: unknown): string {
  try {
    const { message } = error as { readonly message?: unknown }
    return typeof message === 'string' ? message : 'it threw'
  } catch {
    return 'it threw'
  }
}

export function jsonBytes(value: Json): number {
  return Buffer.byteLength(JSON.stringify(value))
}

const DEEPEST = 200
const LARGEST = 64 * 1024 * 1024
const MOST_VALUES = 1_000_000
/** Getters and Proxies are programs. */
const LONGEST_MS = 10_000
/** The clock is read once for so many values. */
const CLOCK_EVERY = 1024

/** Where the copying is; one object for all of it. */
interface Place {
  readonly path: PropertyKey[]
  readonly above: Set<object>
  readonly most: Required<Omit<JsonBounds, 'isExact'>>
  readonly isExact: boolean
  bytesLeft: number
  valuesLeft: number
  /** When it has taken too long; 0 until the clock was read. */
  until: number
}

function copy(value: unknown, place: Place): Json | undefined {
  spend(typeof value === 'string' ? value.length + 2 : 4, place)
  if (--place.valuesLeft < 0) throw new JsonProblem(`it has more than ${place.most.values} values`, true)
  if (place.valuesLeft % CLOCK_EVERY === 0) checkTime(place)
  switch (typeof value) {
    case 'undefined':
      return undefined
    case 'string':
      return value.toWellFormed()
    case 'boolean':
      return value
    case 'number':
      if (Number.isFinite(value)) return value + 0
      return changed(null, `${value}; use null, or leave it out`, place)
    case 'bigint':
      return changed(String(value), 'a bigint; use a number or String() for it', place)
    case 'object':
      return value === null ? null : copyObject(value, place)
    case 'function':
    case 'symbol':
    default:
      throw problem(`a ${typeof value}`, place)
  }
}

function copyObject(value: object, place: Place): Json | undefined {
  if (place.above.has(value)) {
    throw new JsonProblem(`it is circular: ${where(place)} is also what it is part of`)
  }
  // Not the path: what `toJSON` returns may have a `toJSON` again, at the same place.
  if (place.above.size >= DEEPEST)
    throw new JsonProblem(`it is nested more than ${DEEPEST} levels deep`, true)
  place.above.add(value)
  const copied = copyNew(value, place)
  place.above.delete(value)
  return copied
}

function copyNew(value: object, place: Place): Json | undefined {
  if (Array.isArray(value)) return copyItems(value, place)
  if (Object.getPrototypeOf(value) === Object.prototype && !('toJSON' in value))
    return copyFields(value, place)
  const remedy = REMEDIES.find(([matches]) => matches(value))?.[1]
  if (remedy !== undefined) throw problem(`${article(value)}; ${remedy}`, place)
  if (value instanceof Date)
    return Number.isNaN(value.getTime()) ? changed(null, 'an invalid Date', place) : value.toISOString()
  const { toJSON } = value as { toJSON?: unknown }
  if (typeof toJSON === 'function') return copy((toJSON as () => unknown).call(value), place)
  if (value instanceof Error) return { name: value.name, message: value.message.toWellFormed() }
  if (types.isBoxedPrimitive(value)) return copy(value.valueOf(), place)
  return copyFields(value, place)
}

/** A value that would be read back as something else: fine for a model, a mistake in what a program reads. */
function changed(copied: Json, what: string, place: Place): Json {
  if (place.isExact) throw problem(what, place)
  return copied
}

function copyItems(items: readonly unknown[], place: Place): Json {
  const copies: Json[] = []
  for (let i = 0; i < items.length; i++) copies.push(copyInner(items[i], i, place) ?? null)
  return copies
}

function copyFields(value: object, place: Place): Json {
  const keys = Object.keys(value)
  if (keys.length === 0 && !isPlain(value)) {
    throw problem(`${article(value)}, and has nothing in it that JSON can carry`, place)
  }
  const copies: Record<string, Json> = {}
  for (const key of keys) {
    const copied = copyInner((value as Readonly<Record<string, unknown>>)[key], key, place)
    spend(key.length + 4, place)
    if (copied !== undefined) setField(copies, key.toWellFormed(), copied)
  }
  return copies
}

/** Plain assignment would set the prototype for a key of this name. */
function setField(fields: Record<string, Json>, key: string, value: Json): void {
  if (key !== '__proto__') fields[key] = value
  else Object.defineProperty(fields, key, { value, enumerable: true, writable: true, configurable: true })
}

const REMEDIES: readonly (readonly [matches: (value: object) => boolean, remedy: string])[] = [
  [(value) => value instanceof Map, 'use Object.fromEntries() for it'],
  [(value) => value instanceof Set, 'use [...set] for it'],
  [
    (value) => ArrayBuffer.isView(value) || value instanceof ArrayBuffer,
    'write bytes into an artifact, or encode them as base64',
  ],
  [(value) => value instanceof Promise, 'await it'],
  [(value) => value instanceof RegExp, 'use its source'],
  [
    (value) => value instanceof WeakMap || value instanceof WeakSet || value instanceof WeakRef,
    'leave it out',
  ],
]

function copyInner(value: unknown, key: PropertyKey, place: Place): Json | undefined {
  place.path.push(key)
  const copied = copy(value, place)
  place.path.pop()
  return copied
}

function spend(bytes: number, place: Place): void {
  place.bytesLeft -= bytes
  if (place.bytesLeft < 0) throw new JsonProblem(`it has more than ${place.most.bytes} bytes`, true)
}

function checkTime(place: Place): void {
  const now = systemClock.elapsed()
  if (place.until === 0) place.until = now + LONGEST_MS
  else if (now > place.until) throw new JsonProblem(`reading it took more than ${LONGEST_MS} ms`, true)
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  // Not by identity: objects of another realm are plain, too.
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

function problem(what: string, place: Place): JsonProblem {
  return new JsonProblem(`${where(place)} is ${what}`)
}

function where({ path }: Place): string {
  return path.length === 0 ? 'it' : `\`${pathText(path)}\``
}

function article(value: object): string {
  const { name = 'object' } = (value as { constructor?: { name?: string } }).constructor ?? {}
  return `a value of type ${name}`
}
