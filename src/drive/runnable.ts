/**
 * What can be run below a turn, in a journal of its own (R17): an agent, a graph. Running it is attach-or-start, so whoever
 * is run again finds what was done before. Its events come out under the caller's, its questions are asked by the caller,
 * and what it uses counts for the caller.
 */

import type { Limits } from '../loop/index.ts'
import type { Json, JsonObject, Principal, RequestData, Sighting, TurnEvent } from '../protocol/index.ts'
import type { AskRequest, Credentials } from '../tool/index.ts'
import type { AnswerOrigins } from './answers.ts'
import { giveCause } from './cause.ts'
import type { ChildScope } from './child-scope.ts'
import type { TurnOutcome, TurnView } from './turn.ts'

export interface Runnable<in I, out O> {
  readonly '~run': (below: ChildContext, input: I) => Promise<ChildResult<O>>
}

/** What the caller lends. */
export interface ChildContext {
  readonly childScope: ChildScope
  /** What it is called below the caller's conversation; the same when it is run again. */
  readonly name: string
  /** Which attempt of the caller this is: what failed in an earlier one is gone on with. 1 unless said otherwise. */
  readonly attempt?: number
  readonly principal: Principal
  /** If there are any. */
  readonly credentials?: Credentials
  readonly metadata: JsonObject
  readonly signal: AbortSignal
  /** What the caller was told, by the ids that the questions have here. */
  readonly answers: Readonly<Record<string, Json>>
  readonly limits: Limits
}

/**
 * `requests` of the outcome: what it waits for. `usage`: of all its turns, those that ended to wait included. `output` is
 * there when it has come to its end.
 */
export interface ChildResult<O> {
  readonly outcome: TurnOutcome
  readonly output?: O
  /** The newest things that tools and nodes there have shown. */
  readonly seen?: readonly Sighting[]
}

/** A conversation below another, in this process. */
export interface Child {
  start(): Promise<void>
  /** What waits for an answer and can still be given one. */
  requests(): Promise<readonly RequestData[]>
  /** The turn that runs, if one does. */
  turnNow(): TurnView | undefined
  lastTurn(): Promise<TurnView | undefined>
  /** `origins`: of answers that no person gave. */
  answer(answers: Readonly<Record<string, Json>>, origins: AnswerOrigins): TurnView
  /** Goes on where it stopped to wait, when what it waited for has expired. */
  goOn(): TurnView
  begin(): TurnView
  shutdown(): Promise<void>
}

/** Attach or start: to its end, or until it waits for somebody. */
export async function runChild(child: Child, below: ChildContext): Promise<TurnOutcome> {
  await child.start()
  try {
    for (;;) {
      const turn = await takeUp(child, below)
      for await (const event of turn) below.childScope.forward(under(below.name, event))
      const outcome = await turn.outcome
      const requests = await child.requests()
      // What it waits for may have expired meanwhile: then there is nothing to ask, and it can go on.
      if (!waits(outcome) || requests.length > 0) return giveCause({ ...outcome, requests }, outcome.cause)
    }
  } finally {
    await child.shutdown()
  }
}

/** A limit stops it before its end: what was reached is there, and it can go on. */
export function isComplete({ status, limit }: TurnOutcome): boolean {
  return status === 'completed' && limit === undefined
}

function waits({ status }: TurnOutcome): boolean {
  return status === 'input-required' || status === 'auth-required'
}

async function takeUp(
  child: Child,
  { answers, childScope, signal, attempt = 1 }: ChildContext,
): Promise<TurnView> {
  const told = await answersFor(child, answers)
  if (Object.keys(told).length > 0) return child.answer(told, childScope.answerOrigins ?? {})
  const running = child.turnNow()
  if (running !== undefined) {
    signal.addEventListener('abort', () => void running.cancel('cancelled by its caller').catch(() => {}))
    return running
  }
  const last = await child.lastTurn()
  if (last === undefined) return child.begin()
  const outcome = await last.outcome
  if (waits(outcome)) return (await child.requests()).length === 0 ? child.goOn() : last
  // It was cancelled with its caller, which goes on.
  if (outcome.status === 'cancelled') return child.goOn()
  return isComplete(outcome) || (await attemptOf(last)) >= attempt ? last : child.goOn()
}

/** Under which its turns say which attempt of the caller they were for. */
const ATTEMPT = '~attempt'

/** What is stored with the turns of a child. */
export function metadataBelow({ metadata, attempt = 1 }: ChildContext): JsonObject {
  return attempt > 1 ? { ...metadata, [ATTEMPT]: attempt } : metadata
}

async function attemptOf(turn: TurnView): Promise<number> {
  for await (const event of turn) {
    if (event.type !== 'turn.start') continue
    const attempt = event.data.metadata?.[ATTEMPT]
    return typeof attempt === 'number' ? attempt : 1
  }
  return 1
}

async function answersFor(
  child: Child,
  answers: Readonly<Record<string, Json>>,
): Promise<Record<string, Json>> {
  const told: Record<string, Json> = {}
  for (const { requestId } of await child.requests()) {
    const value = answers[requestId]
    if (value !== undefined) told[requestId] = value
  }
  return told
}

/** A question from below as the caller asks it; it expires when it does there. */
export function questionFrom(request: RequestData, now: number): AskRequest & { readonly name: string } {
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
  }
}

function under(name: string, event: TurnEvent): TurnEvent {
  return { ...event, path: [name, ...(event.path ?? [])] }
}
