/**
 * The body that each vendor would be sent for one call of a model, made by the real provider packages. Nothing leaves
 * the process: the packages are given a `fetch` that takes the body and stops there.
 */
import { type LanguageModel, type ModelCall, resolveModel } from '../../src/model/index.ts'
import { adaptCall, type Provider, type ProviderSettings, vendorNamed } from '../../src/model/vendors.ts'
import type { Vendor } from './check-vendor-request.ts'

export interface VendorRequest {
  readonly vendor: Vendor
  /** As it would be sent, parsed. */
  readonly body: unknown
}

const MODELS: Readonly<Record<Vendor, string>> = {
  anthropic: 'anthropic/claude-sonnet-4-5',
  'openai-chat': 'openai/gpt-4.1',
  'openai-responses': 'openai/gpt-4.1',
  google: 'google/gemini-2.5-flash',
}

const ALL = Object.keys(MODELS) as readonly Vendor[]

/**
 * The requests that a call becomes, one for each vendor: all of them unless said otherwise. The call is what a model's `doStream` takes, with a prompt as
 * `toPrompt` and the AI SDK make it. Needs `@ai-sdk/anthropic`, `@ai-sdk/openai` and `@ai-sdk/google`, and rejects with
 * `missing-package` if one is not installed; rejects with a package's own error if it cannot express the prompt.
 */
export async function vendorRequests(
  call: ModelCall,
  vendors: readonly Vendor[] = ALL,
): Promise<readonly VendorRequest[]> {
  return Promise.all(vendors.map(async (vendor) => ({ vendor, body: await bodyFor(vendor, call) })))
}

/** Carries the body out of the package: errors of `fetch` go through unchanged. */
class Captured extends Error {
  readonly body: string

  constructor(body: string) {
    super('captured')
    this.body = body
  }
}

function capture(_: unknown, init?: { readonly body?: unknown }): Promise<never> {
  return Promise.reject(new Captured(typeof init?.body === 'string' ? init.body : 'null'))
}

/** Packages and their providers are made once: a property test asks many thousand times. */
const models = new Map<Vendor, Promise<LanguageModel>>()

async function bodyFor(vendor: Vendor, call: ModelCall): Promise<unknown> {
  const model = await knownModel(vendor)
  try {
    await model.doStream(adaptCall(model.provider, call))
  } catch (error) {
    if (error instanceof Captured) return JSON.parse(error.body)
    throw error
  }
  throw new Error(`The package for ${vendor} sent no request.`)
}

function knownModel(vendor: Vendor): Promise<LanguageModel> {
  const known = models.get(vendor)
  if (known !== undefined) return known
  const model = modelOf(vendor)
  models.set(vendor, model)
  // A package that is missing may be there the next time.
  model.catch(() => models.delete(vendor))
  return model
}

type Factory = (
  settings: ProviderSettings & { readonly fetch: unknown },
) => Provider & { readonly chat: Provider }

async function modelOf(vendor: Vendor): Promise<LanguageModel> {
  const name = MODELS[vendor]
  const entry = vendorNamed(name.slice(0, name.indexOf('/')))
  if (entry === undefined) throw new Error(`There is no vendor for ${name}.`)
  const load = async () => {
    const loaded = (await entry.load()) as Readonly<Record<string, Factory>>
    const create = loaded[entry.factory]
    if (create === undefined) return loaded
    const factory = (settings: ProviderSettings) => {
      const provider = create({ ...settings, fetch: capture })
      return vendor === 'openai-chat' ? provider.chat : provider
    }
    return { [entry.factory]: factory }
  }
  return resolveModel(name, { apiKey: 'none' }, { load })
}
