/** What went wrong, as data for a model: a sentence, a code, and what else helps. It never throws, whatever it is given. */
import type { JsonObject } from '../protocol/index.ts'
import type { Settled } from './tool.ts'

export type TroubleCode =
  | 'unknown-tool'
  | 'malformed-arguments'
  | 'invalid-arguments'
  | 'timeout'
  | 'cancelled'
  | 'not-json'
  | 'invalid-output'
  | 'too-large'
  | 'invalid-question'

export interface Trouble {
  readonly status: Settled['status']
  readonly error: string
  readonly code: TroubleCode
  readonly more?: JsonObject
}

export function troubled({ status, error, code, more = {} }: Trouble): Settled {
  return { status, output: { error, code, ...more } }
}

/** What was thrown, which may be anything. The causes of an error are part of its message. */
export function thrown(value: unknown): {
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
      error: shortened(messageOf(value, DEEPEST_CAUSE)),
      ...(typeof name === 'string' && name !== 'Error' ? { name } : {}),
      ...(typeof code === 'string' ? { code } : {}),
    }
  } catch {
    return { error: 'The tool threw something that cannot be read.' }
  }
}

const DEEPEST_CAUSE = 4
const LONGEST = 4000

function messageOf(value: unknown, depth: number): string {
  if (typeof value !== 'object' || value === null) return `The tool threw ${plainText(value)}.`
  const { message, cause, errors } = value as Record<string, unknown>
  if (typeof message !== 'string') return `The tool threw ${JSON.stringify(value) ?? 'an object'}.`
  const inner = Array.isArray(errors) ? (errors as unknown[]).slice(0, 5) : cause === undefined ? [] : [cause]
  const below = depth === 0 ? [] : inner.map((each) => causeText(each, depth - 1))
  const own =
    message.trim() === '' && below.length === 0 ? 'The tool threw an error without a message.' : message
  return [own, ...below].filter((text) => text.trim() !== '').join(': ')
}

function causeText(cause: unknown, depth: number): string {
  if (typeof cause === 'string') return cause
  return typeof cause === 'object' && cause !== null && 'message' in cause ? messageOf(cause, depth) : ''
}

function plainText(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : String(value)
}

function shortened(text: string): string {
  return (text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text).toWellFormed()
}
