/**
 * A research assistant as a graph: an orchestrator asks back or delegates research, and a writer combines the findings.
 * Its language model is a script that depends only on the state, so a repeated node gets the same reply.
 */
import {
  type Channel,
  END,
  type Graph,
  type GraphOptions,
  graph,
  list,
  merge,
  type NodeContext,
  type NodeFunction,
  reduce,
  type StateOf,
  type UpdateOf,
  value,
} from '../../src/graph/index.ts'

export interface Message {
  readonly role: 'human' | 'ai'
  readonly text: string
}

/** Notes of agents for each other. */
interface Found {
  readonly observations?: readonly string[]
  readonly tool_history?: readonly string[]
  readonly pdf_results?: readonly string[]
  readonly web_results?: readonly string[]
  readonly final_output?: string
}

export type ResearchChannels = {
  readonly messages: Channel<readonly Message[], Message | readonly Message[]>
  readonly session_id: Channel<string | undefined, string>
  readonly next_agent: Channel<string>
  readonly last_agent: Channel<string | null>
  readonly clarification_needed: Channel<boolean>
  readonly clarification_count: Channel<number>
  readonly missing_context: Channel<readonly string[]>
  readonly context: Channel<Found, Partial<Found>>
  readonly iteration: Channel<number>
  readonly final_answer: Channel<string | null>
  readonly confidence_score: Channel<number | null>
}

export type ResearchState = StateOf<ResearchChannels>
type Update = UpdateOf<ResearchChannels>
type Agent = NodeFunction<ResearchChannels>

export type ToolName = 'pdf_retrieval' | 'web_search'
type Said = string | Error
type Step = Said | { readonly calls: readonly ToolName[] }

/** The model's replies to each agent about one question. An error is thrown; missing replies come from `OBVIOUS`. */
export interface Lines {
  readonly orchestrator?: Said
  readonly clarification?: Said
  /** Tool calls, then a summary. */
  readonly research?: readonly Step[]
  readonly synthesis?: Said
}

const OBVIOUS: Required<Lines> = {
  orchestrator: 'RESEARCH',
  clarification: 'What do you mean?',
  research: [{ calls: ['pdf_retrieval'] }, 'Found something.'],
  synthesis: 'It is so.',
}

export interface Asked {
  readonly agent: keyof Lines
  readonly prompt: readonly string[]
}

export interface ResearchCast {
  /** By question: the newest message of the human. */
  readonly script?: { readonly [question: string]: Lines }
  readonly tools?: { readonly [tool in ToolName]?: (query: string) => readonly string[] }
  /** The prompts of the model, for the test to inspect. */
  readonly asked?: Asked[]
}

const MAX_HISTORY = 10
const MAX_CLARIFICATIONS = 2
const MAX_ROUNDS = 10

export const NO_RESEARCH = 'The research could not be done.'
export const ANY_QUESTION = 'Could you say more precisely what you are looking for?'

export function researchGraph(cast: ResearchCast, options: GraphOptions = {}): Graph<ResearchChannels> {
  return graph<ResearchChannels>({
    name: 'research',
    state: {
      messages: list<Message>(),
      session_id: value<string>(),
      next_agent: value('orchestrator'),
      last_agent: value<string | null>(null),
      clarification_needed: value(false),
      clarification_count: value(0),
      missing_context: value<readonly string[]>([]),
      context: merge<Found>({}),
      iteration: reduce((sum: number, more: number) => sum + more, 0),
      final_answer: value<string | null>(null),
      confidence_score: value<number | null>(null),
    },
  })
    .addNode('orchestrator', orchestrator(cast))
    .addNode('clarification', clarification(cast))
    .addNode('research', research(cast))
    .addNode('synthesis', synthesis(cast))
    .setEntryPoint('orchestrator')
    .addConditionalEdges('orchestrator', ({ next_agent }) => next_agent, {
      clarification: 'clarification',
      research: 'research',
    })
    .addEdge('clarification', END)
    .addEdge('research', 'synthesis')
    .addEdge('synthesis', END)
    .compile(options)
}

function orchestrator(cast: ResearchCast): Agent {
  return (state) => ({ ...decision(cast, state), last_agent: 'orchestrator', iteration: 1 })
}

const TO_RESEARCH: Update = {
  next_agent: 'research',
  clarification_needed: false,
  clarification_count: 0,
  missing_context: [],
}

function decision(cast: ResearchCast, state: ResearchState): Update {
  const { clarification_count: count } = state
  if (count >= MAX_CLARIFICATIONS || isHelpfulReply(state)) return TO_RESEARCH
  try {
    const [wish, missing = ''] = say(cast, 'orchestrator', state).split(/:\s*/)
    if (!/clarification/i.test(wish ?? '')) return TO_RESEARCH
    return {
      next_agent: 'clarification',
      clarification_needed: true,
      clarification_count: count + 1,
      missing_context: missing === '' ? [] : [missing],
    }
  } catch {
    return TO_RESEARCH
  }
}

