/** The flows of the research assistant: the order of the nodes, and the state after each. */
import { beforeEach, describe, expect, test } from 'vitest'
import {
  AgentWorkflow,
  ClarificationAgent,
  MasterOrchestrator,
  ResearchAgent,
  type ResearchGraph,
  type ResearchOptions,
  type ResearchState,
  type ResearchUpdate,
  researchAssistant,
  SynthesisAgent,
} from '../../../src/flow/research/index.ts'
import type { Message } from '../../../src/protocol/index.ts'
import { memoryStore } from '../../../src/store/memory/index.ts'
import { nodesOf, statesAfter } from '../../graph/kit.ts'
import { callers, HARBOURS, memoryCorpus, memoryWeb, promptText, researchModel } from './kit.ts'

const contextId = 'talk'
const human = (content: string): Message => ({ role: 'user', content })
const ai = (text: string): Message => ({ role: 'assistant', content: [{ type: 'text', text }] })

let store = memoryStore()
beforeEach(() => {
  store = memoryStore()
})

function assistant(options: Partial<ResearchOptions> = {}): ResearchGraph {
  return researchAssistant({ corpus: memoryCorpus(), store, ...options })
}

async function tell(flow: ResearchGraph, ...texts: string[]): Promise<ResearchState[]> {
  const states: ResearchState[] = []
  for (const text of texts) states.push((await flow.invoke({ messages: human(text) }, { contextId })).state)
  return states
}

const GATE = 'When does the gate of the Granville dock open?'
const GATE_SENTENCE = 'The gate of the dock opens 2 hours before high tide'

/** All that one question leaves in `context` before the research. */
const fresh = (question: string, about = '') => ({
  question,
  about,
  answer_before: null,
  assumption: null,
  observations: [],
  tool_history: [],
  pdf_results: [],
  web_results: [],
  final_output: '',
  sources: [],
  claims: [],
  invented: [],
  conflicts: [],
})

describe('a clear question', () => {
  test('goes from the orchestrator through research to synthesis, and each leaves its fields', async () => {
    const model = researchModel({
      research: ['The dock of Granville has a gate.'],
      synthesis: `${GATE_SENTENCE} [1].`,
    })
    const flow = assistant({ model })
    await tell(flow, GATE)
    const initial: ResearchState = {
      messages: [human(GATE)],
      session_id: '',
      next_agent: 'orchestrator',
      last_agent: null,
      clarification_needed: false,
      clarification_count: 0,
      missing_context: [],
      context: {},
      iteration: 0,
      final_answer: null,
      confidence_score: null,
    }
    const decided: ResearchState = {
      ...initial,
      session_id: contextId,
      next_agent: 'research',
      last_agent: 'orchestrator',
      context: fresh(GATE),
      iteration: 1,
    }
    const passage = {
      id: 'd1p3',
      documentId: 'd1',
      title: 'Harbours of the bay',
      source: 'harbours-of-the-bay.pdf',
      page: 3,
      start: 0,
      end: HARBOURS[0]?.pages[2]?.length ?? 0,
      text: HARBOURS[0]?.pages[2] ?? '',
      score: 0.8,
    }
    const researched: ResearchState = {
      ...decided,
      next_agent: 'synthesis',
      last_agent: 'research',
      messages: [human(GATE), ai('The dock of Granville has a gate.')],
      context: {
        ...decided.context,
        observations: [`pdf_retrieval found 1 passage for "${GATE}".`],
        tool_history: ['pdf_retrieval'],
        pdf_results: [passage],
        final_output: 'The dock of Granville has a gate.',
      },
      iteration: 2,
    }
    const answered: ResearchState = {
      ...researched,
      next_agent: 'END',
      last_agent: 'synthesis',
      context: {
        ...researched.context,
        sources: [
          {
            number: 1,
            kind: 'document',
            passageId: 'd1p3',
            documentId: 'd1',
            title: 'Harbours of the bay',
            source: 'harbours-of-the-bay.pdf',
            page: 3,
            quote: `${GATE_SENTENCE}.`,
            score: 0.8,
          },
        ],
        claims: [{ text: `${GATE_SENTENCE}.`, citations: [1], support: 1, verdict: 'supported' }],
      },
      iteration: 3,
      final_answer: `${GATE_SENTENCE} [1].`,
      confidence_score: 0.84,
    }
    expect(await statesAfter(flow, contextId)).toEqual([
      ['orchestrator', decided],
      ['research', researched],
      ['synthesis', answered],
    ])
    expect(callers(model)).toEqual(['orchestrator', 'research', 'synthesis', 'support'])
  })

  test('each agent has its temperature, its prompt file and its own model', async () => {
    const synthesis = researchModel({ synthesis: 'NOT FOUND' })
    const model = researchModel()
    const flow = assistant({ model, agents: { synthesis: { model: synthesis, temperature: 0.1 } } })
    await tell(flow, GATE)
    const heats = (of: typeof model): unknown[] => of.calls.map(({ settings }) => settings.temperature)
    expect([callers(model), heats(model)]).toEqual([
      ['orchestrator', 'research'],
      [0.3, 0.7],
    ])
    expect([callers(synthesis), heats(synthesis)]).toEqual([['synthesis'], [0.1]])
    const vague = researchModel({ orchestrator: 'CLARIFICATION' })
    await assistant({ model: vague }).invoke({ messages: human('It?') }, { contextId: 'other' })
    expect(heats(vague)).toEqual([0.3, 0.5])
    const below = await store.read({
      tenant: 'local',
      actor: 'local',
      contextId: 'talk/orchestrator.1.decision',
    })
    expect(JSON.stringify(below)).toContain(
      '"name":"research/orchestrator","version":"1","label":"production"',
    )
  })
})

