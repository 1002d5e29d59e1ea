/** The options of a task agent and of its runs, and their check: an option that would have no effect is refused. */
import type { GraphEvent, GraphLimits, GraphOptions } from '../../graph/index.ts'
import type { Entity } from '../../grounding/index.ts'
import type { Plugin } from '../../hook/index.ts'
import type { ModelOptions } from '../../model/index.ts'
import {
  atLeast,
  checkName,
  checkOptions,
  defined,
  HoldfastError,
  type Json,
  type OptionSet,
  type Owner,
  type RequestData,
} from '../../protocol/index.ts'
import type { Store } from '../../store/index.ts'
import type { ToolsOption } from '../../tool/index.ts'
import type { GroundingOptions, ModelChoice } from '../../turn/index.ts'
import { checkLanguageModel } from '../reflex-choice.ts'
import { checkSharedKey } from '../shared-key.ts'
import type { Criterion } from './criteria.ts'
import { PROMPT_NODES, type PromptNode } from './prompts.ts'
import { DEFAULT_CONTEXT_TOKENS } from './task-nodes.ts'

export interface TaskAgentConfig {
  readonly model: ModelChoice | readonly ModelChoice[]
  /** The working folder. Default: the current one. */
  readonly cwd?: string
  /** Default: all of the toolbox. `attempt_completion` is added if it is missing. */
  readonly tools?: ToolsOption
  /** The most tokens of a prompt. Default: 100,000. */
  readonly maxContextTokens?: number
  /** Prints the progress to standard error. Default: true. */
  readonly verbose?: boolean
  /** The most steps of the graph. Default: 50. */
  readonly recursionLimit?: number
  /** The most plans after the first. Default: 3. */
  readonly maxReplans?: number
  /** False: no planner and no second plan; the run ends after the verifier. Default: true. */
  readonly planning?: boolean
  readonly temperature?: number
  /** Also for a verifier or a vision model of the same vendor; refused beside one of another. */
  readonly baseURL?: string
  /** Also for a verifier or a vision model of the same vendor; refused beside one of another. */
  readonly apiKey?: string
  /** Further settings of the models. */
  readonly settings?: ModelOptions
  /** Another model for the verifier, `{ model, settings: { apiKey } }` with a key of its own; null: only `criteria` decide. Default: the same. */
  readonly verifierModel?: ModelChoice | readonly ModelChoice[] | null
  /** The model that looks at images, for the default tools. Default: `model`. */
  readonly visionModel?: ModelChoice | readonly ModelChoice[]
  /** Commands that must pass, whatever the model claims: `[{ name: 'tests', command: 'npm test' }]`. */
  readonly criteria?: readonly Criterion[]
  /** System prompts of nodes; see `setPlannerPrompt` and the others. */
  readonly prompts?: Partial<Readonly<Record<PromptNode, string>>>
  /** Plugins of the agent's model calls and tools, such as an approval policy. */
  readonly plugins?: readonly Plugin[]
  /** Kinds of things that have ids, for tools with marks: the guard judges the ids of the agent's calls. */
  readonly entities?: readonly Entity[]
  readonly grounding?: GroundingOptions
  /** Time, tokens and cost of a run. */
  readonly limits?: Omit<GraphLimits, 'steps'>
  /** The store of the journals. Default: in memory, lost with the process. */
  readonly store?: Store
  readonly owner?: Owner
  /** Observers of the runs, and the logger. */
  readonly telemetry?: GraphOptions['telemetry']
  readonly logger?: GraphOptions['logger']
}

