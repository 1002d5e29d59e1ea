/** Durability without autoSave, and in a turn that is stepped manually (R3). */
import { describe, expect, it } from 'vitest'
import { decorate } from '../ownership/decorate.ts'
import {
  asking,
  bench,
  calls,
  entryLines,
  gate,
  journal,
  KEY,
  probe,
  quiet,
  STORES,
  said,
  until,
} from './kit.ts'

describe.each(STORES)('without autoSave, on %s', (_, open) => {
  it('a reply is told before it is stored, and stored by saveState', async () => {
    const { agent, store } = bench({ store: open(), script: ['Hello'], autoSave: false })
    expect(await entryLines(agent.executeTurn('Hi'))).toEqual([
      '1 input "Hi"',
      '2 claim 1',
      '3 turn.start takes 1',
      '4 model.start 1',
      '~ model.end "Hello"',
      '~ turn.end stop',
    ])
    expect(await journal(store)).toHaveLength(4)
    expect(await agent.getMessages()).toHaveLength(2)
    await agent.saveState()
    expect((await journal(store)).slice(4)).toEqual(['5 model.end "Hello"', '6 turn.end stop'])
    await said(store)
  })

  it('the next turn stores what was held back', async () => {
    const { agent, store } = bench({ store: open(), script: ['One', 'Two'], autoSave: false })
    await agent.executeTurn('1').outcome
    expect((await entryLines(agent.executeTurn('2'))).map((text) => text.replace(/^\S+ /, ''))).toEqual([
      'input "2"',
      'claim 2',
      'turn.start takes 7',
      'model.start 1',
      'model.end "Two"',
      'turn.end stop',
    ])
    expect((await journal(store)).slice(4, 6)).toEqual(['5 model.end "One"', '6 turn.end stop'])
    await agent.saveState()
    expect(await said(store)).toEqual(['user "1"', 'assistant "One"', 'user "2"', 'assistant "Two"'])
  })

  it('a result that was held back is handed in when another process was let in meanwhile', async () => {
    const store = open()
    const { agent } = bench({ store, script: [calls('pay'), 'Done'], tools: [probe('pay')], autoSave: false })
    await agent.executeTurn('Pay').outcome
    const release = { type: 'release', turn: 1, data: { reason: 'operator' } }
    await store.append({ key: KEY, id: 'other', since: 6, epoch: 1, entries: [release] })
    await expect(agent.saveState()).rejects.toMatchObject({ code: 'fenced' })
    await until('it was handed in', async () => (await store.inbox(KEY)).length > 0)
    expect((await store.inbox(KEY)).map(({ type, data }) => [type, data['status']])).toEqual([
      ['late-result', 'ok'],
    ])
  })

  it('a reply that comes while others are being stored is stored, too', async () => {
    const inner = open()
    const [reached, held, replied] = [gate(), gate(), gate()]
    let isHeld = false
    const append: typeof inner.append = async (request) => {
      const receipt = await inner.append(request)
      if (!isHeld) return receipt
      isHeld = false
      reached.resolve()
      await held.promise
      return receipt
    }
    const script = [calls('pay'), async () => (await replied.promise, 'Done')]
    const store = decorate(inner, { append })
    const { agent, model } = bench({ store, script, tools: [probe('pay')], autoSave: false })
    const turn = agent.executeTurn('Pay')
    await until('the model is asked again', () => model.calls.length === 2)
    isHeld = true
    const saving = agent.saveState()
    await reached.promise
    replied.resolve()
    await quiet()
    held.resolve()
    await saving
    expect((await turn.outcome).text).toBe('Done')
    await agent.saveState()
    expect((await journal(inner)).slice(6)).toEqual([
      '7 tool.end call_1 ok',
      '8 model.start 2',
      '9 model.end "Done"',
      '10 turn.end stop',
    ])
  })

  it('the turn of a message of another process is stored when it ends', async () => {
    const { agent, another, clock, store } = bench({ store: open(), script: ['One', 'Two'], autoSave: false })
    await agent.executeTurn('1').outcome
    const second = another().executeTurn('2')
    await until('it is over', () => {
      clock.advance(100)
      return second.isEnded
    })
    expect(await second.outcome).toMatchObject({ status: 'completed', text: 'Two' })
    expect((await journal(store)).filter((line) => line.includes(' claim '))).toHaveLength(2)
  })

  it('several may ask at once to store what was held back', async () => {
    const { agent, store } = bench({ store: open(), script: ['Hello'], autoSave: false })
    await agent.executeTurn('Hi').outcome
    const asked = await Promise.allSettled([agent.saveState(), agent.trace(), agent.saveState()])
    expect(asked.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled'])
    expect((await journal(store)).slice(4)).toEqual(['5 model.end "Hello"', '6 turn.end stop'])
  })

  it('the last turn is complete before it is stored', async () => {
    const { agent } = bench({ store: open(), script: ['Hello'], autoSave: false })
    await agent.executeTurn('Hi').outcome
    expect(await (await agent.lastTurn())?.outcome).toMatchObject({ status: 'completed', text: 'Hello' })
  })

  it('the intent of a tool is durable before its effect', async () => {
    const durable: string[][] = []
    const store = open()
    const tool = probe('a', async () => {
      durable.push(await journal(store))
      return 'done'
    })
    const { agent } = bench({
      store,
      script: [calls('a'), calls('a'), 'Done'],
      tools: [tool],
      autoSave: false,
    })
    await agent.executeTurn('Hi').outcome
    expect(durable.map((entries) => entries.at(-1))).toEqual([
      '6 tool.start call_1 a',
      '10 tool.start call_2 a',
    ])
    await agent.saveState()
    expect((await journal(store)).at(-1)).toBe('14 turn.end stop')
    await said(store)
  })

  it('a question is durable, since somebody else may answer it', async () => {
    const tools = [asking('quiz', { kind: 'text', prompt: 'Why?' })]
    const { agent, store, another } = bench({
      store: open(),
      script: [calls('quiz'), 'Thanks'],
      tools,
      autoSave: false,
    })
    await agent.executeTurn('Hi').outcome
    expect((await journal(store)).slice(6)).toEqual([
      '7 request.start call_1/answer text',
      '8 turn.end input-required',
    ])
    expect((await another().answer({ 'call_1/answer': 'because' }).outcome).text).toBe('Thanks')
  })

  it('pause and shutdown store what was held back', async () => {
    const { agent, store } = bench({ store: open(), script: ['One', 'Two'], autoSave: false })
    await agent.executeTurn('1').outcome
    await agent.pause()
    expect((await journal(store))[5]).toBe('6 turn.end stop')
    await agent.resume()
    await agent.executeTurn('2').outcome
    await agent.shutdown()
    expect((await journal(store))[14]).toBe('15 turn.end stop')
  })
})

describe.each(STORES)('a turn by hand, on %s', (_, open) => {
  it('stands still before every effect', async () => {
    const tool = probe('a')
    const { agent, model, store } = bench({ store: open(), script: [calls('a'), 'Done'], tools: [tool] })
    const turn = agent.executeTurn('Hi', { manual: true })
    const stops: unknown[] = []
    for (let done = false; !done; ) {
      const step = await turn.step()
      done = step.done
      stops.push([step.next, step.done, (await journal(store)).length, model.calls.length, tool.ran.length])
    }
    expect(stops).toEqual([
      ['model', false, 4, 0, 0],
      ['tools', false, 6, 1, 0],
      ['model', false, 8, 1, 1],
      ['done', true, 10, 2, 1],
    ])
    expect((await turn.outcome).text).toBe('Done')
    expect(await turn.step()).toEqual({ done: true, next: 'done' })
    await said(store)
  })

  it('can be cancelled between two steps', async () => {
    const tool = probe('a')
    const { agent, store } = bench({ store: open(), script: [calls('a'), 'Done'], tools: [tool] })
    const turn = agent.executeTurn('Hi', { manual: true })
    await turn.step()
    await turn.step()
    await turn.cancel()
    while (!(await turn.step()).done);
    expect((await turn.outcome).reason).toBe('cancelled')
    expect((await journal(store)).at(-1)).toContain('turn.end cancelled')
    await said(store)
  })

  it('goes on after a question is answered by hand', async () => {
    const tools = [asking('quiz', { kind: 'text', prompt: 'Why?' })]
    const { agent, store } = bench({ store: open(), script: [calls('quiz'), 'Thanks'], tools })
    const first = agent.executeTurn('Hi', { manual: true })
    while (!(await first.step()).done);
    expect((await first.outcome).reason).toBe('input-required')
    const second = agent.answer({ 'call_1/answer': 'because' }, { manual: true })
    const next: string[] = []
    for (let done = false; !done; ) {
      const step = await second.step()
      done = step.done
      next.push(step.next)
    }
    expect(next).toEqual(['tools', 'model', 'done'])
    expect((await second.outcome).text).toBe('Thanks')
    await said(store)
  })
})
