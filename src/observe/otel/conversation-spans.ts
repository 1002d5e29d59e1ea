/**
 * The spans of one conversation in this process. The turn's ends with its `turn.end`, a step's with the entry that has its
 * result, and all of them when this process leaves the turn. An end is dated when the work settled.
 */
import { systemClock } from '../../base/index.ts'
import type { ContextTelemetry, ErrorSource, ObservedStep } from '../../loop/index.ts'
import {
  type AssistantPart,
  type Entry,
  type EntryData,
  type EntryType,
  isWaiting,
  type JsonObject,
  type Usage,
} from '../../protocol/index.ts'
import { finishReason, inputMessages, outputMessages, userMessage } from './content.ts'
import type { ModelMetrics } from './metrics.ts'
import { ATTRIBUTE, EVENT } from './names.ts'
import type { Started, Tracing } from './tracing.ts'

interface StepSpan extends Started {
  readonly startedAt: number
  settledAt?: number
  /** The type of the exception that was recorded. */
  thrown?: string
}

interface TurnSpan extends Started {
  /** By call or task, oldest first: a step may be repeated before its first entry is durable. */
  readonly steps: Map<string, StepSpan[]>
  reply?: Pick<EntryData['model.end'], 'content' | 'finish'>
}

/** Messages that another process takes are never taken here. */
const MOST_INPUTS = 1000
/** One model call runs at a time. */
const MODEL = 'model'
/** The conventions' fallback for `error.type`. */
const OTHER = '_OTHER'

type Handlers = { readonly [T in EntryType]?: (data: EntryData[T], entry: Entry) => void }

export class ConversationSpans implements ContextTelemetry {
  readonly #tracing: Tracing
  readonly #metrics: ModelMetrics
  /** A turn that may still be refused: its span is then neither ended nor exported. */
  #begun: { readonly turn: number; readonly started: TurnSpan } | undefined
  readonly #turns = new Map<number, TurnSpan>()
  /** Names of the tools of unsettled calls. */
  readonly #tools = new Map<string, string>()
  /** Messages that no turn has taken, by position; only with captured content. */
  readonly #inputs = new Map<number, EntryData['input']>()

  constructor(tracing: Tracing, metrics: ModelMetrics) {
    this.#tracing = tracing
    this.#metrics = metrics
  }