describe('a vague question', () => {
  const vague = researchModel({
    orchestrator: (prompt) =>
      /# Newest question\n.*\bit\b/.test(prompt)
        ? 'CLARIFICATION: ambiguous reference: what "it" refers to'
        : 'RESEARCH',
    clarification: 'Which harbour do you mean? Or another one?',
    synthesis: 'The harbour of Cancale dries out at low tide [1].',
  })

  test('is answered with one question, and the turn ends', async () => {
    const flow = assistant({ model: vague })
    await tell(flow, 'Tell me about it')
    const asked = {
      messages: [human('Tell me about it')],
      next_agent: 'clarification',
      last_agent: 'orchestrator',
      clarification_needed: true,
      clarification_count: 1,
      missing_context: ['ambiguous reference: what "it" refers to'],
      iteration: 1,
      final_answer: null,
    }
    const states = await statesAfter(flow, contextId)
    expect(states.map(([node]) => node)).toEqual(['orchestrator', 'clarification'])
    expect(states[0]?.[1]).toMatchObject(asked)
    expect(states[1]?.[1]).toMatchObject({
      ...asked,
      messages: [human('Tell me about it'), ai('Which harbour do you mean?')],
      next_agent: 'END',
      last_agent: 'clarification',
      iteration: 2,
      final_answer: 'Which harbour do you mean?',
      confidence_score: null,
    })
  })

  test('whose clarification is answered is researched with both, without another decision of the model', async () => {
    const flow = assistant({ model: vague })
    const before = vague.calls.length
    const [, after] = await tell(flow, 'Tell me about it', 'The harbour of Cancale at low tide')
    expect(callers(vague).slice(before)).toEqual([
      'orchestrator',
      'clarification',
      'research',
      'synthesis',
      'support',
    ])
    expect(await nodesOf(store, contextId)).toEqual([
      'orchestrator',
      'clarification',
      'orchestrator',
      'research',
      'synthesis',
    ])
    expect(after).toMatchObject({
      clarification_needed: false,
      clarification_count: 0,
      missing_context: [],
      iteration: 5,
      context: { question: 'Tell me about it — The harbour of Cancale at low tide', assumption: null },
    })
    expect(after?.final_answer).toContain('dries out at low tide [1].')
  })

  test.each([
    ['it', 'that one', 'ambiguous'],
    ['All of them', 'both', 'quantifiers'],
    ['yes', 'I don’t know', 'empty words'],
  ])(
    'after two empty replies (%s, %s: %s) is researched with the assumption stated',
    async (first, second) => {
      const flow = assistant({ model: vague })
      const [, asked, forced] = await tell(flow, 'Is it deep in Cancale harbour?', first, second)
      expect(await nodesOf(store, contextId)).toEqual([
        ...['orchestrator', 'clarification'],
        ...['orchestrator', 'clarification'],
        ...['orchestrator', 'research', 'synthesis'],
      ])
      expect(asked).toMatchObject({ clarification_count: 2, clarification_needed: true })
      expect(forced).toMatchObject({
        clarification_count: 0,
        clarification_needed: false,
        missing_context: [],
      })
      expect(forced?.context.assumption).toContain('what "it" refers to')
      expect(forced?.final_answer).toMatch(/^\*\*Assumption:\*\* .*Cancale, harbour/)
    },
  )

  test('a helpful second reply is researched without an assumption, and a new question starts to count anew', async () => {
    const flow = assistant({ model: vague })
    const states = await tell(flow, 'Is it deep?', 'yes', 'Cancale harbour', 'Is it far?')
    expect(states.map(({ clarification_count }) => clarification_count)).toEqual([1, 2, 0, 1])
    expect(states[2]?.context.assumption).toBe(null)
  })

  test('that was cut short before it was asked back is no part of the next question', async () => {
    class FailingOnce extends ClarificationAgent {
      #count = 0
      override run(...given: Parameters<ClarificationAgent['run']>): Promise<ResearchUpdate> {
        this.#count += 1
        return this.#count === 1 ? Promise.reject(new Error('cut')) : super.run(...given)
      }
    }
    const flow = new AgentWorkflow({
      orchestrator: new MasterOrchestrator(),
      clarification: new FailingOnce(),
      research: new ResearchAgent({ corpus: memoryCorpus() }),
      synthesis: new SynthesisAgent(),
    }).build({ store })
    await flow.stream({ messages: human('What about them?') }, { contextId }).outcome
    const [asked, answered] = await tell(flow, 'Which ones are good enough?', 'The gate of the dock')
    expect([asked?.clarification_count, answered?.context.question]).toEqual([
      1,
      'Which ones are good enough? — The gate of the dock',
    ])
  })

  test('a reply that is a question of its own replaces the vague one', async () => {
    const [, after] = await tell(assistant(), 'Tell me about it', GATE)
    expect(after?.context.question).toBe(GATE)
    expect(after?.final_answer).toContain(`${GATE_SENTENCE} [1].`)
  })
})

