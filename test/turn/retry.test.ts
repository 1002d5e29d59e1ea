/** Models that fail: retries, waits and fallbacks, each attempt in the journal before the next is tried. */
import { describe, expect, it } from 'vitest'
import { takeOver } from '../../src/agent/operator.ts'
import { ScriptedModel } from '../../src/testing/scripted-model.ts'
import { bench, entryLines, journal, KEY, lines, promptLines, quiet, said, until } from './kit.ts'

const OVERLOADED = { error: { status: 503, message: 'Busy' } }

describe('a model call that fails', () => {
  it('is repeated after one and two seconds, then the turn fails', async () => {
    const { agent, model, clock } = bench({ script: [OVERLOADED, OVERLOADED, OVERLOADED] })
    const turn = agent.executeTurn('Hi')
    await until('it fails once', () => model.calls.length === 1)
    await quiet()
    clock.advance(999)
    await quiet()
    expect(model.calls).toHaveLength(1)
    clock.advance(1)
    await until('it fails twice', () => model.calls.length === 2)
    await quiet()
    clock.advance(2000)
    expect(await entryLines(turn)).toEqual([
      '1 input "Hi"',
      '2 claim 1',
      '3 turn.start takes 1',
      '4 model.start 1',
      '5 model.end error overloaded retry',
      '6 model.start 1 attempt 2',
      '7 model.end error overloaded retry',
      '8 model.start 1 attempt 3',
      '9 model.end error overloaded fail',
      '10 turn.end failed',
    ])
    expect(await turn.outcome).toMatchObject({
      status: 'failed',
      error: { code: 'model', kind: 'overloaded', message: 'Busy', status: 503 },
    })
    expect(agent.state.error).toMatchObject({ code: 'model' })
    expect(agent.state.status).toBe('ready')
  })

  it('waits as long as the provider asks', async () => {
    const { agent, model, clock } = bench({ script: [{ error: { status: 429, retryAfter: 20 } }, 'Hello'] })
    const turn = agent.executeTurn('Hi')
    await until('it fails once', () => model.calls.length === 1)
    await quiet()
    clock.advance(19_000)
    await quiet()
    expect(model.calls).toHaveLength(1)
    clock.advance(1000)
    expect((await entryLines(turn)).slice(4)).toEqual([
      '5 model.end error rate-limit retry',
      '6 model.start 1 attempt 2',
      '7 model.end "Hello"',
      '8 turn.end stop',
    ])
    expect((await turn.outcome).durationMs).toBe(20_000)
  })

  it('is not repeated when that cannot help', async () => {
    const { agent, model } = bench({ script: [{ error: { status: 400, message: 'What?' } }] })
    const turn = agent.executeTurn('Hi')
    expect((await entryLines(turn)).slice(4)).toEqual(['5 model.end error invalid fail', '6 turn.end failed'])
    expect(model.calls).toHaveLength(1)
  })

  it('is handed to the next model, with retries of its own', async () => {
    const second = new ScriptedModel([OVERLOADED, 'Hello'], { name: 'other/model' })
    const first = new ScriptedModel([{ error: { status: 401 } }])
    const { agent, clock } = bench({ model: [first, second] })
    const turn = agent.executeTurn('Hi')
    await until('both were asked', () => second.calls.length === 1)
    await quiet()
    clock.advance(1000)
    expect((await entryLines(turn)).slice(3)).toEqual([
      '4 model.start 1',
      '5 model.end error auth fallback',
      '6 model.start 1 other/model',
      '7 model.end error overloaded retry',
      '8 model.start 1 other/model attempt 2',
      '9 model.end "Hello"',
      '10 turn.end stop',
    ])
  })

  it('leaves no half reply in the prompt, and its usage counts', async () => {
    const script = [
      { error: { status: 503 }, after: 'I was about to say' },
      { text: 'Hello', usage: { inputTokens: 7, outputTokens: 3 } },
    ]
    const { agent, model, clock, store } = bench({ script })
    const turn = agent.executeTurn('Hi')
    await until('it fails once', () => model.calls.length === 1)
    await quiet()
    clock.advance(1000)
    const { usage, text } = await turn.outcome
    expect(text).toBe('Hello')
    expect(promptLines(model, 1)).toEqual(['user "Hi"'])
    expect(usage.estimated).toBe(true)
    expect(usage.outputTokens).toBeGreaterThan(3)
    expect(await said(store)).toEqual(['user "Hi"', 'assistant "Hello"'])
  })

  it('is given up while it waits, if the turn is cancelled', async () => {
    const { agent, model } = bench({ script: [OVERLOADED] })
    const turn = agent.executeTurn('Hi')
    await until('it fails once', () => model.calls.length === 1)
    await quiet()
    await turn.cancel()
    expect((await entryLines(turn)).slice(4)).toEqual([
      '5 model.end error overloaded retry',
      '6 cancel 1',
      '7 turn.end cancelled takes 6',
    ])
  })

  it('costs no iteration, and is repeated by whoever takes over, after what is left of the wait', async () => {
    const script = [{ error: { status: 503, retryAfter: 30 } }, 'Finally']
    const { agent, model, clock, store, another } = bench({ script, limits: { iterations: 1 } })
    void agent.executeTurn('Hi').outcome
    await until('it fails once', () => model.calls.length === 1)
    await quiet()
    clock.advance(10_000)
    await takeOver(store, KEY)
    const next = another()
    await next.start()
    await quiet()
    clock.advance(19_999)
    await quiet()
    expect(model.calls).toHaveLength(1)
    clock.advance(1)
    expect(await next.turn?.outcome).toMatchObject({ reason: 'stop', text: 'Finally' })
    expect((await journal(store)).filter((line) => line.includes('model.start'))).toEqual([
      '4 model.start 1',
      expect.stringContaining('model.start 1 attempt 2'),
    ])
  })

  it('is not given to the model before it again, even if both have the same name', async () => {
    const models = [1, 2, 3].map(() => new ScriptedModel([{ error: { status: 401 } }, 'No']))
    const { agent } = bench({ model: models })
    expect((await agent.executeTurn('Hi').outcome).reason).toBe('failed')
    expect(models.map((model) => model.calls.length)).toEqual([1, 1, 1])
  })

  it('is not one without the system prompt', async () => {
    const systemPrompt = (): never => {
      throw new Error('no prompt')
    }
    const { agent, store } = bench({ script: ['Hello'], systemPrompt })
    const turn = agent.executeTurn('Hi')
    expect((await entryLines(turn)).slice(3)).toEqual(['4 turn.end failed'])
    expect((await turn.outcome).error).toMatchObject({ code: 'option-failed' })
    await said(store)
  })

  it('does not keep the next turn from going well', async () => {
    const { agent, store } = bench({ script: [{ error: { status: 400 } }, 'Hello'] })
    expect((await agent.executeTurn('Hi').outcome).status).toBe('failed')
    expect(agent.state.error).toBeDefined()
    expect((await agent.executeTurn('Again').outcome).text).toBe('Hello')
    expect(agent.state.error).toBeUndefined()
    expect(await said(store)).toEqual(['user "Hi"', 'user "Again"', 'assistant "Hello"'])
  })
})

describe('a reply that was cut off at its longest', () => {
  it('is kept, with a warning', async () => {
    const { agent } = bench({ script: [{ text: 'Once upon', finish: 'length' }] })
    expect((await lines(agent.executeTurn('Hi'))).slice(5)).toEqual([
      '5 model.end "Once upon" length',
      '6 warning length',
      '7 turn.end stop',
    ])
  })

  it('that was empty ends the turn all the same', async () => {
    const { agent, store } = bench({ script: [{ text: '' }, 'Hello'] })
    expect((await agent.executeTurn('Hi').outcome).reason).toBe('stop')
    await agent.executeTurn('Hi?').outcome
    expect(await said(store)).toEqual(['user "Hi"', 'user "Hi?"', 'assistant "Hello"'])
    expect((await journal(store))[4]).toBe('5 model.end')
  })
})
