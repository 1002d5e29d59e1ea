/** Replaces lone surrogates, which JavaScript allows and providers refuse. */
import type { Json, JsonObject } from '../protocol/index.ts'

/** The same value, or a copy with lone surrogates replaced by U+FFFD. */
export function wellFormed(value: Json): Json {
  if (typeof value === 'string') return value.toWellFormed()
  if (typeof value !== 'object' || value === null) return value
  return isWellFormed(value) ? value : repaired(value)
}

function isWellFormed(value: Json | undefined): boolean {
  if (typeof value === 'string') return value.isWellFormed()
  if (typeof value !== 'object' || value === null) return true
  if (Array.isArray(value)) return (value as readonly Json[]).every(isWellFormed)
  const fields = value as JsonObject
  for (const key in fields) if (!key.isWellFormed() || !isWellFormed(fields[key])) return false
  return true
}

function repaired(value: Json): Json {
  if (typeof value === 'string') return value.toWellFormed()
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return (value as readonly Json[]).map(repaired)
  const fields = Object.entries(value).map(([key, each]) => [
    key.toWellFormed(),
    each === undefined ? each : repaired(each),
  ])
  return Object.fromEntries(fields) as Json
}