const TASK_AGENT: OptionSet<TaskAgentConfig> = {
  place: 'The config of a TaskAgent',
  options: {
    model: null,
    cwd: 'a text',
    tools: null,
    maxContextTokens: { least: 1000 },
    verbose: 'true or false',
    recursionLimit: { least: 1 },
    maxReplans: { least: 0 },
    planning: 'true or false',
    temperature: 'a number',
    baseURL: 'a text',
    apiKey: 'a text',
    settings: 'an object',
    verifierModel: null,
    visionModel: null,
    criteria: 'a list',
    prompts: 'an object',
    plugins: 'a list',
    entities: 'a list',
    grounding: 'an object',
    limits: 'an object',
    store: null,
    owner: 'an object',
    telemetry: null,
    logger: null,
  },
  foreign: {
    model_name: 'model',
    modelName: 'model',
    enable_planning: 'planning',
    enablePlanning: 'planning',
    recursion_limit: 'recursionLimit',
    max_context_tokens: 'maxContextTokens',
    base_url: 'baseURL',
    api_key: 'apiKey',
    parse_reasoning: 'settings: { thinkTags }',
    vision_model: 'visionModel',
  },
}

export interface TaskRunOptions {
  /** The name of the task's conversation. Default: a new one. */
  readonly contextId?: string
  readonly signal?: AbortSignal
  /** Answers a question or an approval; the run goes on. Without it, the run ends to wait. */
  readonly onRequest?: (request: RequestData) => Json | Promise<Json>
  /** Called with each event of the run. If it throws or rejects, the process warns once, and the run goes on. */
  readonly onEvent?: (event: GraphEvent) => unknown
}

const GO_ON: OptionSet<Omit<TaskRunOptions, 'contextId'>>['options'] = {
  signal: 'an AbortSignal',
  onRequest: 'a function',
  onEvent: 'a function',
}

export const RUN: OptionSet<TaskRunOptions> = {
  place: 'run()',
  options: { contextId: 'a text', ...GO_ON },
}

/** The options of the methods whose first argument is the id of the task. */
export function goOn(place: string): OptionSet<Omit<TaskRunOptions, 'contextId'>> {
  return { place, options: GO_ON, foreign: { contextId: 'the id as the first argument' } }
}

/** Throws for options that cannot work together, or would be ignored. */
export function checkTaskConfig(config: TaskAgentConfig): void {
  checkOptions(config, TASK_AGENT)
  const { model, verifierModel, visionModel, tools, maxContextTokens, prompts = {}, limits = {} } = config
  if (model === undefined)
    throw new HoldfastError('invalid-option', {
      message: "A TaskAgent needs a model: new TaskAgent({ model: 'openai/gpt-4.1-mini' }).",
    })
  checkLanguageModel(model, 'plan a task')
  if (verifierModel)
    checkLanguageModel(verifierModel, 'verify a task', 'Leave verifierModel out, or set it to null.')
  if (visionModel !== undefined) {
    checkLanguageModel(visionModel, 'see images', 'Leave visionModel out, or name a model that sees.')
    if (tools !== undefined)
      throw new HoldfastError('invalid-option', {
        message:
          'visionModel is for the default tools, and you give tools. Load them with it: loadTools({ cwd, describeImage }).',
        details: { option: 'visionModel' },
      })
  }
  const models = [model, verifierModel ?? [], visionModel ?? []]
  checkSharedKey(
    modelSettings(config),
    models.map((each) => ({ model: each })),
  )
  if (maxContextTokens !== undefined) atLeast('maxContextTokens', maxContextTokens, 1000)
  for (const name of Object.keys(prompts)) checkName('prompts', name, PROMPT_NODES)
  if ('steps' in limits)
    throw new HoldfastError('invalid-option', {
      message: 'limits has no "steps" for a TaskAgent. Write recursionLimit instead.',
      details: { option: 'limits.steps' },
    })
}

/** The settings that all models of the task share. */
export function modelSettings({
  settings = {},
  temperature,
  baseURL,
  apiKey,
  maxContextTokens: contextTokens = DEFAULT_CONTEXT_TOKENS,
}: TaskAgentConfig): ModelOptions {
  return { contextTokens, ...settings, ...defined({ temperature, baseURL, apiKey }) }
}
