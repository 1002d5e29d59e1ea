/** The names of models: the vendor of a name, and a model's name in entries. Loads nothing. */
import type { ModelRef } from './options.ts'
import { OPENAI_COMPATIBLE, VENDORS, type Vendor, vendorNamed } from './vendors.ts'

export interface ParsedName {
  readonly vendor: Vendor
  readonly modelId: string
}

/** Parses `vendor/model`, or a bare name that only one vendor's models have. Undefined for anything else. */
export function parseName(name: string): ParsedName | undefined {
  const slash = name.indexOf('/')
  const prefix = name.slice(0, Math.max(slash, 0))
  const named = vendorNamed(prefix)
  if (named !== undefined)
    return slash + 1 < name.length ? { vendor: named, modelId: name.slice(slash + 1) } : undefined
  const vendor = slash < 0 ? VENDORS.find(({ bare }) => bare?.test(name)) : undefined
  return vendor && { vendor, modelId: name }
}

/** The environment variable that holds the key of a model, by its name in entries. */
export function keyVariableOf(name: string): string | undefined {
  return parseName(name)?.vendor.keyVariable
}

const EMBEDDED = 'holdfast/reflex'

/** Whether a name means the model that comes along and needs no vendor. */
export function isEmbedded(name: string): boolean {
  return name === 'reflex' || name === EMBEDDED
}

/**
 * A model's name in entries: `provider/model`. For an object, the first segment of its provider, so that `openai.responses`
 * and `openai.chat` are one; a name without a known vendor belongs to `openai-compatible`.
 */
export function modelName(ref: ModelRef): string {
  if (typeof ref === 'string') {
    if (isEmbedded(ref)) return EMBEDDED
    const parsed = parseName(ref)
    return parsed ? `${parsed.vendor.name}/${parsed.modelId}` : `${OPENAI_COMPATIBLE.name}/${ref}`
  }
  const dot = ref.provider.indexOf('.')
  return `${dot < 0 ? ref.provider : ref.provider.slice(0, dot)}/${ref.modelId}`
}
