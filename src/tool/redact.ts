/**
 * Keeping secrets out of what is stored, shown and sent to models (R19): which texts are secret, and their removal.
 * It does not know where credentials come from.
 */
import type { Json } from '../protocol/index.ts'

/** Secrets of the one who asks. They are handed to tools and never stored. */
export type Credentials = Readonly<Record<string, unknown>>

/** Shorter texts occur by chance, and nothing that short keeps a secret. */
const SHORTEST = 8
const REDACTED = '[redacted]'
const NONE: readonly string[] = []

/** All texts of 8 or more characters in the credentials, at any depth, the longest first. */
export function secretsOf(credentials: Credentials): readonly string[] {
  if (Object.keys(credentials).length === 0 && !(credentials instanceof Map)) return NONE
  const found = new Set<string>()
  const seen = new Set<object>()
  const open: unknown[] = [credentials]
  while (open.length > 0) {
    const value = open.pop()
    if (typeof value === 'string' && value.length >= SHORTEST) found.add(value)
    if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value) || seen.has(value)) continue
    seen.add(value)
    for (const inner of value instanceof Map ? value.values() : Object.values(value)) open.push(inner)
  }
  return [...found].sort((a, b) => b.length - a.length)
}

/** Every occurrence of a secret in any text or key becomes `[redacted]`. Without any, the value itself is returned. */
export function redact<T extends Json>(value: T, secrets: readonly string[]): T {
  if (secrets.length === 0) return value
  const real = secrets.filter((secret) => secret !== '').toSorted((a, b) => b.length - a.length)
  if (real.length === 0) return value
  const pattern = new RegExp(real.map((secret) => secret.replace(SPECIAL, '\\$&')).join('|'), 'g')
  return redacted(value, pattern) as T
}

const SPECIAL = /[\\^$.*+?()[\]{}|/-]/g

function redacted(value: Json, pattern: RegExp): Json {
  if (typeof value === 'string') return value.replace(pattern, REDACTED)
  if (typeof value !== 'object' || value === null) return value
  if (isList(value)) {
    const items = value.map((item) => redacted(item, pattern))
    return items.some((item, index) => item !== value[index]) ? items : value
  }
  const fields = Object.entries(value).map(
    ([key, field]) =>
      [
        key,
        redacted(key, pattern) as string,
        field === undefined ? field : redacted(field, pattern),
      ] as const,
  )
  if (fields.every(([key, newKey, field]) => key === newKey && field === value[key])) return value
  const used = new Map<string, number>()
  return Object.fromEntries(fields.map(([key, newKey, field]) => [unlike(key, newKey, used), field]))
}

/** Two keys may become the same one; neither field may be lost. */
function unlike(key: string, newKey: string, used: Map<string, number>): string {
  if (key === newKey) return key
  const times = (used.get(newKey) ?? 0) + 1
  used.set(newKey, times)
  return times === 1 ? newKey : `${newKey} (${times})`
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value)
}
