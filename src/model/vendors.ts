/**
 * The provider packages: how each is loaded, given its key and asked for a model. They are optional, so each is loaded
 * when first named, by a literal name that bundlers can see. Nothing else in Holdfast knows a vendor's package.
 */
import type { JsonObject } from '../protocol/index.ts'
import type { LanguageModel } from './language-model.ts'
import { parseName, type Vendor } from './name.ts'

export interface VendorEntry {
  readonly package: string
  /** The variable that holds the key; absent if the vendor needs none. */
  readonly keyVariable?: string
  readonly load: () => Promise<unknown>
  /** The function of the package that makes a provider. */
  readonly factory: string
}

export type Provider = (modelId: string) => LanguageModel

export interface ProviderSettings {
  readonly name?: string
  readonly apiKey?: string
  readonly baseURL?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly includeUsage?: boolean
}

const compatible: VendorEntry = {
  package: '@ai-sdk/openai-compatible',
  load: () => import('@ai-sdk/openai-compatible'),
  factory: 'createOpenAICompatible',
}

export const VENDORS: Readonly<Record<Vendor, VendorEntry>> = {
  openai: {
    package: '@ai-sdk/openai',
    keyVariable: 'OPENAI_API_KEY',
    load: () => import('@ai-sdk/openai'),
    factory: 'createOpenAI',
  },
  anthropic: {
    package: '@ai-sdk/anthropic',
    keyVariable: 'ANTHROPIC_API_KEY',
    load: () => import('@ai-sdk/anthropic'),
    factory: 'createAnthropic',
  },
  google: {
    package: '@ai-sdk/google',
    keyVariable: 'GOOGLE_GENERATIVE_AI_API_KEY',
    load: () => import('@ai-sdk/google'),
    factory: 'createGoogleGenerativeAI',
  },
  ollama: compatible,
  'openai-compatible': compatible,
}

/** The environment variable that holds the key for a model, by the name that entries have for it. */
export function keyVariableOf(name: string): string | undefined {
  const vendor = parseName(name)?.vendor
  return vendor && VENDORS[vendor].keyVariable
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

/**
 * What a call needs so that the journal stays the only truth. OpenAI's Responses API would keep the conversation and
 * be sent references to it, which expire; without `store` it is sent the conversation itself. The caller may differ.
 */
export function callDefaults(provider: string, options: JsonObject | undefined): JsonObject | undefined {
  const vendor =
    provider === 'openai.responses' ? 'openai' : provider === 'azure.responses' ? 'azure' : undefined
  if (vendor === undefined) return options
  const own = options?.[vendor] as JsonObject | undefined
  return own?.['store'] === undefined ? { ...options, [vendor]: { ...own, store: false } } : options
}
