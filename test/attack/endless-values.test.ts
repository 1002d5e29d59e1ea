/** Values that would take for ever to write down, wherever somebody hands them over: each is bounded, and says so. */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { END, graph, list, value as one, START } from '../../src/graph/index.ts'
import { importMessages } from '../../src/journal/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { ScriptedModel } from '../../src/testing/scripted-model.ts'
import { ask, defineTool, toolResult } from '../../src/tool/index.ts'
import { bench, calls, probe } from '../turn/kit.ts'

/** Lists and objects in turn; each level names the next one twice: 2^40 of them for a writer of all. */
function folded(levels = 40): unknown {
  let value: unknown = ['x']
  for (let level = 0; level < levels; level++)
    value = level % 2 === 0 ? [value, value] : { a: value, b: value }
  return value
}

function endlessChain(): unknown {
  return {
    get next() {
      return endlessChain()
    },
    get other() {
      return endlessChain()
    },
  }
}

const again = (): unknown => ({ toJSON: again, a: [1, 2, 3] })

const VALUES: Readonly<Record<string, () => unknown>> = {
  'lists and objects that are named twice': () => folded(),
  'a sparse list': () => Object.assign([], { length: 4_000_000_000 }),
  'getters without end': endlessChain,
  'a Proxy without end': () => {
    const handler: ProxyHandler<object> = {
      ownKeys: () => ['a', 'b'],
      getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }),
      get: (_, name) => (name === 'a' || name === 'b' ? new Proxy({}, handler) : undefined),
    }
    return new Proxy({}, handler)
  },
  'a toJSON without end': () => again(),
  'a text of 40 MB': () => 'x'.repeat(40_000_000),
  bytes: () => new Uint8Array(1_000_000),
  'Maps of Maps': () => new Map([[1, new Map([[2, folded()]])]]),
  'an error of errors': () => {
    let error: unknown = new Error('x'.repeat(50_000))
    for (let level = 0; level < 30; level++)
      error = new AggregateError([error, error, error, error, error], 'y'.repeat(50_000), { cause: error })
    return error
  },
  'a getter that throws': () => ({
    get a() {
      throw folded()
    },
  }),
}

const stop = async (config: Parameters<typeof bench>[0]): Promise<string> => {
  const { agent, store } = bench({ realTime: true, ...config })
  const outcome = await agent.executeTurn('go').outcome
  const size = JSON.stringify(await store.read({ tenant: 'local', actor: 'local', contextId: 'talk' })).length
  expect(size).toBeLessThan(300_000)
  return outcome.reason
}

describe.each(Object.entries(VALUES))('%s', (_, make) => {
  it('can be returned, thrown, shown, reported and asked with by a tool', async () => {
    const script = [calls('give'), 'done']
    const ways = {
      give: () => make(),
      toss: () => {
        throw make()
      },
      caused: () => {
        throw new Error('why', { cause: make() })
      },
      show: () => toolResult('ok', make() as string),
      question: () => ask({ kind: 'text', prompt: 'a?', about: make() as never }),
      report: (_input: unknown, { progress }: { progress: (value: never) => void }) =>
        progress(make() as never),
      reject: () => Promise.reject(make()),
    }
    for (const run of Object.values(ways)) {
      const reason = await stop({ script, tools: [probe('give', run)] })
      expect(['stop', 'input-required']).toContain(reason)
    }
  })

  it('can be thrown and handed over by hooks', async () => {
    const tools = [probe('give', () => 'ok')]
    const script = [calls('give'), 'done']
    const throws = () => {
      throw make()
    }
    for (const hooks of [
      { beforeEachTool: throws },
      { beforeTools: throws },
      { beforeLlm: ({ edit }: { edit: (changes: never) => void }) => edit({ system: make() } as never) },
      { afterLlm: ({ add }: { add: (text: never) => void }) => add(make() as never) },
      { beforeEachTool: ({ edit }: { edit: (args: never) => void }) => edit(make() as never) },
    ])
      expect(['stop', 'failed']).toContain(await stop({ script, tools, on: hooks }))
  })

  it('can be thrown by what a turn looks up, and by its model', async () => {
    const throws = () => {
      throw make()
    }
    expect(await stop({ script: ['ok'], systemPrompt: throws })).toBe('failed')
    expect(await stop({ script: ['ok'], tools: throws })).toBe('failed')
    expect(await stop({ script: ['ok'], credentials: throws })).toBe('failed')
    const model = new ScriptedModel([{ error: Object.assign(new Error('bad'), { cause: make() }) }])
    expect(await stop({ model, settings: { retries: 0 } })).toBe('failed')
  })

  it('can be said, thrown and sent by a node of a graph', async () => {
    const state = { one: one<unknown>(), all: list<unknown>() }
    for (const work of [
      () => ({ one: make() }),
      () => ({ all: make() }),
      () => make(),
      () => {
        throw make()
      },
      (__: unknown, { step }: { step: (key: string, run: () => unknown) => Promise<unknown> }) =>
        step('a', make),
    ]) {
      const flow = graph({ state })
        .addNode('work', work as never)
        .addEdge(START, 'work')
        .addEdge('work', END)
        .compile({ store: memoryStore() })
      expect(['stop', 'failed']).toContain((await flow.stream({}).outcome).reason)
    }
  })
})

it('a value that a schema would walk through is bounded before', async () => {
  const give = defineTool({
    name: 'give',
    description: 'Gives',
    input: z.object({}),
    output: z.lazy(() => nested),
    run: () => folded() as never,
  })
  expect(await stop({ script: [calls('give'), 'done'], tools: [give] })).toBe('stop')
})

const nested: z.ZodType = z.union([z.string(), z.array(z.lazy(() => nested))])

it('metadata, answers and histories are bounded', async () => {
  const { agent } = bench({ script: ['ok'] })
  const outcome = await agent.executeTurn('go', { metadata: { a: folded() } as never }).outcome
  expect(outcome.error?.message).toBe(
    'metadata must be an object that JSON can carry, and it has more than 1000000 values.',
  )
  const told = await agent.answer({ a: folded() as never }).outcome
  expect(told.error?.code).toBe('invalid-option')
  expect(() => importMessages([{ role: 'user', content: folded() }], { format: 'openai' })).toThrow(
    'has more than 1000000 values',
  )
})
