/** `onAgentReady` belongs to no turn, and has a limit of its own. */
import { expect, it } from 'vitest'
import { onceReady } from '../../src/agent/once-ready.ts'
import { HookRegistry } from '../../src/hook/index.ts'
import type { Agent } from '../../src/index.ts'
import { ManualClock } from '../../src/testing/manual-clock.ts'
import { bench, calls, gate, KEY, probe, quiet, until } from '../turn/kit.ts'

const AGENT = { contextId: 'talk', name: 'agent', turnCount: 0, metadata: {} }

it('a hook that hangs fails after ten minutes, and the next request calls it again', async () => {
  const clock = new ManualClock()
  let called = 0
  const onAgentReady = (): Promise<void> => {
    called += 1
    return called === 1 ? new Promise(() => {}) : Promise.resolve()
  }
  const hooks = new HookRegistry([{ plugin: 'warm-up', on: { onAgentReady } }])
  const ready = onceReady(hooks, () => AGENT, clock)
  let failure: unknown
  const first = Promise.resolve(ready()).catch((error: unknown) => {
    failure = error
  })
  await quiet()
  clock.advance(599_999)
  await quiet()
  expect(failure).toBeUndefined()
  clock.advance(1)
  await first
  expect(failure).toMatchObject({
    code: 'hook-failed',
    message: 'The hook warm-up/onAgentReady failed: it did not end within 600000 ms',
    details: { hook: 'warm-up/onAgentReady' },
  })
  await ready()
  expect(called).toBe(2)
  expect([ready(), clock.waiting]).toEqual([undefined, 0])
})

const CANCELS: readonly (readonly [
  string,
  (agent: Agent, turn: Agent['turn'], abort: AbortController) => unknown,
])[] = [
  ['its signal', (_agent, _turn, abort) => abort.abort()],
  ['cancel() of the turn', (_agent, turn) => turn?.cancel('left')],
  ['cancel() of the agent', (agent) => agent.cancel('left')],
  ['cancel() of the agent, by the number of the turn', (agent) => agent.cancel('left', { turn: 1 })],
]

it.each(CANCELS)('%s ends a request that waits for the hook, and the next one goes on', async (_, cancel) => {
  const hook = gate()
  let called = 0
  const onAgentReady = async () => {
    called += 1
    await hook.promise
  }
  const { agent, store } = bench({ script: ['Done.'], on: { onAgentReady } })
  const abort = new AbortController()
  const turn = agent.executeTurn('Hi', { signal: abort.signal })
  const next = agent.executeTurn('Go on')
  await until('the hook runs', () => called > 0)
  await cancel(agent, turn, abort)
  expect(await turn.outcome).toMatchObject({
    status: 'cancelled',
    turn: 0,
    error: { code: 'cancelled', message: 'The turn was cancelled before it began. Nothing was stored.' },
  })
  expect([next.isEnded, await store.head(KEY)]).toEqual([false, undefined])
  hook.resolve()
  expect(await next.outcome).toMatchObject({ status: 'completed', turn: 1, text: 'Done.' })
  const inputs = (await agent.trace()).flatMap((one) => (one.type === 'user_input' ? [one.prompt] : []))
  expect([inputs, called]).toEqual([['Go on'], 1])
})

it('a request with an aborted signal does not wait for the hook', async () => {
  const { agent } = bench({ on: { onAgentReady: () => new Promise<void>(() => {}) } })
  const turn = agent.executeTurn('Hi', { signal: AbortSignal.abort() })
  expect(await turn.outcome).toMatchObject({ status: 'cancelled', turn: 0 })
})

it('cancel() cancels the turn of another process while the hook here hangs', async () => {
  const slow = probe(
    'slow',
    (_, { signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(new Error('stopped')))
      }),
  )
  const { agent, another } = bench({ script: [calls('slow')], tools: [slow] })
  const turn = agent.executeTurn('Hi')
  await until('the tool runs', () => slow.ran.length > 0)
  const other = another({ on: { onAgentReady: () => new Promise<void>(() => {}) } })
  const waiting = other.executeTurn('Me too')
  await quiet()
  await other.cancel()
  expect(await turn.outcome).toMatchObject({ status: 'cancelled', turn: 1 })
  expect(waiting.isEnded).toBe(false)
  await waiting.cancel()
  expect(await waiting.outcome).toMatchObject({ status: 'cancelled', turn: 0 })
})

it('cancel() without anything to cancel does not wait for the hook', async () => {
  let called = 0
  const onAgentReady = () => {
    called += 1
    return new Promise<void>(() => {})
  }
  const { agent } = bench({ on: { onAgentReady } })
  void agent.start().catch(() => {})
  await until('the hook runs', () => called > 0)
  await agent.cancel()
  await agent.cancel('left', { turn: 7 })
  expect(agent.state.status).toBe('starting')
})

it('the hook gets a frozen copy of the metadata', async () => {
  const onAgentReady = ({ metadata }: { metadata: object }) =>
    void Object.assign(metadata, { title: 'Roofs' })
  const { agent } = bench({ metadata: { title: 'Walls' }, on: { onAgentReady } })
  await expect(agent.start()).rejects.toMatchObject({ code: 'hook-failed' })
  expect(agent.state.metadata).toEqual({ title: 'Walls' })
})

it('a change of the metadata in a state of the agent changes nothing', async () => {
  const { agent, another } = bench({ script: ['Done.'], metadata: { title: 'Walls' } })
  Object.assign(agent.state.metadata, { title: 'Roofs' })
  await agent.input('Hi')
  Object.assign(agent.state.metadata, { title: 'Roofs' })
  expect(agent.state.metadata).toEqual({ title: 'Walls' })
  await agent.shutdown()
  const other = another()
  await other.start()
  expect(other.state.metadata).toEqual({ title: 'Walls' })
})
