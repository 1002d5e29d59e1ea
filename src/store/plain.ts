/**
 * Copies of plain data. What a store hands back must be what a reader will get, and that is what JSON makes of the data;
 * for data that is plain already a copy is the same, for less than half of what it costs to parse the text.
 */
import type { Json, JsonObject } from '../protocol/index.ts'

/** Deeper data, and so data that holds itself, is left to JSON. */
const DEEPEST = 100

/** What JSON would make of it; undefined if only JSON can tell. Every property is read once. */
export function plainCopy(data: JsonObject): JsonObject | undefined {
  return isPlain(data, Object.prototype) ? copyObject(data, DEEPEST) : undefined
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
  // JSON knows no minus zero.
  if (typeof value === 'number') return Number.isFinite(value) ? value + 0 : undefined
  if (typeof value !== 'object' || depth === 0) return undefined
  if (Array.isArray(value))
    return isPlain(value, Array.prototype) ? copyArray(value as Json[], depth - 1) : undefined
  return isPlain(value, Object.prototype) ? copyObject(value as JsonObject, depth - 1) : undefined
}

function isPlain(value: object, prototype: object): boolean {
  return Object.getPrototypeOf(value) === prototype && !('toJSON' in value)
}
