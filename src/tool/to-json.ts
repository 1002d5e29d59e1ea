/**
 * Converts program values to JSON: values with an obvious form get it, values that would silently be lost are reported with
 * their path.
 */
import * as types from 'node:util/types'
import { systemClock } from '../base/index.ts'
import type { Json } from '../protocol/index.ts'
import { pathText } from './path-text.ts'
import { ASK } from './result-marks.ts'

/** Why a value cannot be JSON; its message is a sentence without a full stop. */
export class JsonProblem extends Error {
  /** `too-much`: too large, or too long to read. `question`: a value of `ask()` is inside of it. */
  readonly kind?: 'too-much' | 'question'

  constructor(message: string, kind?: 'too-much' | 'question') {
    super(message)
    if (kind !== undefined) this.kind = kind
  }
}

export interface JsonBounds {
  /** The most values, counted per reference: a few shared lists can unfold to billions. Only lowers the default. */
  readonly values?: number
  readonly bytes?: number
  /** Refuses values without a JSON form: NaN, infinities, bigints, invalid dates. A date has one, by its `toJSON`. */
  readonly isExact?: boolean
}

/**
 * A copy that survives JSON unchanged. As in JSON: undefined becomes null or is left out, NaN and infinities become null,
 * `toJSON` is respected. In addition: bigints become text, errors keep name and message, lone surrogates become U+FFFD.
 * Never throws, and stops at 1,000,000 values, 64 MB, 200 levels and 10 seconds.
 */
export function toJson(
  value: unknown,
  { values = MOST_VALUES, bytes = LARGEST, isExact = false }: JsonBounds = {},
): Json | JsonProblem {
  const most = { values: Math.min(values, MOST_VALUES), bytes: Math.min(bytes, LARGEST) }
  const left = { bytesLeft: most.bytes, valuesLeft: most.values }
  const state = { path: [], above: new Set<object>(), ...left, most, isExact, until: 0 }
  try {
    return copy(value, state) ?? null
  } catch (error) {
    return error instanceof JsonProblem ? error : new JsonProblem(`reading it failed: ${messageOf(error)}`)
  }
}

/** Reading a thrown value may itself throw. */
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
/** Getters and Proxies run code. */
const LONGEST_MS = 10_000
/** The clock is read once per this many values. */
const CLOCK_EVERY = 1024

/** The mutable state of one copy. */
interface CopyState {
  readonly path: PropertyKey[]
  readonly above: Set<object>
  readonly most: Required<Omit<JsonBounds, 'isExact'>>
  readonly isExact: boolean
  bytesLeft: number
  valuesLeft: number
  /** The deadline; 0 until the clock was read. */
  until: number
}

function copy(value: unknown, state: CopyState): Json | undefined {
  spend(typeof value === 'string' ? value.length + 2 : 4, state)
  if (--state.valuesLeft < 0)
    throw new JsonProblem(`it has more than ${state.most.values} values`, 'too-much')
  if (state.valuesLeft % CLOCK_EVERY === 0) checkTime(state)
  switch (typeof value) {
    case 'undefined':
      return undefined
    case 'string':
      return value.toWellFormed()
    case 'boolean':
      return value
    case 'number':
      if (Number.isFinite(value)) return value + 0
      return changed(null, `${value}; use null, or leave it out`, state)
    case 'bigint':
      return changed(String(value), 'a bigint; use a number or String() for it', state)
    case 'object':
      return value === null ? null : copyObject(value, state)
    case 'function':
    case 'symbol':
    default:
      throw problem(`a ${typeof value}`, state)
  }
}

function copyObject(value: object, state: CopyState): Json | undefined {
  if (state.above.has(value)) {
    throw new JsonProblem(`it is circular: ${where(state)} is also what it is part of`)
  }
  // Counts objects, not the path: a `toJSON` may return an object with a `toJSON`, at the same path.
  if (state.above.size >= DEEPEST)
    throw new JsonProblem(`it is nested more than ${DEEPEST} levels deep`, 'too-much')
  state.above.add(value)
  const copied = copyNew(value, state)
  state.above.delete(value)
  return copied
}

function copyNew(value: object, state: CopyState): Json | undefined {
  if (Array.isArray(value)) return copyItems(value, state)
  if (Object.getPrototypeOf(value) === Object.prototype && !('toJSON' in value))
    return copyFields(value, state)
  const remedy = REMEDIES.find(([matches]) => matches(value))?.[1]
  if (remedy !== undefined) throw problem(`${article(value)}; ${remedy}`, state)
  if (value instanceof Date)
    return Number.isNaN(value.getTime()) ? changed(null, 'an invalid Date', state) : value.toISOString()
  const { toJSON } = value as { toJSON?: unknown }
  if (typeof toJSON === 'function') return copy((toJSON as () => unknown).call(value), state)
  if (value instanceof Error) return copyFields({ name: value.name, message: value.message }, state)
  if (types.isBoxedPrimitive(value)) return copy(value.valueOf(), state)
  return copyFields(value, state)
}

/** A value that reads back as another one: fine for a model, an error where a program reads it. */
function changed(copied: Json, what: string, state: CopyState): Json {
  if (state.isExact) throw problem(what, state)
  return copied
}

function copyItems(items: readonly unknown[], state: CopyState): Json {
  const copies: Json[] = []
  for (let i = 0; i < items.length; i++) copies.push(copyInner(items[i], i, state) ?? null)
  return copies
}

function copyFields(value: object, state: CopyState): Json {
  const keys = Object.keys(value)
  // Written as JSON, it would be an empty object, and nobody would be asked.
  if (keys.length === 0 && ASK in value)
    throw new JsonProblem(`${where(state)} is a question of ask()`, 'question')
  if (keys.length === 0 && !isPlain(value)) {
    throw problem(`${article(value)}, and has nothing in it that JSON can carry`, state)
  }
  const copies: Record<string, Json> = {}
  for (const key of keys) {
    const copied = copyInner((value as Readonly<Record<string, unknown>>)[key], key, state)
    spend(key.length + 4, state)
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

function copyInner(value: unknown, key: PropertyKey, state: CopyState): Json | undefined {
  state.path.push(key)
  const copied = copy(value, state)
  state.path.pop()
  return copied
}

function spend(bytes: number, state: CopyState): void {
  state.bytesLeft -= bytes
  if (state.bytesLeft < 0) throw new JsonProblem(`it has more than ${state.most.bytes} bytes`, 'too-much')
}

function checkTime(state: CopyState): void {
  const now = systemClock.elapsed()
  if (state.until === 0) state.until = now + LONGEST_MS
  else if (now > state.until) throw new JsonProblem(`reading it took more than ${LONGEST_MS} ms`, 'too-much')
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  // Not by identity: objects of another realm are plain, too.
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

function problem(what: string, state: CopyState): JsonProblem {
  return new JsonProblem(`${where(state)} is ${what}`)
}

function where({ path }: CopyState): string {
  return path.length === 0 ? 'it' : `\`${pathText(path)}\``
}

function article(value: object): string {
  const { name = 'object' } = (value as { constructor?: { name?: string } }).constructor ?? {}
  return `a value of type ${name}`
}
