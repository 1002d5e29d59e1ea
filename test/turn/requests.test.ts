/** Requests of a turn, their answers, and the turn that continues from there (R2, R9). */
import { describe, expect, it } from 'vitest'
import type { Json } from '../../src/protocol/index.ts'
import { type AskRequest, ask } from '../../src/tool/index.ts'
import {
  asking,
  bench,
  calls,
  entryLines,
  gate,
  journal,
  probe,
  promptLines,
  STORES,
  said,
  until,
} from './kit.ts'

const PERSON = { type: 'object', properties: { age: { type: 'number' } }, required: ['age'] }

interface Kind {
  readonly name: string
  readonly request: AskRequest
  readonly right: Json
  readonly wrong: Json
}

const KINDS: readonly Kind[] = [
  { name: 'confirmation', request: { kind: 'confirmation', prompt: 'Sure?' }, right: true, wrong: 'yes' },
  {
    name: 'choice',
    request: { kind: 'choice', prompt: 'Which?', options: ['red', 'blue'] },
    right: 'blue',
    wrong: 'green',
  },
  {
    name: 'choice of several',
    request: { kind: 'choice', prompt: 'Which?', options: [1, 2, 3], multiple: true },
    right: [1, 3],
    wrong: [1, 4],
  },
  {
    name: 'data',
    request: { kind: 'data', prompt: 'Who?', schema: PERSON },
    right: { age: 4 },
    wrong: { age: 'four' },
  },
  { name: 'text', request: { kind: 'text', prompt: 'Why?' }, right: 'because', wrong: '  ' },
]

