/**
 * Thrown values as texts: bounded, redacted, and never throwing again. An error shows its message and its causes' messages;
 * other values show as JSON.
 */
import { NO_SECRETS, type Redactor } from './redact.ts'
import { JsonProblem, toJson } from './to-json.ts'

/** The message of a thrown value, or the value itself: at most 4,000 characters, without causes. */
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

/** A tool's thrown value, for its result. The message includes the causes. */
export function thrown(
  value: unknown,
  secrets: Redactor = NO_SECRETS,
  source = 'The tool',
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
      error: secrets.cut(messageOf(value, { secrets, source, depth: DEEPEST_CAUSE }), LONGEST),
      ...(typeof name === 'string' && name !== 'Error' ? { name: secrets.cut(name, LONGEST_NAME) } : {}),
      ...(typeof code === 'string' ? { code: secrets.cut(code, LONGEST_NAME) } : {}),
    }
  } catch {
    return { error: `${source} threw something that cannot be read.` }
  }
}

const DEEPEST_CAUSE = 4
const MOST_ERRORS = 5
const LONGEST = 4000
const LONGEST_NAME = 500
/** How much is shown of an object without a message. */
const SHOWN = { values: 1000, bytes: 64 * 1024 }

interface ThrownContext {
  readonly secrets: Redactor
  /** The subject of the sentence: the code that threw. */
  readonly source: string
  /** The number of causes to read. */
  readonly depth: number
}

function messageOf(value: unknown, context: ThrownContext): string {
  const { secrets, source, depth } = context
  if (typeof value !== 'object' || value === null) return `${source} threw ${plainText(value, secrets)}.`
  const { message, cause, errors } = value as Record<string, unknown>
  if (typeof message !== 'string') return `${source} threw ${shownJson(value)}.`
  const inner = Array.isArray(errors)
    ? (errors as unknown[]).slice(0, MOST_ERRORS)
    : cause === undefined
      ? []
      : [cause]
  const below = depth === 0 ? [] : inner.map((each) => causeText(each, { ...context, depth: depth - 1 }))
  // Cut one by one: hundreds of long messages must not be joined first.
  const own = secrets.cut(message, LONGEST)
  const line = own.trim() === '' && below.length === 0 ? `${source} threw an error without a message.` : own
  // A wrapping error often repeats the message of its cause.
  return [line, ...below.filter((text) => !own.includes(text))]
    .filter((text) => text.trim() !== '')
    .join(': ')
}

function causeText(cause: unknown, context: ThrownContext): string {
  if (typeof cause === 'string') return context.secrets.cut(cause, LONGEST)
  return typeof cause === 'object' && cause !== null && 'message' in cause ? messageOf(cause, context) : ''
}

/** `String()` of a list repeats every nested list per reference. */
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
