/** Copies the data of callers through JSON: the fold shares the copy, which no caller can change. */
import { boundedReplacer, HoldfastError, type JsonObject } from '../protocol/index.ts'

/** Throws `invalid-option` if the value is no object, or has something in it that JSON leaves out. */
export function copyJson(what: string, value: unknown): JsonObject {
  let why = ''
  try {
    const copy: unknown = JSON.parse(JSON.stringify(value, boundedReplacer()))
    why = lostIn(value, what)
    if (why === '' && typeof copy === 'object' && copy !== null && !Array.isArray(copy))
      return copy as JsonObject
  } catch (error) {
    if (error instanceof RangeError) why = `, and ${error.message}`
  }
  throw new HoldfastError('invalid-option', {
    message: why.startsWith(what) ? why : `${what} must be an object that JSON can carry${why}.`,
  })
}

/** The first value that JSON silently drops, by its path. The value was serialised before, so it has no cycle. */
function lostIn(value: unknown, path: string): string {
  const kind = lostKind(value)
  if (kind !== undefined)
    return `${path} is ${kind}, which JSON cannot carry. Give texts, numbers, lists and objects.`
  if (typeof value !== 'object' || value === null || 'toJSON' in value) return ''
  const isList = Array.isArray(value)
  for (const [name, inner] of Object.entries(value)) {
    const lost = lostIn(inner, isList ? `${path}[${name}]` : `${path}.${name}`)
    if (lost !== '') return lost
  }
  return ''
}

function lostKind(value: unknown): string | undefined {
  if (typeof value === 'function') return 'a function'
  if (typeof value === 'symbol') return 'a symbol'
  if (value instanceof Map) return 'a Map'
  if (value instanceof Set) return 'a Set'
  return value instanceof Promise ? 'a Promise' : undefined
}
