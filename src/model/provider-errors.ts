/**
 * Classifies providers' errors by their shape (the AI SDK's call error, plain objects in a stream, Node's network errors),
 * so no package is needed to recognise them. Does not decide what happens next.
 */
import { systemClock } from '../base/index.ts'
import { defined } from '../protocol/index.ts'
import type { FailureKind } from './failure.ts'

export interface ProviderError {
  readonly kind: FailureKind
  readonly message: string
  readonly retryable?: boolean
  readonly retryAfterMs?: number
  readonly status?: number
}

/** `opened`: the reply had begun, so a broken connection cut it off. Never throws: anything can be thrown, also a trap. */
export function readProviderError(error: unknown, opened: boolean): ProviderError {
  try {
    return classified(error, opened)
  } catch {
    return { kind: 'unknown', message: NO_REASON }
  }
}

const NO_REASON = 'The provider failed without saying why'

function classified(error: unknown, opened: boolean): ProviderError {
  const chain = chainOf(error)
  const status = firstOf(chain, statusOf)
  const words = wordsOf(chain)
  const kind = kindOf({ chain, status, words })
  const retryAfterMs = firstOf(chain, retryAfter)
  // Google has the same words for the quota of a minute, and names the wait.
  const isUsedUp = retryAfterMs === undefined && QUOTA_USED.test(words)
  const retryable = kind === 'rate-limit' && isUsedUp ? false : retryableBy(kind, chain)
  return {
    kind: kind === 'network' && opened ? 'cut-off' : kind,
    message: tidy(firstOf(chain, messageOf) ?? NO_REASON),
    ...defined({ retryable, retryAfterMs, status }),
  }
}

type Fields = Readonly<Record<string, unknown>>

interface ErrorTexts {
  readonly chain: readonly Fields[]
  readonly status: number | undefined
  readonly words: string
}

const DEEPEST = 6
const MOST_WORDS = 2_000
const MOST_TEXT = 500

/** The error and everything it wraps: `cause`, the provider's `data`, and an `error` inside of either. */
function chainOf(error: unknown): Fields[] {
  const chain: Fields[] = []
  const queue: unknown[] = [error]
  while (queue.length > 0 && chain.length < DEEPEST) {
    const next = queue.shift()
    if (typeof next === 'string') chain.push({ message: next })
    if (typeof next !== 'object' || next === null) continue
    const fields = next as Fields
    if (chain.includes(fields)) continue
    chain.push(fields)
    queue.push(fields['data'], fields['error'], fields['cause'], fields['lastError'])
  }
  return chain
}

function firstOf<T>(chain: readonly Fields[], read: (fields: Fields) => T | undefined): T | undefined {
  for (const fields of chain) {
    const found = read(fields)
    if (found !== undefined) return found
  }
  return undefined
}

function statusOf(fields: Fields): number | undefined {
  for (const value of [fields['statusCode'], fields['status'], fields['code']]) {
    // Some servers and proxies send the code as a text.
    const status = typeof value === 'string' && /^[1-5]\d\d$/.test(value) ? Number(value) : value
    if (typeof status === 'number' && Number.isInteger(status) && status >= 100 && status < 600) return status
  }
  return undefined
}

function messageOf({ message }: Fields): string | undefined {
  return typeof message === 'string' && message !== '' ? message : undefined
}

/** All texts that may name the failure, in lower case. */
function wordsOf(chain: readonly Fields[]): string {
  const found: string[] = []
  for (const { name, code, type, status, message, responseBody } of chain) {
    for (const word of [name, code, type, status, message, responseBody]) {
      if (typeof word === 'string') found.push(word.slice(0, MOST_WORDS))
    }
  }
  return found.join('\n').toLowerCase()
}

const TOO_LONG =
  /context[_ ](length|window|size|limit)|prompt is too long|too many (input )?tokens|token count .{0,40}exceed|maximum number of tokens|request_too_large|input is too long/
const REFUSED =
  /content[_ -](policy|filter|management)|moderation|safety system|usage polic|flagged as|responsible ?ai/
const BUSY = /overloaded|server_error|api_error|internal_error|internal server|unavailable|bad gateway/
const LIMITED = /rate[_ -]?limit|too many requests|resource_exhausted|throttl/
const QUOTA_USED = /insufficient_quota|exceeded your current quota|billing|credit balance/
const UNAUTHORIZED = /authentication_error|permission_error|invalid_api_key|unauthenticated|loadapikeyerror/
const INVALID =
  /invalid_request_error|invalid_argument|not_found_error|ai_(unsupportedfunctionality|invalidprompt|invalidargument|nosuchmodel|typevalidation)error/
