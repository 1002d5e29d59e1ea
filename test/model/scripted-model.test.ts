/** The scripted model: follows its script, and rejects everything else. */
import { describe, expect, it } from 'vitest'
import { type ModelDelta } from '../../src/model/index.ts'
import { ManualClock } from '../../src/testing/manual-clock.ts'
import { ScriptedModel } from '../../src/testing/scripted-model.ts'
import { askOnce, failing } from './ask-once.ts'

describe('a step', () => {
  it('is a text, which arrives in pieces with a usage by its length', async () => {
    const deltas: ModelDelta[] = []
    const model = new ScriptedModel(['Hello you'])
    const reply = await askOnce(model, { onDelta: (delta) => deltas.push(delta) })
    expect(reply).toEqual({
      content: [{ type: 'text', text: 'Hello you' }],
      finish: 'stop',
      model: 'scripted/model',
      usage: { inputTokens: 3, outputTokens: 3, cachedTokens: 0, costUsd: 0 },
    })
    expect(deltas.map(({ text }) => text)).toEqual(['Hel', 'lo ', 'you'])
    model.done()
  })

  it('is a whole reply', async () => {
    const model = new ScriptedModel(
      [
        {
          reasoning: 'hm',
          deltas: ['a', 'bc'],
          calls: [{ tool: 'look', args: { at: 1 } }, { tool: 'now' }, { tool: 'bad', args: '{"x' }],
          usage: { inputTokens: 100, outputTokens: 7, cachedTokens: 90 },
        },
      ],
      { name: 'openai/gpt-4.1' },
    )
    const reply = await askOnce(model)
    expect(reply.content).toEqual([
      { type: 'reasoning', text: 'hm' },
      { type: 'text', text: 'abc' },
      { type: 'tool-call', callId: 'call_1', providerId: 'scripted_1_1', tool: 'look', args: { at: 1 } },
      { type: 'tool-call', callId: 'call_2', providerId: 'scripted_1_2', tool: 'now', args: {} },
      {
        type: 'tool-call',
        callId: 'call_3',
        providerId: 'scripted_1_3',
        tool: 'bad',
        args: '{"x',
        malformed: expect.stringContaining('not JSON'),
      },
    ])
    expect([reply.finish, reply.model, reply.usage.cachedTokens]).toEqual([
      'tool-calls',
      'openai/gpt-4.1',
      90,
    ])
    expect(reply.usage.costUsd).toBeCloseTo((10 * 2 + 90 * 0.5 + 7 * 8) / 1e6, 12)
  })

  it('is an error at the door, or after a part of the reply', async () => {
    const model = new ScriptedModel([
      { error: { status: 429, message: 'slow', retryAfter: 3 } },
      { error: new Error('read ECONNRESET'), after: 'half' },
      { text: 'broken', finish: 'none' },
    ])
    const [refused, broken, cut] = [
      await failing(askOnce(model)),
      await failing(askOnce(model)),
      await failing(askOnce(model)),
    ]
    expect([refused.kind, refused.retryAfterMs, refused.partial]).toEqual(['rate-limit', 3000, []])
    expect([broken.kind, broken.partial]).toEqual(['cut-off', [{ type: 'text', text: 'half' }]])
    expect([cut.kind, cut.partial]).toEqual(['cut-off', [{ type: 'text', text: 'broken' }]])
    model.done()
  })

  it('is a stall that ends when it is aborted', async () => {
    const model = new ScriptedModel([{ stall: true }])
    const controller = new AbortController()
    const reply = failing(askOnce(model, { signal: controller.signal }))
    controller.abort()
    expect((await reply).kind).toBe('aborted')
  })

  it('is a function of what is asked', async () => {
    const model = new ScriptedModel([
      ({ prompt, tools, call }) => `${prompt.length} ${tools.length} ${call}`,
      () => Promise.resolve({ text: 'later' }),
    ])
    const tools = [{ name: 't', description: '', parameters: {} }]
    const replies = [await askOnce(model, { tools, system: 'x' }), await askOnce(model)]
    expect(replies.map(({ content }) => content)).toEqual([
      [{ type: 'text', text: '2 1 1' }],
      [{ type: 'text', text: 'later' }],
    ])
  })

  it('comes after the latency', async () => {
    const clock = new ManualClock()
    const model = new ScriptedModel(['slow'], { latencyMs: 50, timer: clock })
    const reply = askOnce(model)
    expect(clock.waiting).toBe(1)
    clock.advance(50)
    expect((await reply).content).toEqual([{ type: 'text', text: 'slow' }])
  })
})

describe('a script', () => {
  it('that is too short fails the call for good, and says what was asked', async () => {
    const model = new ScriptedModel(['one'])
    await askOnce(model)
    const failure = await failing(askOnce(model))
    const message =
      'The scripted model has 1 steps and was called 2 times. It was asked: {"role":"user","content":[{"type":"text","text":"hello there"}]}'
    expect([failure.retryable, failure.message]).toEqual([false, message])
    expect(() => model.done()).toThrow(message)
  })

  it('that is too long is noticed at the end', async () => {
    const model = new ScriptedModel(['one', 'two', 'three'])
    await askOnce(model)
    expect(() => model.done()).toThrow('The scripted model was called once, but has 3 steps: 2 left over.')
  })

  it('may go on for ever, and keeps only the latest calls', async () => {
    const texts: unknown[] = []
    const looping = new ScriptedModel(['a', 'b'], { loop: true })
    for (let call = 0; call < 3; call++) texts.push((await askOnce(looping)).content)
    expect(texts).toEqual([
      [{ type: 'text', text: 'a' }],
      [{ type: 'text', text: 'b' }],
      [{ type: 'text', text: 'a' }],
    ])
    const endless = ScriptedModel.forever(({ call }) => String(call))
    for (let call = 0; call < 150; call++) await askOnce(endless)
    expect((await askOnce(endless)).content).toEqual([{ type: 'text', text: '151' }])
    expect(endless.calls.length).toBe(100)
    endless.done()
    const always = new ScriptedModel(() => 'yes')
    await askOnce(always)
    expect((await askOnce(always)).content).toEqual([{ type: 'text', text: 'yes' }])
  })

  it('shows what it was asked', async () => {
    const model = new ScriptedModel(['one'])
    const tools = [{ name: 't', description: 'd', parameters: { type: 'object' } }]
    await askOnce(model, { tools, settings: { temperature: 0, headers: { a: 'b' } } })
    expect(model.calls).toEqual([
      {
        prompt: [{ role: 'user', content: [{ type: 'text', text: 'hello there' }] }],
        tools: [{ type: 'function', name: 't', description: 'd', inputSchema: { type: 'object' } }],
        settings: { toolChoice: { type: 'auto' }, temperature: 0, headers: { a: 'b' } },
      },
    ])
  })
})
