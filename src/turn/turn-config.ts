/** The options of a turn, the rules that check them, and their names in other frameworks. */
import type { Entity, GroundingWords } from '../grounding/index.ts'
import type { Hooks, Plugin } from '../hook/index.ts'
import type { Limits } from '../loop/index.ts'
import type { ModelOptions, ModelRef, Reasoning } from '../model/index.ts'
import type { ForeignNames, OptionRules, OptionSet } from '../protocol/index.ts'
import type { StandardSchema, ToolsOption } from '../tool/index.ts'
import type { TurnInfo } from './definition.ts'
import type { PromptFile } from './prompt-file.ts'

/** A model, or a model with settings of its own on top of the shared ones. */
export type ModelChoice = ModelRef | { readonly model: ModelRef; readonly settings: ModelOptions }

export interface TurnConfig<Output = unknown> {
  /** An AI SDK model, a name such as `openai/gpt-4.1-mini`, or a list: the others are fallbacks of the first. */
  readonly model?: ModelChoice | readonly ModelChoice[]
  /** Temperature, keys, timeouts, retries and other options of models. */
  readonly settings?: ModelOptions
  /** A list of tools; tools of the AI SDK by name, `{ weather: tool({ … }) }`; or a function that gives them. */
  readonly tools?: ToolsOption | ((turn: TurnInfo) => ToolsOption | Promise<ToolsOption>)
  /**
   * The text; a path that ends in `.md` or `.txt`, or in `/` for a folder with a file named after the agent;
   * `promptFile()` with variables; or a function of the turn.
   */
  readonly systemPrompt?:
    | string
    | PromptFile
    | ((turn: TurnInfo) => string | undefined | Promise<string | undefined>)
  readonly limits?: Limits
  /**
   * The schema of the last reply of every turn: a completed outcome has `output`, validated. An invalid reply goes back to
   * the model with the reason.
   */
  readonly output?: StandardSchema<unknown, Output>
  /** How often an invalid reply goes back before the turn fails with `invalid-output`; 2 by default. */
  readonly outputRetries?: number
  /**
   * The number of calls of one reply that run at the same time; all by default. 1: one after the other, each with its
   * hooks before and after it.
   */
  readonly toolConcurrency?: number
  /** Hooks: functions that read and change a turn, at fixed points of its life. */
  readonly on?: Hooks
  /** Hooks, tools and parts of the prompt in bundles. The first one's hooks run first. */
  readonly plugins?: readonly Plugin[]
  /** Kinds of things whose ids must not be invented. */
  readonly entities?: readonly Entity[]
  readonly grounding?: GroundingOptions
  /**
   * The number of tool-using turns whose results prompts show whole, others compact. 3 with entities, else Infinity.
   */
  readonly toolResultTurns?: number
  /** The expiry of a request; 7 days by default. */
  readonly requestTtlMs?: number
  /** The time that a cancelled tool may take to end; 5 seconds by default. */
  readonly graceMs?: number
  /** Claims without progress before a turn fails; 5 by default. */
  readonly maxClaims?: number
  /** The fill level of the model's context, in percent, that causes a `warning`; 80 by default. */
  readonly warnAtPercent?: number
}

export interface GroundingOptions {
  /** The language of headings and questions; English by default. A turn's `metadata.language` comes first. */
  readonly language?: string
  readonly words?: Partial<GroundingWords>
  /** The number of tool-using turns in a prompt's memory block, at most 3; 3 by default. */
  readonly memoryTurns?: number
  /** Puts short codes such as `p~k7m2` in place of ids into prompts, cheaper and easier to copy; false by default. */
  readonly handles?: boolean
  /** Replaces ids by labels in the model's texts: of all entities, or of these; false by default. */
  readonly hideIds?: boolean | readonly Entity[]
}

export const TURN_CONFIG: OptionRules<TurnConfig> = {
  model: null,
  settings: null,
  tools: null,
  systemPrompt: null,
  limits: null,
  output: null,
  outputRetries: null,
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

/** Names of limits on model calls and time, wherever a turn has options. */
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

/** Names of structured output, wherever it is an option. */
export const FOREIGN_OUTPUT: ForeignNames = Object.fromEntries(
  ['outputType', 'outputSchema', 'responseFormat', 'response_format', 'schema'].map((name) => [
    name,
    'output: z.object({ … })',
  ]),
)

/** Names of agent options in the AI SDK, LangGraph.js, OpenAI Agents, looopy and ConnectOnion. */
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
  ...FOREIGN_OUTPUT,
  maxOutputRetries: 'outputRetries',
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
    thinkTags: 'true or false',
    jsonMode: 'true or false',
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

export const GROUNDING_WORDS: OptionSet<GroundingWords> = {
  place: 'grounding.words',
  options: {
    stateHeading: 'a text',
    active: 'a function',
    memoryHeading: 'a text',
    more: 'a function',
    which: 'a function',
    rules: 'a function',
  },
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
