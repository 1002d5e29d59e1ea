/** A queued run is its sender's: it has a turn, a principal, limits and credentials of its own. */
import { describe, expect, it } from 'vitest'
import {
  constant,
  END,
  type Graph,
  type GraphRun,
  type GraphTurnOptions,
  graph,
  list,
  reduce,
  START,
  value,
} from '../../src/graph/index.ts'
import type { Telemetry } from '../../src/loop/index.ts'
import { defined, type JsonObject, LOCAL_OWNER, NO_USAGE } from '../../src/protocol/index.ts'
import type { Store } from '../../src/store/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { gate, until } from '../turn/kit.ts'
import { withAppend } from './recovery-cut.ts'

const contextId = 'c'
const key = { ...LOCAL_OWNER, contextId }
const ANN = { actor: 'ann', credentials: { token: 'the-secret-of-ann' } }
const BOB = { actor: 'bob', credentials: { token: 'the-secret-of-bob' } }

const state = {
  who: value<string>(),
  fixed: constant<string>(),
  sum: reduce<number, number>((sum, more) => {
    if (more < 0) throw new Error('less than nothing')
    return sum + more
  }, 0),
  ran: list<string>(),
}
type Flow = Graph<typeof state>
type Input = Parameters<Flow['stream']>[0]

interface Parts {
  readonly store?: Store
  readonly first?: Promise<void>
  readonly telemetry?: Telemetry
  readonly credentials?: (principal: { readonly actor: string }) => { token: string } | undefined
}

/** Each run notes who runs it, and with which token; the run of `ann` asks first. */
function flowOf({ store = memoryStore(), first = Promise.resolve(), credentials, telemetry }: Parts): Flow {
  return graph({ state })
    .addNode('work', async ({ who }, context) => {
      if (who === 'ann') await first
      if (who === 'ann') await context.interrupt({ kind: 'confirmation', prompt: 'Now?' })
      const { actor } = context.principal
      const { token = 'nothing' } = context.credentials as { readonly token?: string }
      return { ran: `${who} as ${actor} with ${token}` }
    })
    .addEdge(START, 'work')
    .addEdge('work', END)
    .compile({ store, allow: () => true, ...defined({ credentials, telemetry }) })
}

/** The run of Ann asks, after these inputs were posted. */
async function queued(
  parts: Parts,
  ...inputs: readonly (readonly [Input, GraphTurnOptions?])[]
): Promise<{ flow: Flow; store: Store; runs: GraphRun<typeof state>[] }> {
  const { store = memoryStore() } = parts
  const { promise: first, resolve } = gate()
  const flow = flowOf({ ...parts, store, first })
  const asking = flow.stream({ who: 'ann' }, { contextId, auth: ANN, key: 'of-ann' })
  await until('it runs', async () => (await store.head(key))?.status === 'running')
  const runs: GraphRun<typeof state>[] = []
  for (const [input, options = {}] of inputs) {
    runs.push(flow.stream(input, { contextId, auth: ANN, ...options }))
    await until('it is posted', async () => (await store.inbox(key)).length === runs.length)
  }
  resolve()
  await asking.outcome
  await Promise.all(runs.map(({ outcome }) => outcome))
  return { flow, store, runs }
}

async function turnsOf(store: Store): Promise<string[]> {
  const entries = await store.read(key)
  return entries.flatMap(({ type, turn, data }) => {
    if (type === 'turn.start') return [`${turn} ${(data['principal'] as { actor: string }).actor}`]
    if (type === 'turn.end') return [`${turn} ${data['outcome'] as string}`]
    return type === 'graph.start' ? [`${turn} runs`] : []
  })
}

const yes = { 'work.1/answer': true }