  begin(turn: number): { readonly traceparent: string } | undefined {
    const started: TurnSpan = { ...this.#tracing.turn(turn), steps: new Map() }
    this.#begun = { turn, started }
    const traceparent = this.#tracing.traceparent(started)
    return traceparent === undefined ? undefined : { traceparent }
  }

  resume(turn: number, traceparent?: string): void {
    const links = this.#tracing.links(traceparent)
    this.#turns.set(turn, { ...this.#tracing.turn(turn, links), steps: new Map() })
  }

  entry(entry: Entry): void {
    const handle = this.#handlers[entry.type as EntryType] as ((data: unknown, of: Entry) => void) | undefined
    handle?.(entry.data, entry)
  }

  step(step: ObservedStep, work: () => Promise<unknown>): void {
    const turn = this.#turns.get(step.turn)
    if (turn === undefined) return void work()
    const span: StepSpan = { ...this.#tracing.step(step, turn), startedAt: systemClock.elapsed() }
    const key = keyOf(step)
    turn.steps.set(key, [...(turn.steps.get(key) ?? []), span])
    const settle = (): void => void (span.settledAt = systemClock.elapsed())
    this.#tracing.api.context.with(span.context, work).then(settle, settle)
  }

  within(turn: number, work: () => Promise<unknown>): void {
    const { context } = this.#turns.get(turn) ?? {}
    void (context === undefined ? work() : this.#tracing.api.context.with(context, work))
  }

  thrown({ kind, turn: number, callId = '' }: ErrorSource, error: Error): void {
    const turn = this.#turns.get(number)
    const isStep = kind === 'tool' || kind === 'effect' || kind === 'node' || kind === 'model'
    const step = isStep ? turn?.steps.get(kind === 'model' ? MODEL : callId)?.at(-1) : undefined
    if (step !== undefined) step.thrown = typeOf(error)
    ;(step ?? turn)?.span.recordException(error)
  }

  leave(): void {
    this.#begun = undefined
    for (const turn of this.#turns.values()) {
      turn.span.setAttribute(ATTRIBUTE.interrupted, true)
      endAll(turn)
    }
    this.#turns.clear()
  }

  readonly #handlers: Handlers = {
    input: (data, { seq }) => {
      if (!this.#tracing.isCapturing || data.values !== undefined) return
      this.#inputs.set(seq, data)
      if (this.#inputs.size > MOST_INPUTS) this.#inputs.delete(this.#inputs.keys().next().value ?? 0)
    },
    take: (_, { takes = [] }) => this.#taken(takes),
    'turn.start': (_, { turn, takes = [] }) => {
      const inputs = this.#taken(takes)
      if (this.#begun?.turn !== turn) return
      const { started } = this.#begun
      this.#begun = undefined
      this.#turns.set(turn, started)
      if (inputs.length > 0 && this.#tracing.captures(started))
        started.span.setAttribute(
          ATTRIBUTE.inputMessages,
          inputMessages(inputs.map(({ message }) => userMessage(message))),
        )
    },
    'model.end': (data, { turn }) => this.#modelEnd(data, this.#turns.get(turn)),
    'tool.start': ({ callId, tool }) => void this.#tools.set(callId, tool),
    'tool.end': (data, { turn }) => {
      const tool = this.#tools.get(data.callId)
      this.#tools.delete(data.callId)
      const of = this.#turns.get(turn)
      const { callId, status } = data
      if (of === undefined) return
      if (of.steps.has(callId)) this.#callEnd(of, data)
      else
        of.span.addEvent(EVENT.settled, {
          [ATTRIBUTE.callId]: callId,
          [ATTRIBUTE.status]: status,
          ...(tool === undefined ? {} : { [ATTRIBUTE.tool]: tool }),
        })
    },
    'effect.end': (data, { turn }) => this.#callEnd(this.#turns.get(turn), data),
    'node.end': ({ task, error }, { turn }) => {
      const span = take(this.#turns.get(turn), task)
      if (span !== undefined && error !== undefined) this.#fail(span, error)
      end(span)
    },
    'request.start': ({ requestId, kind, callId }, { turn }) =>
      void this.#turns.get(turn)?.span.addEvent(EVENT.request, {
        [ATTRIBUTE.requestId]: requestId,
        [ATTRIBUTE.requestKind]: kind,
        ...(callId === undefined ? {} : { [ATTRIBUTE.callId]: callId }),
      }),
    'turn.end': (data, { turn }) => {
      const span = this.#turns.get(turn)
      this.#turns.delete(turn)
      if (!isWaiting(data.outcome)) this.#tools.clear()
      if (span !== undefined) this.#turnEnd(span, data)
    },
  }

  #taken(takes: readonly number[]): readonly EntryData['input'][] {
    const inputs = takes.flatMap((seq) => this.#inputs.get(seq) ?? [])
    for (const seq of takes) this.#inputs.delete(seq)
    return inputs
  }

  #modelEnd({ content, finish, model, usage, error }: EntryData['model.end'], turn?: TurnSpan): void {
    for (const part of content) if (part.type === 'tool-call') this.#tools.set(part.callId, part.tool)
    if (turn !== undefined) turn.reply = { content, finish }
    const step = take(turn, MODEL)
    if (step === undefined) return
    const responseModel = model === undefined ? undefined : model.slice(model.indexOf('/') + 1)
    const { span, startedAt, settledAt = systemClock.elapsed() } = step
    span.setAttributes({
      [ATTRIBUTE.finishReasons]: [finishReason(finish)],
      ...(responseModel === undefined ? {} : { [ATTRIBUTE.responseModel]: responseModel }),
      ...usageAttributes(usage),
    })
    if (this.#tracing.captures(step))
      span.setAttribute(ATTRIBUTE.outputMessages, outputMessages(content, finish))
    const errorType = error === undefined ? undefined : this.#fail(step, error)
    end(step)
    const attributes = {
      ...metricAttributes(step),
      ...(responseModel === undefined ? {} : { [ATTRIBUTE.responseModel]: responseModel }),
    }
    this.#metrics({ attributes, seconds: (settledAt - startedAt) / 1000, usage, errorType })
  }

  #callEnd(turn: TurnSpan | undefined, { callId, status, output }: EndedCall): void {
    const step = take(turn, callId)
    if (step === undefined) return
    step.span.setAttribute(ATTRIBUTE.status, status)
    if (this.#tracing.captures(step)) step.span.setAttribute(ATTRIBUTE.toolResult, JSON.stringify(output))
    if (status === 'error' || status === 'unknown') this.#fail(step, {})
    end(step)
  }

  #turnEnd(turn: TurnSpan, { outcome, usage, error, limit }: EntryData['turn.end']): void {
    const { span, reply } = turn
    span.setAttributes({
      [ATTRIBUTE.outcome]: outcome,
      ...(limit === undefined ? {} : { [ATTRIBUTE.limit]: limit }),
      ...usageAttributes(usage),
    })
    const said = reply?.content.filter(isText) ?? []
    if (reply !== undefined && said.length > 0 && this.#tracing.captures(turn))
      span.setAttribute(ATTRIBUTE.outputMessages, outputMessages(said, reply.finish))
    if (outcome === 'failed')
      this.#setFailed(turn, textOf(error?.['code']) ?? OTHER, textOf(error?.['message']))
    endAll(turn)
  }

  /** Marks a step as failed, with an exception even if none was thrown. Returns its type. */
  #fail(step: StepSpan, error: JsonObject): string {
    const message = textOf(error['message'])
    const type = textOf(error['kind']) ?? step.thrown ?? textOf(error['code']) ?? OTHER
    if (step.thrown === undefined && message !== undefined) step.span.recordException({ name: type, message })
    this.#setFailed(step, type, message)
    return type
  }

  #setFailed({ span }: Started, type: string, message?: string): void {
    const code = this.#tracing.api.SpanStatusCode.ERROR
    span.setAttribute(ATTRIBUTE.errorType, type)
    span.setStatus(message === undefined ? { code } : { code, message })
  }
}

type EndedCall = Pick<EntryData['tool.end'], 'callId' | 'status' | 'output'>

function keyOf(step: ObservedStep): string {
  if (step.kind === 'model') return MODEL
  return step.kind === 'node' ? step.task : step.callId
}

function take(turn: TurnSpan | undefined, key: string): StepSpan | undefined {
  const [step, ...later] = turn?.steps.get(key) ?? []
  if (later.length === 0) turn?.steps.delete(key)
  else turn?.steps.set(key, later)
  return step
}

function end(step: StepSpan | undefined): void {
  step?.span.end(step.settledAt)
}

/** Ends the turn's span after those of steps whose result no entry has: of a question, or of a lost turn. */
function endAll({ span, steps }: TurnSpan): void {
  for (const step of [...steps.values()].flat()) end(step)
  steps.clear()
  span.end()
}

function metricAttributes({ attributes }: Started): Started['attributes'] {
  const names = [ATTRIBUTE.operation, ATTRIBUTE.provider, ATTRIBUTE.requestModel]
  return Object.fromEntries(names.map((name) => [name, attributes[name]]))
}

function usageAttributes(usage: Usage | undefined): Record<string, number> {
  if (usage === undefined) return {}
  return {
    [ATTRIBUTE.inputTokens]: usage.inputTokens,
    [ATTRIBUTE.outputTokens]: usage.outputTokens,
    ...(usage.cachedTokens === 0 ? {} : { [ATTRIBUTE.cachedTokens]: usage.cachedTokens }),
    ...(usage.costUsd === 0 ? {} : { [ATTRIBUTE.costUsd]: usage.costUsd }),
  }
}

function isText(part: AssistantPart): boolean {
  return part.type === 'text'
}

function typeOf(error: Error): string {
  const { code } = error as { readonly code?: unknown }
  return textOf(code) ?? error.name
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
