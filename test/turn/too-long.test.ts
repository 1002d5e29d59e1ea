/** A prompt that is longer than the model takes: compaction, cuts and refusal, in this order. */
import { describe, expect, it } from 'vitest'
import type { ModelCall } from '../../src/model/index.ts'
import { tokenCounter } from '../../src/model/index.ts'
import type { EntryData, Message } from '../../src/protocol/index.ts'
import type { ScriptedStep } from '../../src/testing/scripted-model.ts'
import { fitMessages } from '../../src/turn/fit-prompt.ts'
import { type BenchOptions, bench, calls, expectLegal, journal, KEY, probe } from './kit.ts'

const LONG = 'The cat sat on the mat and looked at the moon. '.repeat(100)
const SIZE = 4000

/** A model that refuses longer prompts than it takes, and keeps the ones it was sent. */
function strict(reply: (call: ModelCall) => ScriptedStep, config: BenchOptions = {}) {
  const sent: number[] = []
  const made = bench({
    settings: { contextTokens: SIZE },
    autoCompact: { strategy: 'summary' },
    ...config,
    script: async (call) => {
      const { text } = await tokenCounter()
      sent.push(text(JSON.stringify([call.prompt, call.tools])))
      return call.tools?.length === 0 ? 'A summary.' : reply(call)
    },
  })
  return { ...made, sent }
}

async function said(store: ReturnType<typeof bench>['store'], code: string): Promise<string[]> {
  const entries = await store.read(KEY)
  const warnings = entries.filter(({ type, data }) => type === 'warning' && data['code'] === code)
  return warnings.map(({ data }) => (data as EntryData['warning']).message)
}

it('one turn whose results are too long goes on with them cut, and says so once', async () => {
  let asked = 0
  const { agent, store, sent } = strict(() => (++asked < 9 ? calls('look') : 'Done.'), {
    tools: [probe('look', () => LONG)],
    limits: { iterations: 20 },
  })
  const outcome = await agent.executeTurn('look at everything').outcome
  expect([outcome.reason, outcome.text, sent.length]).toEqual(['stop', 'Done.', 9])
  // JSON around the messages does not count as their tokens.
  expect(Math.max(...sent)).toBeLessThan(SIZE * 1.2)
  expect(await said(store, 'prompt-cut')).toEqual([
    'The prompt for scripted/model was cut to fit: 1 rounds with shortened results, 0 messages left out. The journal keeps all of it.',
  ])
  const results = (await agent.getMessages()).filter(({ role }) => role === 'tool')
  expect(results.every(({ content }) => JSON.stringify(content).includes(LONG))).toBe(true)
})

it.each(['summary', 'sliding'] as const)('room is made by %s before anything is cut', async (strategy) => {
  const { agent, store, sent } = strict(() => 'Well.', {
    tools: [probe('look')],
    autoCompact: { strategy, overMessages: 100 },
  })
  for (const text of ['1', '2', '3', '4', '5', '6', '7', '8'])
    expect((await agent.executeTurn(`${text} ${LONG}`).outcome).reason).toBe('stop')
  expect(Math.max(...sent)).toBeLessThan(SIZE * 1.1)
  expect(await said(store, 'prompt-cut')).toEqual([])
  const cuts = (await journal(store)).filter((line) => line.includes('compact'))
  expect(cuts.length).toBeGreaterThan(1)
})

it('without autoCompact a prompt that is too long is not sent, and the turn says what to do', async () => {
  const { agent, sent } = strict(() => 'Well.', { tools: [probe('look')], autoCompact: false })
  for (const text of ['1', '2', '3']) await agent.executeTurn(`${text} ${LONG}`).outcome
  const { error } = await agent.executeTurn(`4 ${LONG}`).outcome
  expect([error?.code, sent.length]).toEqual(['prompt-too-long', 3])
  expect(error?.message).toContain('compact the conversation')
  await agent.compact({ keep: 1 })
  expect((await agent.executeTurn('hello').outcome).reason).toBe('stop')
})

it('a model that takes more is asked when the first takes too little', async () => {
  const large = strict(() => 'From the large one.', { settings: {} })
  const { agent, sent } = strict(() => 'From the small one.', {
    tools: [probe('look')],
    settings: {},
    model: [{ model: bench().model, settings: { contextTokens: 500 } }, large.model],
  })
  expect((await agent.executeTurn(LONG).outcome).text).toBe('From the large one.')
  expect(sent).toEqual([])
})

it('a summary that cannot be had does not keep a conversation from going on', async () => {
  const { agent, store } = bench({
    settings: { contextTokens: SIZE, retries: 0 },
    autoCompact: { strategy: 'summary' },
    tools: [probe('look')],
    script: ({ tools }) =>
      tools.length === 0 ? { error: { status: 400, message: 'I do not summarise.' } } : 'Well.',
  })
  for (const text of ['1', '2', '3', '4', '5', '6'])
    expect((await agent.executeTurn(`${text} ${LONG}`).outcome).reason).toBe('stop')
  const [failed] = await said(store, 'compaction-failed')
  expect(failed).toContain('I do not summarise.')
  expect((await said(store, 'prompt-cut'))[0]).toMatch(/messages left out/)
})

describe('fitting messages', () => {
  const user = (content: string): Message => ({ role: 'user', content })
  const round = (callId: string, output: string): Message[] => [
    { role: 'assistant', content: [{ type: 'tool-call', callId, tool: 'look', args: {} }] },
    { role: 'tool', content: [{ type: 'tool-result', callId, tool: 'look', status: 'ok', output }] },
  ]
  const talk = [
    user('one'),
    ...round('a', LONG),
    user('two'),
    ...round('b', LONG),
    user('three'),
    ...round('c', LONG),
    ...round('d', LONG),
  ]

  it.each([5000, 4000, 3000, 2000, 1000, 500, 200, 1])('stays legal in %i tokens', async (budget) => {
    const counter = await tokenCounter()
    const { messages, tokens } = fitMessages(talk, budget, counter)
    expectLegal(messages)
    expect(tokens).toBe(counter.messages(messages))
    // The last user message and the round after it stay, however little that leaves.
    expect(tokens).toBeLessThanOrEqual(Math.max(budget, 500))
    expect(messages).toContain(talk[6])
    expect(messages.at(-2)).toBe(talk[9])
  })

  it('cuts the oldest results first', async () => {
    const counter = await tokenCounter()
    const { messages, cutResults, leftOut } = fitMessages(talk, counter.messages(talk) - 1, counter)
    expect([cutResults, leftOut]).toEqual([1, 0])
    expect(messages.slice(3)).toEqual(talk.slice(3))
  })
})
