/** The names of models: which vendor a name means, and what a model is called in entries. It loads nothing. */
import type { ModelRef } from './options.ts'
import { ELSEWHERE, VENDORS, type Vendor, vendorNamed } from './vendors.ts'

export interface ParsedName {
  readonly vendor: Vendor
  readonly modelId: string
}

/** What a name means: `vendor/model`, or a model that only one vendor can have made. Undefined for anything else. */
export function parseName(name: string): ParsedName | undefined {
  const slash = name.indexOf('/')
  const prefix = name.slice(0, Math.max(slash, 0))
  const named = vendorNamed(prefix)
  if (named !== undefined)
    return slash + 1 < name.length ? { vendor: named, modelId: name.slice(slash + 1) } : undefined
  const vendor = slash < 0 ? VENDORS.find(({ bare }) => bare?.test(name)) : undefined
  return vendor && { vendor, modelId: name }
}

/** The environment variable that holds the key for a model, by the name that entries have for it. */
export function keyVariableOf(name: string): string | undefined {
  return parseName(name)?.vendor.keyVariable
}

const EMBEDDED = 'holdfast/reflex'

/** Whether a name means the model that comes along and needs no vendor. */
export function isEmbedded(name: string): boolean {
  return name === 'reflex' || name === EMBEDDED
}

/**
 * A model as entries name it: `provider/model`. Of an object that is the first word of its provider, so that
 * `openai.responses` and `openai.chat` are one; of a name that no vendor is known for, the only thing it can be.
 */
export function modelName(ref: ModelRef): string {
  if (typeof ref === 'string') {
    if (isEmbedded(ref)) return EMBEDDED
    const parsed = parseName(ref)
    return parsed ? `${parsed.vendor.name}/${parsed.modelId}` : `${ELSEWHERE.name}/${ref}`
  }
  const dot = ref.provider.indexOf('.')
  return `${dot < 0 ? ref.provider : ref.provider.slice(0, dot)}/${ref.modelId}`
}
