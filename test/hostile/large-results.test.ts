/**
 * Results, replies and updates that are larger than the store takes. An effect that went well is settled as ok, what can
 * be stored of its result is stored, and the turn goes on.
 */
import { describe, expect, it } from 'vitest'
import { END, graph, list, START, value } from '../../src/graph/index.ts'
import {
  type Entry,
  type EntryData,
  HoldfastError,
  type JsonObject,
  LOCAL_OWNER,
} from '../../src/protocol/index.ts'
import type { AppendRequest, Store } from '../../src/store/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { toolResult } from '../../src/tool/index.ts'
import { bench, calls, gate, KEY, openSqlite, probe, said, until } from '../turn/kit.ts'

const MIB = 1024 * 1024
const contextId = 'flow'

interface Limits {
  readonly entry?: number
  readonly append?: number
  /** Its refusals do not say what the limit is. */
  readonly isSilent?: boolean
}

const bytesOf = (data: unknown): number => Buffer.byteLength(JSON.stringify(data))

/** A store that takes less than others. */
function limited({ entry = Infinity, append = Infinity, isSilent = false }: Limits): Store {
  const store = memoryStore()
  const refuse = (bytes: number, limit: number) =>
    new HoldfastError('too-large', {
      message: 'More than can be kept.',
      details: isSilent ? {} : { bytes, limit },
    })
  const refusal = ({ entries = [], inbox = [] }: AppendRequest): HoldfastError | undefined => {
    const sizes = [...entries, ...inbox].map(({ data }) => bytesOf(data))
    const large = sizes.find((size) => size > entry)
    if (large !== undefined) return refuse(large, entry)
    const all = sizes.reduce((sum, size) => sum + size, 0)
    return all > append ? refuse(all, append) : undefined
  }
  return new Proxy(store, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name)
      if (name === 'append')
        return async (request: AppendRequest) => {
          const error = refusal(request)
          if (error !== undefined) throw error
          return target.append(request)
        }
      return typeof member === 'function' ? (member.bind(target) as unknown) : member
    },
  })
}

async function ends<T extends 'tool.end' | 'effect.end' | 'tool.late' | 'model.end'>(
  store: Store,
  type: T,
  key = KEY,
): Promise<EntryData[T][]> {
  const entries = await store.read(key)
  return entries.filter((entry: Entry) => entry.type === type).map(({ data }) => data as EntryData[T])
}

const text = (size: number, letter = 'x'): string => letter.repeat(size)

