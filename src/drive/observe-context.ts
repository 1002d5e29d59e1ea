/** The observers of one conversation: they receive its entries, its deltas and the turns that it refused. */
import { readTurn, type Session } from '../journal/index.ts'
import {
  type ContextTelemetry,
  type ObservedContext,
  observe,
  safeError,
  type Telemetry,
} from '../loop/index.ts'
import { type ContextKey, type DeltaEvent, HoldfastError } from '../protocol/index.ts'
import type { Store } from '../store/index.ts'
import { type Credentials, NO_SECRETS, type Redactor, redactorOf } from '../tool/index.ts'
import type { DriverOptions } from './driver-options.ts'
import type { Subscribers } from './subscribers.ts'
import type { TurnOutcome } from './turn.ts'

interface ObservedOptions {
  readonly key: ContextKey
  readonly store: Store
  readonly observed: Pick<ObservedContext, 'name' | 'kind'>
  readonly telemetry?: readonly Telemetry[]
}

export function observeContext(
  { key, store, observed, telemetry }: ObservedOptions,
  session: () => Session,
): Required<ContextTelemetry> | undefined {
  return observe(telemetry, { key, ...observed, session, read: (turn) => readTurn(store, key, turn) })
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
