/** Answers a question by draft → search → revise: the model criticises its answer, and searches for what it lacks. */
import { agentNode } from '../../agent/index.ts'
import {
  type Channel,
  type ConstantChannel,
  constant,
  END,
  type Graph,
  type GraphOptions,
  graph,
  type ListChannel,
  list,
  type NodeContext,
  START,
  type StateOf,
  type UpdateOf,
  value,
} from '../../graph/index.ts'
import { type ModelOptions, tokenCounter } from '../../model/index.ts'
import {
  checkOptions,
  defined,
  HoldfastError,
  type OptionSet,
  quote,
  shown,
  type Usage,
} from '../../protocol/index.ts'
import type { Tool } from '../../tool/index.ts'
import type { ModelChoice } from '../../turn/index.ts'
import { fileTools, saveReport } from '../file-calls.ts'
import { fitText } from '../fit-context.ts'
import { checkLanguageModel } from '../reflex-choice.ts'
import { FLOW_OPTIONS, type FlowEnd, type FlowOptions, runFlow } from '../run-flow.ts'
import { DRAFT, type Draft, REVISION, type Reflection } from './answer-schema.ts'

export type { Reflection } from './answer-schema.ts'

/** Returns what was found, as text. It may run again after a crash. The text of a thrown error is a finding, too. */
export type ReflexionSearch = (
  query: string,
  context: { readonly signal: AbortSignal },
) => string | Promise<string>

export interface ReflexionOptions extends FlowOptions {
  readonly question: string
  readonly model: ModelChoice | readonly ModelChoice[]
  readonly settings?: ModelOptions
  readonly search: ReflexionSearch
  /** The most revisions. Default: 2. */
  readonly maxIterations?: number
  /** Writes a report there, in the folder `cwd`. Default: none. */
  readonly reportPath?: string
  /** The folder of the report. Default: the current one. */
  readonly cwd?: string
  /** The most tokens of a prompt. Default: 100,000. */
  readonly maxContextTokens?: number
}

/** A query and what was found. */
export type Searched = {
  readonly query: string
  readonly found: string
}

export interface ReflexionResults {
  /** The last revision, or the draft; null if there is none. */
  readonly answer: string | null
  readonly reflection: Reflection | null
  readonly references: readonly string[]
  /** Queries that the last reply would still make. */
  readonly queries: readonly string[]
  /** The number of revisions. */
  readonly iterations: number
  readonly searches: readonly Searched[]
  /** Null: none was asked for, or the run ended before it. */
  readonly report: string | null
  /** Null: no report was written. */
  readonly reportPath: string | null
  readonly ended: FlowEnd
  readonly reason: string
  readonly usage: Usage
  readonly contextId: string
}

const OPTIONS: OptionSet<ReflexionOptions> = {
  place: 'reflexion()',
  options: {
    ...FLOW_OPTIONS,
    question: 'a text',
    model: null,
    settings: 'an object',
    search: 'a function',
    maxIterations: { least: 0 },
    reportPath: 'a text',
    cwd: 'a text',
    maxContextTokens: { least: 1000 },
  },
  foreign: { max_iterations: 'maxIterations', query: 'question', task: 'question' },
}

type ReflexionChannels = {
  readonly question: ConstantChannel<string>
  readonly draft: Channel<Draft | null>
  readonly iterations: Channel<number>
  readonly searches: ListChannel<Searched>
  readonly report: Channel<string | null>
  readonly isWritten: Channel<boolean>
}

type State = StateOf<ReflexionChannels>
type Update = UpdateOf<ReflexionChannels>

const DEFAULT_ITERATIONS = 2
const DEFAULT_CONTEXT_TOKENS = 100_000
/** The part of a prompt that found texts and the earlier answer may fill. */
const VALUES_PART = 0.6

/**
 * Resolves however it ends: `ended` says how, and the best answer so far is in the results.
 *
 * @example
 * const { answer, references } = await reflexion({ question: 'Who built it?', model: 'openai/gpt-4.1-mini', search })
 */
export async function reflexion(options: ReflexionOptions): Promise<ReflexionResults> {
  checkOptions(options, OPTIONS)
  for (const name of ['question', 'model', 'search'] as const)
    if (options[name] === undefined)
      throw new HoldfastError('invalid-option', { message: `reflexion() needs ${name}.` })
  checkLanguageModel(options.model, 'criticise an answer')
  const { question, reportPath, cwd = '.' } = options
  const tools = reportPath === undefined ? [] : await fileTools(cwd, ['read_file', 'write_to_file'])
  const compile = (graphOptions: GraphOptions): Graph<ReflexionChannels> =>
    build({ ...options, tools }, graphOptions)
  const check = ({ question: begun = question }: State, contextId: string): void => {
    if (begun === question) return
    throw new HoldfastError('invalid-option', {
      message: `The conversation ${quote(contextId)} answers ${quote(begun)}. Give another contextId for another question.`,
    })
  }
  const { state, ...run } = await runFlow({ compile, input: { question }, check }, options)
  const { draft, iterations, searches, report, isWritten } = state
  return {
    answer: draft?.answer ?? null,
    reflection: draft?.reflection ?? null,
    references: draft?.references ?? [],
    queries: draft?.queries ?? [],
    iterations,
    searches,
    report,
    reportPath: isWritten ? (reportPath ?? null) : null,
    ...run,
  }
}