/** True after an answer to a question: then nothing is left to decide. */
function isHelpfulReply({ messages, last_agent }: ResearchState): boolean {
  const [before, last] = messages.slice(-2)
  if (last_agent !== 'clarification' || before?.role !== 'ai' || last?.role !== 'human') return false
  const words = last.text.toLowerCase().match(/\p{L}+/gu) ?? []
  return words.some((word) => !EMPTY_WORDS.has(word))
}

const EMPTY_WORDS: ReadonlySet<string> = new Set(
  'a about again i it know me no not one t that the them this yes you don tell well'.split(' '),
)

function clarification(cast: ResearchCast): Agent {
  return (state) => {
    const text = orElse(() => say(cast, 'clarification', state), ANY_QUESTION)
    return {
      messages: { role: 'ai', text },
      final_answer: text,
      next_agent: 'END',
      last_agent: 'clarification',
      iteration: 1,
    }
  }
}

function research(cast: ResearchCast): Agent {
  return async (state, context) => {
    const done = { next_agent: 'synthesis', last_agent: 'research', iteration: 1 }
    try {
      const found = await lookUp(cast, state, context)
      return { ...done, context: found, messages: { role: 'ai', text: found.final_output } }
    } catch (error) {
      const { message } = error as Error
      const observations = [`Research failed: ${message}`]
      return { ...done, context: { ...NOTHING, observations, final_output: NO_RESEARCH } }
    }
  }
}

const NOTHING = { tool_history: [], pdf_results: [], web_results: [] } satisfies Found

/** Tool calls and their results are visible to the next model call only. */
async function lookUp(
  cast: ResearchCast,
  state: ResearchState,
  { step }: NodeContext,
): Promise<Required<Found>> {
  const query = questionIn(state)
  const steps = cast.script?.[query]?.research ?? OBVIOUS.research
  const between: string[] = []
  const found: Record<ToolName, string[]> = { pdf_retrieval: [], web_search: [] }
  const used = new Set<ToolName>()
  for (let round = 0; round < MAX_ROUNDS; round++) {
    cast.asked?.push({ agent: 'research', prompt: [...windowOf(state), ...between] })
    const said = steps[round] ?? new Error('The model said nothing.')
    if (said instanceof Error) throw said
    if (typeof said === 'string') return foundBy(used, found, said)
    for (const tool of said.calls) {
      const find = cast.tools?.[tool] ?? (() => [`${tool} on ${query}`])
      const results = await step(`${round}-${tool}`, () => find(query), { replay: 'safe' })
      used.add(tool)
      found[tool].push(...results)
      between.push(`Call: ${tool}`, ...results.map((result) => `Result: ${result}`))
    }
  }
  throw new Error(`There was no summary after ${MAX_ROUNDS} rounds.`)
}

function foundBy(
  used: ReadonlySet<ToolName>,
  { pdf_retrieval, web_search }: Record<ToolName, string[]>,
  summary: string,
): Required<Found> {
  return {
    observations: [...used].map((tool) => `Used tool: ${tool}`),
    tool_history: [...used],
    pdf_results: pdf_retrieval,
    web_results: web_search,
    final_output: summary,
  }
}

function synthesis(cast: ResearchCast): Agent {
  return (state) => {
    const { final_output = NO_RESEARCH, pdf_results = [], web_results = [] } = state.context
    const answer = orElse(() => say(cast, 'synthesis', state), undefined)
    return {
      final_answer: answer ?? final_output,
      confidence_score: answer === undefined ? 0 : confidence(pdf_results.length + web_results.length),
      next_agent: 'END',
      last_agent: 'synthesis',
      iteration: 1,
    }
  }
}

/** Counts findings, not tools. */
function confidence(results: number): number {
  return [0, 0.6, 0.8][results] ?? 0.95
}

function say(cast: ResearchCast, agent: Exclude<keyof Lines, 'research'>, state: ResearchState): string {
  const question = questionIn(state)
  const { observations = [], final_output = '' } = state.context
  const found = agent === 'synthesis' ? [`Question: ${question}`, ...observations, final_output] : []
  cast.asked?.push({ agent, prompt: [...windowOf(state), ...found] })
  const said = cast.script?.[question]?.[agent] ?? OBVIOUS[agent]
  if (said instanceof Error) throw said
  return said
}

function questionIn({ messages }: ResearchState): string {
  return messages.findLast(({ role }) => role === 'human')?.text ?? ''
}

function windowOf({ messages }: ResearchState): string[] {
  return messages.slice(-MAX_HISTORY).map(({ role, text }) => `${role === 'human' ? 'User' : 'AI'}: ${text}`)
}

function orElse<T>(work: () => string, otherwise: T): string | T {
  try {
    return work()
  } catch {
    return otherwise
  }
}
