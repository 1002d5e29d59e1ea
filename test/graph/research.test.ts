/** A research assistant that asks back when necessary: the order of the nodes, and the updates of each. */
import { beforeEach, describe, expect, it } from 'vitest'
import type { Graph, GraphOutcome } from '../../src/graph/index.ts'
import { historyOf, lines, nodesOf, PLACES, type Place, statesAfter } from './kit.ts'
import {
  ANY_QUESTION,
  type Asked,
  type Lines,
  type Message,
  NO_RESEARCH,
  type ResearchCast,
  type ResearchChannels,
  type ResearchState,
  researchGraph,
} from './research-graph.ts'

const TALK = { contextId: 'abc123' }

const human = (text: string): Message => ({ role: 'human', text })
const ai = (text: string): Message => ({ role: 'ai', text })

const INITIAL: ResearchState = {
  messages: [human("What's the accuracy?")],
  session_id: 'abc123',
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

const PASSAGES = [1, 2, 3, 4, 5].map((number) => `passage ${number}`)
const ANSWER = 'The accuracy is 87.2% (Zhang et al. Table 2)'

const ACCURACY: ResearchCast = {
  script: {
    "What's the accuracy?": {
      orchestrator: 'RESEARCH',
      research: [{ calls: ['pdf_retrieval'] }, 'Found 5 results...'],
      synthesis: ANSWER,
    },
  },
  tools: { pdf_retrieval: () => PASSAGES },
}

const FOUND = {
  observations: ['Used tool: pdf_retrieval'],
  tool_history: ['pdf_retrieval'],
  pdf_results: PASSAGES,
  web_results: [],
  final_output: 'Found 5 results...',
}

const VAGUE: Lines = {
  orchestrator: 'CLARIFICATION: the topic',
  clarification: 'What topic are you asking about?',
}

describe.each(PLACES)('on %s', (_, placed) => {
  let place: Place
  let asked: Asked[]

  beforeEach(() => {
    place = placed()
    asked = []
  })

  function assistant(cast: ResearchCast = {}): Graph<ResearchChannels> {
    return researchGraph({ asked, ...cast }, { store: place.store })
  }

  async function tell(
    flow: Graph<ResearchChannels>,
    ...texts: string[]
  ): Promise<GraphOutcome<ResearchChannels>[]> {
    const outcomes: GraphOutcome<ResearchChannels>[] = []
    for (const text of texts) outcomes.push(await flow.invoke({ messages: human(text) }, TALK))
    return outcomes
  }

  const askers = (): string[] => asked.map(({ agent }) => agent)
  const nodes = (): Promise<string[]> => nodesOf(place.store, TALK.contextId)

  describe('a clear question', () => {
    it('goes from the orchestrator through research to synthesis', async () => {
      const run = assistant(ACCURACY).stream(INITIAL, TALK)
      expect(await lines(run)).toEqual([
        `input ${Object.keys(INITIAL).join(' ')}`,
        'claim',
        'turn.start',
        'graph.start',
        'graph.step orchestrator',
        'node.end orchestrator @orchestrator.1',
        'graph.step research',
        'effect.start 0-pdf_retrieval @research.2',
        'effect.end ok @research.2',
        'node.end research @research.2',
        'graph.step synthesis',
        'node.end synthesis @synthesis.3',
        'graph.step -',
        'turn.end stop',
      ])
      expect(await run.outcome).toMatchObject({ status: 'completed', reason: 'stop', turn: 1, requests: [] })
    })

    it('finds in the state what each agent left there', async () => {
      const flow = assistant(ACCURACY)
      const { state } = await flow.invoke(INITIAL, TALK)
      const decided: ResearchState = {
        ...INITIAL,
        next_agent: 'research',
        last_agent: 'orchestrator',
        iteration: 1,
      }
      const researched: ResearchState = {
        ...decided,
        context: FOUND,
        next_agent: 'synthesis',
        last_agent: 'research',
        iteration: 2,
        messages: [...INITIAL.messages, ai('Found 5 results...')],
      }
      const answered: ResearchState = {
        ...researched,
        final_answer: ANSWER,
        confidence_score: 0.95,
        next_agent: 'END',
        last_agent: 'synthesis',
        iteration: 3,
      }
      expect(await statesAfter(flow, 'abc123')).toEqual([
        ['orchestrator', decided],
        ['research', researched],
        ['synthesis', answered],
      ])
      expect(state).toEqual(answered)
    })

    it('begins with the same state whether all of it is given or only the message', async () => {
      const flow = assistant(ACCURACY)
      await flow.invoke(INITIAL, { contextId: 'all' })
      await flow.invoke(
        { messages: human("What's the accuracy?"), session_id: 'abc123' },
        { contextId: 'few' },
      )
      const [all, few] = [await historyOf(flow, 'all'), await historyOf(flow, 'few')]
      expect(all[0]?.state).toEqual(INITIAL)
      expect(few.map(({ state }) => state)).toEqual(all.map(({ state }) => state))
    })
  })

  describe('a vague question', () => {
    const cast: ResearchCast = { script: { 'Tell me about it': VAGUE } }

    it('is answered with a question, and the run is over', async () => {
      const flow = assistant(cast)
      const run = flow.stream({ messages: human('Tell me about it') }, TALK)
      expect(await lines(run)).toEqual([
        'input messages',
        'claim',
        'turn.start',
        'graph.start',
        'graph.step orchestrator',
        'node.end orchestrator @orchestrator.1',
        'graph.step clarification',
        'node.end clarification @clarification.2',
        'graph.step -',
        'turn.end stop',
      ])
      const [, [, state]] = (await statesAfter(flow, 'abc123')) as [unknown, [string, ResearchState]]
      expect(state).toMatchObject({
        messages: [human('Tell me about it'), ai('What topic are you asking about?')],
        next_agent: 'END',
        last_agent: 'clarification',
        clarification_needed: true,
        clarification_count: 1,
        missing_context: ['the topic'],
        iteration: 2,
        final_answer: 'What topic are you asking about?',
      })
    })

    it('is researched with the reply, which nobody has to think about', async () => {
      const flow = assistant(cast)
      const [, outcome] = await tell(flow, 'Tell me about it', 'Zhang et al. paper')
      expect(await nodes()).toEqual([
        'orchestrator',
        'clarification',
        'orchestrator',
        'research',
        'synthesis',
      ])
      expect(askers()).toEqual(['orchestrator', 'clarification', 'research', 'research', 'synthesis'])
      expect(outcome?.state).toMatchObject({
        messages: [
          human('Tell me about it'),
          ai('What topic are you asking about?'),
          human('Zhang et al. paper'),
          ai('Found something.'),
        ],
        clarification_needed: false,
        clarification_count: 0,
        missing_context: [],
        iteration: 5,
        final_answer: 'It is so.',
      })
    })

    it('is taken up again by whoever has the journal', async () => {
      await tell(assistant(cast), 'Tell me about it')
      const elsewhere = researchGraph({ ...cast, asked }, { store: place.another() })
      const { state, turn } = await elsewhere.invoke({ messages: human('Zhang et al. paper') }, TALK)
      expect(turn).toBe(2)
      expect(state.messages).toHaveLength(4)
      expect(state.last_agent).toBe('synthesis')
      expect(askers().filter((agent) => agent === 'orchestrator')).toHaveLength(1)
    })

    it('is researched as it is when two questions have not helped', async () => {
      const flow = assistant({
        script: { 'Tell me about it': VAGUE, 'That one': VAGUE, 'I don’t know': VAGUE },
      })
      await tell(flow, 'Tell me about it', 'That one', 'I don’t know')
      const decisions = (await statesAfter(flow, 'abc123')).filter(([node]) => node === 'orchestrator')
      expect(
        decisions.map(([, { next_agent, clarification_count }]) => [next_agent, clarification_count]),
      ).toEqual([
        ['clarification', 1],
        ['clarification', 2],
        ['research', 0],
      ])
      expect(askers()).toEqual([
        ...['orchestrator', 'clarification', 'orchestrator', 'clarification'],
        ...['research', 'research', 'synthesis'],
      ])
    })

    it('may come after an answer, and is thought about again', async () => {
      const flow = assistant({ script: { ...cast.script, 'Which method is best?': VAGUE } })
      const outcomes = await tell(flow, 'Tell me about it', 'Zhang et al. paper', 'Which method is best?')
      expect(outcomes.map(({ state }) => [state.last_agent, state.clarification_count])).toEqual([
        ['clarification', 1],
        ['synthesis', 0],
        ['clarification', 1],
      ])
    })

    it('is asked about in general when no question comes to mind', async () => {
      const silent = { ...VAGUE, clarification: new Error('overloaded') }
      const [outcome] = await tell(assistant({ script: { 'Tell me about it': silent } }), 'Tell me about it')
      expect(outcome?.state.messages).toEqual([human('Tell me about it'), ai(ANY_QUESTION)])
      expect(outcome?.state.final_answer).toBe(ANY_QUESTION)
    })
  })

  describe('when something breaks', () => {
    it('researches if nobody can decide', async () => {
      const flow = assistant({ script: { 'Tell me about it': { orchestrator: new Error('overloaded') } } })
      const [outcome] = await tell(flow, 'Tell me about it')
      expect(outcome?.reason).toBe('stop')
      expect(await nodes()).toEqual(['orchestrator', 'research', 'synthesis'])
      expect(outcome?.state).toMatchObject({ iteration: 3, clarification_needed: false })
    })

    it('says so with no confidence if the research fails, whatever was found before', async () => {
      const flow = assistant({
        ...ACCURACY,
        script: {
          ...ACCURACY.script,
          'And the recall?': {
            research: [{ calls: ['pdf_retrieval'] }, new Error('overloaded')],
            synthesis: 'Nothing is known of the recall.',
          },
        },
      })
      const [before, after] = await tell(flow, "What's the accuracy?", 'And the recall?')
      expect(before?.state.confidence_score).toBe(0.95)
      expect(await nodes()).toEqual([
        ...['orchestrator', 'research', 'synthesis'],
        ...['orchestrator', 'research', 'synthesis'],
      ])
      expect(after?.state).toMatchObject({
        messages: [human("What's the accuracy?"), ai('Found 5 results...'), human('And the recall?')],
        context: {
          observations: ['Research failed: overloaded'],
          tool_history: [],
          pdf_results: [],
          web_results: [],
          final_output: NO_RESEARCH,
        },
        final_answer: 'Nothing is known of the recall.',
        confidence_score: 0,
      })
    })

    it('takes a tool that fails for research that fails', async () => {
      const down = (): never => {
        throw new Error('the index is down')
      }
      const run = assistant({ ...ACCURACY, tools: { pdf_retrieval: down } }).stream(INITIAL, TALK)
      expect((await lines(run)).slice(6, -2)).toEqual([
        'graph.step research',
        'effect.start 0-pdf_retrieval @research.2',
        'effect.end error @research.2',
        'node.end research @research.2',
        'graph.step synthesis',
        'node.end synthesis @synthesis.3',
      ])
      const { state } = await run.outcome
      expect(state.context.observations).toEqual(['Research failed: the index is down'])
      expect(state.confidence_score).toBe(0)
    })

    it('answers with what the research said if nobody can put it together', async () => {
      const flow = assistant({ script: { 'And?': { synthesis: new Error('overloaded') } } })
      const [outcome] = await tell(flow, 'And?')
      expect(outcome?.state).toMatchObject({
        final_answer: 'Found something.',
        confidence_score: 0,
        next_agent: 'END',
        last_agent: 'synthesis',
        iteration: 3,
      })
    })

    it('still answers if everything fails', async () => {
      const error = new Error('overloaded')
      const all = { orchestrator: error, clarification: error, research: [error], synthesis: error }
      const [outcome] = await tell(assistant({ script: { 'And?': all } }), 'And?')
      expect(outcome?.status).toBe('completed')
      expect(outcome?.state).toMatchObject({ final_answer: NO_RESEARCH, confidence_score: 0 })
    })
  })

  describe('the messages', () => {
    const both: ResearchCast = {
      script: {
        'Who wrote it?': {
          research: [
            { calls: ['pdf_retrieval', 'web_search'] },
            { calls: ['web_search'] },
            'Zhang wrote it.',
          ],
        },
      },
    }

    it('are each there once, however many agents and turns they have seen', async () => {
      const [, , outcome] = await tell(assistant(), 'One?', 'Two?', 'Three?')
      expect(outcome?.state.messages).toEqual([
        ...[human('One?'), ai('Found something.')],
        ...[human('Two?'), ai('Found something.')],
        ...[human('Three?'), ai('Found something.')],
      ])
      expect(outcome?.state.iteration).toBe(9)
    })

    it('have of the research only what it said at last', async () => {
      const [outcome] = await tell(assistant(both), 'Who wrote it?')
      expect(outcome?.state.messages).toEqual([human('Who wrote it?'), ai('Zhang wrote it.')])
      expect(outcome?.state.context).toMatchObject({
        observations: ['Used tool: pdf_retrieval', 'Used tool: web_search'],
        tool_history: ['pdf_retrieval', 'web_search'],
      })
      expect(asked.filter(({ agent }) => agent === 'research').at(-1)?.prompt).toEqual([
        'User: Who wrote it?',
        'Call: pdf_retrieval',
        'Result: pdf_retrieval on Who wrote it?',
        'Call: web_search',
        'Result: web_search on Who wrote it?',
        'Call: web_search',
        'Result: web_search on Who wrote it?',
      ])
    })

    it('are answered from the last question', async () => {
      const script = { 'One?': { synthesis: 'First.' }, 'Two?': { synthesis: 'Second.' } }
      const outcomes = await tell(assistant({ script }), 'One?', 'Two?')
      expect(outcomes.map(({ state }) => state.final_answer)).toEqual(['First.', 'Second.'])
      expect(asked.filter(({ agent }) => agent === 'synthesis').at(-1)?.prompt).toEqual([
        'User: One?',
        'AI: Found something.',
        'User: Two?',
        'AI: Found something.',
        'Question: Two?',
        'Used tool: pdf_retrieval',
        'Found something.',
      ])
    })

    it('are all kept, and the last ten of them shown', async () => {
      const flow = assistant()
      const [outcome] = (await tell(flow, ...[1, 2, 3, 4, 5, 6, 7, 8].map((number) => `${number}?`))).slice(
        -1,
      )
      expect(outcome?.state.messages).toHaveLength(16)
      const seen = asked.filter(({ agent }) => agent === 'orchestrator').map(({ prompt }) => prompt)
      expect(seen.map(({ length }) => length)).toEqual([1, 3, 5, 7, 9, 10, 10, 10])
      expect([seen.at(-1)?.at(0), seen.at(-1)?.at(-1)]).toEqual(['AI: Found something.', 'User: 8?'])
      expect(
        Math.max(...asked.map(({ prompt }) => prompt.filter((one) => /^(User|AI):/.test(one)).length)),
      ).toBe(10)
    })

    it('of one conversation are not seen in another', async () => {
      const flow = assistant()
      await Promise.all(
        ['a', 'b', 'c'].map((contextId) => flow.invoke({ messages: human(`${contextId}?`) }, { contextId })),
      )
      for (const contextId of ['a', 'b', 'c']) {
        const now = await flow.getState({ contextId })
        expect(now?.state.messages).toEqual([human(`${contextId}?`), ai('Found something.')])
      }
    })
  })

  it.each([
    [0, 0],
    [1, 0.6],
    [2, 0.8],
    [3, 0.95],
    [5, 0.95],
  ])('with %i results it is %f sure', async (results, sure) => {
    const tools = { pdf_retrieval: () => PASSAGES.slice(0, results) }
    const { state } = await assistant({ ...ACCURACY, tools }).invoke(INITIAL, TALK)
    expect(state.confidence_score).toBe(sure)
  })
})