interface Reflecting extends ReflexionOptions {
  readonly tools: readonly Tool[]
}

function build(options: Reflecting, graphOptions: GraphOptions): Graph<ReflexionChannels> {
  const { maxIterations = DEFAULT_ITERATIONS, reportPath, tools } = options
  const next = ({ draft, iterations }: State): 'search' | 'report' | typeof END => {
    if (iterations < maxIterations && (draft?.queries.length ?? 0) > 0) return 'search'
    return reportPath === undefined ? END : 'report'
  }
  return graph({
    name: 'reflexion',
    state: {
      question: constant<string>(),
      draft: value<Draft | null>(null),
      iterations: value(0),
      searches: list<Searched>(),
      report: value<string | null>(null),
      isWritten: value(false),
    },
  })
    .addNode('draft', (state, context) => write(options, state, context))
    .addNode('search', (state, context) => search(options, state, context))
    .addNode('revise', async (state, context) => ({
      ...(await write(options, state, context)),
      iterations: state.iterations + 1,
    }))
    .addEdge(START, 'draft')
    .addNode('report', (state, context) => writeReport(options, state, context))
    .addNode('save', async ({ report }, context) => {
      await saveReport(context, { tools, path: reportPath ?? '', content: report ?? '' })
      return { isWritten: true }
    })
    .addConditionalEdges('draft', next, ['search', 'report', END])
    .addEdge('search', 'revise')
    .addConditionalEdges('revise', next, ['search', 'report', END])
    .addEdge('report', 'save')
    .addEdge('save', END)
    .compile(graphOptions)
}

const INSTRUCTIONS = `You answer a question, criticise your answer, and name searches that would make it better.
"answer": about 250 words at most. "reflection": what is missing in it, and what is superfluous.
"queries": 1 to 3 searches for what is missing.`

const REVISE = `You have an answer, a critique of it, and what was found by searching. Write a better answer.
Use what was found, and cite it by numbers in brackets. "references": the sources that you cite, in the order of their
numbers. "queries": up to 3 further searches; an empty list if nothing important is missing.`

/** The first answer, or a better one. */
async function write(options: ReflexionOptions, state: State, context: NodeContext): Promise<Update> {
  const { model, settings } = options
  const { draft, question = '' } = state
  const isFirst = draft === null
  const writer = agentNode({
    name: context.node,
    model,
    systemPrompt: isFirst ? INSTRUCTIONS : REVISE,
    output: isFirst ? DRAFT : REVISION,
    ...defined({ settings }),
  })
  const prompt = isFirst ? question : await revisionPrompt(options, state)
  const made = await context.run('', writer, prompt)
  return { draft: { references: [], ...made } }
}

async function revisionPrompt(
  { maxContextTokens = DEFAULT_CONTEXT_TOKENS }: ReflexionOptions,
  { question, draft, searches }: State,
): Promise<string> {
  const counter = await tokenCounter()
  const room = maxContextTokens * VALUES_PART
  const share = Math.floor(room / (searches.length + 1))
  const found = searches.map(
    ({ query, found: text }, at) => `[${at + 1}] ${query}\n${fitText(text, share, counter)}`,
  )
  return [
    `# Question\n${question}`,
    `# Answer so far\n${fitText(JSON.stringify(draft), share, counter)}`,
    `# Found\n${found.join('\n\n')}`,
  ].join('\n\n')
}

const REPORT = `You write a report of the answer to a question, in Markdown: a summary, the details with citations by numbers in brackets,
open points, and the list of references. Use only the answer and what was found.`

async function writeReport(options: ReflexionOptions, state: State, context: NodeContext): Promise<Update> {
  const { model, settings } = options
  const writer = agentNode({ name: context.node, model, systemPrompt: REPORT, ...defined({ settings }) })
  const text = await context.run('', writer, await revisionPrompt(options, state))
  return { report: `${text.trim()}\n` }
}

const LONGEST_FOUND = 50_000

/** All queries side by side. A search that fails is a result: the model reads why. */
async function search(options: ReflexionOptions, { draft }: State, context: NodeContext): Promise<Update> {
  const queries = draft?.queries ?? []
  const searches = await Promise.all(
    queries.map(async (query, at) => {
      const found = await context.step(
        `search ${at + 1}`,
        async ({ signal }) => {
          try {
            return textOf(await options.search(query, { signal }))
          } catch (error) {
            signal.throwIfAborted()
            return `The search failed: ${error instanceof Error ? error.message : String(error)}`
          }
        },
        { replay: 'safe' },
      )
      return { query, found }
    }),
  )
  return { searches }
}

/** Untyped programs may return anything. */
function textOf(found: unknown): string {
  if (typeof found === 'string') return found.slice(0, LONGEST_FOUND).toWellFormed()
  throw new Error(`search() must return a text, not ${shown(found)}.`)
}
