/** Starts the spans of one conversation, with the attributes that are known then. */
import type { Attributes, Context, Link, Span, SpanContext, SpanKind, Tracer } from '@opentelemetry/api'
import type { ObservedContext, ObservedStep } from '../../loop/index.ts'
import type { Api } from './api.ts'
import { requestContent } from './content.ts'
import { ATTRIBUTE, providerName, SCHEMA_URL, SCOPE, SETTINGS } from './names.ts'
import type { OtelOptions } from './options.ts'

export interface Started {
  readonly span: Span
  /** The context in which the span is active. */
  readonly context: Context
  readonly attributes: Attributes
}

interface SpanStart {
  readonly name: string
  readonly kind: SpanKind
  readonly attributes: Attributes
  readonly parent: Context
  readonly links?: readonly Link[]
}

export interface TracingOptions {
  readonly api: Api
  readonly options: OtelOptions
  readonly of: ObservedContext
}

export class Tracing {
  readonly api: Api
  readonly #of: ObservedContext
  readonly #own: Tracer | undefined
  /** Content is recorded, by option. */
  readonly isCapturing: boolean
  /** Attributes of every span. */
  readonly #common: Attributes

  constructor({ api, options, of }: TracingOptions) {
    this.api = api
    this.#of = of
    this.#own = options.tracer as Tracer | undefined
    this.isCapturing = options.captureContent ?? false
    const name = of.kind === 'agent' ? ATTRIBUTE.agent : ATTRIBUTE.workflow
    this.#common = {
      ...options.attributes?.(of),
      [ATTRIBUTE.conversation]: of.key.contextId,
      [name]: of.name,
    }
  }

  /** True if the span's content is to be recorded. */
  captures({ span }: Pick<Started, 'span'>): boolean {
    return this.isCapturing && span.isRecording()
  }

  /** The span of a turn, below the active one. */
  turn(turn: number, links: readonly Link[] = []): Started {
    const operation = this.#of.kind === 'agent' ? 'invoke_agent' : 'invoke_workflow'
    return this.#start({
      name: `${operation} ${this.#of.name}`,
      kind: this.api.SpanKind.INTERNAL,
      attributes: { [ATTRIBUTE.operation]: operation, [ATTRIBUTE.turn]: turn },
      parent: this.api.context.active(),
      links,
    })
  }

  step(step: ObservedStep, turn: Started): Started {
    const { SpanKind: kinds, context, trace } = this.api
    if (step.kind === 'model') return this.#model(step, turn)
    const kind = kinds.INTERNAL
    if (step.kind === 'tool') return this.#tool(step, turn)
    if (step.kind === 'node') {
      const attributes = { [ATTRIBUTE.node]: step.name, [ATTRIBUTE.taskName]: step.task }
      return this.#start({ name: `node ${step.name}`, kind, attributes, parent: turn.context })
    }
    // A node runs its effects: the active span is the node's, or one that the node's code has started.
    const active = context.active()
    const parent = trace.getSpan(active) === undefined ? turn.context : active
    const attributes = { [ATTRIBUTE.effect]: step.name, [ATTRIBUTE.callId]: step.callId }
    return this.#start({ name: `effect ${step.name}`, kind, attributes, parent })
  }

  #model(step: Extract<ObservedStep, { kind: 'model' }>, turn: Started): Started {
    const provider = providerName(step.provider)
    const { settings } = step.request
    const sent = Object.entries(SETTINGS).flatMap(([setting, name]) =>
      settings[setting] === undefined ? [] : [[name, settings[setting]]],
    )
    const started = this.#start({
      name: `chat ${step.modelId}`,
      kind: this.api.SpanKind.CLIENT,
      attributes: {
        [ATTRIBUTE.operation]: 'chat',
        [ATTRIBUTE.provider]: provider,
        [ATTRIBUTE.requestModel]: step.modelId,
        [ATTRIBUTE.stream]: true,
        [ATTRIBUTE.iteration]: step.iteration,
        ...(Object.fromEntries(sent) as Attributes),
      },
      parent: turn.context,
    })
    // The conventions require it of the turn, and it is known only now.
    turn.span.setAttribute(ATTRIBUTE.provider, provider)
    if (this.captures(started)) started.span.setAttributes(requestContent(step.request))
    return started
  }

  #tool(step: Extract<ObservedStep, { kind: 'tool' | 'effect' }>, turn: Started): Started {
    const { name, callId, description, args } = step
    const started = this.#start({
      name: `execute_tool ${name}`,
      kind: this.api.SpanKind.INTERNAL,
      attributes: {
        [ATTRIBUTE.operation]: 'execute_tool',
        [ATTRIBUTE.tool]: name,
        [ATTRIBUTE.callId]: callId,
        [ATTRIBUTE.toolType]: 'function',
        ...(description === undefined ? {} : { [ATTRIBUTE.toolDescription]: description }),
      },
      parent: turn.context,
    })
    if (this.captures(started))
      started.span.setAttribute(ATTRIBUTE.toolArguments, JSON.stringify(args ?? null))
    return started
  }

  #start({ name, kind, attributes: own, parent, links = [] }: SpanStart): Started {
    const { trace } = this.api
    const tracer =
      this.#own ?? trace.getTracerProvider().getTracer(SCOPE, undefined, { schemaUrl: SCHEMA_URL })
    const attributes = { ...this.#common, ...own }
    const span = tracer.startSpan(name, { kind, attributes, links: [...links] }, parent)
    return { span, context: trace.setSpan(parent, span), attributes }
  }

  /** The span in W3C form; undefined without a provider. */
  traceparent({ span }: Started): string | undefined {
    const context = span.spanContext()
    if (!this.api.isSpanContextValid(context)) return undefined
    const { traceId, spanId, traceFlags } = context
    return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`
  }

  /** A link to a span in W3C form; none if it cannot be read. */
  links(traceparent: string | undefined): readonly Link[] {
    const [, traceId = '', spanId = '', flags = '0'] =
      /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(traceparent ?? '') ?? []
    const context: SpanContext = {
      traceId,
      spanId,
      traceFlags: Number.parseInt(flags, 16),
      isRemote: true,
    }
    return this.api.isSpanContextValid(context) ? [{ context }] : []
  }
}