describe.each(STORES)('a tool that asks, on %s', (_, open) => {
  it.each(KINDS)(
    'for a $name gets the right answer and is refused a wrong one',
    async ({ request, right, wrong }) => {
      const tool = asking('quiz', request)
      const { agent, store } = bench({ store: open(), script: [calls('quiz'), 'Thanks'], tools: [tool] })
      const asked = agent.executeTurn('Hi')
      expect((await entryLines(asked)).slice(4)).toEqual([
        '5 model.end call_1:quiz',
        '6 tool.start call_1 quiz',
        `7 request.start call_1/answer ${request.kind}`,
        '8 turn.end input-required',
      ])
      const { requests, status } = await asked.outcome
      expect(status).toBe('input-required')
      expect(requests).toMatchObject([
        { requestId: 'call_1/answer', callId: 'call_1', prompt: request.prompt },
      ])
      expect(await agent.requests()).toEqual(requests)

      const refused = agent.answer({ 'call_1/answer': wrong })
      expect(await entryLines(refused)).toEqual([])
      expect((await refused.outcome).error).toMatchObject({ code: 'invalid-answer' })
      expect(await journal(store)).toHaveLength(8)

      const value = JSON.stringify(right)
      expect(await entryLines(agent.answer({ 'call_1/answer': right }))).toEqual([
        `9 answer call_1/answer ${value}`,
        '10 claim 2',
        '11 turn.start',
        `12 request.end call_1/answer answered ${value} takes 9`,
        '13 tool.start call_1 quiz',
        '14 tool.end call_1 ok',
        '15 model.start 1',
        '16 model.end "Thanks"',
        '17 turn.end stop',
      ])
      const [, , result] = await agent.getMessages()
      expect(result).toMatchObject({ content: [{ output: { told: { answer: right } } }] })
      expect(await said(store)).toEqual([
        'user "Hi"',
        'assistant call_1:quiz',
        'tool call_1:ok',
        'assistant "Thanks"',
      ])
      expect(await agent.requests()).toEqual([])
    },
  )

  it('for access ends the turn as auth-required', async () => {
    const tool = asking('drive', { kind: 'auth', prompt: 'Log in' })
    const { agent } = bench({ store: open(), script: [calls('drive'), 'In'], tools: [tool] })
    const turn = agent.executeTurn('Hi')
    expect((await entryLines(turn)).slice(6)).toEqual([
      '7 request.start call_1/answer auth',
      '8 turn.end auth-required',
    ])
    expect((await agent.answer({ 'call_1/answer': 'token' }).outcome).text).toBe('In')
  })

  it('two things goes on when both are told, in any order', async () => {
    const tool = asking('both', [
      { kind: 'text', prompt: 'Who?', name: 'who' },
      { kind: 'confirmation', prompt: 'Sure?', name: 'sure' },
    ])
    const { agent, store } = bench({ store: open(), script: [calls('both'), 'Thanks'], tools: [tool] })
    expect((await entryLines(agent.executeTurn('Hi'))).slice(6)).toEqual([
      '7 request.start call_1/who text',
      '8 request.start call_1/sure confirmation',
      '9 turn.end input-required',
    ])
    const partly = agent.answer({ 'call_1/sure': true })
    expect(await entryLines(partly)).toEqual([
      '10 answer call_1/sure true',
      '11 claim 2',
      '12 turn.start',
      '13 request.end call_1/sure answered true takes 10',
      '14 turn.end input-required',
    ])
    expect((await partly.outcome).requests.map(({ requestId }) => requestId)).toEqual(['call_1/who'])
    expect((await agent.requests()).map(({ requestId }) => requestId)).toEqual(['call_1/who'])
    expect((await entryLines(agent.answer({ 'call_1/who': 'Ada' }))).slice(3)).toEqual([
      '18 request.end call_1/who answered "Ada" takes 15',
      '19 tool.start call_1 both',
      '20 tool.end call_1 ok',
      '21 model.start 1',
      '22 model.end "Thanks"',
      '23 turn.end stop',
    ])
    expect(tool.ran).toEqual(['call_1', 'call_1'])
    await said(store)
  })

  it('again after the first answer gets both', async () => {
    const tool = asking(
      'chain',
      { kind: 'text', prompt: 'Who?', name: 'who' },
      { kind: 'text', prompt: 'When?', name: 'when' },
    )
    const { agent } = bench({ store: open(), script: [calls('chain'), 'Thanks'], tools: [tool] })
    await agent.executeTurn('Hi').outcome
    const again = agent.answer({ 'call_1/who': 'Ada' })
    expect((await entryLines(again)).slice(3)).toEqual([
      '12 request.end call_1/who answered "Ada" takes 9',
      '13 tool.start call_1 chain',
      '14 request.start call_1/when-1 text',
      '15 turn.end input-required',
    ])
    const [request] = (await again.outcome).requests
    await agent.answer({ [request?.requestId ?? '']: 'now' }).outcome
    expect((await agent.getMessages())[2]).toMatchObject({
      content: [{ output: { told: { who: 'Ada', when: 'now' } } }],
    })
  })

  it('beside one that wants access loses neither of the two', async () => {
    const tools = [
      asking('quiz', { kind: 'text', prompt: 'Why?' }),
      asking('drive', { kind: 'auth', prompt: 'Log in' }),
      probe('a'),
    ]
    const { agent, store } = bench({ store: open(), script: [calls('quiz', 'drive', 'a'), 'Done'], tools })
    const turn = agent.executeTurn('Hi')
    expect((await entryLines(turn)).slice(5)).toEqual([
      '6 tool.start call_1 quiz',
      '7 tool.start call_2 drive',
      '8 tool.start call_3 a',
      '9 tool.end call_3 ok',
      '10 request.start call_1/answer text',
      '11 request.start call_2/answer auth',
      '12 turn.end auth-required',
    ])
    expect((await turn.outcome).requests.map(({ requestId }) => requestId)).toEqual([
      'call_1/answer',
      'call_2/answer',
    ])
    const partly = await agent.answer({ 'call_2/answer': 'token' }).outcome
    expect(partly.status).toBe('input-required')
    expect(partly.requests.map(({ requestId }) => requestId)).toEqual(['call_1/answer'])
    expect((await agent.answer({ 'call_1/answer': 'because' }).outcome).text).toBe('Done')
    expect(await said(store)).toEqual([
      'user "Hi"',
      'assistant call_1:quiz call_2:drive call_3:a',
      'tool call_1:ok call_2:ok call_3:ok',
      'assistant "Done"',
    ])
  })

  it('for a text takes a plain message for the answer', async () => {
    const tool = asking('quiz', { kind: 'text', prompt: 'Why?' })
    const { agent, model, store } = bench({ store: open(), script: [calls('quiz'), 'I see'], tools: [tool] })
    await agent.executeTurn('Hi').outcome
    const turn = agent.executeTurn('because')
    expect(await entryLines(turn)).toEqual([
      '9 input "because"',
      '10 claim 2',
      '11 turn.start',
      '12 request.end call_1/answer answered "because" takes 9',
      '13 tool.start call_1 quiz',
      '14 tool.end call_1 ok',
      '15 model.start 1',
      '16 model.end "I see"',
      '17 turn.end stop',
    ])
    expect(promptLines(model, 1)).toEqual(['user "Hi"', 'assistant tool-call:quiz', 'tool tool-result:quiz'])
    await said(store)
  })

  it('for anything else is given up when the person says something else', async () => {
    const tools = [
      asking('quiz', { kind: 'confirmation', prompt: 'Sure?' }),
      asking('why', { kind: 'text', prompt: 'Why?' }),
    ]
    const { agent, model, store } = bench({ store: open(), script: [calls('quiz', 'why'), 'Fine'], tools })
    await agent.executeTurn('Hi').outcome
    expect(await entryLines(agent.executeTurn('Forget it'))).toEqual([
      '11 input "Forget it"',
      '12 claim 2',
      '13 turn.start takes 11',
      '14 request.end call_1/answer cancelled',
      '15 request.end call_2/answer cancelled',
      '16 tool.end call_1 not-run',
      '17 tool.end call_2 not-run',
      '18 model.start 1',
      '19 model.end "Fine"',
      '20 turn.end stop',
    ])
    expect(promptLines(model, 1)).toEqual([
      'user "Hi"',
      'assistant tool-call:quiz tool-call:why',
      'tool tool-result:quiz tool-result:why',
      'user "Forget it"',
    ])
    expect(await agent.requests()).toEqual([])
    await said(store)
  })
})

