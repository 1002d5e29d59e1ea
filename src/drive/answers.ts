/** Checks answers before they are posted: a wrong one is refused at once, and the request stays open. */
import type { Clock, Ids } from '../base/index.ts'
import { stillOpen } from '../journal/index.ts'
import { dataOf } from '../loop/index.ts'
import {
  HoldfastError,
  type InputOrigin,
  type Json,
  type JsonObject,
  type NewInboxEntry,
  type RequestData,
} from '../protocol/index.ts'
import { checkAnswer, inputOrigin } from '../tool/index.ts'
import { copyJson } from './copy-json.ts'
import type { JournalState } from './journal-state.ts'
import { findPosted } from './posted-entries.ts'
import { nothingToContinueError, waitsForAnswersError } from './refusal.ts'
import type { TurnRequest } from './turn-request.ts'

/** The open requests, oldest first. */
export async function openRequests(
  { store, key, session }: Pick<JournalState, 'store' | 'key' | 'session'>,
  now: number,
): Promise<readonly RequestData[]> {
  const requests = stillOpen(session).requests.filter(({ expiresAt = now + 1 }) => expiresAt > now)
  const entries = await Promise.all(requests.map(({ seq }) => store.read(key, { from: seq, to: seq })))
  return entries.flat().map((entry) => dataOf(entry, 'request.start'))
}

export interface AnswerRequest {
  readonly check: (journal: JournalState) => Promise<void>
  readonly keys: readonly string[]
  readonly repeats?: string
  readonly posts: () => readonly NewInboxEntry[]
}

/** The origins of answers that no person gave, by request id. */
export type AnswerOrigins = Readonly<Record<string, InputOrigin>>

/** The option of an answer to a child conversation that holds the origins of the answers to its caller. */
export const ANSWER_ORIGINS: unique symbol = Symbol('holdfast.answer-origins')

export interface AnswerPorts {
  readonly ids: Ids
  readonly clock: Clock
  /** Without them, the origin of an answer is that of the running code. */
  readonly origins?: AnswerOrigins
  /** The sender's idempotency key: answers that were posted under it before are not posted again. */
  readonly idempotencyKey?: string
}

/** The turn request for these answers. */
export function answerRequest(
  answers: Readonly<Record<string, Json>>,
  fields: JsonObject,
  { ids, clock, origins, idempotencyKey }: AnswerPorts,
): AnswerRequest {
  const { origin: here } = inputOrigin()
  const posts = Object.entries(copyJson('answers', answers)).map(([requestId, value]): NewInboxEntry => {
    const origin = origins === undefined ? here : origins[requestId]
    const posted = origin === undefined ? {} : { origin }
    const key = idempotencyKey === undefined ? ids.next('answer') : `${idempotencyKey}/${requestId}`
    return { type: 'answer', key, data: { requestId, value, ...fields, ...posted } }
  })
  const keys = posts.map(({ key }) => key)
  const repeats = idempotencyKey === undefined ? undefined : keys[0]
  return {
    check: async (journal) => {
      try {
        await checkAnswers(journal, answers, clock.now())
      } catch (error) {
        // A repeated answer finds nothing that waits: its first sending was taken.
        if (repeats === undefined || !(await findPosted(journal.store, journal.key, repeats))) throw error
      }
    },
    keys,
    ...(repeats === undefined ? {} : { repeats }),
    posts: () => posts,
  }
}

async function checkAnswers(
  journal: JournalState,
  answers: Readonly<Record<string, Json>>,
  now: number,
): Promise<void> {
  const requests = await openRequests(journal, now)
  const ids = requests.map(({ requestId }) => requestId)
  // Validate the JSON copy: that is what gets posted.
  const copy = copyJson('answers', answers)
  const missing = Object.keys(answers).find((requestId) => copy[requestId] === undefined)
  if (missing !== undefined)
    throw invalidAnswer(journal.key.contextId, `${missing} has no answer that JSON can carry`, ids)
  if (Object.keys(copy).length === 0) throw invalidAnswer(journal.key.contextId, 'no answer was given', ids)
  for (const [requestId, value] of Object.entries(copy) as [string, Json][]) {
    const request = requests.find((candidate) => candidate.requestId === requestId)
    if (request === undefined)
      throw invalidAnswer(
        journal.key.contextId,
        `nothing waits for ${requestId === '' ? '""' : requestId}`,
        ids,
      )
    const problem = await checkAnswer(request, value)
    if (problem !== undefined) throw invalidAnswer(journal.key.contextId, `${requestId}: ${problem}`, ids)
  }
}

/** Throws if the conversation cannot continue without a new input: after its end, or while it needs only answers. */
export function checkContinuation(
  { session, key: { contextId } }: JournalState,
  { credentials, isUnprompted }: Pick<TurnRequest, 'credentials' | 'isUnprompted'>,
  now: number,
): void {
  if (isUnprompted) return
  const isAuthorised = credentials !== undefined
  const { outcome, stopped, parked: { requests = [] } = {} } = session
  if (outcome === undefined || (outcome === 'stop' && stopped === undefined))
    throw nothingToContinueError(contextId, outcome)
  const waiting = requests.filter(
    ({ from, expiresAt }) =>
      (expiresAt ?? Number.POSITIVE_INFINITY) > now && !(from === 'credentials' && isAuthorised),
  )
  if (waiting.length === 0 || waiting.length < requests.length) return
  const ids = waiting.map(({ requestId }) => requestId)
  throw waitsForAnswersError(contextId, ids)
}

function invalidAnswer(contextId: string, why: string, ids: readonly string[]): HoldfastError {
  const open = ids.length === 0 ? 'Nothing is waiting.' : `Waiting: ${ids.join(', ')}.`
  return new HoldfastError('invalid-answer', {
    message: `The answer was not sent: ${why.replace(/\.$/, '')}. ${open}`,
    details: { contextId, requests: [...ids] },
  })
}
