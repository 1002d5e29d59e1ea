/** R4: an effect is settled once, by the process that ran it, also when its node did not wait for it. */
import { expect, it } from 'vitest'
import { END, graph, list, type NodeFunction, type NodeOptions, START } from '../../src/graph/index.ts'
import { LOCAL_OWNER } from '../../src/protocol/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { eagerTimer } from '../recovery/mortal.ts'
import { gate, quiet, until } from '../turn/kit.ts'

const log = { log: list<string>() }

/** `when` waits for a line of `told`; time passes only as `clock` says. */
function flow(node: NodeFunction<typeof log>, options: NodeOptions = {}) {
  const clock = new ManualClock()
  const store = memoryStore({ clock })
  const built = graph({ state: log })
    .addNode('node', node, options)
    .addEdge(START, 'node')
    .addEdge('node', END)
  const told = async (): Promise<string[]> => {
    const entries = await store.read({ ...LOCAL_OWNER, contextId: 'talk' })
    return entries
      .filter(({ type }) => type.startsWith('effect.') || type === 'node.end' || type === 'tool.late')
      .map(({ type, data: { status, error } }) => {
        const how = typeof status === 'string' ? ` ${status}` : ''
        return `${type}${how}${error === undefined ? '' : ' failed'}`
      })
  }
  const when = (line: string) => until(line, async () => (await told()).includes(line))
  const compiled = () => built.compile({ store, clock, timer: clock })
  const run = (input: object | null) => compiled().stream(input, { contextId: 'talk' }).outcome
  const answer = (requestId: string) =>
    compiled().answer({ [requestId]: true }, { contextId: 'talk' }).outcome
  const handedIn = () =>
    until(
      'it is handed in',
      async () => (await store.inbox({ ...LOCAL_OWNER, contextId: 'talk' })).length === 1,
    )
  return { run, answer, told, when, clock, handedIn }
}

it('a node that fails while a step is under way has failed when that step has ended', async () => {
  let done = 0
  const slowly = gate()
  const { run, told, when } = flow(
    async (_, { step, attempt }) => {
      const slow = step('slow', async () => {
        await slowly.promise
        done += 1
        return 'slow'
      })
      if (attempt === 1) throw new Error('not yet')
      return { log: await slow }
    },
    { retry: { attempts: 2, waitMs: 0 } },
  )
  const running = run({})
  await when('effect.start')
  slowly.resolve()
  const { status, state } = await running
  expect({ status, state, done }).toEqual({ status: 'completed', state: { log: ['slow'] }, done: 1 })
  expect(await told()).toEqual(['effect.start', 'effect.end ok', 'node.end failed', 'node.end'])
})

it('one of two steps fails: the other one is settled, and not done again by the next attempt', async () => {
  let done = 0
  const slowly = gate()
  const { run, told, when } = flow(async (_, { step, attempt }) => {
    const pay = step('pay', async () => {
      await slowly.promise
      done += 1
      return 'paid'
    })
    const look = step('look', () => {
      if (attempt === 1) throw new Error('nothing to see')
      return 'seen'
    })
    return { log: await Promise.all([look, pay]) }
  })
  const running = run({})
  await when('effect.end error')
  slowly.resolve()
  expect((await running).status).toBe('failed')
  const { state } = await run(null)
  expect({ state, done }).toEqual({ state: { log: ['seen', 'paid'] }, done: 1 })
  expect(await told()).toEqual([
    ...['effect.start', 'effect.start', 'effect.end error', 'effect.end ok', 'node.end failed'],
    ...['effect.start', 'effect.end ok', 'node.end'],
  ])
})

it('a node that asks while a step is under way waits for that step first', async () => {
  const slowly = gate()
  const { run, told, when } = flow(async (_, { step, interrupt }) => {
    const slow = step('slow', () => slowly.promise)
    await interrupt({ kind: 'text', prompt: 'May I?' })
    await slow
  })
  const running = run({})
  await when('effect.start')
  slowly.resolve()
  expect((await running).status).toBe('input-required')
  expect(await told()).toEqual(['effect.start', 'effect.end ok'])
})

it('a step that outlasts the time of its node is waited for by the next attempt, and settled', async () => {
  let done = 0
  const slowly = gate()
  const { run, told, when, clock } = flow(
    async (_, { step }) => {
      const slow = await step('slow', async () => {
        await slowly.promise
        done += 1
        return 'slow'
      })
      return { log: slow }
    },
    { timeoutMs: 40, retry: { attempts: 2, waitMs: 0 } },
  )
  const running = run({})
  await when('effect.start')
  clock.advance(40)
  await when('node.end failed')
  slowly.resolve()
  const { state } = await running
  expect({ state, done }).toEqual({ state: { log: ['slow'] }, done: 1 })
  expect(await told()).toEqual(['effect.start', 'node.end failed', 'effect.end ok', 'node.end'])
})

