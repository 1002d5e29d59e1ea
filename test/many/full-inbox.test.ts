/** A full inbox pushes back the sender that is over the bound, and nobody else: it is always drained (R2, R14). */
import { expect, it } from 'vitest'
import { Agent } from '../../src/agent/agent.ts'
import { type Entry, HoldfastError } from '../../src/protocol/index.ts'
import type { Store } from '../../src/store/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { MAX_PENDING } from '../../src/store/rules.ts'
import { ScriptedModel } from '../../src/testing/scripted-model.ts'
import { decorate } from '../ownership/decorate.ts'
import { bench, calls, gate, KEY, openSqlite, probe, sqlitePath, until } from '../turn/kit.ts'

function agentOn(store: Store, model: ScriptedModel = ScriptedModel.forever('ok')): Agent {
  return new Agent({ contextId: 'talk', store, model })
}

async function fill(store: Store): Promise<void> {
  const inbox = Array.from({ length: MAX_PENDING }, (_, n) => ({
    type: 'input' as const,
    key: `other-${n}`,
    data: { message: `${n}` },
  }))
  await store.append({ key: KEY, id: 'others', since: 0, inbox })
}

async function drainedTo(store: Store, most: number): Promise<void> {
  while (((await store.head(KEY))?.pending ?? 0) > most)
    await new Promise((resolve) => setTimeout(resolve, 5))
}

async function inputs(store: Store): Promise<readonly Entry[]> {
  const entries = await store.read(KEY, { limit: 100_000 })
  return entries.filter(({ type }) => type === 'input')
}

it('of 1,100 messages at once, every stored one is played and every refused one is not stored', async () => {
  const [store, isFull] = [memoryStore(), gate()]
  const agent = agentOn(store, new ScriptedModel(async () => (await isFull.promise, 'ok')))
  const send = async (n: number) => {
    const { turn, reason, error } = await agent.executeTurn(`${n}`, { key: `k-${n}` }).outcome
    // From here on, messages come in while others are taken.
    if (reason !== 'stop') isFull.resolve()
    return { n, turn, reason, code: error?.code }
  }
  const outcomes = await Promise.all(Array.from({ length: 1100 }, (_, n) => send(n)))
  const played = outcomes.filter(({ reason }) => reason === 'stop')
  const refused = outcomes.filter(({ reason }) => reason !== 'stop')
  expect(new Set((await inputs(store)).map(({ key }) => key))).toEqual(
    new Set(played.map(({ n }) => `k-${n}`)),
  )
  expect(played.length).toBeGreaterThanOrEqual(MAX_PENDING)
  expect(new Set(refused.map(({ turn, code }) => `${turn} ${code}`))).toEqual(new Set(['0 inbox-full']))
  const again = await Promise.all(refused.map(({ n }) => send(n)))
  expect(again.filter(({ reason }) => reason !== 'stop')).toEqual([])
  expect(await store.head(KEY)).toMatchObject({ pending: 0, status: 'idle', turn: 1100 })
})

it('an inbox on SQLite that others have filled is drained by the agent whose message it refuses', async () => {
  const store = openSqlite(sqlitePath(), { synchronous: 'NORMAL' })
  await fill(store)
  const agent = agentOn(store)
  const { error, turn } = await agent.executeTurn('mine', { key: 'mine' }).outcome
  expect([turn, error?.code]).toEqual([0, 'inbox-full'])
  expect(error?.message).toContain('Send it again later under the same key')
  await drainedTo(store, MAX_PENDING - 1)
  const mine = agent.executeTurn('mine', { key: 'mine' })
  await until('it is stored', async () => (await inputs(store)).some(({ key }) => key === 'mine'))
  await agent.shutdown()
  expect((await mine.outcome).error).toMatchObject({ stored: true })
})

it('an inbox that others fill between two turns refuses one message and is drained', async () => {
  const store = memoryStore()
  const agent = agentOn(store)
  await agent.input('first')
  await fill(store)
  const { error } = await agent.executeTurn('mine', { key: 'mine' }).outcome
  expect(error?.code).toBe('inbox-full')
  await drainedTo(store, MAX_PENDING - 100)
  expect((await inputs(store)).some(({ key }) => key === 'mine')).toBe(false)
  await agent.shutdown()
})

it('a stored message whose driver fails is told as stored, and one that is not stored is refused', async () => {
  const slow = gate()
  const { agent, model, store } = bench({ script: [async () => (await slow.promise, 'One.')] })
  const first = agent.executeTurn('1')
  await until('it runs', () => model.calls.length === 1)
  const second = agent.executeTurn('2', { key: 'two' })
  await until('it is stored', async () => (await inputs(store)).length === 2)
  await store.close()
  slow.resolve()
  const third = agent.executeTurn('3')
  const types: string[] = []
  for await (const { type } of second) types.push(type)
  expect(types).not.toContain('turn.refused')
  expect((await second.outcome).error).toMatchObject({ code: 'store-closed', stored: true })
  expect((await first.outcome).error).toMatchObject({ code: 'store-closed', stored: true })
  const { error } = await third.outcome
  expect(error?.code).toBe('store-closed')
  expect(error?.['stored']).toBeUndefined()
})

it('takes the result of a lost turn, so the driver that has it goes on', async () => {
  const memory = memoryStore()
  let isFull = false
  const append: Store['append'] = async (request) => {
    if (isFull) throw new HoldfastError('store-full', { message: 'There is no room.' })
    return memory.append(request)
  }
  const paid = gate()
  const pay = probe('pay', () => paid.promise.then(() => 'paid'), { replay: 'never' })
  const store = decorate(memory, { append })
  const { agent } = bench({ store, tools: [pay], script: [calls('pay'), 'Paid.'] })
  const first = agent.executeTurn('Pay')
  await until('the tool runs', () => pay.ran.length === 1)
  const inbox = Array.from({ length: 2 * MAX_PENDING }, (_, n) => ({
    type: 'answer' as const,
    key: `answer-${n}`,
    data: { requestId: 'none', value: n },
  }))
  await memory.append({ key: KEY, id: 'answers', since: 0, inbox })
  isFull = true
  paid.resolve()
  expect((await first.outcome).error).toMatchObject({ code: 'store-full' })
  isFull = false
  expect(await agent.executeTurn(null).outcome).toMatchObject({ status: 'completed', text: 'Paid.' })
  expect(pay.ran).toHaveLength(1)
})
