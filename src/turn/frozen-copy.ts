/** Copies data for user code: what the journal and the session share must not change. */
import { types } from 'node:util'
import type { Json, JsonObject } from '../protocol/index.ts'

/** A deep copy that cannot be changed. */
export function frozenCopy<T>(value: T & Json): T
export function frozenCopy(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return Object.freeze((value as readonly Json[]).map((inner) => frozenCopy(inner)))
  const fields = Object.entries(value as JsonObject)
  return Object.freeze(Object.fromEntries(fields.map(([name, field = null]) => [name, frozenCopy(field)])))
}

/**
 * A copy of the input of a call, as its schema made it, for those who decide about the call: the tool gets what they
 * were shown. Its objects and arrays are frozen; dates, maps, sets and bytes are copies. Instances of classes are shared.
 */
export function frozenInput(value: unknown, copies: Map<object, unknown> = new Map()): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (copies.has(value)) return copies.get(value)
  if (isCloneable(value)) return structuredClone(value)
  const isPlain = [Object.prototype, null].includes(Object.getPrototypeOf(value) as object | null)
  if (!isPlain && !Array.isArray(value)) return value
  const copy: object = Array.isArray(value) ? [] : {}
  copies.set(value, copy)
  for (const [name, field] of Object.entries(value))
    Object.defineProperty(copy, name, { value: frozenInput(field, copies), enumerable: true })
  return Object.freeze(copy)
}

function isCloneable(value: object): boolean {
  return types.isDate(value) || types.isMap(value) || types.isSet(value) || types.isArrayBufferView(value)
}
