/** Messages that are sent together are judged one by one: a bad one takes no other with it (R5). */
import { describe, expect, it, vi } from 'vitest'
import { Agent } from '../../src/agent/agent.ts'
import type { Turn } from '../../src/agent/index.ts'
import { pruneContext } from '../../src/journal/index.ts'
import { MAX_ENTRY_BYTES } from '../../src/protocol/index.ts'
import type { Store } from '../../src/store/index.ts'
import { ScriptedModel } from '../../src/testing/scripted-model.ts'
import { bench, journal, KEY, QUICK_STORES } from '../turn/kit.ts'

const LARGE = 'x'.repeat(MAX_ENTRY_BYTES + 1)

const BAD: readonly { name: string; message: string; key: string; code: string }[] = [
  { name: 'a key that was used for something else', message: 'other', key: 'used', code: 'key-reused' },
  { name: 'more than an entry can hold', message: LARGE, key: 'large', code: 'too-large' },
  { name: 'a key that no journal can hold', message: 'odd', key: 'a\u0000b', code: 'invalid-option' },
]

function agentOn(store: Store): Agent {
  return new Agent({ contextId: 'talk', store, model: ScriptedModel.forever('ok') })
}

async function heard(turn: Turn): Promise<string> {
  const { reason, turn: number, error } = await turn.outcome
  return error === undefined ? `${reason} ${number}` : `${reason} ${number} ${error.code}`
}

async function keysIn(store: Store): Promise<(string | undefined)[]> {
  const entries = await store.read(KEY, { limit: 100_000 })
  return entries.flatMap(({ type, key }) => (type === 'input' ? [key] : []))
}

describe.each(QUICK_STORES)('on %s', (_, open) => {
  it.each(BAD)('$name, between two good messages, is refused alone', async ({ message, key, code }) => {
    const store = open()
    const agent = agentOn(store)
    await agent.executeTurn('first', { key: 'used' }).outcome
    const turns = [
      agent.executeTurn('1', { key: 'one' }),
      agent.executeTurn(message, { key }),
      agent.executeTurn('2', { key: 'two' }),
    ]
    expect(await Promise.all(turns.map(heard))).toEqual(['stop 2', `failed 0 ${code}`, 'stop 3'])
    expect(await keysIn(store)).toEqual(['used', 'one', 'two'])
  })

  it.each(BAD)('$name, sent first, is refused alone', async ({ message, key, code }) => {
    const store = open()
    await agentOn(store).executeTurn('first', { key: 'used' }).outcome
    const agent = agentOn(store)
    const turns = [agent.executeTurn(message, { key }), agent.executeTurn('2', { key: 'two' })]
    expect(await Promise.all(turns.map(heard))).toEqual([`failed 0 ${code}`, 'stop 2'])
    expect(await keysIn(store)).toEqual(['used', 'two'])
  })

  it('of 100 messages over time with bad ones among them, every good one is played', async () => {
    const store = open()
    const agent = agentOn(store)
    await agent.executeTurn('first', { key: 'used' }).outcome
    const turns: Promise<string>[] = []
    for (let n = 0; n < 100; n++) {
      turns.push(heard(agent.executeTurn(`${n}`, { key: `good-${n}` })))
      if (n % 7 === 0) turns.push(heard(agent.executeTurn('other', { key: 'used' })))
      for (let ticks = n % 5; ticks > 0; ticks--) await new Promise(setImmediate)
    }
    const outcomes = await Promise.all(turns)
    expect(outcomes.filter((outcome) => outcome.startsWith('stop'))).toHaveLength(100)
    expect(outcomes.filter((outcome) => outcome === 'failed 0 key-reused')).toHaveLength(15)
    const good = Array.from({ length: 100 }, (__, n) => `good-${n}`)
    expect(await keysIn(store)).toEqual(['used', ...good])
  })
})

it('a turn that cannot go on as it was asked to takes no message with it', async () => {
  const { agent, store } = bench({ script: [{ error: { status: 400 } }, 'One.', 'Two.'] })
  await agent.executeTurn('Hi').outcome
  const turns = [
    agent.executeTurn(null, { metadata: { large: LARGE } }),
    agent.executeTurn('1', { key: 'one' }),
  ]
  expect((await Promise.all(turns.map(heard))).slice(1)).toEqual(['stop 2'])
  expect(await keysIn(store)).toContain('one')
})

it('asked to go on with more than an entry can hold, it is refused, and the next message is heard', async () => {
  const { agent } = bench({ script: [{ error: { status: 400 } }, 'One.'] })
  await agent.executeTurn('Hi').outcome
  expect(await heard(agent.executeTurn(null, { metadata: { large: LARGE } }))).toBe('failed 0 too-large')
  expect(await heard(agent.executeTurn('1'))).toBe('stop 2')
})

it('messages are in the journal in the order of asking, also behind one that is played by hand', async () => {
  const { agent, store } = bench({ script: ['One.', 'Two.', 'Three.'] })
  const first = agent.executeTurn('1', { key: 'one', manual: true })
  const others = [agent.executeTurn('2', { key: 'two' }), agent.executeTurn('3', { key: 'three' })]
  while (!(await first.step()).done);
  expect(await Promise.all([first, ...others].map(heard))).toEqual(['stop 1', 'stop 2', 'stop 3'])
  expect(await keysIn(store)).toEqual(['one', 'two', 'three'])
})

it('one message to an idle conversation travels with the claim', async () => {
  const { agent, store } = bench({ script: ['One.'] })
  const appends = vi.spyOn(store, 'append')
  await agent.executeTurn('1').outcome
  expect(appends).toHaveBeenCalledTimes(2)
  expect(await journal(store)).toHaveLength(6)
})

it('a message sent again after what came of it was pruned is refused, and does not wait for ever', async () => {
  const { agent, store } = bench({ script: ['One.', 'Two.', 'Three.'] })
  await agent.executeTurn('1', { key: 'one' }).outcome
  await agent.executeTurn('2').outcome
  await pruneContext(store, KEY, { keepTurns: 1 })
  expect(await heard(agent.executeTurn('1', { key: 'one' }))).toBe('failed 0 pruned')
  expect(await heard(agent.executeTurn('3'))).toBe('stop 3')
})

it('of two messages at once under one key, the second is refused and not said to be stored', async () => {
  const { agent } = bench({ script: ['One.', 'Two.'] })
  const outcomes = await Promise.all([
    agent.executeTurn('1', { key: 'same' }).outcome,
    agent.executeTurn('2', { key: 'same' }).outcome,
  ])
  expect(outcomes.map(({ reason, error }) => [reason, error?.code, error?.['stored']])).toEqual([
    ['stop', undefined, undefined],
    ['failed', 'key-reused', undefined],
  ])
})
