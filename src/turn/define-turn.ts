/** Checks a turn's config and builds its definition. */
import type { MaybePromise } from '../base/index.ts'
import { checkMarkedEntities, type Entity, entityMap, MOST_MEMORY_TURNS } from '../grounding/index.ts'
import { checkHooks, HookRegistry, type PluginParts, pluginParts } from '../hook/index.ts'
import { callConfig, type Limits, UNLIMITED } from '../loop/index.ts'
import {
  checkModel,
  checkPrices,
  contextSizeOf,
  type LanguageModel,
  type ModelOptions,
  modelName,
  resolveModel,
} from '../model/index.ts'
import {
  atLeast,
  checkMs,
  checkOptions,
  defined,
  HoldfastError,
  invalidOption,
  isObject,
  quote,
  shown,
} from '../protocol/index.ts'
import { checkTools, type Tool, toolsFrom } from '../tool/index.ts'
import type { GroundingSetup, ModelSource, TurnDefinition } from './definition.ts'
import { checkOutputRetries, OUTPUT_RETRIES, outputSchema } from './output-schema.ts'
import { isPath, isPromptFile, promptAt } from './prompt-file.ts'
import {
  GROUNDING,
  GROUNDING_WORDS,
  LIMITS,
  MODEL_CHOICE,
  type ModelChoice,
  SETTINGS,
  type TurnConfig,
} from './turn-config.ts'

const DAY_MS = 24 * 60 * 60 * 1000

interface AgentParts {
  readonly name?: string
  readonly maxMessages?: number
  readonly credentials?: unknown
}

export function defineTurn(
  config: TurnConfig & Pick<TurnDefinition, 'compact'> & AgentParts,
): TurnDefinition {
  const { model = [], settings = {}, tools = [], systemPrompt, limits = {}, compact } = config
  const { requestTtlMs = 7 * DAY_MS, maxClaims = 5, graceMs = 5000, warnAtPercent = 80 } = config
  checkTurnConfig(config)
  checkMs('requestTtlMs', requestTtlMs, 1)
  atLeast('maxClaims', maxClaims, 1)
  checkMs('graceMs', graceMs, 0)
  atLeast('warnAtPercent', warnAtPercent, 1)
  const grounding = groundingOf(config)
  const { toolResultTurns = grounding.entities.size > 0 ? 3 : Number.POSITIVE_INFINITY } = config
  atLeast('toolResultTurns', toolResultTurns, 1)
  const { toolConcurrency = Number.POSITIVE_INFINITY } = config
  checkConcurrency(toolConcurrency)
  const { on = {}, plugins = [] } = config
  checkHooks(on, 'The agent')
  const parts = pluginParts(plugins)
  const sources = parts.map((part) => ({ plugin: part.name, on: part.on ?? {} }))
  const { output, outputRetries = OUTPUT_RETRIES } = config
  checkOutputRetries(outputRetries)
  const models = modelSources(model, settings)
  if (compact?.atPercent !== undefined) checkSize(models[0])
  return {
    models,
    ...toolsOf(tools, parts, grounding),
    ...promptOf(systemPrompt, parts, config.name),
    lookups: lookupsOf(config),
    hooks: new HookRegistry([...sources, { on }]),
    policies: parts.flatMap(({ name, approve }) =>
      approve === undefined ? [] : [{ name, decide: approve }],
    ),
    grounding,
    ...(output === undefined ? {} : { output: outputSchema('output', output) }),
    outputRetries,
    limits: checkLimits(limits),
    toolResultTurns,
    toolConcurrency,
    requestTtlMs,
    maxClaims,
    graceMs,
    ...(compact === undefined ? {} : { compact }),
    warnAtPercent,
    maxMessages: config.maxMessages ?? 100,
  }
}

function checkConcurrency(most: unknown): void {
  if (most === Number.POSITIVE_INFINITY || (Number.isSafeInteger(most) && (most as number) >= 1)) return
  throw invalidOption('toolConcurrency', `must be a whole number from 1 on, or Infinity, not ${shown(most)}`)
}

/** Limits that are whole numbers. */
const WHOLE: readonly string[] = [
  'iterations',
  'toolCalls',
  'consecutiveFailures',
] satisfies readonly (keyof Limits)[]

/** Checks limits and makes them storable. An infinite one overrides every other. */
export function checkLimits(limits: unknown): Limits {
  if (!isObject(limits))
    throw invalidOption('limits', `must be an object such as { tokens: 50_000 }, not ${shown(limits)}`)
  checkOptions(limits, LIMITS)
  const checked: Record<string, number> = {}
  for (const [limit, value] of Object.entries(limits) as [string, unknown][]) {
    if (value === undefined) continue
    const least = limit === 'iterations' ? 1 : 0
    atLeast(`limits.${limit}`, value, least)
    if (WHOLE.includes(limit) && !Number.isInteger(value) && value !== Number.POSITIVE_INFINITY)
      throw invalidOption(`limits.${limit}`, `must be a whole number from ${least} on, not ${shown(value)}`)
    checked[limit] = Math.min(value as number, UNLIMITED)
  }
  return checked
}

