/** The observers of a conversation: they receive its entries, its deltas, its turns across drivers, and those it refused. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { readTurn, type Session } from '../journal/index.ts'
import {
  type ContextTelemetry,
  dataOf,
  type LoopScope,
  type ObservedContext,
  observe,
  onceOnly,
  safeError,
  type Telemetry,
} from '../loop/index.ts'
import { type ContextKey, type DeltaEvent, HoldfastError } from '../protocol/index.ts'
import type { Store } from '../store/index.ts'
import { type Credentials, NO_SECRETS, type Redactor, redactorOf } from '../tool/index.ts'
import type { DriverOptions } from './driver-options.ts'
import type { Loop } from './state.ts'
import type { Subscribers } from './subscribers.ts'
import type { TurnOutcome } from './turn.ts'
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
  const { key, store, observed, telemetry } = options
  const all = observe(telemetry, { key, ...observed, session, read: (turn) => readTurn(store, key, turn) })
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

/** Publishes entries and deltas to subscribers and observers; to these, entries when they are durable. */
export function publishTo(
  subscribers: Subscribers,
  telemetry: Required<ContextTelemetry> | undefined,
  turn: () => number,
): Pick<DriverOptions, 'onEntry' | 'emit'> {
  return {
    onEntry: (entry, how) => {
      if (how !== 'unsaved') telemetry?.entry(entry)
      subscribers.receive(entry, how)
    },
    emit: (type, data) => {
      const event = { type, turn: turn(), data } as DeltaEvent
      telemetry?.delta(event)
      subscribers.delta(event)
    },
  }
}

/** Reports a turn that never began, and the exception of user code that is its cause. */
export function observeRefusal(
  telemetry: Required<ContextTelemetry> | undefined,
  { turn, error, cause }: TurnOutcome,
  credentials: Credentials | undefined,
): void {
  if (telemetry === undefined || turn > 0 || error === undefined) return
  const secrets = secretsOf(credentials)
  if (secrets === undefined) return
  const { code, message } = error
  telemetry.delta({ type: 'turn.refused', turn: 0, data: { code, message: secrets.ended(message) } })
  if (cause !== undefined && !HoldfastError.is(cause))
    telemetry.thrown({ kind: 'turn', name: code, turn: 0 }, safeError(cause, secrets))
}

/** Undefined for credentials that cannot be recognised: then nothing can be said safely. */
function secretsOf(credentials: Credentials | undefined): Redactor | undefined {
  try {
    return credentials === undefined ? NO_SECRETS : redactorOf(credentials)
  } catch {
    return undefined
  }
}
