/**
 * How many tokens a model can be sent at once, as far as it is known. A table grows old; `contextTokens` of a model's
 * settings comes before it.
 */
import { byName } from './by-name.ts'
import { vendorNamed } from './vendors.ts'

/** The month whose models these are. */
export const CONTEXT_SIZES_AS_OF = '2025-11'

/**
 * Tokens of input, by the beginning of a name as in `PRICES`. Where a vendor states one size for input and output
 * together, that is it. What runs at home is not here: how much it takes is set where it runs.
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

/** Undefined if nobody has said. */
export function contextSizeOf(name: string): number | undefined {
  const vendor = name.slice(0, Math.max(name.indexOf('/'), 0))
  return vendorNamed(vendor)?.local ? undefined : byName(name, CONTEXT_SIZES)
}
