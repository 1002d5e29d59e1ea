/** Answers are checked before they are sent: who gives a wrong one is told at once, and the request stays open. */
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
import { nothingToContinue, waitsForAnswers } from './refusal.ts'

/** What waits for an answer, oldest first. */
export async function openRequests(journal: JournalState, now: number): Promise<readonly RequestData[]> {
  const { store, key } = journal
  const requests = stillOpen(journal.session).requests.filter(({ expiresAt = now + 1 }) => expiresAt > now)
  const entries = await Promise.all(requests.map(({ seq }) => store.read(key, { from: seq, to: seq })))
  return entries.flat().map((entry) => dataOf(entry, 'request.start'))
}

export interface Answering {
  readonly check: (journal: JournalState) => Promise<void>
  readonly keys: readonly string[]
  readonly posts: () => readonly NewInboxEntry[]
}

/** Where answers were posted that no person gave, by the ids of their requests. */
export type AnswerOrigins = Readonly<Record<string, InputOrigin>>

/** Options of an answer that a caller hands down: the origins are those that it was given itself. */
export const HANDED_DOWN: unique symbol = Symbol('holdfast.handed-down')

/** What has to be wished for, for these answers to be heard. Without `origins`, they are those of the running code. */
export function answering(
  answers: Readonly<Record<string, Json>>,
  asked: JsonObject,
  { ids, clock, origins }: { readonly ids: Ids; readonly clock: Clock; readonly origins?: AnswerOrigins },
): Answering {
  const { origin: here } = inputOrigin()
  const posts = Object.entries(copyJson('answers', answers)).map(([requestId, value]): NewInboxEntry => {
    const origin = origins === undefined ? here : origins[requestId]
    const posted = origin === undefined ? {} : { origin }
    return { type: 'answer', key: ids.next('answer'), data: { requestId, value, ...asked, ...posted } }
  })
  return {
    check: (journal) => checkAnswers(journal, answers, clock.now()),
    keys: posts.map(({ key }) => key),
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
  // What is posted is what JSON makes of it, so that is what is looked at.
  const given = copyJson('answers', answers)
  const lost = Object.keys(answers).find((requestId) => given[requestId] === undefined)
  if (lost !== undefined) throw wrong(journal.key.contextId, `${lost} has no answer that JSON can carry`, ids)
  if (Object.keys(given).length === 0) throw wrong(journal.key.contextId, 'no answer was given', ids)
  for (const [requestId, value] of Object.entries(given) as [string, Json][]) {
    const request = requests.find((candidate) => candidate.requestId === requestId)
    if (request === undefined)
      throw wrong(journal.key.contextId, `nothing waits for ${requestId === '' ? '""' : requestId}`, ids)
    const problem = await checkAnswer(request, value)
    if (problem !== undefined) throw wrong(journal.key.contextId, `${requestId}: ${problem}`, ids)
  }
}

/** May the conversation go on without anything new? Not after its end, and not while all that it needs is an answer. */
export function checkContinuation(
  { session, key: { contextId } }: JournalState,
  { now, isAuthorised }: { readonly now: number; readonly isAuthorised: boolean },
): void {
  const { outcome, stopped, parked: { requests = [] } = {} } = session
  if (outcome === undefined || (outcome === 'stop' && stopped === undefined))
    throw nothingToContinue(contextId, outcome)
  const waiting = requests.filter(
    ({ from, expiresAt }) =>
      (expiresAt ?? Number.POSITIVE_INFINITY) > now && !(from === 'credentials' && isAuthorised),
  )
  if (waiting.length === 0 || waiting.length < requests.length) return
  const ids = waiting.map(({ requestId }) => requestId)
  throw waitsForAnswers(contextId, ids)
}

function wrong(contextId: string, why: string, ids: readonly string[]): HoldfastError {
  const open = ids.length === 0 ? 'Nothing is waiting.' : `Waiting: ${ids.join(', ')}.`
  return new HoldfastError('invalid-answer', {
    message: `The answer was not sent: ${why.replace(/\.$/, '')}. ${open}`,
    details: { contextId, requests: [...ids] },
  })
}
