/**
 * Reads a request body that may be anything. Nothing here throws, whatever it is given, and nothing goes down by
 * recursion: a body may be deeper than the stack. It does not know any vendor's rules.
 */
export type Fields = Readonly<Record<string, unknown>>

/** Problems in the order in which they are found. */
export type Complain = (problem: string) => void

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Its fields; none if it is no object. */
export function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : {}
}

/** Its elements; none if it is no list. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : []
}

export function isText(value: unknown): value is string {
  return typeof value === 'string'
}

export function isBlank(text: string): boolean {
  return text.trim() === ''
}

/** Is this JSON as text? */
export function isJsonText(value: unknown): boolean {
  if (!isText(value)) return false
  try {
    JSON.parse(value)
    return true
  } catch {
    return false
  }
}

const MOST_SHOWN = 80

/** A value for a message: short, and safe where `String` is not, as with `{ "toString": 1 }`. */
export function shown(value: unknown): string {
  if (isText(value)) return value.length > MOST_SHOWN ? `${value.slice(0, MOST_SHOWN)}…` : value
  if (value === null) return 'null'
  return Array.isArray(value) ? 'a list' : `a value of type ${typeof value}`
}

/** Those that occur more than once. */
export function repeated(names: readonly unknown[]): ReadonlySet<string> {
  const seen = new Set<unknown>()
  const again = new Set<string>()
  for (const name of names) {
    if (isText(name) && seen.has(name)) again.add(name)
    seen.add(name)
  }
  return again
}

/** All that is wrong with a body: with itself, which is an object and text that every parser takes, and with its form. */
export function problemsOf(body: unknown, check: (body: Fields, complain: Complain) => void): string[] {
  if (!isFields(body)) return [`The request body must be a JSON object, not ${shown(body)}.`]
  const problems = hasLoneSurrogate(body)
    ? ['The request body is not valid JSON: no low surrogate in string, or none before it.']
    : []
  check(body, (problem) => problems.push(problem))
  return problems
}

/** JavaScript writes half a character as an escape that the parsers of other languages refuse. */
function hasLoneSurrogate(body: unknown): boolean {
  const rest: unknown[] = [body]
  while (rest.length > 0) {
    const next = rest.pop()
    if (isText(next)) {
      if (!next.isWellFormed()) return true
    } else if (Array.isArray(next)) {
      for (const each of next) rest.push(each)
    } else if (typeof next === 'object' && next !== null) {
      for (const [key, value] of Object.entries(next)) rest.push(key, value)
    }
  }
  return false
}
