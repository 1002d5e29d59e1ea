/**
 * The port for logs, metrics and spans: what happens to the turns that this process drives. Implementations must not
 * wait and cannot fail a turn: their exceptions are reported once, as a warning of the process, and ignored.
 */
import { isPromise, warnOnce } from '../base/index.ts'
import type { Session } from '../journal/index.ts'
import {
  type ContextKey,
  type DeltaEvent,
  type Entry,
  invalidOption,
  type Json,
  type JsonObject,
  type Message,
  shown,
} from '../protocol/index.ts'
import { type Redactor, thrownText } from '../tool/index.ts'

export interface Telemetry {
  /** Called once for each conversation of an agent or a graph that this process opens; undefined to ignore it. */
  readonly context: (of: ObservedContext) => ContextTelemetry | undefined
}

export interface ObservedContext {
  readonly key: ContextKey
  /** The name of the agent or the graph. */
  readonly name: string
  readonly kind: 'agent' | 'graph'
  /** The folded journal as this process knows it, entries of the last append included. */
  readonly session: () => Session
  /** The entries of a turn from the journal, for one that began in another process. */
  readonly read: (turn: number) => Promise<readonly Entry[]>
}

export interface ContextTelemetry {
  /**
   * A turn is about to begin here, and may still be refused. Called in the async context of its request. The result is
   * stored with its start. `key`: of the input or answer that begins it.
   */
  readonly begin?: (turn: number, key?: string) => { readonly traceparent: string } | undefined
  /** This process takes over the open turn. `traceparent`: as stored with its start. */
  readonly resume?: (turn: number, traceparent?: string) => void
  /** Every entry that this process appends, once it is durable, in order. Secrets are removed. */
  readonly entry?: (entry: Entry) => void
  /** Text as it streams, progress, and turns that were refused. Never stored. Secrets are removed. */
  readonly delta?: (event: DeltaEvent) => void
  /** Must call `work` once, at once; may do so inside of an async context of its own, and watch its promise. */
  readonly step?: (step: ObservedStep, work: () => Promise<unknown>) => void
  /** Runs the turn up to its next batch, hooks and functions of the config among it. Must call `work` as `step` must. */
  readonly within?: (turn: number, work: () => Promise<unknown>) => void
  /** An exception of user code: the journal has its message, this has its stack. Secrets are removed. */
  readonly thrown?: (by: ErrorSource, error: Error) => void
  /** This process no longer drives its turn, which has not ended: it is paused, released, broken, or lost. */
  readonly leave?: () => void
  /** The last reply is durable, and `onComplete` hooks run next. The only thing that a turn waits for. */
  readonly completing?: (turn: number) => Promise<void> | void
}

/** A model call as it is sent, a tool, a node of a graph, or an effect inside of one. */
export type ObservedStep =
  | {
      readonly kind: 'model'
      readonly turn: number
      readonly iteration: number
      /** As configured, such as `openai/gpt-4.1-mini`. */
      readonly model: string
      readonly provider: string
      readonly modelId: string
      readonly request: ObservedRequest
    }
  | {
      readonly kind: 'tool' | 'effect'
      readonly turn: number
      readonly callId: string
      readonly name: string
      readonly description?: string
      readonly args?: Json
    }
  | { readonly kind: 'node'; readonly turn: number; readonly task: string; readonly name: string }

/** The parts of a model request, without headers and keys. */
export interface ObservedRequest {
  readonly system?: string
  readonly messages: readonly Message[]
  readonly tools: readonly {
    readonly name: string
    readonly description?: string
    readonly parameters?: JsonObject
  }[]
  readonly settings: Readonly<Record<string, unknown>>
}

/** User code that threw: `tool order`, `hook audit/beforeTools`, `node plan`, `function systemPrompt`. */
export interface ErrorSource {
  readonly kind: 'tool' | 'hook' | 'node' | 'effect' | 'model' | 'function' | 'turn'
  readonly name: string
  readonly turn: number
  /** The call, or the task of a node. */
  readonly callId?: string
}

