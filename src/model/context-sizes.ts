/** Context sizes of models, as far as known. A table grows old; a model's `contextTokens` setting comes first. */
import { byName } from './by-name.ts'
import { vendorNamed } from './vendors.ts'

/** The month of these models. */
export const CONTEXT_SIZES_AS_OF = '2025-11'

/**
 * Input tokens, by name prefix as in `PRICES`. Where a vendor states one size for input and output together, that is it.
 * Local models are not listed: their size is set where they run.
 */
export const CONTEXT_SIZES: Readonly<Record<string, number>> = {
  'gpt-4.1': 1_047_576,
  'gpt-4o': 128_000,
  // 400,000 with the output
  'gpt-5': 272_000,
  'gpt-5-chat': 128_000,
  o1: 200_000,
  o3: 200_000,
  'o4-mini': 200_000,
  'claude-3': 200_000,
  'claude-sonnet-4': 200_000,
  'claude-haiku-4': 200_000,
  'claude-opus-4': 200_000,
  'gemini-2.5': 1_048_576,
  'gemini-2.0-flash': 1_048_576,
}

/** Undefined if unknown. */
export function contextSizeOf(name: string): number | undefined {
  const vendor = name.slice(0, Math.max(name.indexOf('/'), 0))
  return vendorNamed(vendor)?.local ? undefined : byName(name, CONTEXT_SIZES)
}