describe('a message while a question for a text is open', () => {
  const file = { type: 'file', mediaType: 'image/png', data: 'iVBORw0KGgo=' } as const

  it.each([
    ['with a file beside its text', [{ type: 'text', text: 'See the picture' } as const, file]],
    ['of a file alone', [file]],
    ['of blanks beside a file', [{ type: 'text', text: ' \n' } as const, file]],
  ])('%s dismisses it, and the model reads the message', async (_, message) => {
    const tool = asking('quiz', { kind: 'text', prompt: 'What does it look like?' })
    const { agent, model, store } = bench({ script: [calls('quiz'), 'I see'], tools: [tool] })
    await agent.executeTurn('Hi').outcome
    expect(await agent.executeTurn(message).outcome).toMatchObject({ reason: 'stop', text: 'I see' })
    expect(tool.ran).toHaveLength(1)
    expect((await agent.getMessages()).at(-2)).toMatchObject({ role: 'user', content: message })
    expect(JSON.stringify(model.calls[1]?.prompt.at(-1))).toContain('image/png')
    expect(await agent.requests()).toEqual([])
    await said(store)
  })

  it('of two texts answers it', async () => {
    const tool = asking('quiz', { kind: 'text', prompt: 'Why?' })
    const { agent, store } = bench({ script: [calls('quiz'), 'I see'], tools: [tool] })
    await agent.executeTurn('Hi').outcome
    await agent.executeTurn([
      { type: 'text', text: 'be' },
      { type: 'text', text: 'cause' },
    ]).outcome
    expect(await journal(store)).toContain('12 request.end call_1/answer answered "be\\ncause" takes 9')
  })
})