describe('a queued run', () => {
  it('of another person has a turn of its own, as that person and without the credentials of others', async () => {
    const bob = { auth: { actor: 'bob' }, limits: { steps: 7 }, metadata: { desk: 3 } }
    const { flow, store } = await queued({}, [{ who: 'bob' }, bob])
    const done = await flow.answer(yes, { contextId, auth: ANN }).outcome
    expect([done.status, done.state.ran]).toEqual(['completed', ['ann as ann with [redacted]']])
    expect((await flow.getState({ contextId }))?.state.ran).toEqual([
      'ann as ann with [redacted]',
      'bob as bob with nothing',
    ])
    expect((await turnsOf(store)).slice(-5)).toEqual(['3 ann', '3 stop', '4 bob', '4 runs', '4 stop'])
    const starts = (await store.read(key)).filter(({ type }) => type === 'turn.start')
    expect(starts.at(-1)?.data).toMatchObject({ limits: { steps: 7 }, metadata: { desk: 3 } })
  })

  it('is what its key finds, and no part of the run before it', async () => {
    const bob = { auth: { actor: 'bob' }, key: 'of-bob' }
    const { flow } = await queued({}, [{ who: 'bob' }, bob])
    const answer = { contextId, auth: ANN, key: 'of-answer' }
    await flow.answer(yes, answer).outcome
    const outcomes = await Promise.all([
      flow.invoke({ who: 'bob' }, { contextId, ...bob }),
      flow.invoke({ who: 'ann' }, { contextId, auth: ANN, key: 'of-ann' }),
      flow.answer(yes, answer).outcome,
    ])
    expect(outcomes.map(({ turn }) => turn)).toEqual([4, 3, 3])
  })

  it('begins its turn for observers as one that is taken over', async () => {
    const seen: string[] = []
    const telemetry = {
      context: () => ({
        begin: (turn: number) => void seen.push(`${turn} begins`),
        resume: (turn: number) => void seen.push(`${turn} is resumed`),
      }),
    }
    const { flow } = await queued({ telemetry }, [{ who: 'bob' }, { auth: { actor: 'bob' } }])
    await flow.answer(yes, { contextId, auth: ANN }).outcome
    expect(seen.slice(-2)).toEqual(['3 begins', '4 is resumed'])
  })

  it('that came with credentials asks its sender for them, and nobody else', async () => {
    const { flow, store } = await queued({}, [{ who: 'bob' }, { auth: BOB }])
    expect((await flow.answer(yes, { contextId, auth: ANN }).outcome).status).toBe('completed')
    expect((await turnsOf(store)).at(-1)).toBe('4 auth-required')
    const { status, state: reached } = await flow.stream(null, { contextId, auth: BOB }).outcome
    expect([status, reached.ran.at(-1)]).toEqual(['completed', 'bob as bob with [redacted]'])
  })

  it('gets its credentials from the config, if that has them', async () => {
    const seen: string[] = []
    const credentials = ({ actor }: { readonly actor: string }) => {
      seen.push(actor)
      return { token: `the-secret-of-${actor}` }
    }
    const { flow } = await queued({ credentials }, [{ who: 'bob' }, { auth: BOB }])
    expect((await flow.answer(yes, { contextId, auth: ANN }).outcome).status).toBe('completed')
    expect((await flow.getState({ contextId }))?.state.ran.at(-1)).toBe('bob as bob with [redacted]')
    expect(seen).toEqual(['bob'])
  })

  it('of the same sender follows in the same turn', async () => {
    const { flow, store } = await queued({}, [{ who: 'again' }])
    const done = await flow.answer(yes, { contextId, auth: ANN }).outcome
    expect(done.state.ran).toEqual(['ann as ann with [redacted]', 'again as ann with [redacted]'])
    expect((await turnsOf(store)).slice(-3)).toEqual(['3 ann', '3 runs', '3 stop'])
  })

  it('of format 1, which names no sender, follows in the same turn', async () => {
    const store = memoryStore()
    const channels = { who: 'value', ran: 'list' }
    const turn = (number: number, taken: string, entries: readonly { type: string; data: JsonObject }[]) => [
      {
        type: 'turn.start',
        turn: number,
        data: { principal: { ...LOCAL_OWNER, actor: 'ann' } },
        takes: [taken],
      },
      ...entries.map((entry) => ({ ...entry, turn: number, v: 1 })),
      {
        ...{ type: 'turn.end', turn: number },
        data: { outcome: 'input-required', usage: NO_USAGE, durationMs: 1 },
      },
    ]
    const asked = { requestId: 'work.1/answer', callId: 'work.1', name: 'answer', kind: 'confirmation' }
    const append = async (posted: string, entries: ReturnType<typeof turn>) =>
      store.append({
        ...{ key, id: posted, since: (await store.head(key))?.seq ?? 0 },
        inbox: [{ type: 'input', key: posted, data: { values: { who: posted } } }],
        claim: { driver: 'elsewhere', leaseMs: 1000 },
        entries,
      })
    const first = [
      { type: 'graph.start', data: { graph: 'graph', channels, update: { who: 'ann' } } },
      { type: 'graph.step', data: { tasks: [{ task: 'work.1', node: 'work' }] } },
      { type: 'request.start', data: { ...asked, prompt: 'Now?' } },
    ]
    await append('ann', turn(1, 'ann', first))
    await append('bob', turn(2, 'bob', [{ type: 'graph.queue', data: { update: { who: 'bob' } } }]))
    const { state: reached, turn: last } = await flowOf({ store }).answer(yes, {
      contextId,
      auth: { actor: 'ann' },
    }).outcome
    expect([last, reached.ran]).toEqual([3, ['ann as ann with nothing', 'bob as ann with nothing']])
  })

  it('of another person comes after the values that dismiss the question', async () => {
    const { flow, store } = await queued({}, [{ who: 'bob' }, { auth: { actor: 'bob' } }])
    const done = await flow.stream({ who: 'new' }, { contextId, auth: ANN }).outcome
    expect(done.state.ran).toEqual(['new as ann with [redacted]'])
    expect((await turnsOf(store)).slice(-6)).toEqual([
      ...['3 ann', '3 runs', '3 stop'],
      ...['4 bob', '4 runs', '4 stop'],
    ])
  })

  it('is an open turn that any process finds, if its own dies as the turn changes', async () => {
    const { store } = await queued({}, [{ who: 'bob' }, { auth: { actor: 'bob' } }])
    const died = gate()
    const append: Store['append'] = async (request) => {
      const receipt = await store.append(request)
      if (!receipt.entries.some(({ type }) => type === 'turn.end')) return receipt
      died.resolve()
      return new Promise(() => {})
    }
    flowOf({ store: withAppend(store, append) }).answer(yes, { contextId, auth: ANN })
    await died.promise
    const { status, lease } = (await store.head(key)) ?? {}
    expect([status, lease]).toEqual(['running', undefined])
    const other = flowOf({ store })
    await other.drive({ contextId })
    expect((await other.getState({ contextId }))?.state.ran.at(-1)).toBe('bob as bob with nothing')
    expect((await turnsOf(store)).slice(-4)).toEqual(['3 stop', '4 bob', '4 runs', '4 stop'])
  })
})

