/**
 * Resolves a reference to a model. Checks its arguments, reports what is missing and how to get it, and caches nothing: a
 * name resolved twice gives two models.
 */
import { defined, HoldfastError, quote } from '../protocol/index.ts'
import type { LanguageModel } from './language-model.ts'
import { isEmbedded, type ParsedName, parseName } from './name.ts'
import type { ModelOptions, ModelRef } from './options.ts'
import {
  OPENAI_COMPATIBLE,
  type Provider,
  type ProviderSettings,
  VENDORS,
  type Vendor,
  vendorNamed,
} from './vendors.ts'

export type ResolveOptions = Pick<ModelOptions, 'apiKey' | 'baseURL' | 'headers'>

export interface ResolvePorts {
  /** Loads a provider package by its name. */
  readonly load?: (packageName: string) => Promise<unknown>
  readonly env?: Readonly<Record<string, string | undefined>>
}

/**
 * Resolves a model reference. A name is `openai/…`, `anthropic/…`, `google/…`, `ollama/…`, a bare `gpt-…`, `o3…`,
 * `claude-…` or `gemini-…`, `reflex` for the embedded model, or any model that speaks OpenAI's chat protocol at a
 * `baseURL`. An object is only checked.
 */
export async function resolveModel(
  ref: ModelRef,
  options: ResolveOptions = {},
  ports: ResolvePorts = {},
): Promise<LanguageModel> {
  if (typeof ref !== 'string') return checkModel(ref)
  if (isEmbedded(ref)) return (await import('../reflex/index.ts')).reflex()
  const { vendor, modelId } = meaningOf(ref, options)
  const env = ports.env ?? process.env
  const settings = settingsFor(vendor, options, env)
  const loaded = await loadPackage(vendor, ports)
  const problem = missingOf({ vendor, modelId }, settings, loaded)
  if (problem !== undefined) throw problem
  return checkModel(factoryOf(vendor, (loaded as Loaded).module)(settings)(modelId))
}

function meaningOf(name: string, { baseURL }: ResolveOptions): ParsedName {
  const parsed = parseName(name)
  if (parsed === undefined) {
    if (baseURL === undefined || name.trim() === '' || /^[a-z-]+\/$/.test(name)) throw unknownModel(name)
    return { vendor: OPENAI_COMPATIBLE, modelId: name }
  }
  if (!parsed.vendor.needsBaseURL || baseURL !== undefined) return parsed
  throw new HoldfastError('invalid-option', {
    message: `The model ${quote(name)} has no known endpoint: pass baseURL, such as http://localhost:8000/v1.`,
    details: { model: name },
  })
}

function settingsFor(
  { name, keyVariable, compatible, baseURL: known }: Vendor,
  { apiKey, baseURL, headers }: ResolveOptions,
  env: Readonly<Record<string, string | undefined>>,
): ProviderSettings {
  const key = (apiKey ?? (keyVariable === undefined ? undefined : env[keyVariable])) || undefined
  const endpoint = baseURL ?? known?.(env)
  return {
    ...(compatible ? { name, includeUsage: true } : {}),
    ...defined({ apiKey: key, baseURL: endpoint, headers }),
  }
}

interface Loaded {
  readonly module: unknown
}

interface NotLoaded {
  readonly cause: unknown
}

async function loadPackage(vendor: Vendor, { load }: ResolvePorts): Promise<Loaded | NotLoaded> {
  try {
    return { module: await (load ? load(vendor.package) : vendor.load()) }
  } catch (cause) {
    return { cause }
  }
}

