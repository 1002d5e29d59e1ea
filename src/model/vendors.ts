/**
 * The table of vendors: the names, package, key and call adapter of each. A new vendor is a row here, with its prices and
 * context sizes in their tables. Packages are optional, so each is loaded on first use, by a literal name that bundlers can
 * see. No other file knows a vendor's package.
 */
import { defined, type JsonObject } from '../protocol/index.ts'
import type { LanguageModel, ModelCall } from './language-model.ts'
import { withoutLateThinking } from './late-thinking.ts'

export interface Vendor {
  /** The prefix of its models' names. */
  readonly name: string
  readonly package: string
  readonly load: () => Promise<unknown>
  /** The package's factory function for providers. */
  readonly factory: string
  /** The package serves any vendor that speaks OpenAI's chat protocol, and is told the name. */
  readonly compatible?: true
  /** The variable that holds the key; absent if the vendor needs none. */
  readonly keyVariable?: string
  /** The endpoint, if the package does not know it. */
  readonly baseURL?: (env: Environment) => string
  /** Only the caller knows the endpoint. Names without a known vendor mean this one. */
  readonly needsBaseURL?: true
  /** Runs locally: the context size is set where it runs. */
  readonly local?: true
  /** Bare names that only this vendor's models have, and how to write them. */
  readonly bare?: RegExp
  readonly bareNames?: readonly string[]
  /** An example name; the terminal's default when the key is set and no model is named. */
  readonly example: string
  readonly files?: FileLimits
  /** The providers that accept JSON mode without a schema, and whether they do beside tools. */
  readonly jsonMode?: { readonly providers: RegExp; readonly besideTools: boolean }
  /** Adapts the call for these providers, whichever package offers them. */
  readonly adapt?: {
    readonly providers: RegExp
    readonly call: (call: ModelCall, provider: string) => ModelCall
  }
}

export interface FileLimits {
  /** Images in all messages of a request. */
  readonly images: number
  /** Characters of a whole request, as sent. */
  readonly chars: number
}

type Environment = Readonly<Record<string, string | undefined>>

export type Provider = (modelId: string) => LanguageModel

export interface ProviderSettings {
  readonly name?: string
  readonly apiKey?: string
  readonly baseURL?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly includeUsage?: boolean
}

const MB = 1_000_000

const compatible = {
  package: '@ai-sdk/openai-compatible',
  load: () => import('@ai-sdk/openai-compatible'),
  factory: 'createOpenAICompatible',
  compatible: true,
} as const satisfies Partial<Vendor>

/** Any endpoint that speaks OpenAI's chat protocol. */
export const OPENAI_COMPATIBLE: Vendor = {
  ...compatible,
  name: 'openai-compatible',
  needsBaseURL: true,
  example: 'openai-compatible/my-model',
}

export const VENDORS: readonly Vendor[] = [
  {
    name: 'openai',
    package: '@ai-sdk/openai',
    load: () => import('@ai-sdk/openai'),
    factory: 'createOpenAI',
    keyVariable: 'OPENAI_API_KEY',
    bare: /^(gpt-|chatgpt-|o[134](-|$))/,
    bareNames: ['gpt-…', 'o3…'],
    example: 'openai/gpt-4.1-mini',
    // 1,500 and 512 MB at OpenAI itself; 500 and 50 MB is what was documented before and holds for older models
    files: { images: 500, chars: 50 * MB },
    jsonMode: { providers: /^(openai|azure)\./, besideTools: true },
    adapt: { providers: /^(openai|azure)\.responses$/, call: withoutStore },
  },
  {
    name: 'anthropic',
    package: '@ai-sdk/anthropic',
    load: () => import('@ai-sdk/anthropic'),
    factory: 'createAnthropic',
    keyVariable: 'ANTHROPIC_API_KEY',
    bare: /^claude-/,
    bareNames: ['claude-…'],
    example: 'anthropic/claude-sonnet-4-5',
    // 100 for models that read 200,000 tokens, 600 for others; requests of 32 MB
    files: { images: 100, chars: 32 * MB },
    adapt: { providers: /anthropic/, call: withoutLateThinking },
  },
  {
    name: 'google',
    package: '@ai-sdk/google',
    load: () => import('@ai-sdk/google'),
    factory: 'createGoogleGenerativeAI',
    keyVariable: 'GOOGLE_GENERATIVE_AI_API_KEY',
    bare: /^gemini-/,
    bareNames: ['gemini-…'],
    example: 'google/gemini-2.5-flash',
    // 3,600 by the Gemini API, 3,000 by Vertex AI; 20 MB for a request with files inside
    files: { images: 3000, chars: 20 * MB },
    // Only the newest models accept it beside tools.
    jsonMode: { providers: /^google\./, besideTools: false },
  },
  {
    name: 'ollama',
    ...compatible,
    baseURL: (env) => ollamaURL(env['OLLAMA_HOST']),
    local: true,
    // It restricts every reply to JSON, calls included.
    jsonMode: { providers: /^ollama\./, besideTools: false },
    example: 'ollama/llama3.2',
  },
  OPENAI_COMPATIBLE,
]

