/** What a turn is configured with: its options, the rules that check them, and what other frameworks call them. */
import type { Entity, GroundingWords } from '../grounding/index.ts'
import type { Hooks, Plugin } from '../hook/index.ts'
import type { Limits } from '../loop/index.ts'
import type { ModelOptions, ModelRef, Reasoning } from '../model/index.ts'
import type { ForeignNames, OptionRules, OptionSet } from '../protocol/index.ts'
import type { Tool } from '../tool/index.ts'
import type { TurnInfo } from './definition.ts'

/** A model, or a model with settings of its own on top of the shared ones. */
export type ModelChoice = ModelRef | { readonly model: ModelRef; readonly settings: ModelOptions }

export interface TurnConfig {
  /** An AI SDK model, a name such as `openai/gpt-4.1-mini`, or several: the others are asked when the first fails. */
  readonly model?: ModelChoice | readonly ModelChoice[]
  /** Temperature, keys, timeouts, retries and what else models take. */
  readonly settings?: ModelOptions
  readonly tools?: readonly Tool[] | ((turn: TurnInfo) => readonly Tool[] | Promise<readonly Tool[]>)
  /** The text, a path that ends in `.md` or `.txt`, or a function of the turn. */
  readonly systemPrompt?: string | ((turn: TurnInfo) => string | undefined | Promise<string | undefined>)
  readonly limits?: Limits
  /**
   * How many calls of one reply run at the same time, in groups of so many; all of them unless said otherwise. 1: one after
   * the other, each with its hooks before and after it.
   */
  readonly toolConcurrency?: number
  /** Looks at a turn and changes it, at thirteen places in its life. */
  readonly on?: Hooks
  /** Hooks, tools and parts of the prompt that belong together. The first one's hooks run first. */
  readonly plugins?: readonly Plugin[]
  /** Kinds of things whose ids must not be invented. */
  readonly entities?: readonly Entity[]
  readonly grounding?: GroundingOptions
  /**
   * Of how many turns that used tools prompts show the whole results; older ones are shown in a compact form. 3 where there
   * are entities, else Infinity: all of them.
   */
  readonly toolResultTurns?: number
  /** How long an input request waits; 7 days unless said otherwise. */
  readonly requestTtlMs?: number
  /** How long a cancelled tool may take to come to an end; 5 seconds unless said otherwise. */
  readonly graceMs?: number
  /** Claims without progress before a turn is given up (R7); 5 unless said otherwise. */
  readonly maxClaims?: number
  /** How full the context of the model may be, in percent, before a `warning` says so; 80 unless said otherwise. */
  readonly warnAtPercent?: number
}

export interface GroundingOptions {
  /** The language of headings and questions; English unless said otherwise. A turn's `metadata.language` comes first. */
  readonly language?: string
  readonly words?: Partial<GroundingWords>
  /** How many turns that used tools a prompt is reminded of, at most 3; 3 unless said otherwise. */
  readonly memoryTurns?: number
  /** Prompts have short codes such as `p~k7m2` in place of ids, which cost less and are easier to copy; false unless said otherwise. */
  readonly handles?: boolean
  /** Keeps ids out of what the model says: of all entities, or of these. Labels stand in for them; false unless said otherwise. */
  readonly hideIds?: boolean | readonly Entity[]
}

export const TURN_CONFIG: OptionRules<TurnConfig> = {
  model: null,
  settings: null,
  tools: null,
  systemPrompt: null,
  limits: null,
  on: null,
  plugins: null,
  entities: null,
  grounding: null,
  toolResultTurns: null,
  toolConcurrency: null,
  requestTtlMs: null,
  graceMs: null,
  maxClaims: null,
  warnAtPercent: null,
}

const ITERATIONS = 'limits: { iterations }'

/** How often a model may be asked, wherever a turn is spoken of. */
export const FOREIGN_LIMITS: ForeignNames = {
  maxSteps: ITERATIONS,
  stopWhen: ITERATIONS,
  maxTurns: ITERATIONS,
  maxIterations: ITERATIONS,
  max_iterations: ITERATIONS,
  recursionLimit: ITERATIONS,
  recursion_limit: ITERATIONS,
  timeout: 'limits: { durationMs }',
  timeoutMs: 'limits: { durationMs }',
}

const own = (names: readonly (keyof ModelOptions)[]): ForeignNames =>
  Object.fromEntries(names.map((name) => [name, `settings: { ${name} }`]))

/** For results in a form: the arguments of a tool are checked against its schema. */
export const OUTPUT = 'a tool whose `input` has that schema, and `on: { afterTools }` with stop()'

