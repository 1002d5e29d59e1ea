/** The options of the research assistant and of its agents: checked, with their defaults. */
import type { Corpus, WebSearch } from '../../corpus/port.ts'
import type { GraphLimits, GraphOptions } from '../../graph/index.ts'
import type { ModelOptions } from '../../model/index.ts'
import { atLeast, checkOptions, defined, invalidOption, type OptionSet, shown } from '../../protocol/index.ts'
import type { ModelChoice, TurnConfig } from '../../turn/index.ts'
import { isReflex } from '../reflex-choice.ts'
import { SUPPORT_THRESHOLD } from './citations.ts'
import { type PromptName, shippedPrompt } from './prompts.ts'

export type ResearchModel = ModelChoice | readonly ModelChoice[]

/** A text, a path that ends in `.md` or `.txt`, `promptFile()`, or a function that gives the text for each call. */
export type ResearchPrompt = NonNullable<TurnConfig['systemPrompt']>

/** Options that every agent has. */
export interface AgentOptions {
  /** Default: `reflex`, which follows rules and needs no key. */
  readonly model?: ResearchModel
  /** Counts before that of `settings`. Null: none is sent, for models that refuse it. */
  readonly temperature?: number | null
  /** Further settings of the model. */
  readonly settings?: ModelOptions
  /** The most messages of the conversation in a prompt. Default: 10. */
  readonly maxHistory?: number
  /** Default: the file of the package. */
  readonly prompt?: ResearchPrompt
}

export interface OrchestratorOptions extends AgentOptions {
  /** The most clarifications of one question; then it is researched as it is. Default: 2. */
  readonly maxClarifications?: number
}

export interface ResearchAgentOptions extends AgentOptions {
  readonly corpus: Corpus
  readonly web?: WebSearch
  /** The most rounds of searches for one question. Default: 10. */
  readonly maxRounds?: number
  /** Passages for each query, from 1 to 20; `context.top_k` of the state comes first. Default: 5. */
  readonly topK?: number
  /** Passages below this score are left out. Default: the threshold of the corpus. */
  readonly minScore?: number
}

export interface SynthesisOptions extends AgentOptions {
  /** The least part of a claim's content words that the cited passages must have, from 0 to 1. Default: 0.5. */
  readonly minSupport?: number
  /** False: the words alone are compared, and no model checks the claims. Default: true, if there is a model. */
  readonly modelCheck?: boolean
  /** Replaces the prompt of that check. */
  readonly checkPrompt?: ResearchPrompt
}

export interface ResearchOptions extends Omit<GraphOptions, 'limits'> {
  readonly corpus: Corpus
  readonly web?: WebSearch
  /** The model of all agents. Default: `reflex`, which follows rules and needs no key. */
  readonly model?: ResearchModel
  readonly settings?: ModelOptions
  readonly agents?: OptionsOfAgents
  readonly topK?: number
  readonly minScore?: number
  /** Of one question. Default: 20 steps and 60 seconds. */
  readonly limits?: GraphLimits
}

interface OptionsOfAgents {
  readonly orchestrator?: OrchestratorOptions
  readonly clarification?: AgentOptions
  readonly research?: Omit<ResearchAgentOptions, 'corpus' | 'web'>
  readonly synthesis?: SynthesisOptions
}

export const RESEARCH_LIMITS: GraphLimits = { steps: 20, durationMs: 60_000 }

export const MOST_TOP_K = 20

const AGENT: OptionSet<AgentOptions>['options'] = {
  model: null,
  temperature: null,
  settings: 'an object',
  maxHistory: { least: 1 },
  prompt: null,
}

const SNAKE = {
  max_history: 'maxHistory',
  max_clarifications: 'maxClarifications',
  max_iterations: 'maxRounds',
  maxIterations: 'maxRounds',
  top_k: 'topK',
  score_threshold: 'minScore',
  systemPrompt: 'prompt',
}

export const ORCHESTRATOR: OptionSet<OrchestratorOptions> = {
  place: 'The orchestrator',
  options: { ...AGENT, maxClarifications: { least: 0 } },
  foreign: SNAKE,
}

