/** Copies data for user code: what the journal and the session share must not change. */
import type { Json, JsonObject } from '../protocol/index.ts'

/** A deep copy that cannot be changed. */
export function frozenCopy<T>(value: T & Json): T
export function frozenCopy(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return Object.freeze((value as readonly Json[]).map((inner) => frozenCopy(inner)))
  const fields = Object.entries(value as JsonObject)
  return Object.freeze(Object.fromEntries(fields.map(([name, field = null]) => [name, frozenCopy(field)])))
}