test.each([
  ['a text alone', GATE],
  ['null', [null]],
  ['a number as its text', [{ role: 'user', content: 42 }]],
  ['no text', [{ role: 'user' }]],
  ['a part that is null', [{ role: 'user', content: [null] }]],
])('a message that is %s asks nothing, and the conversation goes on after it', async (_, messages) => {
  const flow = assistant()
  const { state } = await flow.invoke({ messages: messages as unknown as readonly Message[] }, { contextId })
  expect(state.missing_context).toEqual(['missing context: the topic'])
  const [after] = await tell(flow, GATE)
  expect(after?.final_answer).toContain(`${GATE_SENTENCE} [1].`)
})

test('a follow-up refers back to the question before, and the newest question is answered', async () => {
  const model = researchModel({
    synthesis: (prompt) =>
      prompt.includes('# Question to answer\nAnd at low tide?')
        ? 'At low tide it dries out [1].'
        : 'The harbour of Cancale is 4 metres deep at high tide [1].',
  })
  const corpus = memoryCorpus()
  const states = await tell(
    assistant({ model, corpus }),
    'How deep is the harbour of Cancale at high tide?',
    'And at low tide?',
  )
  expect(states[1]?.context).toMatchObject({
    question: 'And at low tide?',
    about: 'deep harbour Cancale high',
  })
  expect(corpus.queries[1]?.query).toBe('And at low tide? deep harbour Cancale high')
  expect(states[1]?.final_answer).toContain('At low tide it dries out [1].')
  const prompts = model.calls.map(({ prompt }) => promptText(prompt))
  expect(prompts.findLast((text) => text.includes('# Question to answer'))).toContain(
    '# Conversation\nUser: How deep is the harbour of Cancale at high tide?\nAI: Found something.\nUser: And at low tide?\nAI: Found something.',
  )
})