describe('an answer', () => {
  it('to what nobody asked is refused, and nothing is stored', async () => {
    const { agent, store } = bench({ script: ['Hello'] })
    expect((await agent.answer({ 'call_1/answer': 1 }).outcome).error).toMatchObject({
      code: 'invalid-answer',
    })
    expect(await store.head({ tenant: 'local', actor: 'local', contextId: 'talk' })).toBeUndefined()
    await agent.executeTurn('Hi').outcome
    const turn = agent.answer({ 'call_1/answer': 1 })
    expect((await turn.outcome).error).toMatchObject({ code: 'invalid-answer' })
    expect((await agent.answer({}).outcome).error).toMatchObject({ code: 'invalid-answer' })
    expect(await journal(store)).toHaveLength(6)
  })

  it('of which one is wrong is refused as a whole', async () => {
    const tool = asking('both', [
      { kind: 'text', prompt: 'Who?', name: 'who' },
      { kind: 'confirmation', prompt: 'Sure?', name: 'sure' },
    ])
    const { agent, store } = bench({ script: [calls('both')], tools: [tool] })
    await agent.executeTurn('Hi').outcome
    const before = await journal(store)
    const turn = agent.answer({ 'call_1/who': 'Ada', 'call_1/sure': 'perhaps' })
    expect((await turn.outcome).error?.['message']).toContain('call_1/sure')
    expect(await journal(store)).toEqual(before)
    expect(await agent.requests()).toHaveLength(2)
  })

  it('that comes while another call runs is heard in the same turn', async () => {
    const slow = gate()
    const tools = [
      asking('quiz', { kind: 'text', prompt: 'Why?' }),
      probe('slow', () => slow.promise.then(() => 1)),
    ]
    const { agent, store } = bench({ script: [calls('quiz', 'slow'), 'Done'], tools })
    const turn = agent.executeTurn('Hi')
    await until('it is asked', async () => (await journal(store)).length === 8)
    expect(await agent.requests()).toHaveLength(1)
    const answer = agent.answer({ 'call_1/answer': 'because' })
    await until('it is answered', async () => (await journal(store)).length === 9)
    slow.resolve()
    const rest = [
      '9 answer call_1/answer "because"',
      '10 tool.end call_2 ok',
      '11 request.end call_1/answer answered "because" takes 9',
      '12 tool.start call_1 quiz',
      '13 tool.end call_1 ok',
      '14 model.start 2',
      '15 model.end "Done"',
      '16 turn.end stop',
    ]
    expect((await entryLines(turn)).slice(8)).toEqual(rest)
    expect(await entryLines(answer)).toEqual(rest)
    await said(store)
  })

  it('cannot be given while the tools cannot be had, and the question stays', async () => {
    let broken = false
    const quiz = asking('quiz', { kind: 'text', prompt: 'Why?' })
    const tools = () => {
      if (broken) throw new Error('no tools today')
      return [quiz]
    }
    const { agent, store } = bench({ script: [calls('quiz'), 'Thanks'], tools })
    await agent.executeTurn('Hi').outcome
    broken = true
    expect((await agent.answer({ 'call_1/answer': 'because' }).outcome).error).toMatchObject({
      message: 'The function tools failed: no tools today',
    })
    expect(await journal(store)).toHaveLength(8)
    broken = false
    expect((await agent.answer({ 'call_1/answer': 'because' }).outcome).text).toBe('Thanks')
    await said(store)
  })

  it('that came too late to be the first is taken as nothing', async () => {
    const tool = asking('quiz', { kind: 'text', prompt: 'Why?' })
    const { agent, store } = bench({ script: [calls('quiz'), 'Thanks'], tools: [tool] })
    await agent.executeTurn('Hi').outcome
    const first = agent.answer({ 'call_1/answer': 'one' })
    const second = agent.answer({ 'call_1/answer': 'two' })
    expect((await first.outcome).text).toBe('Thanks')
    expect((await second.outcome).reason).toBe('failed')
    expect(tool.ran).toEqual(['call_1', 'call_1'])
    await said(store)
  })
})

it('a question that a tool repeats has an id that no other question of the call has had', async () => {
  const text = (name: string) => ({ kind: 'text', prompt: '?', name }) as const
  const tool = probe('quiz', (_, { answers }) => {
    if (answers['who'] === undefined) return ask([text('who'), text('who-2')])
    return answers['who'] === 'again' ? ask(text('who')) : { told: answers }
  })
  const { agent } = bench({ script: [calls('quiz'), 'Thanks'], tools: [tool] })
  await agent.executeTurn('Hi').outcome
  const both = { 'call_1/who': 'again', 'call_1/who-2': 'Bo' }
  const { requests } = await agent.answer(both).outcome
  expect(requests.map(({ requestId }) => requestId)).toEqual(['call_1/who-2/2'])
  expect((await agent.answer({ 'call_1/who-2': 'Bo' }).outcome).error?.code).toBe('invalid-answer')
  expect((await agent.answer({ 'call_1/who-2/2': 'Al' }).outcome).text).toBe('Thanks')
})
