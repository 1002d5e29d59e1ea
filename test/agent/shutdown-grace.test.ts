/** `shutdown()` waits for functions of the user, but not for ever. */
import { expect, it } from 'vitest'
import { END, graph, START, value } from '../../src/graph/index.ts'
import { createHost } from '../../src/host/index.ts'
import { memoryStore } from '../../src/index.ts'
import { ManualClock, ScriptedModel } from '../../src/testing/index.ts'
import { type BenchOptions, bench, calls, gate, KEY, probe, quiet, until } from '../turn/kit.ts'

const HANGING: readonly (readonly [string, (hang: () => Promise<never>) => BenchOptions])[] = [
  ['a tool that ignores its signal', (hang) => ({ tools: [probe('wait', hang)] })],
  ['a hook', (hang) => ({ on: { beforeLlm: hang } })],
  ['a hook that waits for the agent to be ready', (hang) => ({ on: { onAgentReady: hang } })],
  ['the function credentials', (hang) => ({ credentials: hang })],
  ['the function systemPrompt', (hang) => ({ systemPrompt: hang })],
]

it.each(HANGING)('%s that hangs holds a shutdown for its grace only', async (_, config) => {
  const { promise: never } = gate<never>()
  let hangs = false
  const hang = () => {
    hangs = true
    return never
  }
  const { agent, clock } = bench({ script: [calls('wait'), 'Done.'], ...config(hang) })
  const turn = agent.executeTurn('Hi')
  await until('it hangs', () => hangs)
  const closed = agent.shutdown({ graceMs: 70 })
  await quiet()
  clock.advance(69)
  await quiet()
  expect(agent.state.status).not.toBe('shutdown')
  clock.advance(1)
  await closed
  expect(agent.state.status).toBe('shutdown')
  expect(await turn.outcome).toMatchObject({ status: 'failed', error: { code: 'shutdown' } })
})

it('a shutdown does not wait longer behind a start or a pause that hangs', async () => {
  const { promise: never } = gate<never>()
  const starting = bench({ on: { onAgentReady: () => never } })
  void starting.agent.start().catch(() => {})
  const tool = probe('wait', () => never)
  const pausing = bench({ script: [calls('wait')], tools: [tool] })
  void pausing.agent.executeTurn('Hi')
  await until('the tool runs', () => tool.ran.length > 0)
  void pausing.agent.pause()
  for (const { agent, clock } of [starting, pausing]) {
    const closed = agent.shutdown()
    await quiet()
    clock.advance(30_000)
    await closed
    expect(agent.state.status).toBe('shutdown')
  }
})

it('a tool that ends after the grace has its result stored and its turn released, and is not run again', async () => {
  const go = gate()
  const slow = probe('slow', async () => {
    await go.promise
    return 'late'
  })
  const { agent, another, clock, store } = bench({ script: [calls('slow'), 'Done.'], tools: [slow] })
  void agent.executeTurn('Hi')
  await until('the tool runs', () => slow.ran.length > 0)
  const closed = agent.shutdown({ graceMs: 10 })
  await quiet()
  clock.advance(10)
  await closed
  expect((await store.head(KEY))?.lease).toBeDefined()
  go.resolve()
  await until('the turn is released', async () => (await store.head(KEY))?.lease === undefined)
  expect(agent.state.status).toBe('shutdown')
  const other = another()
  await other.start()
  expect(await other.turn?.outcome).toMatchObject({ status: 'completed', text: 'Done.' })
  expect(slow.ran).toHaveLength(1)
})

it('an agent that starts again after the grace follows the turn, and does not end with the old shutdown', async () => {
  const go = gate()
  const slow = probe('slow', () => go.promise)
  const { agent, clock } = bench({ script: [calls('slow'), 'Done.'], tools: [slow] })
  void agent.executeTurn('Hi')
  await until('the tool runs', () => slow.ran.length > 0)
  const closed = agent.shutdown({ graceMs: 10 })
  await quiet()
  clock.advance(10)
  await closed
  await agent.start()
  const { turn } = agent
  go.resolve()
  expect(await turn?.outcome).toMatchObject({ status: 'completed', text: 'Done.' })
  expect(agent.state.status).toBe('ready')
  expect(slow.ran).toHaveLength(1)
})

it('a graph with a node that hangs is shut down after the grace', async () => {
  const { promise: never } = gate<never>()
  const clock = new ManualClock()
  let hangs = false
  const waiting = graph({ state: { n: value(0) } })
    .addNode('wait', () => {
      hangs = true
      return never
    })
    .addEdge(START, 'wait')
    .addEdge('wait', END)
    .compile({ store: memoryStore(), timer: clock, clock })
  const run = waiting.stream({}, { contextId: 'g' })
  await until('it hangs', () => hangs)
  const closed = waiting.shutdown({ contextId: 'g', graceMs: 70 })
  await quiet()
  clock.advance(70)
  await closed
  expect(await run.outcome).toMatchObject({ status: 'failed', error: { code: 'shutdown' } })
})

it('a host gives its grace to its conversations, and their callers get their outcome', async () => {
  const { promise: never } = gate<never>()
  const tool = probe('wait', () => never)
  const model = new ScriptedModel([calls('wait')])
  const host = createHost({ store: memoryStore(), agents: { a: { model, tools: [tool] } } })
  const turn = await host.send({ tenant: 'local', actor: 'local', contextId: 'a:1' }, 'Hi')
  await until('the tool runs', () => tool.ran.length > 0)
  await host.shutdown({ graceMs: 1 })
  expect(await turn.outcome).toMatchObject({ status: 'failed', error: { code: 'shutdown' } })
})
