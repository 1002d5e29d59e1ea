/** Shared by the tests of OpenTelemetry: a real SDK that keeps spans and metrics in memory, and spans as short lines. */
import { context, type Tracer } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  type SpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import { afterAll, beforeAll } from 'vitest'

/** Registers a context manager for the tests of a file, as an SDK does when it starts. */
export function withContextManager(): void {
  beforeAll(() => void context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable()))
  afterAll(() => context.disable())
}

export interface Recorder {
  readonly tracer: Tracer
  readonly provider: TracerProvider
  /** The exported spans, by their start. */
  readonly spans: () => readonly ReadableSpan[]
  readonly span: (name: string) => ReadableSpan
  /** Names of the spans, indented below their parents. */
  readonly tree: () => readonly string[]
  /** Names of the spans that were started and have not ended. */
  readonly open: () => readonly string[]
}

export function recorder(): Recorder {
  const exporter = new InMemorySpanExporter()
  const started: ReadableSpan[] = []
  const watch: SpanProcessor = {
    onStart: (span) => void started.push(span),
    onEnd: () => {},
    forceFlush: async () => {},
    shutdown: async () => {},
  }
  const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter }), watch] })
  const spans = () => {
    const exported = new Set<ReadableSpan>(exporter.getFinishedSpans())
    return started.filter((span) => exported.has(span))
  }
  const named = (name: string): ReadableSpan => {
    const found = spans().find((span) => span.name === name)
    if (found === undefined)
      throw new Error(
        `No span ${name} among ${spans()
          .map((span) => span.name)
          .join()}`,
      )
    return found
  }
  return {
    tracer: provider.getTracer('test'),
    provider,
    spans,
    span: named,
    tree: () => below(spans(), undefined, ''),
    open: () => started.filter(({ ended }) => !ended).map(({ name }) => name),
  }
}

function below(all: readonly ReadableSpan[], parent: string | undefined, indent: string): string[] {
  const known = new Set(all.map(idOf))
  return all
    .filter(({ parentSpanContext: above }) =>
      parent === undefined ? above === undefined || !known.has(above.spanId) : above?.spanId === parent,
    )
    .flatMap((span) => [`${indent}${span.name}`, ...below(all, idOf(span), `${indent}  `)])
}

export function idOf(span: ReadableSpan): string {
  return span.spanContext().spanId
}

/** Everything that a back end would get of the spans, as one text. */
export function exportedText(spans: readonly ReadableSpan[]): string {
  return JSON.stringify(
    spans.map(({ name, attributes, events, status, links }) => ({ name, attributes, events, status, links })),
  )
}
