/** Which model is asked when nobody says: the first vendor whose key and package are there, else the built-in one. */
import { fileURLToPath } from 'node:url'
import { MODEL_VENDORS, type ModelVendor, resolveModel } from 'holdfast'
import type { AgentDefinition } from './define-config.ts'

export interface ModelChoice {
  readonly model: NonNullable<AgentDefinition['model']>
  /** One line for people. */
  readonly name: string
  /** Why this one; absent if the config or an option said so. */
  readonly why?: string
}

/** If there are several keys, these are asked first, in this order; then the others. */
const PREFERRED: readonly string[] = ['anthropic', 'openai', 'google']

/** The vendors that a key makes available, in the order in which they are asked. */
export const VENDORS: readonly (ModelVendor & { readonly keyVariable: string })[] = MODEL_VENDORS.flatMap(
  (vendor) => (vendor.keyVariable === undefined ? [] : [{ ...vendor, keyVariable: vendor.keyVariable }]),
).toSorted((a, b) => rankOf(a.name) - rankOf(b.name))

function rankOf(name: string): number {
  const rank = PREFERRED.indexOf(name)
  return rank < 0 ? PREFERRED.length : rank
}

export interface ModelWish {
  /** `--model`. */
  readonly given?: string | undefined
  readonly agent: AgentDefinition
  readonly env: Readonly<Record<string, string | undefined>>
  readonly isInstalled?: (packageName: string) => boolean
}

export function chooseModel({ given, agent, env, isInstalled = canBeFound }: ModelWish): ModelChoice {
  if (given !== undefined) return { model: given, name: given }
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

/** Sees to it that the model can be asked, before anything is written. Of several, one must be there. */
export async function checkModel({ model }: ModelChoice, agent: AgentDefinition): Promise<void> {
  const choices = Array.isArray(model) ? (model as readonly unknown[]) : [model]
  let trouble: unknown
  for (const choice of choices) {
    const own = typeof choice === 'object' && choice !== null && !('doStream' in choice)
    const { model: ref, settings } = own
      ? (choice as { model: Parameters<typeof resolveModel>[0]; settings?: object })
      : { model: choice as Parameters<typeof resolveModel>[0], settings: {} }
    try {
      await resolveModel(ref, { ...agent.settings, ...settings })
      return
    } catch (error) {
      trouble ??= error
    }
  }
  throw trouble
}

/** What a model is called, as far as that can be seen. */
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
