/** The options of the research assistant: which of two counts, prompts from elsewhere, and graphs of one's own. */
import { describe, expect, test } from 'vitest'
import {
  initialState,
  MasterOrchestrator,
  RESEARCH_CHANNELS,
  type ResearchOptions,
  type ResearchState,
  researchAssistant,
  researchNodes,
} from '../../../src/flow/research/index.ts'
import { END, graph, START, value } from '../../../src/graph/index.ts'
import type { Message } from '../../../src/protocol/index.ts'
import type { ScriptedModel } from '../../../src/testing/index.ts'
import { callers, memoryCorpus, promptText, researchModel } from './kit.ts'

const human = (content: string): Message => ({ role: 'user', content })
const GATE = 'When does the gate of the Granville dock open?'
const ANSWER = 'The gate of the dock opens 2 hours before high tide [1].'

async function asked(options: Partial<ResearchOptions>): Promise<[ScriptedModel, ResearchState]> {
  const model = researchModel({ synthesis: ANSWER })
  const flow = researchAssistant({ corpus: memoryCorpus(), model, ...options })
  return [model, (await flow.invoke({ messages: human(GATE) })).state]
}

const heats = ({ calls }: ScriptedModel): unknown[] => calls.map(({ settings }) => settings.temperature)

describe('the temperature', () => {
  test('of one agent counts before that of the settings, its own and those of all', async () => {
    const settings = { temperature: 0.9 }
    const [shared] = await asked({ settings, agents: { synthesis: { temperature: 0.1 } } })
    expect(callers(shared)).toEqual(['orchestrator', 'research', 'synthesis', 'support'])
    expect(heats(shared)).toEqual([0.9, 0.9, 0.1, 0])
    const [own] = await asked({ agents: { synthesis: { temperature: 0.1, settings: { temperature: 0.4 } } } })
    expect(heats(own)).toEqual([0.3, 0.7, 0.1, 0])
  })

  test('null sends none, not with the check of claims either', async () => {
    const settings = { temperature: 0.9 }
    const [model, { context }] = await asked({ settings, agents: { synthesis: { temperature: null } } })
    expect(heats(model)).toEqual([0.9, 0.9, undefined, undefined])
    expect(context.claims).toMatchObject([{ verdict: 'supported' }])
  })
})

describe('a prompt', () => {
  test('may be a function, called for each call of the model', async () => {
    const labels = ['staging', 'production']
    const prompt = async () => `You answer the newest question. Label: ${labels.shift()}`
    const model = researchModel({ synthesis: ANSWER })
    const agents = { synthesis: { prompt, modelCheck: false } }
    const flow = researchAssistant({ corpus: memoryCorpus(), model, agents })
    for (const contextId of ['a', 'b']) await flow.invoke({ messages: human(GATE) }, { contextId })
    const systems = model.calls.map(({ prompt: [system] }) => JSON.stringify(system?.content))
    expect(systems.filter((text) => text.includes('Label'))).toEqual([
      '"You answer the newest question. Label: staging"',
      '"You answer the newest question. Label: production"',
    ])
  })

  test('that cannot be had leaves the rules', async () => {
    const prompt = () => Promise.reject(new Error('The registry is down.'))
    const [model, state] = await asked({ agents: { synthesis: { prompt } } })
    expect(callers(model)).toEqual(['orchestrator', 'research', 'support'])
    expect(state.final_answer).toContain('The registry is down.')
    expect(state.final_answer).toContain('opens 2 hours before high tide [1].')
  })
})

test('every agent is shown the answer to the question before, also after a clarification', async () => {
  const model = researchModel({
    orchestrator: (prompt) => (/# Newest question\nWhy\?/.test(prompt) ? 'CLARIFICATION' : 'RESEARCH'),
    synthesis: ANSWER,
  })
  const flow = researchAssistant({
    corpus: memoryCorpus(),
    model,
    agents: { synthesis: { modelCheck: false } },
  })
  for (const text of [GATE, 'Why?', 'The gate of the dock of Granville at high tide'])
    await flow.invoke({ messages: human(text) }, { contextId: 'talk' })
  const shown = model.calls.map(({ prompt }) => promptText(prompt).includes(`# Answer before\n${ANSWER}`))
  const prompts = callers(model).map((caller, at) => `${caller} ${shown[at]}`)
  expect(prompts).toEqual([
    ...['orchestrator false', 'research false', 'synthesis false'],
    ...['orchestrator true', 'clarification true'],
    ...['research true', 'synthesis true'],
  ])
})

test('names and values of agents that do not exist are refused', () => {
  const made = (options: object) => () => researchAssistant({ corpus: memoryCorpus(), ...options })
  expect(made({ agents: { synthesys: { maxHistory: 3 } } })).toThrow('Did you mean synthesis?')
  expect(made({ agents: { synthesis: 5 } })).toThrow('synthesis must be an object, not 5.')
  expect(made({ corpus: {} })).toThrow('sqliteCorpus()')
})

test('an agent runs alone under any session id', async () => {
  const start = initialState([human(GATE)], 'user 7 / monday')
  const decided = await new MasterOrchestrator().execute(start)
  expect(decided).toMatchObject({ session_id: 'user 7 / monday', next_agent: 'research' })
})

test('a graph of one’s own has the channels, the nodes and more', async () => {
  const { orchestrator, research, synthesis } = researchNodes({ corpus: memoryCorpus() })
  const flow = graph({ state: { ...RESEARCH_CHANNELS, verdict: value<string>() } })
    .addNode('orchestrator', orchestrator)
    .addNode('research', research)
    .addNode('synthesis', synthesis)
    .addNode('verify', ({ context }) => ({ verdict: `${context.sources?.length} sources` }))
    .addEdge(START, 'orchestrator')
    .addEdge('orchestrator', 'research')
    .addEdge('research', 'synthesis')
    .addEdge('synthesis', 'verify')
    .addEdge('verify', END)
    .compile()
  const { state } = await flow.invoke({ messages: human(GATE) })
  expect(state).toMatchObject({ verdict: '1 sources', last_agent: 'synthesis', iteration: 3 })
})
