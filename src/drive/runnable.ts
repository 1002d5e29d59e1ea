/**
 * Runs an agent or a graph below a turn, in a journal of its own (R17). A run attaches or starts, so a repeated run
 * finds the earlier work. Its events are forwarded to the caller, its questions are asked by the caller, and its usage
 * counts for the caller.
 */

import type { Limits } from '../loop/index.ts'
import type { Json, JsonObject, Principal, RequestData, Sighting, TurnEvent } from '../protocol/index.ts'
import { type AskRequest, type Credentials, FROM_BELOW } from '../tool/index.ts'
import type { AnswerOrigins } from './answers.ts'
import type { ChildScope } from './child-scope.ts'
import { attachCause, type TurnOutcome, type TurnView } from './turn.ts'

export interface Runnable<in I, out O> {
  readonly '~run': (below: ChildContext, input: I) => Promise<ChildResult<O>>
}

/** The context that the caller passes down. */
export interface ChildContext {
  readonly childScope: ChildScope
  /** The name below the caller's conversation; the same on every run. */
  readonly name: string
  /** The name of a conversation that later runs of the caller share. Undefined: each run has a conversation of its own. */
  readonly sharedName?: string
  /** The caller's attempt, 1 by default: a later attempt continues what failed in an earlier one. */
  readonly attempt?: number
  readonly principal: Principal
  readonly credentials?: Credentials
  readonly metadata: JsonObject
  readonly signal: AbortSignal
  /** The answers to the caller, by the request ids of the child. */
  readonly answers: Readonly<Record<string, Json>>
  readonly limits: Limits
}

/**
 * `requests` of the outcome: the open requests. `usage`: of all turns of the child, those that ended to wait included.
 * `output`: present when the child has completed.
 */
export interface ChildResult<O> {
  readonly outcome: TurnOutcome
  readonly output?: O
  /** The newest sightings by tools and nodes of the child. */
  readonly seen?: readonly Sighting[]
}

/** A conversation below another, in this process. */
export interface Child {
  start(): Promise<void>
  /** The open requests that have not expired. */
  requests(): Promise<readonly RequestData[]>
  /** The running turn, if there is one. */
  turnNow(): TurnView | undefined
  lastTurn(): Promise<TurnView | undefined>
  /** `origins`: of answers that no person gave. */
  answer(answers: Readonly<Record<string, Json>>, origins: AnswerOrigins): TurnView
  /** Continues after the requests that it waited for have expired. */
  continueTurn(): TurnView
  begin(): TurnView
  shutdown(): Promise<void>
}

/** Attaches or starts, and runs until the child ends or waits for an answer. */
export async function runChild(child: Child, below: ChildContext): Promise<TurnOutcome> {
  await child.start()
  try {
    for (;;) {
      const turn = await resumeOrBegin(child, below)
      for await (const event of turn) below.childScope.forward(under(below.name, event))
      const outcome = await turn.outcome
      if (outcome.status === 'cancelled' && (await isOfEarlier(turn, below))) continue
      const requests = await child.requests()
      // Its requests may have expired meanwhile: then it can continue.
      if (!waits(outcome) || requests.length > 0) return attachCause({ ...outcome, requests }, outcome.cause)
    }
  } finally {
    await child.shutdown()
  }
}

/** False for a turn that a limit stopped: it can continue. */
export function isComplete({ status, limit }: TurnOutcome): boolean {
  return status === 'completed' && limit === undefined
}

function waits({ status }: TurnOutcome): boolean {
  return status === 'input-required' || status === 'auth-required'
}

async function resumeOrBegin(
  child: Child,
  { answers, childScope, signal, attempt = 1 }: ChildContext,
): Promise<TurnView> {
  const matching = await answersFor(child, answers)
  if (Object.keys(matching).length > 0) return child.answer(matching, childScope.answerOrigins ?? {})
  const running = child.turnNow()
  if (running !== undefined) {
    const cancel = (): void => void running.cancel('cancelled by its caller').catch(() => {})
    // The caller may have been cancelled while the child was opened.
    if (signal.aborted) cancel()
    else signal.addEventListener('abort', cancel, { once: true })
    return running
  }
  const last = await child.lastTurn()
  if (last === undefined) return child.begin()
  const outcome = await last.outcome
  if (waits(outcome)) return (await child.requests()).length === 0 ? child.continueTurn() : last
  // Cancelled together with its caller, which continues.
  if (outcome.status === 'cancelled') return child.continueTurn()
  return isComplete(outcome) || (await attemptOf(last)) >= attempt ? last : child.continueTurn()
}

/** The metadata field of the caller's attempt. */
const ATTEMPT = '~attempt'

/** The metadata stored with the turns of a child. */
export function metadataBelow({ metadata, attempt = 1 }: ChildContext): JsonObject {
  return attempt > 1 ? { ...metadata, [ATTEMPT]: attempt } : metadata
}

/** True for the turn of an earlier attempt that the caller cancelled, and not with this one: this one continues it. */
async function isOfEarlier(turn: TurnView, { attempt = 1, signal }: ChildContext): Promise<boolean> {
  return !signal.aborted && (await attemptOf(turn)) < attempt
}

async function attemptOf(turn: TurnView): Promise<number> {
  const { [ATTEMPT]: attempt } = await metadataOf(turn)
  return typeof attempt === 'number' ? attempt : 1
}

/** The metadata that the turn was requested with. */
export async function metadataOf(turn: TurnView): Promise<JsonObject> {
  for await (const event of turn) if (event.type === 'turn.start') return event.data.metadata ?? {}
  return {}
}

async function answersFor(
  child: Child,
  answers: Readonly<Record<string, Json>>,
): Promise<Record<string, Json>> {
  const matching: Record<string, Json> = {}
  for (const { requestId } of await child.requests()) {
    const value = answers[requestId]
    if (value !== undefined) matching[requestId] = value
  }
  return matching
}

type QuestionBelow = AskRequest & { readonly name: string; readonly [FROM_BELOW]: true }

/** A child's question as the caller asks it, with the same expiry. */
export function questionFrom(request: RequestData, now: number): QuestionBelow {
  const { requestId, kind, prompt, options, multiple, schema, about, expiresAt } = request
  return {
    kind: kind as AskRequest['kind'],
    prompt,
    name: requestId,
    ...(options === undefined ? {} : { options }),
    ...(multiple === undefined ? {} : { multiple }),
    ...(schema === undefined ? {} : { schema }),
    ...(about === undefined ? {} : { about }),
    ...(expiresAt === undefined ? {} : { expiresInMs: Math.max(1, expiresAt - now) }),
    [FROM_BELOW]: true,
  }
}

function under(name: string, event: TurnEvent): TurnEvent {
  return { ...event, path: [name, ...(event.path ?? [])] }
}
