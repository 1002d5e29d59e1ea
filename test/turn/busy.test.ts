/** A message that comes while a turn runs, and a message that is sent twice. */
import { describe, expect, it } from 'vitest'
import type { AppendRequest } from '../../src/store/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { faultyStore } from '../../src/testing/faulty-store.ts'
import {
  bench,
  calls,
  entryLines,
  gate,
  journal,
  probe,
  promptLines,
  quiet,
  STORES,
  said,
  until,
} from './kit.ts'

describe.each(STORES)('a message to a busy conversation, on %s', (_, open) => {
  it('is queued, and its turn follows', async () => {
    const slow = gate()
    const { agent, model, store } = bench({
      store: open(),
      script: [async () => (await slow.promise, 'One'), 'Two'],
    })
    const first = agent.executeTurn('1')
    await until('it runs', () => model.calls.length === 1)
    const second = agent.executeTurn('2')
    await until('it is stored', async () => (await journal(store)).length === 5)
    slow.resolve()
    expect((await entryLines(first)).slice(4)).toEqual([
      '5 input "2"',
      '6 model.end "One"',
      '7 turn.end stop',
    ])
    expect(await entryLines(second)).toEqual([
      '5 input "2"',
      '8 claim 2',
      '9 turn.start takes 5',
      '10 model.start 1',
      '11 model.end "Two"',
      '12 turn.end stop',
    ])
    expect(await said(store)).toEqual(['user "1"', 'assistant "One"', 'user "2"', 'assistant "Two"'])
    expect((await first.outcome).turn).toBe(1)
    expect((await second.outcome).turn).toBe(2)
  })

  it('is queued behind others in the order of asking', async () => {
    const { agent, store } = bench({ store: open(), script: ['One', 'Two', 'Three'] })
    const turns = ['1', '2', '3'].map((text) => agent.executeTurn(text))
    const texts = await Promise.all(turns.map(async (turn) => (await turn.outcome).text))
    expect(texts).toEqual(['One', 'Two', 'Three'])
    expect(await said(store)).toHaveLength(6)
  })

  it('is heard before the next model call if it steers', async () => {
    const slow = gate()
    const tool = probe('slow', () => slow.promise.then(() => 'done'))
    const { agent, model, store } = bench({ store: open(), script: [calls('slow'), 'Both'], tools: [tool] })
    const first = agent.executeTurn('1')
    await until('it runs', () => tool.ran.length === 1)
    const second = agent.executeTurn('2', { whileBusy: 'steer' })
    await until('it is stored', async () => (await journal(store)).length === 7)
    slow.resolve()
    expect((await entryLines(first)).slice(5)).toEqual([
      '6 tool.start call_1 slow',
      '7 input "2" steer',
      '8 tool.end call_1 ok',
      '9 take message takes 7',
      '10 model.start 2',
      '11 model.end "Both"',
      '12 turn.end stop',
    ])
    expect(await entryLines(second)).toEqual([
      '7 input "2" steer',
      '9 take message takes 7',
      '10 model.start 2',
      '11 model.end "Both"',
      '12 turn.end stop',
    ])
    expect((await second.outcome).turn).toBe(1)
    expect(promptLines(model, 1).at(-1)).toBe('user "2"')
    await said(store)
  })

  it('keeps a turn going that would have ended, if it steers', async () => {
    const slow = gate()
    const { agent, model, store } = bench({
      store: open(),
      script: [async () => (await slow.promise, 'One'), 'Two'],
    })
    const first = agent.executeTurn('1')
    await until('it runs', () => model.calls.length === 1)
    agent.executeTurn('2', { whileBusy: 'steer' })
    await until('it is stored', async () => (await journal(store)).length === 5)
    slow.resolve()
    expect((await entryLines(first)).slice(4)).toEqual([
      '5 input "2" steer',
      '6 model.end "One"',
      '7 take message takes 5',
      '8 model.start 2',
      '9 model.end "Two"',
      '10 turn.end stop',
    ])
    expect(await said(store)).toEqual(['user "1"', 'assistant "One"', 'user "2"', 'assistant "Two"'])
  })

  it.each([
    ['a reply', 'One', ['6 model.end "One"', '7 turn.end stop']],
    [
      'a round',
      calls('look'),
      [
        '6 model.end call_1:look',
        '7 tool.start call_1 look',
        '8 tool.end call_1 ok',
        '9 warning max-iterations',
        '10 turn.end max-iterations iterations',
      ],
    ],
  ] as const)(
    'begins the next turn if it steers one that is at its limit after %s',
    async (_name, step, end) => {
      const slow = gate()
      const { agent, model, store } = bench({
        store: open(),
        script: [async () => (await slow.promise, step), 'Two'],
        tools: [probe('look')],
        limits: { iterations: 1 },
      })
      const first = agent.executeTurn('1')
      await until('it runs', () => model.calls.length === 1)
      const second = agent.executeTurn('2', { whileBusy: 'steer' })
      await until('it is stored', async () => (await journal(store)).length === 5)
      slow.resolve()
      expect((await entryLines(first)).slice(4)).toEqual(['5 input "2" steer', ...end])
      expect(await second.outcome).toMatchObject({ status: 'completed', text: 'Two', turn: 2 })
      expect((await journal(store)).at(-1)).toMatch(/turn.end stop/)
    },
  )

  it('cancels the running turn if it interrupts', async () => {
    const { agent, model, store } = bench({ store: open(), script: [{ stall: true, after: 'Well' }, 'Two'] })
    const first = agent.executeTurn('1')
    await until('it runs', () => model.calls.length === 1)
    await quiet()
    const second = agent.executeTurn('2', { whileBusy: 'interrupt' })
    expect((await entryLines(first)).slice(4)).toEqual([
      '5 cancel 1 interrupted',
      '6 input "2"',
      '7 model.end "Well" aborted',
      '8 turn.end cancelled takes 5',
    ])
    expect((await entryLines(second)).slice(0, 3)).toEqual([
      '6 input "2"',
      '9 claim 2',
      '10 turn.start takes 6',
    ])
    expect((await second.outcome).text).toBe('Two')
    expect(await said(store)).toEqual(['user "1"', 'assistant "Well"', 'user "2"', 'assistant "Two"'])
  })

  it('is refused if it is to be rejected, and nothing is stored', async () => {
    const slow = gate()
    const { agent, model, store } = bench({
      store: open(),
      script: [async () => (await slow.promise, 'One'), 'Two'],
    })
    const first = agent.executeTurn('1')
    await until('it runs', () => model.calls.length === 1)
    const second = agent.executeTurn('2', { whileBusy: 'reject' })
    expect((await second.outcome).error).toMatchObject({ code: 'busy' })
    expect(await journal(store)).toHaveLength(4)
    slow.resolve()
    expect((await first.outcome).text).toBe('One')
    expect((await agent.executeTurn('2', { whileBusy: 'reject' }).outcome).text).toBe('Two')
  })

  it('that steers, interrupts or is rejected begins a turn when nothing runs', async () => {
    const { agent, store } = bench({ store: open(), script: ['One', 'Two', 'Three'] })
    for (const whileBusy of ['steer', 'interrupt', 'reject'] as const)
      expect((await agent.executeTurn('x', { whileBusy }).outcome).reason).toBe('stop')
    expect((await journal(store)).filter((text) => text.includes('turn.start'))).toHaveLength(3)
  })
})

