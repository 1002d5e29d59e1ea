/** Each limit and option of the research assistant has its effect. */
import { describe, expect, test } from 'vitest'
import { systemTimer, type Timer } from '../../../src/base/index.ts'
import { readAnswer } from '../../../src/flow/research/citations.ts'
import { RESEARCH_LIMITS } from '../../../src/flow/research/config.ts'
import {
  AgentWorkflow,
  askResearch,
  BaseAgent,
  ClarificationAgent,
  initialState,
  MasterOrchestrator,
  ResearchAgent,
  type ResearchGraph,
  type ResearchOptions,
  type ResearchState,
  type ResearchUpdate,
  researchAssistant,
  researchNodes,
  SynthesisAgent,
} from '../../../src/flow/research/index.ts'
import { sentencesOf } from '../../../src/flow/research/words.ts'
import type { Message } from '../../../src/protocol/index.ts'
import { ManualClock, ScriptedModel, type ScriptedReply } from '../../../src/testing/index.ts'
import { callers, HARBOURS, memoryCorpus, memoryWeb, promptText, researchModel } from './kit.ts'

const human = (content: string): Message => ({ role: 'user', content })
const GATE = 'When does the gate of the Granville dock open?'
const more = (query: string, tool = 'pdf_retrieval'): ScriptedReply => ({
  calls: [{ tool, args: { query } }],
})

async function answer(options: Partial<ResearchOptions>, question = GATE): Promise<ResearchState> {
  const flow = researchAssistant({ corpus: memoryCorpus(), ...options })
  return (await flow.invoke({ messages: human(question) })).state
}

describe('rounds of searches', () => {
  const restless = Array.from({ length: 20 }, (_, at) => more(`query ${at + 1}`))

  test.each([1, 3, undefined])('end at maxRounds %s; the last reply gets no tools', async (maxRounds) => {
    const corpus = memoryCorpus()
    const model = researchModel({ research: restless })
    await answer({ corpus, model, agents: { research: maxRounds === undefined ? {} : { maxRounds } } })
    const most = maxRounds ?? 10
    expect(corpus.queries.map(({ query }) => query)).toEqual([
      GATE,
      ...Array.from({ length: most - 1 }, (_, at) => `query ${at + 1}`),
    ])
    const research = model.calls.filter((_, at) => callers(model)[at] === 'research')
    expect(research.map(({ tools }) => tools.length)).toEqual([...Array<number>(most - 1).fill(1), 0])
  })

  test('what later rounds find is evidence, each passage once', async () => {
    const model = researchModel({
      research: [more('survey coast carried Lefevre'), more(GATE), 'Two documents.'],
      synthesis: 'The survey of the coast was carried out by Lefevre [2].',
    })
    const { context, messages } = await answer({ model })
    expect(context.pdf_results?.map(({ id }) => id)).toEqual(['d1p3', 'd2p1'])
    expect(context.sources).toMatchObject([{ number: 1, title: 'Survey of 1998', page: 1 }])
    expect(messages.slice(1)).toEqual([
      { role: 'assistant', content: [{ type: 'text', text: 'Two documents.' }] },
    ])
  })
})

describe('passages', () => {
  test('topK is what the corpus is asked for, and context.top_k of a question comes first', async () => {
    const corpus = memoryCorpus()
    await answer({ corpus, topK: 3 })
    const flow = researchAssistant({ corpus })
    await flow.invoke({ messages: human(GATE) })
    await flow.invoke({ messages: human(GATE), context: { top_k: 7 } })
    await flow.invoke({ messages: human(GATE), context: { top_k: 70 } })
    await flow.invoke({ messages: human(GATE), context: { top_k: 'many' as never } })
    expect(corpus.queries.map(({ topK }) => topK)).toEqual([3, 5, 7, 20, 5])
    expect(() => researchAssistant({ corpus, topK: 21 })).toThrow('topK must be at most 20')
  })

  test('minScore leaves weaker passages out', async () => {
    const found = async (minScore: number) =>
      (await answer({ minScore }, 'harbour of Cancale tide')).context.pdf_results?.length
    expect([await found(0.1), await found(1)]).toEqual([4, 2])
  })
})