const NETWORK =
  /econn(refused|reset|aborted)|enotfound|eai_again|etimedout|epipe|ehostunreach|enetunreach|und_err_|fetch failed|socket hang up|cannot connect to api|^terminated$|other side closed|premature close|ai_(jsonparse|emptyresponsebody|invalidresponsedata)error|expected a normalized \w+ stream error|\baborterror\b/m

function kindOf({ chain, status, words }: ErrorTexts): FailureKind {
  const byStatus = status !== undefined && status >= 400 ? kindOfStatus(status, words) : undefined
  if (byStatus !== undefined) return byStatus
  if (NETWORK.test(words)) return 'network'
  if (/\btimeout_?error\b/.test(words)) return 'timeout'
  if (LIMITED.test(words) || QUOTA_USED.test(words)) return 'rate-limit'
  if (TOO_LONG.test(words)) return 'context-length'
  if (BUSY.test(words)) return 'overloaded'
  if (UNAUTHORIZED.test(words)) return 'auth'
  if (REFUSED.test(words)) return 'refused'
  if (INVALID.test(words)) return 'invalid'
  return chain.some(isRetryable) && status === undefined ? 'network' : 'unknown'
}

function kindOfStatus(status: number, words: string): FailureKind | undefined {
  if (status === 429) return 'rate-limit'
  if (status === 401 || status === 403 || status === 402) return 'auth'
  if (status === 408) return 'timeout'
  if (status === 409) return undefined
  if (status === 413) return 'context-length'
  if (status === 451) return 'refused'
  if (status >= 500)
    return TOO_LONG.test(words) ? 'context-length' : status === 501 ? 'invalid' : 'overloaded'
  if (TOO_LONG.test(words)) return 'context-length'
  return REFUSED.test(words) ? 'refused' : 'invalid'
}

/** Undefined where the kind decides. */
function retryableBy(kind: FailureKind, chain: readonly Fields[]): boolean | undefined {
  return kind === 'unknown' ? chain.some(isRetryable) : undefined
}

function isRetryable(fields: Fields): boolean {
  return fields['isRetryable'] === true
}

/** The wait that the provider asks for: by header, or inside of the answer as Google does. */
function retryAfter(fields: Fields): number | undefined {
  const headers = fields['responseHeaders'] as Fields | undefined
  if (typeof headers === 'object' && headers !== null) {
    const ms = Number(headers['retry-after-ms'] ?? Number.NaN)
    if (Number.isFinite(ms) && ms >= 0) return ms
    const found = waitOf(headers['retry-after'], headers['date'])
    if (found !== undefined) return found
  }
  const details = fields['details']
  if (!Array.isArray(details)) return undefined
  const delay = (details as (Fields | null)[]).find((detail) => typeof detail?.['retryDelay'] === 'string')
  const seconds = Number.parseFloat(String(delay?.['retryDelay']))
  return Number.isFinite(seconds) && seconds >= 0 ? Math.ceil(seconds * 1000) : undefined
}

/** Seconds, or a date, counted from the server's own clock if it sends one, since ours may be wrong. */
function waitOf(after: unknown, date: unknown): number | undefined {
  if (typeof after !== 'string' || after.trim() === '') return undefined
  const seconds = Number(after)
  if (Number.isFinite(seconds)) return seconds >= 0 ? Math.ceil(seconds * 1000) : undefined
  const until = Date.parse(after)
  if (Number.isNaN(until)) return undefined
  const sent = typeof date === 'string' ? Date.parse(date) : Number.NaN
  return Math.max(0, until - (Number.isNaN(sent) ? systemClock.now() : sent))
}

const KEY_LIKE =
  /\b(?:(?:sk|pk|rk|xai|gsk|hf)[-_][\w*.-]{8,}\w|AIza[\w-]{16,}|bearer\s+[^\s"',]{8,}|key=[^\s"'&]{8,})/gi

/** Short enough to store, and without anything that looks like a key: some providers repeat the one they refuse. */
function tidy(message: string): string {
  return message.slice(0, MOST_TEXT).toWellFormed().replaceAll(KEY_LIKE, '[key]')
}
