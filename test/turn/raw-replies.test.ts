/** Replies that no provider should send: repeated and secret ids, streams without an end. */
import { describe, expect, it } from 'vitest'
import type { LanguageModel, ModelStreamPart } from '../../src/model/index.ts'
import type { TurnEvent } from '../../src/protocol/index.ts'
import { bench, journal, KEY, probe, until } from './kit.ts'

const SECRET = 'tok_8f2e1c0d9b7a'
const finish = (unified: string): ModelStreamPart => ({
  type: 'finish',
  finishReason: { unified, raw: unified },
})

function rawModel(...replies: readonly (readonly ModelStreamPart[])[]): LanguageModel {
  let asked = 0
  const doStream = () => {
    const parts = replies[asked++] ?? []
    const stream = new ReadableStream<ModelStreamPart>({
      start: (controller) => {
        for (const part of parts) controller.enqueue(part)
        controller.close()
      },
    })
    return Promise.resolve({ stream })
  }
  return { specificationVersion: 'v4', provider: 'raw.chat', modelId: 'm', doStream }
}

const call = (toolCallId: string, input = '{"n":1}'): ModelStreamPart => ({
  type: 'tool-call',
  toolCallId,
  toolName: 'look',
  input,
})
const text: readonly ModelStreamPart[] = [
  { type: 'text-start', id: 't' },
  { type: 'text-delta', id: 't', delta: 'Done.' },
  { type: 'text-end', id: 't' },
  finish('stop'),
]

describe('the id that a provider gives a call', () => {
  it('is stored and published without credentials', async () => {
    const model = rawModel([call(SECRET), call('p2'), finish('tool-calls')], text)
    const { agent, store } = bench({ model, tools: [probe('look')] })
    const turn = agent.executeTurn('go', { auth: { credentials: { token: SECRET } } })
    const events: unknown[] = []
    for await (const event of turn) events.push(event)
    expect((await turn.outcome).text).toBe('Done.')
    const all = JSON.stringify([await store.read(KEY), await agent.getMessages(), events])
    expect(all).not.toContain(SECRET)
    expect(all).toContain('"providerId":"[redacted]"')
    expect(all).toContain('"providerId":"p2"')
  })

  it('may name several calls of a reply: each one runs, and a warning says so', async () => {
    const model = rawModel([call('p1'), call('p2'), call('p1'), call('p1'), finish('tool-calls')], text)
    const look = probe('look')
    const { agent, store } = bench({ model, tools: [look] })
    expect((await agent.executeTurn('go').outcome).text).toBe('Done.')
    expect(look.ran).toHaveLength(4)
    expect(await journal(store)).toContain('6 warning id-repeated')
    const warnings = (await store.read(KEY)).filter(({ type }) => type === 'warning')
    expect(warnings.map(({ data }) => data)).toEqual([
      {
        code: 'id-repeated',
        message:
          'raw/m used the call id "p1" for 3 calls of one reply. Each of them counts as a call of its own, and runs.',
      },
    ])
  })

  it('may repeat that of an earlier reply without a warning', async () => {
    const model = rawModel([call('p1'), finish('tool-calls')], [call('p1'), finish('tool-calls')], text)
    const { agent, store } = bench({ model, tools: [probe('look')] })
    expect((await agent.executeTurn('go').outcome).text).toBe('Done.')
    expect((await store.read(KEY)).filter(({ type }) => type === 'warning')).toEqual([])
  })

  it('is no secret in the warning either', async () => {
    const model = rawModel([call(SECRET), call(SECRET), finish('tool-calls')], text)
    const { agent, store } = bench({ model, tools: [probe('look')] })
    await agent.executeTurn('go', { auth: { credentials: { token: SECRET } } }).outcome
    const all = JSON.stringify(await store.read(KEY))
    expect(all).not.toContain(SECRET)
    expect(all).toContain('id-repeated')
  })
})

describe('a credential in arguments that are no JSON', () => {
  it.each([
    `{"k": ${SECRET}}`,
    `{"k": {"of some length": ${SECRET}, "and": "more of it"}}`,
    SECRET,
    `{"k": 1} ${SECRET}`,
  ])('is not quoted in part: %s', async (input) => {
    const model = rawModel([call('p1', input), finish('tool-calls')], text)
    const { agent, store } = bench({ model, tools: [probe('look')] })
    await agent.executeTurn('go', { auth: { credentials: { token: SECRET } } }).outcome
    const all = JSON.stringify([await store.read(KEY), await agent.getMessages()])
    expect(all).not.toMatch(/tok_|8f2e|d9b7a/)
    expect(all).toContain('the arguments are not JSON')
  })

  it('is not in the name of a tool either, where that was cut', async () => {
    const toolName = `${'x'.repeat(118)}${SECRET}`
    const model = rawModel([{ ...call('p1'), toolName }, finish('tool-calls')], text)
    const { agent, store } = bench({ model, tools: [probe('look')] })
    await agent.executeTurn('go', { auth: { credentials: { token: SECRET } } }).outcome
    expect(JSON.stringify(await store.read(KEY))).not.toContain('tok_')
  })
})

describe('a reply that is cut off inside a credential', () => {
  const cut = 'tok_8f2e1c'
  const cutText = (type: 'text' | 'reasoning'): readonly ModelStreamPart[] => [
    { type: `${type}-start`, id: type },
    { type: `${type}-delta`, id: type, delta: `It is ${cut}` },
    { type: `${type}-end`, id: type },
  ]
  const auth = { credentials: { token: SECRET } }

  it('for its length, keeps no part of it: neither of texts and thoughts, nor of arguments', async () => {
    const model = rawModel(
      [...cutText('reasoning'), ...cutText('text'), call('p1', `{"k":"${cut}`), finish('length')],
      text,
    )
    const { agent, store } = bench({ model, tools: [probe('look')] })
    const turn = agent.executeTurn('go', { auth })
    const events: unknown[] = []
    for await (const event of turn) events.push(event)
    expect(JSON.stringify([await store.read(KEY), await agent.getMessages(), events])).not.toContain('tok_')
    expect((await agent.getMessages())[1]?.content).toMatchObject([
      { type: 'reasoning', text: 'It is [redacted]' },
      { type: 'text', text: 'It is [redacted]' },
      { type: 'tool-call', args: '{"k":"[redacted]', malformed: 'the arguments are not JSON' },
    ])
  })

  it('by a cancel, keeps no part of it', async () => {
    const { agent, store } = bench({ script: [{ stall: true, after: `It is ${cut}` }] })
    const turn = agent.executeTurn('go', { auth })
    const events: TurnEvent[] = []
    const reading = (async () => {
      for await (const event of turn) events.push(event)
    })()
    await until('the text has begun to arrive', () => events.some(({ type }) => type === 'text.delta'))
    await turn.cancel()
    await reading
    expect(JSON.stringify([await store.read(KEY), events])).not.toContain('tok_')
    expect(await journal(store)).toContain('6 model.end "It is [redacted]" aborted')
  })
})