describe('the web', () => {
  const page = {
    url: 'https://example.com/gold',
    title: 'Gold',
    text: 'The price of gold is 60 francs an ounce.',
  }

  test('is not searched if the papers have something and nobody asks for it', async () => {
    const web = memoryWeb([page])
    const model = researchModel()
    const { context } = await answer({ web, model })
    expect([web.queries, context.tool_history]).toEqual([[], ['pdf_retrieval']])
    const research = model.calls[1]?.tools.map(({ name }) => name)
    expect(research).toEqual(['pdf_retrieval'])
  })

  test('is searched after the papers if they have nothing', async () => {
    const [web, model] = [
      memoryWeb([page]),
      researchModel({ synthesis: 'The price of gold is 60 francs an ounce [1].' }),
    ]
    const { context, final_answer } = await answer({ web, model }, 'What is the price of gold?')
    expect(context.tool_history).toEqual(['pdf_retrieval', 'web_search'])
    expect(context.sources).toMatchObject([{ kind: 'web', source: page.url, page: null }])
    expect(final_answer).toBe('The price of gold is 60 francs an ounce [1].')
    expect(model.calls[1]?.tools.map(({ name }) => name)).toEqual(['pdf_retrieval', 'web_search'])
  })

  test('is searched if the model finds the passages beside the point', async () => {
    const [web, model] = [memoryWeb([page]), researchModel({ research: ['NOT FOUND', 'The web has it.'] })]
    const { context } = await answer({ web, model })
    expect(web.queries).toEqual([GATE])
    expect(context.final_output).toBe('The web has it.')
  })

  test('runs beside the papers if it is asked for: neither waits for the other', async () => {
    const both = Promise.withResolvers<void>()
    let searching = 0
    const meet = async (): Promise<void> => {
      searching += 1
      if (searching === 2) both.resolve()
      await both.promise
    }
    const question = `Search the web, too: ${GATE}`
    const { context } = await answer(
      { corpus: memoryCorpus(HARBOURS, { before: meet }), web: memoryWeb([page], meet) },
      question,
    )
    expect(context.tool_history).toEqual(['pdf_retrieval', 'web_search'])
  })
})

test('a question for two things is searched in parts', async () => {
  const corpus = memoryCorpus()
  const question = 'Who carried out the survey, and when does the gate of the dock open?'
  const { final_answer } = await answer({ corpus }, question)
  expect(corpus.queries.map(({ query }) => query)).toEqual([
    question,
    'Who carried out the survey',
    'when does the gate of the dock open',
  ])
  expect(final_answer).toContain('carried out by Lefevre in 1998 [')
  expect(final_answer).toContain('The gate of the dock opens 2 hours before high tide [')
})

test.each([2, undefined])('maxHistory %s is the number of messages in each prompt', async (maxHistory) => {
  const model = researchModel({ synthesis: 'The gate of the dock opens [1].' })
  const options = maxHistory === undefined ? {} : { maxHistory }
  const agents = { orchestrator: options, research: options, synthesis: options }
  const flow = researchAssistant({ corpus: memoryCorpus(), model, agents })
  for (let at = 0; at < 7; at++) await flow.invoke({ messages: human(GATE) }, { contextId: 'long' })
  const lines = model.calls
    .slice(-4)
    .map(({ prompt }) => promptText(prompt).match(/^(?:User|AI): /gm)?.length ?? 0)
  const most = maxHistory ?? 10
  expect(lines).toEqual([most, most, most, 0])
})

test.each([0, 1, 3])('maxClarifications %i is the most questions in a row', async (maxClarifications) => {
  const flow = researchAssistant({ corpus: memoryCorpus(), agents: { orchestrator: { maxClarifications } } })
  const answers: string[] = []
  for (let at = 0; at <= maxClarifications; at++) {
    const { isClarification, answer: text } = await askResearch(flow, 'it', { contextId: 'vague' })
    answers.push(isClarification ? 'question' : (text.split(' ')[0] ?? ''))
  }
  expect(answers).toEqual([...Array<string>(maxClarifications).fill('question'), '**Assumption:**'])
})

describe('the limits of a question', () => {
  test('steps stop it, keep its state, and null goes on', async () => {
    const flow = researchAssistant({ corpus: memoryCorpus(), limits: { steps: 2 } })
    const run = flow.stream({ messages: human(GATE) }, { contextId: 'short' })
    const outcome = await run.outcome
    expect(outcome).toMatchObject({ limit: 'steps', state: { last_agent: 'research', final_answer: null } })
    await expect(askResearch(flow, GATE, { contextId: 'b' })).rejects.toMatchObject({ code: 'limit-reached' })
    expect((await flow.invoke(null, { contextId: 'short' })).state.last_agent).toBe('synthesis')
  })

  test('time stops a search that never ends', async () => {
    const corpus = memoryCorpus(HARBOURS, { before: () => new Promise(() => {}) })
    const flow = researchAssistant({ corpus, limits: { durationMs: 50 }, graceMs: 10 })
    expect(await flow.stream({ messages: human(GATE) }).outcome).toMatchObject({ limit: 'durationMs' })
  })

  test('are 20 steps and 60 seconds; one that is set leaves the other', async () => {
    const waits: number[] = []
    const timer: Timer = {
      wait: (ms, options) => systemTimer.wait(ms, options),
      after: (ms, act) => {
        waits.push(ms)
        return systemTimer.after(ms, act)
      },
    }
    const clock = new ManualClock(1000)
    await answer({ timer, clock, limits: { steps: 3 } })
    expect(waits).toContain(60_000)
    expect(RESEARCH_LIMITS).toEqual({ steps: 20, durationMs: 60_000 })
  })
})

