/**
 * Copies plain data. A store must return data as a reader will get it, which is its JSON round trip; for plain data a
 * copy is equal, at less than half the cost of parsing.
 */
import type { Json, JsonObject } from '../protocol/index.ts'

/** Deeper data, and so cyclic data, is left to JSON. */
const DEEPEST = 100

/** The JSON round trip of `data`; undefined if it takes JSON to know. Reads every property once. */
export function plainCopy(data: JsonObject): JsonObject | undefined {
  return isPlain(data, Object.prototype) ? copyObject(data, DEEPEST) : undefined
}

/** The JSON round trip of `data`. */
export function jsonCopy(data: JsonObject): JsonObject {
  return plainCopy(data) ?? (JSON.parse(JSON.stringify(data)) as JsonObject)
}

function copyObject(from: JsonObject, depth: number): JsonObject | undefined {
  const copy: Record<string, Json> = {}
  for (const key of Object.keys(from)) {
    const value = from[key]
    if (value === undefined) continue
    const copied = copyValue(value, depth)
    if (copied === undefined || key === '__proto__') return undefined
    copy[key] = copied
  }
  return copy
}

function copyArray(from: readonly Json[], depth: number): readonly Json[] | undefined {
  const copy: Json[] = []
  for (let i = 0; i < from.length; i++) {
    const copied = copyValue(from[i], depth)
    if (copied === undefined) return undefined
    copy.push(copied)
  }
  return copy
}

function copyValue(value: unknown, depth: number): Json | undefined {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return value
  // JSON has no negative zero.
  if (typeof value === 'number') return Number.isFinite(value) ? value + 0 : undefined
  if (typeof value !== 'object' || depth === 0) return undefined
  if (Array.isArray(value))
    return isPlain(value, Array.prototype) ? copyArray(value as Json[], depth - 1) : undefined
  return isPlain(value, Object.prototype) ? copyObject(value as JsonObject, depth - 1) : undefined
}

function isPlain(value: object, prototype: object): boolean {
  return Object.getPrototypeOf(value) === prototype && !('toJSON' in value)
}