function checkTurnConfig({ model, settings, tools, systemPrompt }: TurnConfig): void {
  if (model !== undefined) checkModels(model)
  if (settings !== undefined) checkSettings(settings)
  if (tools !== undefined && typeof tools !== 'function') {
    if (typeof tools !== 'object' || tools === null)
      throw invalidOption(
        'tools',
        `must be a list of tools, tools by name, or a function that gives them, not ${shown(tools)}`,
      )
    checkTools(toolsFrom(tools))
  }
  const isPrompt =
    ['undefined', 'string', 'function'].includes(typeof systemPrompt) || isPromptFile(systemPrompt)
  if (!isPrompt)
    throw invalidOption(
      'systemPrompt',
      `must be a text, a path, promptFile() or a function, not ${shown(systemPrompt)}`,
    )
}

export function checkSettings(settings: unknown): void {
  if (!isObject(settings)) throw invalidOption('settings', `must be an object, not ${shown(settings)}`)
  checkOptions(settings, SETTINGS)
  const { toolChoice, apiKey, baseURL } = settings as { readonly [Name in keyof ModelOptions]?: unknown }
  checkPrices((settings as ModelOptions).prices ?? {})
  for (const [name, value] of Object.entries({ apiKey, baseURL }))
    if (value !== undefined && typeof value !== 'string')
      throw invalidOption(name, `must be a text, not ${shown(value)}`)
  if (toolChoice !== undefined) checkToolChoice(toolChoice)
}

function checkToolChoice(choice: unknown): void {
  if (choice === 'auto' || choice === 'none' || choice === 'required') return
  if (isObject(choice) && typeof (choice as { readonly tool?: unknown }).tool === 'string')
    return checkOptions(choice, { place: 'toolChoice', options: { tool: 'a text' } })
  const name = typeof choice === 'string' ? choice : 'search'
  throw invalidOption(
    'toolChoice',
    `must be auto, none, required or a tool by its name as { tool: '${name}' }, not ${shown(choice)}`,
  )
}

export function checkModels(model: unknown): void {
  const choices: readonly unknown[] = Array.isArray(model) ? model : [model]
  if (choices.length === 0) throw invalidOption('model', 'must name at least one model')
  for (const choice of choices) {
    const own = isObject(choice) && !('doStream' in choice)
    const ref = own ? (choice as { readonly model?: unknown }).model : choice
    const settings = own ? ((choice as { readonly settings?: unknown }).settings ?? {}) : {}
    if (!isModel(ref) || !isObject(settings))
      throw invalidOption(
        'model',
        `must be a name such as 'openai/gpt-4.1-mini', a model of the AI SDK, { model, settings }, or a list of these, not ${shown(choice)}`,
      )
    if (own) checkOptions(choice, MODEL_CHOICE)
    if (typeof ref !== 'string') checkModel(ref)
    checkSettings(settings)
  }
}

function isModel(ref: unknown): boolean {
  if (typeof ref === 'string') return ref.trim() !== ''
  if (!isObject(ref)) return false
  const { doStream, provider, modelId } = ref as Record<string, unknown>
  return typeof doStream === 'function' && typeof provider === 'string' && typeof modelId === 'string'
}

/** The models of a checked option, in the order in which they are asked. */
export function modelSources(
  model: ModelChoice | readonly ModelChoice[],
  settings: ModelOptions,
): readonly ModelSource[] {
  const choices = Array.isArray(model) ? (model as readonly ModelChoice[]) : [model as ModelChoice]
  if (choices.length > 1) checkShared(settings)
  return choices.map((choice) => modelSource(choice, settings))
}

export function modelSource(choice: ModelChoice, shared: ModelOptions = {}): ModelSource {
  const own = typeof choice === 'object' && !('doStream' in choice)
  const ref = own ? choice.model : choice
  const settings = own ? { ...shared, ...choice.settings } : shared
  if (settings.contextTokens !== undefined) atLeast('contextTokens', settings.contextTokens, 1)
  let resolved: MaybePromise<LanguageModel> | undefined
  const find = async (): Promise<LanguageModel> => {
    try {
      resolved = await resolveModel(ref, settings)
      return resolved
    } catch (error) {
      // A missing key may be there the next time.
      resolved = undefined
      throw error
    }
  }
  const resolve = (): MaybePromise<LanguageModel> => {
    resolved ??= find()
    return resolved
  }
  const name = modelName(ref)
  const contextTokens = settings.contextTokens ?? contextSizeOf(name)
  return { name, settings, request: requestOf(settings), contextTokens, resolve }
}

function requestOf({ timeoutMs, prices, ...settings }: ModelOptions): ModelSource['request'] {
  return { settings, timeoutMs, prices }
}

function checkSize(model: ModelSource | undefined): void {
  if (model === undefined || model.contextTokens !== undefined) return
  throw invalidOption(
    'autoCompact.atPercent',
    `needs to know how many tokens ${model.name} can be sent: give it settings: { contextTokens }`,
  )
}

