/** The observers of a conversation's turns: in the async context of each request, and across drivers. */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Session } from '../journal/index.ts'
import { dataOf, type LoopScope, type ObservedContext, onceOnly, type Telemetry } from '../loop/index.ts'
import type { ContextKey } from '../protocol/index.ts'
import type { Store } from '../store/index.ts'
import { observeContext } from './observe-context.ts'
import type { Loop } from './state.ts'
import type { TurnRequest } from './turn-request.ts'

export interface ObservedTurns {
  readonly key: ContextKey
  readonly store: Store
  /** The name and kind that observers get. */
  readonly observed: Pick<ObservedContext, 'name' | 'kind'>
  /** Observers of the turns here and below. */
  readonly telemetry?: readonly Telemetry[]
}

interface ObservedState {
  readonly requests: ReadonlyMap<unknown, TurnRequest>
  readonly toContinue: () => TurnRequest | undefined
  readonly session: () => Session
}

type Observers = NonNullable<LoopScope['telemetry']>

/**
 * A turn begins in the async context of its request: the pump runs in that of an earlier one. `toContinue`: the request
 * of a turn without an input.
 */
export function observeTurns(
  options: ObservedTurns,
  { requests, toContinue, session }: ObservedState,
): Observers | undefined {
  const all = observeContext(options, session)
  if (all === undefined) return undefined
  const begin: Observers['begin'] = (turn, inputKey) => {
    const isIts = ({ keys = [] }: TurnRequest): boolean => inputKey !== undefined && keys.includes(inputKey)
    const request = inputKey === undefined ? toContinue() : [...requests.values()].find(isIts)
    const start = () => all.begin(turn, inputKey)
    return request?.within === undefined ? start() : request.within(start)
  }
  return { ...all, begin }
}

/** The caller's async context, if there are observers. */
export function callersContext({ telemetry = [] }: Pick<ObservedTurns, 'telemetry'>): TurnRequest['within'] {
  return telemetry.length === 0 ? undefined : AsyncLocalStorage.snapshot()
}

/** The loop's next batch. Hooks and functions of the config run on the way to it. */
export function nextBatch({ telemetry }: { telemetry?: Observers | undefined }, of: ObservedLoop): NextBatch {
  const next = (): NextBatch => of.loop.batches.next()
  if (telemetry === undefined) return next()
  const once = onceOnly(next)
  telemetry.within(of.turn, once)
  return once()
}

interface ObservedLoop {
  readonly turn: number
  readonly loop: Loop
}

type NextBatch = ReturnType<Loop['batches']['next']>

/** Observers get the trace that a taken-over turn began with. */
export async function resumeObserved(
  { telemetry, store, key }: { telemetry?: Observers | undefined; store: Store; key: ContextKey },
  { open }: Session,
): Promise<void> {
  if (telemetry === undefined || open === undefined) return
  const [start] = await store.read(key, { from: open.startSeq, to: open.startSeq }).catch(() => [])
  const isStart = start?.type === 'turn.start'
  telemetry.resume(open.turn, isStart ? dataOf(start, 'turn.start').traceparent : undefined)
}