it('a step that ends between two attempts is known to the second', async () => {
  const slowly = gate<string>()
  const { run, told, when, clock } = flow(
    async (_, { step }) => ({ log: await step('slow', () => slowly.promise) }),
    { timeoutMs: 20, retry: { attempts: 2, waitMs: 40 } },
  )
  const running = run({})
  await when('effect.start')
  clock.advance(20)
  await when('node.end failed')
  slowly.resolve('slow')
  await quiet()
  clock.advance(40)
  expect((await running).state).toEqual({ log: ['slow'] })
  expect(await told()).toEqual(['effect.start', 'node.end failed', 'effect.end ok', 'node.end'])
})

it('a step that ends after its turn is handed in, and known to the next turn', async () => {
  const slowly = gate<string>()
  const { run, told, when, clock, handedIn } = flow(
    async (_, { step }) => ({ log: await step('slow', () => slowly.promise) }),
    { timeoutMs: 10 },
  )
  const running = run({})
  await when('effect.start')
  clock.advance(10)
  expect((await running).status).toBe('failed')
  slowly.resolve('slow')
  await handedIn()
  expect((await run(null)).state).toEqual({ log: ['slow'] })
  expect(await told()).toEqual([
    ...['effect.start', 'node.end failed', 'effect.end unknown', 'tool.late ok'],
    'node.end',
  ])
})

it('a step that ends after its node has ended is settled before the run goes on', async () => {
  const slowly = gate()
  const { run, told, when, clock, handedIn } = flow(
    async (_, { step, attempt }) => {
      if (attempt === 1) await step('slow', () => slowly.promise)
    },
    { timeoutMs: 10, retry: { attempts: 2, waitMs: 0 } },
  )
  const running = run({})
  await when('effect.start')
  clock.advance(10)
  expect((await running).status).toBe('completed')
  slowly.resolve()
  await handedIn()
  expect(await told()).toEqual(['effect.start', 'node.end failed', 'node.end', 'effect.end unknown'])
})

it('a step that ends while a later attempt waits for an answer keeps its result', async () => {
  const slowly = gate<string>()
  const { run, answer, told, when, clock, handedIn } = flow(
    async (_, { step, attempt, interrupt }) => {
      if (attempt === 2) await interrupt({ kind: 'confirmation', prompt: 'Wait for it?' })
      return { log: await step('pay', () => slowly.promise) }
    },
    { timeoutMs: 10, retry: { attempts: 2, waitMs: 0 } },
  )
  const running = run({})
  await when('effect.start')
  clock.advance(10)
  expect((await running).status).toBe('input-required')
  slowly.resolve('paid')
  await handedIn()
  const { status, state, error } = await answer('node.1/answer')
  expect({ status, state, error }).toEqual({ status: 'completed', state: { log: ['paid'] } })
  expect(await told()).toEqual(['effect.start', 'node.end failed', 'effect.end ok', 'node.end'])
})

it('what a process did that was thought to be gone is handed in, and known to the next turn', async () => {
  const clock = new ManualClock()
  const store = memoryStore({ clock, liveness: () => 'unknown' })
  const paying = gate<string>()
  const begun = Promise.withResolvers<void>()
  const flowOf = (effect: () => Promise<string>) =>
    graph({ state: log })
      .addNode('node', async (_, { step }) => ({ log: await step('pay', effect) }))
      .addEdge(START, 'node')
      .addEdge('node', END)
      .compile({ store, clock, timer: eagerTimer })
  const where = { contextId: 'talk' }
  const first = flowOf(() => {
    begun.resolve()
    return paying.promise
  }).stream({}, where)
  await begun.promise
  clock.advance(60_000)
  const second = flowOf(() => Promise.reject(new Error('a second time')))
  expect((await second.stream(null, where).outcome).error).toMatchObject({ code: 'unknown-outcome' })
  paying.resolve('paid')
  expect(await first.outcome).toMatchObject({ status: 'failed', error: { code: 'unknown-outcome' } })
  const entries = () => store.read({ ...LOCAL_OWNER, contextId: 'talk' })
  await until('it is handed in', async () => (await entries()).some(({ type }) => type === 'late-result'))
  const { status, state } = await second.stream(null, where).outcome
  expect({ status, state }).toEqual({ status: 'completed', state: { log: ['paid'] } })
})