/** Names of the AI SDK, LangGraph.js, OpenAI Agents, looopy and ConnectOnion for what an agent is made of. */
export const FOREIGN_CONFIG: ForeignNames = {
  ...FOREIGN_LIMITS,
  loopConfig: 'limits: { iterations } and systemPrompt',
  instructions: 'systemPrompt',
  system: 'systemPrompt',
  prompt: 'systemPrompt',
  llm: 'model',
  llmProvider: 'model',
  toolProvider: 'tools',
  handoffs: 'tools: [agentTool({ … })]',
  ...own([
    'temperature',
    'maxOutputTokens',
    'topP',
    'topK',
    'seed',
    'stopSequences',
    'toolChoice',
    'headers',
  ]),
  ...own(['providerOptions', 'apiKey', 'baseURL', 'retries', 'contextTokens', 'reasoning']),
  modelSettings: 'settings',
  maxRetries: 'settings: { retries }',
  hooks: 'on',
  onEvents: 'on',
  on_events: 'on',
  callbacks: 'on',
  prepareStep: 'on: { beforeIteration, beforeLlm }',
  onStepFinish: 'on: { afterIteration }',
  onStepEnd: 'on: { afterIteration }',
  onFinish: 'on: { onComplete }',
  onEnd: 'on: { onComplete }',
  inputGuardrails: 'on: { afterUserInput }',
  outputGuardrails: 'on: { afterLlm }',
  toolApproval: '`approve` in defineTool()',
  outputType: OUTPUT,
  outputSchema: OUTPUT,
  responseFormat: OUTPUT,
  response_format: OUTPUT,
  middleware: '`on` or `plugins`',
  toolUseBehavior: '`on: { afterTools }` with stop()',
}

const REASONING: readonly Reasoning[] = [
  'provider-default',
  'none',
  'minimal',
  'low',
  'medium',
  'high',
  'xhigh',
  'max',
]

export const SETTINGS: OptionSet<ModelOptions> = {
  place: 'settings',
  options: {
    temperature: 'a number',
    maxOutputTokens: 'a number',
    topP: 'a number',
    topK: 'a number',
    stopSequences: 'a list',
    seed: 'a number',
    presencePenalty: 'a number',
    frequencyPenalty: 'a number',
    reasoning: REASONING,
    toolChoice: null,
    headers: 'an object',
    providerOptions: 'an object',
    apiKey: null,
    baseURL: null,
    timeoutMs: 'a number',
    retries: 'a number',
    maxRetryWaitMs: 'a number',
    prices: 'an object',
    contextTokens: null,
  },
  foreign: {
    maxTokens: 'maxOutputTokens',
    max_tokens: 'maxOutputTokens',
    maxCompletionTokens: 'maxOutputTokens',
    max_completion_tokens: 'maxOutputTokens',
    stop: 'stopSequences',
    maxRetries: 'retries',
    timeout: 'timeoutMs',
    reasoningEffort: 'reasoning',
    reasoning_effort: 'reasoning',
    parallelToolCalls: 'providerOptions: { openai: { parallelToolCalls } }',
    contextWindow: 'contextTokens',
    abortSignal: '`signal` in executeTurn()',
  },
}

export const MODEL_CHOICE: OptionSet<Extract<ModelChoice, { readonly settings: ModelOptions }>> = {
  place: 'A model of the list',
  options: { model: null, settings: 'an object' },
  foreign: own(['temperature', 'maxOutputTokens', 'topP', 'apiKey', 'baseURL', 'headers', 'providerOptions']),
}

export const GROUNDING: OptionSet<GroundingOptions> = {
  place: 'grounding',
  options: { language: 'a text', words: 'an object', memoryTurns: null, handles: null, hideIds: null },
  foreign: { locale: 'language', entities: '`entities` beside grounding' },
}

export const LIMITS: OptionSet<Limits> = {
  place: 'limits',
  options: {
    iterations: null,
    durationMs: null,
    tokens: null,
    costUsd: null,
    toolCalls: null,
    consecutiveFailures: null,
  },
  foreign: {
    ...Object.fromEntries(
      ['maxSteps', 'steps', 'maxTurns', 'turns', 'maxIterations', 'recursionLimit'].map((name) => [
        name,
        'iterations',
      ]),
    ),
    timeout: 'durationMs',
    timeoutMs: 'durationMs',
    maxTokens: 'tokens',
    maxToolCalls: 'toolCalls',
    maxCostUsd: 'costUsd',
  },
}