/** Reports a missing key and a missing package together. */
function missingOf(
  { vendor, modelId }: ParsedName,
  { apiKey }: ProviderSettings,
  loaded: Loaded | NotLoaded,
): HoldfastError | undefined {
  const { package: name, keyVariable } = vendor
  const model = `${vendor.name}/${modelId}`
  const variable = apiKey === undefined ? keyVariable : undefined
  const setKey = `set ${variable} in the environment, or pass apiKey`
  if ('module' in loaded) {
    if (variable === undefined) return undefined
    return new HoldfastError('missing-key', {
      message: `The model ${quote(model)} needs a key: ${setKey}.`,
      details: { model, variable },
    })
  }
  const isAbsent = (loaded.cause as NodeJS.ErrnoException | undefined)?.code === 'ERR_MODULE_NOT_FOUND'
  const state = isAbsent ? 'which is not installed' : 'which could not be loaded'
  const [key, andSet] = variable === undefined ? ['', ''] : [', and a key', `, and ${setKey}.`]
  return new HoldfastError('missing-package', {
    message: `The model ${quote(model)} needs the package ${name}, ${state}${key}: npm install ${name}${andSet}`,
    details: { model, package: name, ...defined({ variable }) },
    cause: loaded.cause,
  })
}

function factoryOf(vendor: Vendor, loaded: unknown): (settings: ProviderSettings) => Provider {
  const factory = (loaded as Record<string, unknown> | undefined)?.[vendor.factory]
  if (typeof factory === 'function') return factory as (settings: ProviderSettings) => Provider
  throw new HoldfastError('missing-package', {
    message: `The installed ${vendor.package} has no ${vendor.factory}; its version does not fit: npm install ${vendor.package}@latest`,
    details: { package: vendor.package },
  })
}

/** Throws `invalid-option` for a value that is no model, or has an unsupported interface version. */
export function checkModel(model: unknown): LanguageModel {
  const { specificationVersion, provider, modelId, doStream } = (model ?? {}) as Partial<LanguageModel>
  const version: unknown = specificationVersion
  const shaped = typeof doStream === 'function' && typeof provider === 'string' && typeof modelId === 'string'
  if (shaped && (version === 'v3' || version === 'v4')) return model as LanguageModel
  if (shaped) {
    throw new HoldfastError('invalid-option', {
      message: `The model ${quote(modelId)} of ${quote(provider)} has interface version ${quote(version)}; v3 and v4 are understood. Update the package it comes from: npm install ${packageOf(provider)}@latest`,
      details: { model: modelId, version: String(version), package: packageOf(provider) },
    })
  }
  throw new HoldfastError('invalid-option', {
    message: `This is not a model: ${describe(model)}. Pass a name such as "openai/gpt-4.1", or a model of an AI SDK provider, such as openai('gpt-4.1').`,
  })
}

/** Providers of the AI SDK are named after their packages, as in `openai.chat`. */
function packageOf(provider: string): string {
  const [vendor = ''] = provider.split('.')
  return vendorNamed(vendor)?.package ?? `@ai-sdk/${vendor}`
}

function describe(value: unknown): string {
  if (typeof value === 'function') return 'a function (a provider has to be called with the name of a model)'
  if (typeof value !== 'object' || value === null) return quote(value)
  const keys = Object.keys(value).slice(0, 5).join(', ')
  return keys === '' ? 'an empty object' : `an object with ${keys}`
}

const EXAMPLES: readonly string[] = VENDORS.map(({ example }) => example)

function unknownModel(name: string): HoldfastError {
  const known = VENDORS.filter(({ needsBaseURL }) => !needsBaseURL)
  const bare = known.flatMap(({ bareNames = [] }) => bareNames)
  const forms = [
    ...known.map((vendor) => `${vendor.name}/…`),
    `bare ${bare.slice(0, -1).join(', ')} and ${bare.at(-1)}`,
  ]
  return new HoldfastError('unknown-model', {
    message: `No vendor is known for the model ${quote(name)}. Names are ${forms.join(', ')}, or any name together with baseURL for an OpenAI-compatible server. For example ${quote(nearest(name))}.`,
    details: { model: name },
  })
}

/** The example that shares most letter pairs with the name, or else the first. */
function nearest(name: string): string {
  const pairs = pairsOf(name)
  const scored = EXAMPLES.map((example) => ({
    example,
    score: [...pairsOf(example)].filter((pair) => pairs.has(pair)).length,
  }))
  return scored.reduce((best, next) => (next.score > best.score ? next : best)).example
}

function pairsOf(text: string): Set<string> {
  const small = text.toLowerCase().slice(0, 100)
  return new Set(Array.from({ length: small.length }, (_, at) => small.slice(at, at + 2)))
}
