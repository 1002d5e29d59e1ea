/**
 * The table of vendors: how the models of each are named, loaded, given their key and asked. A new vendor is a row here,
 * with its prices and context sizes in their tables. Packages are optional, so each is loaded when first named, by a
 * literal name that bundlers can see. Nothing else in Holdfast knows a vendor's package.
 */
import type { JsonObject } from '../protocol/index.ts'
import type { LanguageModel, ModelCall } from './language-model.ts'
import { withoutLateThinking } from './late-thinking.ts'

export interface Vendor {
  /** What its models' names begin with. */
  readonly name: string
  readonly package: string
  readonly load: () => Promise<unknown>
  /** The function of the package that makes a provider. */
  readonly factory: string
  /** The package serves everybody who speaks OpenAI's chat protocol, and is told whom. */
  readonly compatible?: true
  /** The variable that holds the key; absent if the vendor needs none. */
  readonly keyVariable?: string
  /** Where it is, if its package does not know. */
  readonly baseURL?: (env: Environment) => string
  /** Only the caller knows where it is. Names that no vendor is known for mean this one. */
  readonly needsBaseURL?: true
  /** It runs at home: how much a model takes is set where it runs. */
  readonly local?: true
  /** Models that only this vendor can have made, and how to say so. */
  readonly bare?: RegExp
  readonly bareNames?: readonly string[]
  /** What to write; what the terminal asks when the key is there and no model is named. */
  readonly example: string
  readonly files?: FileLimits
  /** The call as its providers take it, whoever offers them. */
  readonly adapt?: {
    readonly providers: RegExp
    readonly call: (call: ModelCall, provider: string) => ModelCall
  }
}

export interface FileLimits {
  /** Pictures of all messages of a request. */
  readonly images: number
  /** Characters of a whole request, as it is sent. */
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

/** Whatever speaks OpenAI's chat protocol somewhere. */
export const ELSEWHERE: Vendor = {
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
  },
  {
    name: 'ollama',
    ...compatible,
    baseURL: (env) => ollamaURL(env['OLLAMA_HOST']),
    local: true,
    example: 'ollama/llama3.2',
  },
  ELSEWHERE,
]

const BY_NAME: ReadonlyMap<string, Vendor> = new Map(VENDORS.map((vendor) => [vendor.name, vendor]))

/** Undefined for a name that is none, such as the provider of a vendor that is not in the table. */
export function vendorNamed(name: string): Vendor | undefined {
  return BY_NAME.get(name)
}

/** A vendor that can be asked by a name, for those who offer a choice of models. */
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
  return { name, package: packageName, ...(keyVariable === undefined ? {} : { keyVariable }), example }
})

const ADAPTERS = VENDORS.flatMap(({ adapt }) => adapt ?? [])

/** The call as this provider takes it; the same call where nothing has to be changed. */
export function adaptCall(provider: string, call: ModelCall): ModelCall {
  let adapted = call
  for (const adapter of ADAPTERS)
    if (adapter.providers.test(provider)) adapted = adapter.call(adapted, provider)
  return adapted
}

/**
 * OpenAI's Responses API would keep the conversation and be sent references to it, which expire; without `store` it is
 * sent the conversation itself, and the journal stays the only truth. The caller may differ.
 */
function withoutStore(call: ModelCall, provider: string): ModelCall {
  const [vendor = ''] = provider.split('.')
  const own = call.providerOptions?.[vendor] as JsonObject | undefined
  if (own?.['store'] !== undefined) return call
  return { ...call, providerOptions: { ...call.providerOptions, [vendor]: { ...own, store: false } } }
}

const OLLAMA_PORT = '11434'

/** `OLLAMA_HOST` is what Ollama itself takes: a host, a host and port, or a URL. */
export function ollamaURL(host: string | undefined): string {
  if (!host) return `http://localhost:${OLLAMA_PORT}/v1`
  const full = host.includes('://') ? host : `http://${host}`
  const url = URL.canParse(full) ? new URL(full) : new URL(`http://localhost:${OLLAMA_PORT}`)
  if (!host.includes('://') && !/:\d+$/.test(host)) url.port = OLLAMA_PORT
  if (url.hostname === '0.0.0.0') url.hostname = 'localhost'
  const path = url.pathname.replace(/\/+$/, '')
  return `${url.origin}${path.endsWith('/v1') ? path : `${path}/v1`}`
}