const BY_NAME: ReadonlyMap<string, Vendor> = new Map(VENDORS.map((vendor) => [vendor.name, vendor]))

/** Undefined for an unknown name, such as the provider of a vendor that is not in the table. */
export function vendorNamed(name: string): Vendor | undefined {
  return BY_NAME.get(name)
}

/** A vendor whose models have names, for model pickers. */
export interface ModelVendor {
  readonly name: string
  readonly package: string
  /** The environment variable that holds the key; absent if none is needed. */
  readonly keyVariable?: string
  /** The name of one of its models. */
  readonly example: string
}

/** The vendors whose models have names. */
export const MODEL_VENDORS: readonly ModelVendor[] = VENDORS.map((vendor) => {
  const { name, package: packageName, keyVariable, example } = vendor
  return { name, package: packageName, ...defined({ keyVariable }), example }
})

const JSON_MODES = VENDORS.flatMap(({ jsonMode }) => jsonMode ?? [])

/** True if the provider is known to accept JSON mode. */
export function hasJsonMode(provider: string, hasTools: boolean): boolean {
  return JSON_MODES.some((mode) => mode.providers.test(provider) && (mode.besideTools || !hasTools))
}

const ADAPTERS = VENDORS.flatMap(({ adapt }) => adapt ?? [])

/** The call in the form that this provider accepts; the same call if nothing changes. */
export function adaptCall(provider: string, call: ModelCall): ModelCall {
  let adapted = call
  for (const adapter of ADAPTERS)
    if (adapter.providers.test(provider)) adapted = adapter.call(adapted, provider)
  return adapted
}

/**
 * OpenAI's Responses API would store the conversation and receive references to it, which expire; without `store` it
 * receives the conversation itself, and the journal stays the only truth. The caller may override it.
 */
function withoutStore(call: ModelCall, provider: string): ModelCall {
  const [vendor = ''] = provider.split('.')
  const own = call.providerOptions?.[vendor] as JsonObject | undefined
  if (own?.['store'] !== undefined) return call
  return { ...call, providerOptions: { ...call.providerOptions, [vendor]: { ...own, store: false } } }
}

const OLLAMA_PORT = '11434'

/** `OLLAMA_HOST` as Ollama itself reads it: a host, a port, both, or a URL; a port of its own only without a scheme. */
export function ollamaURL(host: string = ''): string {
  const given = host.trim().replaceAll(/^["']+|["']+$/g, '')
  const full = given.includes('://') ? given : `http://${withPort(given)}`
  const url = new URL(URL.canParse(full) ? full : `http://localhost:${OLLAMA_PORT}`)
  if (url.hostname === '0.0.0.0' || url.hostname === '[::]') url.hostname = 'localhost'
  const path = url.pathname.replace(/\/+$/, '')
  return `${url.origin}${path.endsWith('/v1') ? path : `${path}/v1`}`
}

/** An IPv6 address may be without brackets, and then has no port. */
function withPort(given: string): string {
  const [authority = '', ...path] = given.split('/')
  const isBare = !authority.includes('[') && authority.split(':').length > 2
  const name = isBare ? `[${authority}]` : authority.replace(/^(?=:|$)/, 'localhost')
  return [/[^:]:\d+$/.test(name) ? name : `${name}:${OLLAMA_PORT}`, ...path].join('/')
}