describe('long and hostile texts', () => {
  const long = (piece: string, chars: number): string => piece.repeat(Math.ceil(chars / piece.length))
  test('end in an answer', async () => {
    const filler = ['x ', ' ', ')', '\n', '[1', '[1]', '. ', '? and ', ': ']
      .map((piece) => long(piece, 500))
      .join('')
    const passage = { title: filler, pages: [`${filler} The gate of the Granville dock opens. ${filler}`] }
    const page = { url: 'https://example.com', title: 'Gate', text: passage.pages[0] ?? '' }
    const model = researchModel({ synthesis: `${filler} The gate of the dock opens [1]. ${filler}` })
    const options = { corpus: memoryCorpus([passage]), web: memoryWeb([page]) }
    expect((await answer({ ...options, model }, `${filler} ${GATE}`)).final_answer).not.toBe(null)
  })

  test.each([' ', ')', '[1]', ': '])(
    'of %j are read in a time that grows with their length alone',
    (piece) => {
      const filler = long(piece, 200_000)
      expect(sentencesOf(`${filler} The gate opens. ${filler}`).join(' ')).toContain('The gate opens.')
      expect(
        readAnswer(`${filler} The gate of the dock opens [1].${filler}`, []).claims.length,
      ).toBeGreaterThan(0)
    },
  )

  test('a long message is whole in the conversation, and short in queries and prompts', async () => {
    const [corpus, model] = [memoryCorpus(), researchModel()]
    const text = `${GATE} ${long('really ', 300_000)}`
    const { messages } = await answer({ corpus, model }, text)
    expect(messages[0]).toEqual(human(text))
    expect(corpus.queries[0]?.query.length).toBeLessThan(2100)
    expect(promptText(model.calls[0]?.prompt ?? []).length).toBeLessThan(12_000)
  })
})

describe('agents', () => {
  test('run alone as functions of the state, and leave the given state as it is', async () => {
    const start = initialState([human(GATE)], 'abc123')
    const decided = await new MasterOrchestrator().execute(start)
    expect(decided).toMatchObject({ next_agent: 'research', last_agent: 'orchestrator', iteration: 1 })
    const researched = await new ResearchAgent({ corpus: memoryCorpus() }).execute(decided)
    expect(researched).toMatchObject({ next_agent: 'synthesis', last_agent: 'research', iteration: 2 })
    expect(researched.messages).toHaveLength(2)
    const answered = await new SynthesisAgent().execute(researched)
    expect(answered).toMatchObject({ next_agent: 'END', last_agent: 'synthesis', iteration: 3 })
    expect(answered.messages).toHaveLength(2)
    expect(answered.final_answer).toContain('opens 2 hours before high tide [1].')
    expect(start).toEqual(initialState([human(GATE)], 'abc123'))
    const asked = await new ClarificationAgent().execute({
      ...start,
      missing_context: ['missing context: the topic'],
    })
    expect(asked).toMatchObject({ next_agent: 'END', last_agent: 'clarification' })
  })

  test('of one’s own take the place of the package’s', async () => {
    class Echo extends BaseAgent {
      override async run({ messages }: ResearchState): Promise<ResearchUpdate> {
        return { final_answer: `${messages.length} messages`, last_agent: this.name, iteration: 1 }
      }
    }
    const flow: ResearchGraph = new AgentWorkflow({
      orchestrator: new MasterOrchestrator(),
      clarification: new ClarificationAgent(),
      research: new ResearchAgent({ corpus: memoryCorpus() }),
      synthesis: new Echo('synthesis'),
    }).build()
    expect(await askResearch(flow, GATE)).toMatchObject({
      answer: '2 messages',
      sources: [],
      messageCount: 2,
    })
    expect(Object.keys(researchNodes({ corpus: memoryCorpus() }))).toEqual([
      'orchestrator',
      'clarification',
      'research',
      'synthesis',
    ])
  })

  test('take another prompt, and refuse an option that they do not have', async () => {
    const model = new ScriptedModel(['RESEARCH'])
    const orchestrator = new MasterOrchestrator({ model, prompt: 'You decide in one word.' })
    await orchestrator.execute(initialState([human(GATE)]))
    expect(JSON.stringify(model.calls[0]?.prompt[0])).toContain('You decide in one word.')
    expect(() => new MasterOrchestrator({ max_clarifications: 1 } as never)).toThrow('maxClarifications')
    expect(() => researchAssistant({ corpus: memoryCorpus(), top_k: 3 } as never)).toThrow('topK')
    expect(() => researchAssistant({} as never)).toThrow('corpus')
  })

  test('a key is not sent to an agent whose model is of another vendor', () => {
    const settings = { apiKey: 'sk-1' }
    const shared = { corpus: memoryCorpus(), model: 'openai/gpt-4.1-mini', settings }
    const model = 'anthropic/claude-sonnet-4-5'
    expect(() => researchAssistant({ ...shared, agents: { synthesis: { model } } })).toThrow(
      'apiKey would go to openai/gpt-4.1-mini and to anthropic/claude-sonnet-4-5.',
    )
    const own = { synthesis: { model, settings: { apiKey: 'sk-2' } }, orchestrator: { model: 'reflex' } }
    expect(() => researchAssistant({ ...shared, agents: own })).not.toThrow()
  })
})