/** Refuses a shared key: one vendor's key must not be sent to another. */
function checkShared({ apiKey, baseURL }: ModelOptions): void {
  if (apiKey === undefined && baseURL === undefined) return
  throw new HoldfastError('invalid-option', {
    message:
      'With several models, give each its own key and address: { model, settings: { apiKey, baseURL } }.',
  })
}

function groundingOf({ entities = [], grounding = {} }: TurnConfig): GroundingSetup {
  if (!Array.isArray(entities)) throw invalidOption('entities', `must be a list, not ${shown(entities)}`)
  if (!isObject(grounding)) throw invalidOption('grounding', `must be an object, not ${shown(grounding)}`)
  checkOptions(grounding, GROUNDING)
  const { language, words, memoryTurns = 3, handles = false, hideIds = false } = grounding
  if (words !== undefined) checkOptions(words, GROUNDING_WORDS)
  if (typeof memoryTurns !== 'number' || !(memoryTurns >= 0 && memoryTurns <= MOST_MEMORY_TURNS))
    throw invalidOption(
      'grounding.memoryTurns',
      `must be a number from 0 to ${MOST_MEMORY_TURNS}, not ${shown(memoryTurns)}`,
    )
  if (typeof handles !== 'boolean')
    throw invalidOption('grounding.handles', `must be true or false, not ${shown(handles)}`)
  const known = entityMap(entities as readonly Entity[])
  return {
    entities: known,
    words: { ...(language === undefined ? {} : { language }), ...(words === undefined ? {} : { words }) },
    memoryTurns,
    handles,
    hidden: hiddenOf(hideIds, [...known.keys()]),
  }
}

function hiddenOf(hideIds: unknown, all: readonly string[]): ReadonlySet<string> {
  if (typeof hideIds === 'boolean') return new Set(hideIds ? all : [])
  if (!Array.isArray(hideIds))
    throw invalidOption(
      'grounding.hideIds',
      `must be true, false or a list of entities, not ${shown(hideIds)}`,
    )
  const names = (hideIds as readonly Partial<Entity>[]).map((each) => each?.name ?? '')
  const strange = names.find((name) => !all.includes(name))
  if (strange !== undefined)
    throw invalidOption('grounding.hideIds', `has ${quote(strange)}, which is none of the entities`)
  return new Set(names)
}

function toolsOf(
  own: NonNullable<TurnConfig['tools']>,
  plugins: readonly PluginParts[],
  { entities }: GroundingSetup,
): Pick<TurnDefinition, 'tools' | 'fixedTools'> {
  const added = plugins.flatMap(({ tools = [] }) => toolsFrom(tools))
  if (typeof own === 'function')
    return { tools: async (turn) => [...toolList(await callConfig('tools', () => own(turn))), ...added] }
  const all = [...toolsFrom(own), ...added]
  checkTools(all)
  checkMarkedEntities(all, entities)
  return { tools: () => all, fixedTools: all }
}

function lookupsOf({ systemPrompt, tools, credentials }: TurnConfig & AgentParts): TurnDefinition['lookups'] {
  if (typeof systemPrompt === 'function') return 'each call'
  if (isPromptFile(systemPrompt) && systemPrompt.fixed === undefined) return 'each call'
  const isOnce = typeof tools === 'function' || typeof credentials === 'function'
  return isOnce ? 'once' : 'never'
}

function toolList(returned: unknown): readonly Tool[] {
  if (typeof returned === 'object' && returned !== null) return toolsFrom(returned)
  throw invalidOption('tools', `must return a list of tools such as [search], not ${shown(returned)}`)
}

type PromptParts = Pick<TurnDefinition, 'system' | 'fixedSystem' | 'promptVersion'>

function promptOf(
  prompt: TurnConfig['systemPrompt'],
  plugins: readonly PluginParts[],
  agent?: string,
): PromptParts {
  const added = plugins.flatMap((plugin) => plugin.prompt ?? [])
  const whole = (text = '') => [text, ...added].filter((part) => part.trim() !== '').join('\n\n')
  const {
    system: own,
    fixedSystem,
    promptVersion,
  } = ownPrompt(isPath(prompt) ? promptAt(prompt, agent) : prompt)
  return {
    system: added.length === 0 ? own : async (turn) => whole(await own(turn)),
    ...(typeof prompt === 'function' || (isPromptFile(prompt) && fixedSystem === undefined)
      ? {}
      : { fixedSystem: whole(fixedSystem) }),
    ...defined({ promptVersion }),
  }
}

function ownPrompt(prompt: TurnConfig['systemPrompt']): PromptParts {
  if (typeof prompt === 'function')
    return { system: async (turn) => promptText(await callConfig('systemPrompt', () => prompt(turn))) }
  if (!isPromptFile(prompt)) return { system: () => prompt, ...defined({ fixedSystem: prompt }) }
  const { text, fixed, version } = prompt
  return { system: text, ...defined({ fixedSystem: fixed }), promptVersion: version }
}

function promptText(returned: unknown): string | undefined {
  if (returned === undefined || typeof returned === 'string') return returned
  throw invalidOption('systemPrompt', `must return a text, not ${shown(returned)}`)
}