export const CLARIFICATION: OptionSet<AgentOptions> = {
  place: 'The clarification agent',
  options: AGENT,
  foreign: SNAKE,
}

const RESEARCH: OptionSet<ResearchAgentOptions> = {
  place: 'The research agent',
  options: {
    ...AGENT,
    corpus: 'an object',
    web: 'an object',
    maxRounds: { least: 1 },
    topK: { least: 1 },
    minScore: 'a number',
  },
  foreign: SNAKE,
}

export const SYNTHESIS: OptionSet<SynthesisOptions> = {
  place: 'The synthesis agent',
  options: { ...AGENT, minSupport: 'a number', modelCheck: 'true or false', checkPrompt: null },
  foreign: SNAKE,
}

export const ASSISTANT: OptionSet<ResearchOptions> = {
  place: 'researchAssistant()',
  options: {
    corpus: 'an object',
    web: 'an object',
    model: null,
    settings: 'an object',
    agents: 'an object',
    topK: { least: 1 },
    minScore: 'a number',
    limits: null,
    store: null,
    requestTtlMs: null,
    graceMs: null,
    maxClaims: null,
    leaseMs: null,
    allow: null,
    credentials: null,
    telemetry: null,
    logger: null,
    clock: null,
    timer: null,
    ids: null,
  },
  foreign: {
    ...SNAKE,
    max_total_iterations: 'limits: { steps }',
    timeout_seconds: 'limits: { durationMs }',
    checkpointer: 'store',
  },
}

export const AGENTS: OptionSet<OptionsOfAgents> = {
  place: '`agents` of researchAssistant()',
  options: {
    orchestrator: 'an object',
    clarification: 'an object',
    research: 'an object',
    synthesis: 'an object',
  },
}

/** How an agent calls its model. */
export interface ModelUse {
  readonly name: string
  /** Undefined: the agent follows rules. */
  readonly model?: ResearchModel
  readonly settings: ModelOptions
  readonly maxHistory: number
  readonly prompt: ResearchPrompt
}

export interface AgentDefaults {
  readonly name: PromptName
  readonly temperature: number
}

export function modelUse(options: AgentOptions, { name, temperature }: AgentDefaults): ModelUse {
  const { model, settings = {}, maxHistory = 10, prompt } = options
  const { temperature: shared = temperature, ...rest } = settings
  const heat = options.temperature === undefined ? shared : options.temperature
  if (heat !== null && typeof heat !== 'number')
    throw invalidOption('temperature', `must be a number or null, not ${shown(heat)}`)
  return {
    name,
    settings: { ...rest, ...(heat === null ? {} : { temperature: heat }) },
    maxHistory,
    prompt: prompt ?? shippedPrompt(name),
    ...(followsRules(model) ? {} : defined({ model })),
  }
}

/** Reflex writes no text: its agents follow rules. */
function followsRules(model: ResearchModel | undefined): boolean {
  const [first] = Array.isArray(model)
    ? (model as readonly ModelChoice[])
    : [model as ModelChoice | undefined]
  return first === undefined || isReflex(first)
}

export function checkResearch(options: ResearchAgentOptions): void {
  checkOptions(options, RESEARCH)
  const { corpus, web, topK = 1, minScore = 0 } = options
  if (typeof corpus?.search !== 'function')
    throw invalidOption('corpus', `must have search(), as sqliteCorpus() has, not ${shown(corpus)}`)
  if (web !== undefined && typeof web.search !== 'function')
    throw invalidOption('web', `must have search(), not ${shown(web)}`)
  atLeast('topK', topK, 1)
  if (topK > MOST_TOP_K) throw invalidOption('topK', `must be at most ${MOST_TOP_K}, not ${topK}`)
  if (minScore < 0 || minScore > 1) throw invalidOption('minScore', `must be from 0 to 1, not ${minScore}`)
}

export function supportThreshold({ minSupport = SUPPORT_THRESHOLD }: SynthesisOptions): number {
  if (minSupport < 0 || minSupport > 1)
    throw invalidOption('minSupport', `must be from 0 to 1, not ${minSupport}`)
  return minSupport
}