test('a follow-up whose own words are nowhere is not answered from the words that it refers back to', async () => {
  const states = await tell(assistant(), GATE, 'Who wrote this paper?')
  expect(states[1]).toMatchObject({
    confidence_score: 0,
    context: { about: 'gate Granville dock open', sources: [] },
  })
  expect(states[1]?.final_answer).toContain('**Not found.**')
})

describe('a tool that fails', () => {
  test('is an observation and no evidence', async () => {
    const corpus = memoryCorpus(HARBOURS, { fails: new Error('the index is down') })
    const [state] = await tell(assistant({ corpus }), GATE)
    expect(await nodesOf(store, contextId)).toEqual(['orchestrator', 'research', 'synthesis'])
    expect(state).toMatchObject({
      confidence_score: 0,
      context: { tool_history: ['pdf_retrieval'], pdf_results: [], web_results: [], sources: [] },
    })
    expect(state?.context.observations).toEqual([`pdf_retrieval failed for "${GATE}": the index is down`])
    expect(state?.final_answer).toContain('**Not found.**')
    expect(state?.final_answer).toContain('the index is down')
  })

  test('the web answers if the papers cannot, and the papers if the web cannot', async () => {
    const down = memoryCorpus(HARBOURS, { fails: new Error('the index is down') })
    const page = { url: 'https://example.com/dock', title: 'Docks', text: `${GATE_SENTENCE} in Granville.` }
    const [byWeb] = await tell(assistant({ corpus: down, web: memoryWeb([page]) }), GATE)
    expect(byWeb?.context.sources).toMatchObject([{ kind: 'web', source: page.url, page: null }])
    const web = memoryWeb(new Error('no network'))
    const { state } = await assistant({ web }).invoke(
      { messages: human(`Search the web: ${GATE}`) },
      { contextId: 'other' },
    )
    expect(state.context.sources).toMatchObject([{ kind: 'document', page: 3 }])
    expect(state.context.observations?.at(-1)).toContain('web_search failed')
  })

  test('a model that fails leaves the rules: research goes on, the answer is extractive and says why', async () => {
    const error = { error: { status: 400, message: 'overloaded' } }
    const model = researchModel({ orchestrator: error, research: [error], synthesis: error })
    const [state] = await tell(assistant({ model }), GATE)
    expect(state?.final_answer).toContain('The language model failed (overloaded). This answer is extractive')
    expect(state?.final_answer).toContain(`${GATE_SENTENCE} [1].`)
    expect(state?.context.observations?.at(-1)).toBe('The research model failed: overloaded')
    const vague = researchModel({ orchestrator: 'CLARIFICATION', clarification: error })
    const { state: asked } = await assistant({ model: vague }).invoke(
      { messages: human('Tell me') },
      { contextId: 'b' },
    )
    expect(asked).toMatchObject({
      clarification_needed: true,
      missing_context: ['missing context: the topic'],
    })
    expect(asked.final_answer).toBe('What topic are you asking about: which subject, document or author?')
  })
})

test('an empty corpus is said plainly, and no model writes an answer', async () => {
  const model = researchModel({ research: ['NOT FOUND'], synthesis: 'The gate opens at noon [1].' })
  const [state] = await tell(assistant({ corpus: memoryCorpus([]), model }), GATE)
  expect(callers(model)).toEqual(['orchestrator', 'research'])
  expect(state).toMatchObject({ confidence_score: 0, context: { sources: [] } })
  expect(state?.final_answer).toBe(
    `**Not found.** Nothing in the searched sources answers the question "${GATE}".\n\n- The search of the documents found nothing: the corpus is empty.`,
  )
})

test('every message is in the conversation once, and the sources of a question are gone with the next', async () => {
  const states = await tell(
    assistant(),
    GATE,
    'Who carried out the survey of the coast?',
    'What is the price of gold?',
  )
  const last = states.at(-1)
  expect(last?.messages.map(({ role }) => role)).toEqual([
    'user',
    'assistant',
    'user',
    'assistant',
    'user',
    'assistant',
  ])
  expect(states.map(({ context }) => context.sources?.map(({ title, page }) => `${title} ${page}`))).toEqual([
    ['Harbours of the bay 3'],
    ['Survey of 1998 1'],
    [],
  ])
  expect(last?.iteration).toBe(9)
})
