/** Chooses the default model: of the first vendor with a key and an installed package, else the built-in one. */
import { fileURLToPath } from 'node:url'
import { MODEL_VENDORS, type ModelVendor, modelName, resolveModel } from 'holdfast/model'
import type { AgentDefinition } from './define-config.ts'

export interface ModelChoice {
  readonly model: NonNullable<AgentDefinition['model']>
  /** One line for people. */
  readonly name: string
  /** The reason for the choice; absent if the config or an option names the model. */
  readonly why?: string
}

/** With several keys, these come first, in this order; then the others. */
const PREFERRED: readonly string[] = ['anthropic', 'openai', 'google']

type KeyedVendor = ModelVendor & { readonly keyVariable: string }

/** The vendors that need a key, in the order of preference. */
export const VENDORS: readonly KeyedVendor[] = MODEL_VENDORS.flatMap((vendor) =>
  vendor.keyVariable === undefined ? [] : [{ ...vendor, keyVariable: vendor.keyVariable }],
).toSorted((a, b) => rankOf(a.name) - rankOf(b.name))

function rankOf(name: string): number {
  const rank = PREFERRED.indexOf(name)
  return rank < 0 ? PREFERRED.length : rank
}

export interface ChooseModelOptions {
  /** `--model`. */
  readonly option?: string | undefined
  readonly agent: AgentDefinition
  readonly env: Readonly<Record<string, string | undefined>>
  readonly isInstalled?: (packageName: string) => boolean
}

export function chooseModel({
  option,
  agent,
  env,
  isInstalled = canBeFound,
}: ChooseModelOptions): ModelChoice {
  if (option !== undefined) return { model: option, name: option }
  if (agent.model !== undefined) return { model: agent.model, name: nameOf(agent.model) }
  const keyed = VENDORS.filter(({ keyVariable }) => env[keyVariable])
  const usable = keyed.find((vendor) => isInstalled(vendor.package))
  if (usable !== undefined)
    return { model: usable.example, name: usable.example, why: `${usable.keyVariable} is set` }
  return { model: 'reflex', name: 'reflex', why: `works by rules; ${adviceFor(keyed[0], isInstalled)}` }
}

/** The steps to a language model. `keyed`: a vendor whose key is set, and whose package is missing. */
function adviceFor(keyed: KeyedVendor | undefined, isInstalled: (packageName: string) => boolean): string {
  if (keyed !== undefined)
    return `${keyed.keyVariable} is set, but a package is missing: npm install ${keyed.package}`
  const vendor =
    VENDORS.find((each) => isInstalled(each.package)) ?? VENDORS.find(({ name }) => name === 'openai')
  const { keyVariable, package: name } = vendor as KeyedVendor
  const install = isInstalled(name) ? '' : ` and npm install ${name}`
  return `for a language model, set ${keyVariable}${install}, or use another vendor`
}

/**
 * The definition with the chosen model. The key, address and headers of a config are for the vendor of its model: a model of
 * another vendor takes those of the environment.
 */
export function definitionFor({ model }: ModelChoice, agent: AgentDefinition): AgentDefinition {
  if (agent.settings === undefined || agent.model === undefined || vendorOf(model) === vendorOf(agent.model))
    return agent
  const { apiKey: _, baseURL: __, headers: ___, ...settings } = agent.settings
  return { ...agent, settings }
}

function vendorOf(model: unknown): string | undefined {
  return modelName(nameOf(model)).split('/')[0]
}

/** Resolves to the model, once it is known to be usable, before anything is written. Of several, the first usable one. */
export async function checkModel(
  { model }: ModelChoice,
  agent: AgentDefinition,
): ReturnType<typeof resolveModel> {
  const choices = Array.isArray(model) ? (model as readonly unknown[]) : [model]
  let failure: unknown
  for (const choice of choices) {
    const own = typeof choice === 'object' && choice !== null && !('doStream' in choice)
    const { model: ref, settings } = own
      ? (choice as { model: Parameters<typeof resolveModel>[0]; settings?: object })
      : { model: choice as Parameters<typeof resolveModel>[0], settings: {} }
    try {
      return await resolveModel(ref, { ...agent.settings, ...settings })
    } catch (error) {
      failure ??= error
    }
  }
  throw failure
}

/** The name of a model, if it has one. */
function nameOf(model: unknown): string {
  if (typeof model === 'string') return model
  if (Array.isArray(model)) return model.length === 0 ? 'none' : nameOf(model[0])
  const {
    provider,
    modelId,
    model: inner,
  } = model as { provider?: string; modelId?: string; model?: unknown }
  return inner === undefined ? `${provider?.split('.')[0]}/${modelId}` : nameOf(inner)
}

/** True if the package is installed. */
export function canBeFound(packageName: string): boolean {
  try {
    return fileURLToPath(import.meta.resolve(packageName)) !== ''
  } catch {
    return false
  }
}
