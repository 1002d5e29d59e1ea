/** Chooses the default model: of the first vendor with a key and an installed package, else the built-in one. */
import { fileURLToPath } from 'node:url'
import { MODEL_VENDORS, type ModelVendor, resolveModel } from 'holdfast/model'
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

/** The vendors that need a key, in the order of preference. */
export const VENDORS: readonly (ModelVendor & { readonly keyVariable: string })[] = MODEL_VENDORS.flatMap(
  (vendor) => (vendor.keyVariable === undefined ? [] : [{ ...vendor, keyVariable: vendor.keyVariable }]),
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
  const [first] = keyed
  const why =
    first === undefined
      ? 'works by rules; set OPENAI_API_KEY or the key of another vendor for a language model'
      : `works by rules; ${first.keyVariable} is set, but a package is missing: npm install ${first.package}`
  return { model: 'reflex', name: 'reflex', why }
}

/** Checks that the model is usable, before anything is written. Of several, one is enough. */
export async function checkModel({ model }: ModelChoice, agent: AgentDefinition): Promise<void> {
  const choices = Array.isArray(model) ? (model as readonly unknown[]) : [model]
  let failure: unknown
  for (const choice of choices) {
    const own = typeof choice === 'object' && choice !== null && !('doStream' in choice)
    const { model: ref, settings } = own
      ? (choice as { model: Parameters<typeof resolveModel>[0]; settings?: object })
      : { model: choice as Parameters<typeof resolveModel>[0], settings: {} }
    try {
      await resolveModel(ref, { ...agent.settings, ...settings })
      return
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

function canBeFound(packageName: string): boolean {
  try {
    return fileURLToPath(import.meta.resolve(packageName)) !== ''
  } catch {
    return false
  }
}