describe('a result that is larger than an entry may be', () => {
  it('of 40 MB is cut on SQLite: the call is ok, the model reads how much is missing, the turn goes on', async () => {
    const store = openSqlite()
    const tools = [probe('dump', () => ({ rows: text(40 * MIB) }), { maxResultBytes: 64 * MIB })]
    const { agent, model } = bench({ store, tools, script: [calls('dump'), 'Done'], realTime: true })
    expect(await agent.executeTurn('Hi').outcome).toMatchObject({ reason: 'stop', text: 'Done' })
    const [end] = await ends(store, 'tool.end')
    expect(end).toMatchObject({ status: 'ok', cut: true })
    const output = end?.output as JsonObject
    expect(output).toMatchObject({ bytes: 40 * MIB + 11, limit: 31 * MIB })
    expect(output['beginning']).toMatch(/^\{"rows":"xxx/)
    expect(output['notice']).toContain('went well')
    expect(JSON.stringify(model.calls[1]?.prompt)).toContain('went well')
    await said(store)
  })

  it('of 20 MB is stored whole', async () => {
    const tools = [probe('dump', () => text(20 * MIB), { maxResultBytes: 64 * MIB })]
    const { agent, store } = bench({ tools, script: [calls('dump'), 'Done'] })
    expect(await agent.executeTurn('Hi').outcome).toMatchObject({ reason: 'stop' })
    const [end] = await ends(store, 'tool.end')
    expect(end?.output).toHaveLength(20 * MIB)
    expect(end?.cut).toBeUndefined()
  })

  for (const isSilent of [false, true])
    it(`is cut to what a store takes${isSilent ? ' that does not say how much that is' : ''}; others of the round are whole`, async () => {
      const store = limited({ entry: 20_000, isSilent })
      const tools = [
        probe('small', () => text(5000, 's')),
        probe('large', () => text(50_000, 'l')),
        probe('larger', () => ({ text: text(60_000, 'm') })),
      ]
      const { agent } = bench({ store, tools, script: [calls('small', 'large', 'larger'), 'Done'] })
      expect(await agent.executeTurn('Hi').outcome).toMatchObject({ reason: 'stop', text: 'Done' })
      const settled = (await ends(store, 'tool.end')).sort((a, b) => (a.callId < b.callId ? -1 : 1))
      expect(settled.map(({ status, cut = false }) => [status, cut])).toEqual([
        ['ok', false],
        ['ok', true],
        ['ok', true],
      ])
      expect(settled[0]?.output).toBe(text(5000, 's'))
      expect(settled[1]?.output).toMatchObject({ bytes: 50_002 })
      await said(store)
    })

  it('leaves what was to be shown to people, or takes that away first if that is what is large', async () => {
    const store = limited({ entry: 20_000 })
    const tools = [
      probe('shows', () => toolResult({ n: 1 }, text(50_000)), { maxResultBytes: MIB }),
      probe('gives', () => toolResult(text(50_000), 'Fifty thousand letters'), { maxResultBytes: MIB }),
    ]
    const { agent } = bench({ store, tools, script: [calls('shows'), calls('gives'), 'Done'] })
    expect(await agent.executeTurn('Hi').outcome).toMatchObject({ reason: 'stop' })
    const [shows, gives] = await ends(store, 'tool.end')
    expect(shows).toMatchObject({ status: 'ok', output: { n: 1 } })
    expect(shows?.cut).toBeUndefined()
    expect(shows?.display?.length).toBeLessThan(3000)
    expect(gives).toMatchObject({ status: 'ok', cut: true, display: 'Fifty thousand letters' })
  })

  it('that come together are cut until the append is small enough', async () => {
    const store = limited({ append: 30_000 })
    const slow = gate()
    const tools = [1, 2, 3].map((n) =>
      probe(`dump${n}`, () => slow.promise.then(() => text(9000 + n * 1000, `${n}`))),
    )
    const { agent } = bench({ store, tools, script: [calls('dump1', 'dump2', 'dump3'), 'Done'] })
    const turn = agent.executeTurn('Hi')
    await until('they run', () => tools.every(({ ran }) => ran.length === 1))
    slow.resolve()
    expect(await turn.outcome).toMatchObject({ reason: 'stop', text: 'Done' })
    const settled = await ends(store, 'tool.end')
    expect(settled.map(({ status }) => status)).toEqual(['ok', 'ok', 'ok'])
    expect(settled.filter(({ cut }) => cut)).toHaveLength(1)
    await said(store)
  })

  it('and comes late is cut, too, and told', async () => {
    const store = limited({ entry: 20_000 })
    const slow = gate()
    const late = probe('late', () => slow.promise.then(() => text(50_000)), { timeoutMs: 1000 })
    const { agent, clock } = bench({ store, tools: [late], script: [calls('late'), 'Done', 'Read it'] })
    const turn = agent.executeTurn('Hi')
    await until('it runs', () => late.ran.length === 1)
    await until('its time is up', async () => {
      clock.advance(1000)
      return (await ends(store, 'tool.end')).length > 0
    })
    await turn.outcome
    slow.resolve()
    await until('it is handed in', async () => (await store.inbox(KEY)).length === 1)
    await agent.executeTurn('And?').outcome
    const [told] = await ends(store, 'tool.late')
    expect(told).toMatchObject({ status: 'ok', output: { bytes: 50_002 } })
  })
})

describe('a reply that is larger than an entry may be', () => {
  it('keeps the beginning of its text, and says that it was cut', async () => {
    const store = limited({ entry: 200_000 })
    const { agent } = bench({ store, script: [text(300_000), 'Short'] })
    const outcome = await agent.executeTurn('Hi').outcome
    expect(outcome.reason).toBe('stop')
    expect(outcome.text).toMatch(/^xxx/)
    const warnings = (await store.read(KEY)).filter(({ type }) => type === 'warning')
    expect(warnings.map(({ data }) => data['code'])).toEqual(['too-large'])
    expect((await agent.executeTurn('Again').outcome).text).toBe('Short')
    await said(store)
  })

  it('with arguments that are too large is not run, and the model reads why', async () => {
    const store = limited({ entry: 200_000 })
    const write = probe('write')
    const small = probe('small')
    const script = [calls(['write', { n: 1, body: text(300_000) }], 'small'), 'Done']
    const { agent } = bench({ store, tools: [write, small], script })
    expect(await agent.executeTurn('Hi').outcome).toMatchObject({ reason: 'stop', text: 'Done' })
    expect([write.ran, small.ran.length]).toEqual([[], 1])
    const [rejected] = await ends(store, 'tool.end')
    expect(rejected).toMatchObject({ status: 'rejected', output: { code: 'malformed-arguments' } })
    expect(JSON.stringify(rejected?.output)).toContain('bytes')
    await said(store)
  })
})

describe('with autoSave: false', () => {
  it('what is too large is cut when it is said, not when something else is saved', async () => {
    const store = limited({ entry: 200_000 })
    const tools = [probe('dump', () => text(250_000), { maxResultBytes: MIB }), probe('small')]
    const script = [text(300_000), calls('dump'), calls('small'), 'Done']
    const { agent } = bench({ store, tools, script, autoSave: false })
    expect(await agent.executeTurn('Hi').outcome).toMatchObject({ reason: 'stop' })
    expect(await agent.executeTurn('Go').outcome).toMatchObject({ reason: 'stop', text: 'Done' })
    await agent.saveState()
    expect((await ends(store, 'tool.end')).map(({ status, cut }) => [status, cut])).toEqual([
      ['ok', true],
      ['ok', undefined],
    ])
    await said(store)
  })
})

describe('what cannot be cut', () => {
  it('of a hook fails the turn, and takes no result with it', async () => {
    const store = limited({ entry: 20_000 })
    const { agent } = bench({
      store,
      tools: [probe('look', () => 'seen')],
      script: [calls('look'), 'Done'],
      on: { afterTools: ({ add }) => add(text(50_000)) },
    })
    expect(await agent.executeTurn('Hi').outcome).toMatchObject({ error: { code: 'too-large' } })
    expect(await ends(store, 'tool.end')).toMatchObject([{ status: 'ok', output: 'seen' }])
    await said(store)
  })

  it('beside results of the same append takes none of them with it', async () => {
    const store = limited({ entry: 20_000 })
    const flow = graph({ state: { log: list<string>() } })
      .addNode('work', async (_, { step }) => {
        await step('one', () => 'first')
        return { log: [text(50_000)] }
      })
      .addEdge(START, 'work')
      .addEdge('work', END)
      .compile({ store })
    await expect(flow.invoke({}, { contextId })).rejects.toMatchObject({ details: { code: 'too-large' } })
    expect(await ends(store, 'effect.end', { ...LOCAL_OWNER, contextId })).toMatchObject([
      { status: 'ok', output: 'first' },
    ])
  })
})

describe('in a graph', () => {
  const key = { ...LOCAL_OWNER, contextId }

  it('a step whose result is too large went well, throws the same whenever it is asked for, and is never done again', async () => {
    const store = memoryStore()
    let done = 0
    const flow = graph({ state: { error: value<string>() } })
      .addNode('work', async (_, { step }) => {
        const dump = step('dump', () => {
          done += 1
          return text(40 * MIB)
        })
        await dump
      })
      .addEdge(START, 'work')
      .addEdge('work', END)
      .compile({ store })
    const failure = { details: { code: 'too-large', node: 'work' } }
    await expect(flow.invoke({}, { contextId })).rejects.toMatchObject(failure)
    await expect(flow.invoke(null, { contextId })).rejects.toMatchObject(failure)
    expect(done).toBe(1)
    expect(await ends(store, 'effect.end', key)).toMatchObject([
      { status: 'ok', cut: true, output: { bytes: 40 * MIB + 2 } },
    ])
  })

  it('a step whose result a store does not take is told as done when the node is run again', async () => {
    const store = limited({ entry: 20_000 })
    let done = 0
    let errors: unknown[] = []
    const flow = graph({ state: { sizes: list<number>() } })
      .addNode('work', async (_, { step, attempt }) => {
        const read = step('dump', () => {
          done += 1
          return text(50_000)
        })
        const dump = await read.catch((error: unknown) => {
          errors = [...errors, error]
          return ''
        })
        if (attempt === 1) throw new Error('once more')
        return { sizes: [dump.length] }
      })
      .addEdge(START, 'work')
      .addEdge('work', END)
      .compile({ store })
    await flow.stream({}, { contextId }).outcome
    expect((await flow.invoke(null, { contextId })).state.sizes).toEqual([0])
    expect(done).toBe(1)
    expect(errors).toMatchObject([{ code: 'too-large' }])
  })

  it('a node that says too much fails by its name, and its steps are not taken again', async () => {
    const store = memoryStore()
    let done = 0
    let size = 40 * MIB
    const flow = graph({ state: { log: list<string>() } })
      .addNode('work', async (_, { step }) => {
        await step('one', () => {
          done += 1
          return 'first'
        })
        return { log: [text(size)] }
      })
      .addEdge(START, 'work')
      .addEdge('work', END)
      .compile({ store })
    const error = await flow.invoke({}, { contextId }).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ details: { code: 'too-large', node: 'work' } })
    expect((error as Error).message).toContain('work')
    size = 10
    expect((await flow.invoke(null, { contextId })).state.log).toEqual([text(10)])
    expect(done).toBe(1)
  })
})