/** Checks the option: one observer, or a list of them. */
export function telemetryOption(option: Telemetry | readonly Telemetry[] | undefined): readonly Telemetry[] {
  const all = option === undefined ? [] : [option].flat()
  for (const each of all as readonly unknown[])
    if (typeof (each as Partial<Telemetry> | null)?.context !== 'function')
      throw invalidOption(
        'telemetry',
        `must be an observer with context(), such as otel(), not ${shown(each)}`,
      )
  return all
}

/** The observers of one conversation as one, with their exceptions contained; undefined if there are none. */
export function observe(
  telemetry: readonly Telemetry[] | undefined,
  of: ObservedContext,
): Required<ContextTelemetry> | undefined {
  const all = (telemetry ?? []).flatMap((each) => contained(() => each.context(of)) ?? [])
  if (all.length === 0) return undefined
  const steppers = all.filter((each) => each.step !== undefined)
  const surrounding = all.filter((each) => each.within !== undefined)
  return {
    begin: (turn, key) => first(all, (each) => each.begin?.(turn, key)),
    resume: (turn, traceparent) => {
      for (const each of all) contained(() => each.resume?.(turn, traceparent))
    },
    entry: (entry) => {
      for (const each of all) contained(() => each.entry?.(entry))
    },
    step: (step, work) => nested(steppers, work, (each, inner) => each.step?.(step, inner)),
    within: (turn, work) => nested(surrounding, work, (each, inner) => each.within?.(turn, inner)),
    delta: (event) => {
      for (const each of all) if (each.delta !== undefined) contained(() => each.delta?.(event))
    },
    thrown: (by, error) => {
      for (const each of all) contained(() => each.thrown?.(by, error))
    },
    leave: () => {
      for (const each of all) contained(() => each.leave?.())
    },
    completing: async (turn) => {
      for (const each of all)
        if (each.completing !== undefined) await contained(async () => each.completing?.(turn))?.catch(report)
    },
  }
}

function first<T>(
  all: readonly ContextTelemetry[],
  ask: (each: ContextTelemetry) => T | undefined,
): T | undefined {
  const answers = all.map((each) => contained(() => ask(each)))
  return answers.find((answer) => answer !== undefined)
}

type Work = () => Promise<unknown>

/** Calls `work` once, whatever the observers around it do. */
function nested(
  all: readonly ContextTelemetry[],
  work: Work,
  around: (each: ContextTelemetry, inner: Work) => void,
): void {
  const outermost = all.reduceRight<Work>((inner, each) => {
    const once = onceOnly(inner)
    return () => {
      contained(() => around(each, once))
      return once()
    }
  }, work)
  void outermost()
}

export function onceOnly<T>(work: () => T): () => T {
  let done: { readonly result: T } | undefined
  return () => (done ??= { result: work() }).result
}

/**
 * Runs code of an observer: its exceptions, and rejections of the promise that it may return, are reported and ignored.
 *
 * @param who the subject of the warning
 */
export function contained<T>(work: () => T, who?: string): T | undefined {
  try {
    const result = work()
    if (isPromise(result)) result.then(undefined, (error: unknown) => report(error, who))
    return result
  } catch (error) {
    report(error, who)
    return undefined
  }
}

function report(error: unknown, who = 'An observer of turns'): void {
  warnOnce(`${who} failed, and was ignored: ${thrownText(error)}`)
}

/** The exception without secrets, as an error of its own: nothing of the original object is passed on. */
export function safeError(error: unknown, secrets: Redactor): Error {
  const [name, stack, code] = ['name', 'stack', 'code'].map((field) => fieldOf(error, field))
  const safe = new Error(thrownText(error, secrets))
  safe.name = typeof name === 'string' ? secrets.ended(name) : 'Error'
  safe.stack = typeof stack === 'string' ? secrets.ended(stack) : `${safe.name}: ${safe.message}`
  return typeof code === 'string' ? Object.assign(safe, { code: secrets.ended(code) }) : safe
}

/** Undefined if it cannot be read: anything can be thrown. */
function fieldOf(error: unknown, field: string): unknown {
  if (typeof error !== 'object' || error === null) return undefined
  try {
    return (error as Record<string, unknown>)[field]
  } catch {
    return undefined
  }
}
