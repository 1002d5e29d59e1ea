/** Children of a node when a time limit or another attempt intervenes. */
import { expect, it } from 'vitest'
import { END, graph, list, START, value } from '../../src/graph/index.ts'
import { LOCAL_OWNER } from '../../src/protocol/index.ts'
import type { Store } from '../../src/store/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { eagerTimer } from '../recovery/mortal.ts'
import { withAppend } from './recovery-cut.ts'

const log = { log: list<string>() }

it('a question from below that has expired before anybody saw it is gone on with', async () => {
  const clock = new ManualClock()
  const store = memoryStore({ clock })
  const append: Store['append'] = async (request) => {
    const receipt = await store.append(request)
    const waits = receipt.entries.some(({ data }) => data['outcome'] === 'input-required')
    if (request.key.contextId !== 'talk' && waits) clock.advance(60)
    return receipt
  }
  const ports = {
    store: withAppend(store, append),
    clock,
    timer: eagerTimer,
  }
  const silent = { kind: 'text', prompt: 'Anybody?', expiresInMs: 50, otherwise: 'nobody' } as const
  let done = 0
  const below = graph({ name: 'below', state: log })
    .addNode('asks', async (_, { step, interrupt }) => {
      await step('pay', () => {
        done += 1
      })
      return { log: await interrupt(silent) }
    })
    .addEdge(START, 'asks')
    .addEdge('asks', END)
    .compile(ports)
  const flow = graph({ state: log })
    .addNode('node', below)
    .addEdge(START, 'node')
    .addEdge('node', END)
    .compile(ports)
  const { status, state, error } = await flow.stream({}, { contextId: 'talk' }).outcome
  expect({ status, state, error, done }).toEqual({
    status: 'completed',
    state: { log: ['nobody'] },
    error: undefined,
    done: 1,
  })
})

it('two processes go on with the same run: one drives, both are told the same, and nothing is done twice', async () => {
  const store = memoryStore()
  let done = 0
  const flowOf = () =>
    graph({ state: log })
      .addNode('pays', async (_, { step }) => ({
        log: await step('pay', async () => {
          await new Promise((resolve) => setTimeout(resolve, 20))
          done += 1
          return `paid ${done}`
        }),
      }))
      .addNode('pays-again', async (_, { step }) => ({ log: await step('pay', () => `paid ${++done}`) }))
      .addEdge(START, 'pays')
      .addEdge('pays', 'pays-again')
      .addEdge('pays-again', END)
      .compile({ store })
  const where = { contextId: 'talk' }
  const first = flowOf().stream({}, where)
  while ((await store.head({ ...LOCAL_OWNER, ...where }))?.status !== 'running')
    await new Promise(setImmediate)
  const outcomes = await Promise.all([first.outcome, flowOf().stream(null, where).outcome])
  const ends = outcomes.map(({ status, turn, state }) => ({ status, turn, state }))
  expect(ends[0]).toEqual({ status: 'completed', turn: 1, state: { log: ['paid 1', 'paid 2'] } })
  expect(ends[1]).toEqual(ends[0])
})

it('new values for a run that is under way elsewhere wait until it has ended', async () => {
  const store = memoryStore()
  const gate = Promise.withResolvers<string>()
  const flowOf = () =>
    graph({ state: { ...log, name: value<string>() } })
      .addNode('node', async ({ name }, { step }) => ({
        log: `${name} ${await step('pay', () => gate.promise)}`,
      }))
      .addEdge(START, 'node')
      .addEdge('node', END)
      .compile({ store })
  const where = { contextId: 'talk' }
  const first = flowOf().stream({ name: 'one' }, where)
  while ((await store.head({ ...LOCAL_OWNER, ...where }))?.status !== 'running')
    await new Promise(setImmediate)
  const second = flowOf().stream({ name: 'two' }, where)
  gate.resolve('paid')
  expect((await first.outcome).state).toEqual({ log: ['one paid'], name: 'one' })
  expect((await second.outcome).state).toEqual({ log: ['one paid', 'two paid'], name: 'two' })
})

it('new values that lose their claim to an answer leave the questions below as they are', async () => {
  const store = memoryStore()
  const where = { contextId: 'talk' }
  const below = graph({ name: 'below', state: log })
    .addNode('asks', async (_, { interrupt }) => ({
      log: await interrupt({ kind: 'text', prompt: 'What?' }),
    }))
    .addEdge(START, 'asks')
    .addEdge('asks', END)
    .compile()
  const flowOn = (ports: Store) =>
    graph({ state: log }).addNode('node', below).addEdge(START, 'node').addEdge('node', END).compile({
      store: ports,
    })
  const winner = flowOn(store)
  const { requests } = await winner.invoke({}, where)
  let answered: ReturnType<typeof winner.answer> | undefined
  const append: Store['append'] = async (request) => {
    if (answered === undefined && request.claim !== undefined) {
      answered = winner.answer({ [requests[0]?.requestId ?? '']: 'the answer' }, where)
      for await (const { type } of answered) if (type === 'turn.start') break
    }
    return store.append(request)
  }
  const loser = flowOn(withAppend(store, append)).stream({ log: 'new values' }, where)
  await loser.outcome
  const { status, state } = (await answered?.outcome) ?? {}
  expect([status, state?.log]).toEqual(['completed', ['the answer']])
  expect((await loser.outcome).status).toBe('input-required')
})
