/** OpenTelemetry beyond the turns of an agent: graphs, metrics, an OTLP receiver, and a missing package. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { metrics, SpanStatusCode } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import {
  AggregationTemporality,
  type Histogram,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { describe, expect, it } from 'vitest'
import { agentNode } from '../../src/agent/index.ts'
import { END, graph, list, Send, START } from '../../src/graph/index.ts'
import { loadApi } from '../../src/observe/otel/api.ts'
import { otel } from '../../src/observe/otel/index.ts'
import { ATTRIBUTE, EVENT, providerName, SCHEMA_URL, SETTINGS } from '../../src/observe/otel/names.ts'
import { ScriptedModel } from '../../src/testing/scripted-model.ts'
import { bench, calls, probe } from '../turn/kit.ts'
import { recorder, withContextManager } from './otel-kit.ts'

withContextManager()

const state = { notes: list<string>() }

describe('the spans of a graph', () => {
  it('are a workflow, its nodes, their effects and agents, and spans of their own code', async () => {
    const seen = recorder()
    const flow = graph({ name: 'flow', state })
      .addNode('write', async (_, { step }) => {
        const saved = await seen.tracer.startActiveSpan('own', async (span) => {
          const result = await step('save', () => {
            seen.tracer.startSpan('INSERT').end()
            return 'saved'
          })
          span.end()
          return result
        })
        return { notes: [saved] }
      })
      .addNode('ask', agentNode({ name: 'expert', model: new ScriptedModel(['42']) }), {
        input: () => 'How many?',
        output: (answer) => ({ notes: [answer] }),
      })
      .addEdge(START, 'write')
      .addEdge('write', 'ask')
      .addEdge('ask', END)
      .compile({ telemetry: otel({ tracer: seen.tracer }) })
    await flow.invoke({}, { contextId: 'run-1' })
    expect(seen.tree()).toEqual([
      'invoke_workflow flow',
      '  node write',
      '    own',
      '      effect save of write',
      '        INSERT',
      '  node ask',
      '    invoke_agent expert',
      '      chat model',
    ])
    expect(seen.span('invoke_workflow flow').attributes).toMatchObject({
      'gen_ai.operation.name': 'invoke_workflow',
      'gen_ai.workflow.name': 'flow',
      'gen_ai.conversation.id': 'run-1',
      'holdfast.outcome': 'stop',
    })
    expect(seen.span('node write').attributes).toMatchObject({ 'holdfast.node': 'write' })
    expect(seen.span('effect save of write').attributes).toMatchObject({ 'holdfast.tool.status': 'ok' })
    expect(seen.open()).toEqual([])
  })

  it('have the exception of their task, also when a node runs twice at once', async () => {
    const seen = recorder()
    const flow = graph({ name: 'flow', state })
      .addNode('work', (_, { input }) => {
        if (input === 'bad') throw new RangeError('out of it')
        return { notes: ['good'] }
      })
      .addConditionalEdges(START, () => [new Send('work', 'good'), new Send('work', 'bad')])
      .addEdge('work', END)
      .compile({ telemetry: otel({ tracer: seen.tracer }) })
    await expect(flow.invoke({})).rejects.toThrow('out of it')
    const [good, bad] = seen.spans().filter(({ name }) => name === 'node work')
    expect(good).toMatchObject({ status: { code: SpanStatusCode.UNSET }, events: [] })
    expect(bad?.status.code).toBe(SpanStatusCode.ERROR)
    expect(bad?.attributes['error.type']).toBe('RangeError')
    expect(bad?.events).toMatchObject([{ attributes: { 'exception.message': 'out of it' } }])
    expect(seen.span('invoke_workflow flow').status.code).toBe(SpanStatusCode.ERROR)
  })
})

describe('metrics', () => {
  const usage = { inputTokens: 100, outputTokens: 20 }
  const script = [{ text: 'One', usage }, { error: { status: 401 } }]

  function reader() {
    const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
    const provider = new MeterProvider({
      readers: [new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 })],
    })
    const read = async () => {
      await provider.forceFlush()
      const last =
        exporter
          .getMetrics()
          .at(-1)
          ?.scopeMetrics.flatMap((scope) => scope.metrics) ?? []
      await provider.shutdown()
      return last.map(({ descriptor: { name, unit }, dataPoints }) => ({
        name,
        unit,
        points: dataPoints.map(({ attributes, value }) => ({ attributes, value: value as Histogram })),
      }))
    }
    return { provider, read }
  }

  const common = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'scripted',
    'gen_ai.request.model': 'model',
    'gen_ai.response.model': 'model',
  }

  it('are the tokens and durations of model calls, in the advised buckets', async () => {
    const { provider, read } = reader()
    const { agent } = bench({ script, telemetry: otel({ meter: provider.getMeter('test') }) })
    await agent.executeTurn('1').outcome
    await agent.executeTurn('2').outcome
    const [tokens, duration] = await read()
    expect(tokens).toMatchObject({
      name: 'gen_ai.client.token.usage',
      unit: '{token}',
      points: [
        { attributes: { ...common, 'gen_ai.token.type': 'input' }, value: { count: 1, sum: 100 } },
        { attributes: { ...common, 'gen_ai.token.type': 'output' }, value: { count: 1, sum: 20 } },
      ],
    })
    expect(tokens?.points[0]?.value.buckets.boundaries).toEqual(Array.from({ length: 14 }, (_, n) => 4 ** n))
    expect(duration).toMatchObject({
      name: 'gen_ai.client.operation.duration',
      unit: 's',
      points: [
        { attributes: common, value: { count: 1 } },
        { attributes: { ...common, 'error.type': 'auth' }, value: { count: 1 } },
      ],
    })
    const { boundaries } = duration?.points[0]?.value.buckets ?? {}
    expect(boundaries).toEqual(Array.from({ length: 14 }, (_, n) => 2 ** n / 100))
  })

  it('go to the provider that is registered later', async () => {
    const { provider, read } = reader()
    const { agent } = bench({ script: [script[0] ?? '', script[0] ?? ''], telemetry: otel() })
    await agent.input('1')
    metrics.setGlobalMeterProvider(provider)
    try {
      await agent.input('2')
    } finally {
      metrics.disable()
    }
    const [tokens] = await read()
    expect(tokens?.points.map(({ value }) => value.count)).toEqual([1, 1])
  })
})

describe('an OTLP receiver', () => {
  it('gets the spans of a turn', async () => {
    const posts: { path: string | undefined; body: string }[] = []
    const receive = async (request: IncomingMessage) =>
      void posts.push({ path: request.url, body: await text(request) })
    const server = createServer((request, response) => {
      void receive(request).then(() => response.setHeader('content-type', 'application/json').end('{}'))
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const exporter = new OTLPTraceExporter({ url: `http://127.0.0.1:${port}/v1/traces` })
    const provider = new TracerProvider({ spanProcessors: [new BatchSpanProcessor({ exporter })] })
    const telemetry = otel({ tracer: provider.getTracer('test') })
    const { agent } = bench({ name: 'clerk', script: [calls('a'), 'Done'], tools: [probe('a')], telemetry })
    await agent.input('Go')
    await provider.shutdown()
    server.closeAllConnections()
    server.close()
    expect(posts.map(({ path }) => path)).toEqual(['/v1/traces'])
    const { resourceSpans } = JSON.parse(posts[0]?.body ?? '') as OtlpTraces
    const spans = resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans))
    const turn = spans.find(({ name }) => name === 'invoke_agent clerk')
    expect(spans.map(({ name, parentSpanId = '' }) => `${name} ${parentSpanId === turn?.spanId}`)).toEqual([
      'chat model true',
      'execute_tool a true',
      'chat model true',
      'invoke_agent clerk false',
    ])
    expect(turn?.attributes).toContainEqual({ key: 'gen_ai.agent.name', value: { stringValue: 'clerk' } })
  })
})

interface OtlpTraces {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly {
      readonly spans: readonly {
        readonly name: string
        readonly spanId: string
        readonly parentSpanId?: string
        readonly attributes: readonly { readonly key: string; readonly value: object }[]
      }[]
    }[]
  }[]
}

describe('without @opentelemetry/api', () => {
  it('otel() names the package to install', () => {
    const absent = () => {
      throw Object.assign(new Error('Cannot find module'), { code: 'MODULE_NOT_FOUND' })
    }
    expect(() => loadApi(absent)).toThrow(
      'otel() needs the package @opentelemetry/api, which is not installed: npm install @opentelemetry/api',
    )
    const other = () => {
      throw new SyntaxError('Unexpected token')
    }
    expect(() => loadApi(other)).toThrow(SyntaxError)
  })
})

it('the guide lists every name', () => {
  const guide = readFileSync('docs/guide/opentelemetry.md', 'utf8')
  const names = [ATTRIBUTE, EVENT, SETTINGS].flatMap((table) => Object.values(table))
  expect(names.filter((name) => !guide.includes(`\`${name}\``))).toEqual([])
  expect(guide).toContain(`Semantic conventions ${SCHEMA_URL.split('/').at(-1)}`)
})

it('providers have their names in the conventions', () => {
  const names = [
    'openai.responses',
    'anthropic.messages',
    'google.generative-ai',
    'google.vertex.chat',
    'xai.chat',
  ]
  expect(names.map(providerName)).toEqual(['openai', 'anthropic', 'gcp.gemini', 'gcp.vertex_ai', 'x_ai'])
})
