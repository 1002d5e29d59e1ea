/**
 * Thrown values as texts: bounded, without secrets, and never by throwing again. An error has its message and those of its
 * causes; anything else is shown as JSON.
 */
import { NO_SECRETS, type Redactor } from './redact.ts'
import { JsonProblem, toJson } from './to-json.ts'

/** The message of what was thrown, or what it is if it has none: at most 4,000 characters, without its causes. */
export function thrownText(value: unknown, secrets: Redactor = NO_SECRETS): string {
  try {
    if (typeof value === 'string') return secrets.cut(value, LONGEST)
    if (typeof value !== 'object' || value === null) return plainText(value, secrets)
    const { message } = value as { readonly message?: unknown }
    return secrets.cut(typeof message === 'string' ? message : shownJson(value), LONGEST)
  } catch {
    return 'Something was thrown that cannot be read.'
  }
}

/** What a tool threw, for its result. The causes of an error are part of its message. */
export function thrown(
  value: unknown,
  secrets: Redactor = NO_SECRETS,
  who = 'The tool',
): {
  readonly error: string
  readonly name?: string
  readonly code?: string
} {
  try {
    const { name, code } = (typeof value === 'object' && value !== null ? value : {}) as Record<
      string,
      unknown
    >
    return {
      error: secrets.cut(messageOf(value, { secrets, who, depth: DEEPEST_CAUSE }), LONGEST),
      ...(typeof name === 'string' && name !== 'Error' ? { name: secrets.cut(name, LONGEST_NAME) } : {}),
      ...(typeof code === 'string' ? { code: secrets.cut(code, LONGEST_NAME) } : {}),
    }
  } catch {
    return { error: `${who} threw something that cannot be read.` }
  }
}

const DEEPEST_CAUSE = 4
const MOST_ERRORS = 5
const LONGEST = 4000
const LONGEST_NAME = 500
/** So much of an object that has no message is shown. */
const SHOWN = { values: 1000, bytes: 64 * 1024 }

interface Reading {
  readonly secrets: Redactor
  /** Who threw it, as a sentence begins. */
  readonly who: string
  /** So many causes are read. */
  readonly depth: number
}

function messageOf(value: unknown, reading: Reading): string {
  const { secrets, who, depth } = reading
  if (typeof value !== 'object' || value === null) return `${who} threw ${plainText(value, secrets)}.`
  const { message, cause, errors } = value as Record<string, unknown>
  if (typeof message !== 'string') return `${who} threw ${shownJson(value)}.`
  const inner = Array.isArray(errors)
    ? (errors as unknown[]).slice(0, MOST_ERRORS)
    : cause === undefined
      ? []
      : [cause]
  const below = depth === 0 ? [] : inner.map((each) => causeText(each, { ...reading, depth: depth - 1 }))
  // Each by itself: hundreds of long ones must not be put together first.
  const own = secrets.cut(message, LONGEST)
  const said = own.trim() === '' && below.length === 0 ? `${who} threw an error without a message.` : own
  // Who wraps an error often repeats its message.
  return [said, ...below.filter((text) => !own.includes(text))]
    .filter((text) => text.trim() !== '')
    .join(': ')
}

function causeText(cause: unknown, reading: Reading): string {
  if (typeof cause === 'string') return reading.secrets.cut(cause, LONGEST)
  return typeof cause === 'object' && cause !== null && 'message' in cause ? messageOf(cause, reading) : ''
}

/** `String()` of a list writes every list that it names, as often as it is named. */
function shownJson(value: object): string {
  const json = toJson(value, SHOWN)
  return json instanceof JsonProblem
    ? `an object that cannot be shown (${json.message})`
    : JSON.stringify(json)
}

function plainText(value: unknown, secrets: Redactor): string {
  if (typeof value === 'string') return JSON.stringify(secrets.cut(value, LONGEST))
  return typeof value === 'function' ? 'a function' : String(value)
}