describe('a queued input', () => {
  it('that a reducer refuses is refused to its sender, and blocks nothing', async () => {
    const { flow, runs } = await queued({}, [{ sum: -1 }], [{ who: 'next', sum: 2 }])
    expect(await Promise.all(runs.map(async ({ outcome }) => (await outcome).status))).toEqual([
      'failed',
      'input-required',
    ])
    const done = await flow.answer(yes, { contextId, auth: ANN }).outcome
    expect([done.status, done.state.sum, done.state.ran.length]).toEqual(['completed', 2, 2])
  })

  it('that cannot start when its turn comes is dropped with a warning, and the next one runs', async () => {
    const { flow, store } = await queued(
      {},
      [{ who: 'b', fixed: 'one' }],
      [{ who: 'c', fixed: 'two' }],
      [{ who: 'd' }],
    )
    const done = await flow.answer(yes, { contextId, auth: ANN }).outcome
    expect([done.status, done.state.fixed]).toEqual(['completed', 'one'])
    expect(done.state.ran.map((line) => line[0])).toEqual(['a', 'b', 'd'])
    const warnings = (await store.read(key)).filter(({ type }) => type === 'warning')
    expect(warnings.map(({ data }) => data)).toEqual([
      {
        code: 'input-dropped',
        message:
          'A queued input was dropped, because its run cannot start: The input changes fixed, a constant of this conversation: leave it out, or use another contextId. Send it again in another form.',
      },
    ])
    expect((await flow.invoke({ who: 'e' }, { contextId, auth: ANN })).state.ran).toHaveLength(4)
  })
})
