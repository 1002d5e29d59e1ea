/** From what a person writes down to what a turn is played with. */
import { readFile } from 'node:fs/promises'
import { type ModelOptions, type ModelRef, modelName, resolveModel } from '../model/index.ts'
import { HoldfastError } from '../protocol/index.ts'
import type { Tool } from '../tool/index.ts'
import type { Limits, ModelSource, TurnDefinition, TurnInfo } from './definition.ts'

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
  /** How long an input request waits; 7 days unless said otherwise. */
  readonly requestTtlMs?: number
  /** How long a cancelled tool may take to come to an end; 5 seconds unless said otherwise. */
  readonly graceMs?: number
  /** Claims without progress before a turn is given up (R7); 5 unless said otherwise. */
  readonly maxClaims?: number
}

const DAY_MS = 24 * 60 * 60 * 1000

export function defineTurn(config: TurnConfig & { readonly compactOver?: number }): TurnDefinition {
  const { model = [], settings = {}, tools = [], systemPrompt, limits = {}, compactOver } = config
  const choices = Array.isArray(model) ? (model as readonly ModelChoice[]) : [model as ModelChoice]
  if (choices.length > 1) checkShared(settings)
  for (const [limit, value] of Object.entries(limits)) atLeast(`limits.${limit}`, value, 0)
  return {
    models: choices.map((choice) => sourceOf(choice, settings)),
    tools: typeof tools === 'function' ? tools : () => tools,
    system: promptOf(systemPrompt),
    limits,
    requestTtlMs: config.requestTtlMs ?? 7 * DAY_MS,
    maxClaims: config.maxClaims ?? 5,
    graceMs: config.graceMs ?? 5000,
    ...(compactOver === undefined ? {} : { compactOver }),
  }
}

export function atLeast(option: string, value: unknown, least: number): void {
  if (typeof value === 'number' && value >= least) return
  throw new HoldfastError('invalid-option', {
    message: `${option} must be a number from ${least} on, not ${String(value)}.`,
    details: { option },
  })
}

function sourceOf(choice: ModelChoice, shared: ModelOptions): ModelSource {
  const own = typeof choice === 'object' && !('doStream' in choice)
  const ref = own ? choice.model : choice
  const settings = own ? { ...shared, ...choice.settings } : shared
  let resolved: ReturnType<typeof resolveModel> | undefined
  const resolve = () => {
    resolved ??= resolveModel(ref, settings)
    // A key that was missing may be there the next time.
    resolved.catch(() => {
      resolved = undefined
    })
    return resolved
  }
  return { name: modelName(ref), settings, resolve }
}

/** One vendor's key must not be shown to another. */
function checkShared({ apiKey, baseURL }: ModelOptions): void {
  if (apiKey === undefined && baseURL === undefined) return
  throw new HoldfastError('invalid-option', {
    message:
      'With several models, give each its own key and address: { model, settings: { apiKey, baseURL } }.',
  })
}

function promptOf(prompt: TurnConfig['systemPrompt']): TurnDefinition['system'] {
  if (typeof prompt === 'function') return prompt
  if (prompt === undefined || !/^\S+\.(md|txt)$/.test(prompt)) return () => prompt
  let text: Promise<string> | undefined
  return () => {
    text ??= readPrompt(prompt)
    return text
  }
}

async function readPrompt(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    throw new HoldfastError('not-found', {
      message: `The system prompt ${path} cannot be read. Give a path from the working directory, or the text itself.`,
      details: { path },
      cause,
    })
  }
}