describe('the same key', () => {
  it('sent twice at once is one turn with two listeners', async () => {
    const { agent, store, model } = bench({ script: ['One', 'Two'] })
    const [first, second] = [agent.executeTurn('1', { key: 'k' }), agent.executeTurn('1', { key: 'k' })]
    expect((await first.outcome).text).toBe('One')
    expect((await second.outcome).text).toBe('One')
    expect(model.calls).toHaveLength(1)
    expect((await journal(store)).filter((text) => text.includes('turn.start'))).toHaveLength(1)
  })

  it('sent again after the turn has ended tells that turn', async () => {
    const { agent, store, model, another } = bench({ script: ['One', 'Two'] })
    await agent.executeTurn('1', { key: 'k' }).outcome
    const again = await agent.executeTurn('1', { key: 'k' }).outcome
    expect(again).toMatchObject({ turn: 1, text: 'One', reason: 'stop' })
    expect(await another().executeTurn('1', { key: 'k' }).outcome).toMatchObject({ turn: 1, text: 'One' })
    expect(model.calls).toHaveLength(1)
    expect(await journal(store)).toHaveLength(6)
  })

  it('with another message is refused', async () => {
    const { agent, model } = bench({ script: ['One', 'Two'] })
    await agent.executeTurn('1', { key: 'k' }).outcome
    const turn = agent.executeTurn('2', { key: 'k' })
    const { reason, error } = await turn.outcome
    expect([reason, error?.['code']]).toEqual(['failed', 'key-reused'])
    expect(model.calls).toHaveLength(1)
    expect((await agent.executeTurn('3').outcome).text).toBe('Two')
  })

  it('sent again to interrupt cancels nothing: neither the turn of another message nor its own', async () => {
    const slow = gate()
    const { agent, model, store } = bench({ script: ['One', async () => (await slow.promise, 'Two')] })
    const send = () => agent.executeTurn('1', { key: 'k', whileBusy: 'interrupt' }).outcome
    await send()
    const second = agent.executeTurn('2')
    await until('it runs', () => model.calls.length === 2)
    expect(await send()).toMatchObject({ turn: 1, text: 'One' })
    slow.resolve()
    expect(await second.outcome).toMatchObject({ status: 'completed', text: 'Two' })
    expect((await journal(store)).filter((text) => text.includes('cancel'))).toEqual([])
  })

  it('sent again to interrupt, while it waits because its cancel was refused, interrupts', async () => {
    let isRefused = true
    const at = ({ inbox = [] }: AppendRequest) => isRefused && inbox.some(({ type }) => type === 'cancel')
    const store = faultyStore(memoryStore(), [{ at, how: 'refuse' }])
    const { agent, model } = bench({ store, script: [{ stall: true }, 'Two'] })
    const first = agent.executeTurn('1')
    await until('it runs', () => model.calls.length === 1)
    const send = () => agent.executeTurn('2', { key: 'k', whileBusy: 'interrupt' }).outcome
    expect((await send()).error).toMatchObject({ code: 'store-failed', stored: true })
    isRefused = false
    expect(await send()).toMatchObject({ turn: 2, text: 'Two' })
    expect((await first.outcome).status).toBe('cancelled')
  })

  it('of a new message interrupts, once', async () => {
    const { agent, model, store } = bench({ script: [{ stall: true }, 'Two'] })
    const first = agent.executeTurn('1')
    await until('it runs', () => model.calls.length === 1)
    await quiet()
    const send = () => agent.executeTurn('2', { key: 'k', whileBusy: 'interrupt' }).outcome
    const [second, again] = await Promise.all([send(), send()])
    expect((await first.outcome).status).toBe('cancelled')
    expect([second.text, again.text]).toEqual(['Two', 'Two'])
    expect((await journal(store)).filter((text) => text.includes(' cancel '))).toHaveLength(1)
  })

  it('sent again to be rejected joins the turn that it began', async () => {
    const slow = gate()
    const { agent, model, another } = bench({ script: [async () => (await slow.promise, 'One')] })
    const send = (by = agent) => by.executeTurn('1', { key: 'k', whileBusy: 'reject' }).outcome
    const first = send()
    await until('it runs', () => model.calls.length === 1)
    const again = [send(), send(another())]
    const other = await agent.executeTurn('2', { key: 'k2', whileBusy: 'reject' }).outcome
    expect(other.error).toMatchObject({ code: 'busy' })
    slow.resolve()
    for (const outcome of await Promise.all([first, ...again]))
      expect(outcome).toMatchObject({ turn: 1, text: 'One' })
  })
})
