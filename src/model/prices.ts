/**
 * Token prices, as far as known. A table grows old: costs computed from it are estimates and are marked so. Does not count
 * tokens.
 */
import { invalidOption, isObject, quote } from '../protocol/index.ts'
import { byName } from './by-name.ts'

/** US dollars for a million tokens. Cache reads and writes default to the input price. */
export interface Price {
  readonly input: number
  readonly output: number
  readonly cachedInput?: number
  readonly cacheWrite?: number
}

/**
 * Prices by name prefix: `gpt-4.1` prices `openai/gpt-4.1-2025-04-14` too. A key matches the whole name or the part after
 * the provider; the whole name goes first, then the longest key.
 */
export type PriceTable = Readonly<Record<string, Price>>

export interface PricedTokens {
  /** All input tokens, cached ones included. */
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cachedTokens?: number
  readonly cacheWriteTokens?: number
}

/** The month of these prices. */
export const PRICES_AS_OF = '2025-11'

export const PRICES: PriceTable = {
  'gpt-4.1': { input: 2, cachedInput: 0.5, output: 8 },
  'gpt-4.1-mini': { input: 0.4, cachedInput: 0.1, output: 1.6 },
  'gpt-4.1-nano': { input: 0.1, cachedInput: 0.025, output: 0.4 },
  'gpt-4o': { input: 2.5, cachedInput: 1.25, output: 10 },
  'gpt-4o-2024-05-13': { input: 5, output: 15 },
  'gpt-4o-mini': { input: 0.15, cachedInput: 0.075, output: 0.6 },
  'gpt-5': { input: 1.25, cachedInput: 0.125, output: 10 },
  'gpt-5-mini': { input: 0.25, cachedInput: 0.025, output: 2 },
  'gpt-5-nano': { input: 0.05, cachedInput: 0.005, output: 0.4 },
  'gpt-5-pro': { input: 15, output: 120 },
  o3: { input: 2, cachedInput: 0.5, output: 8 },
  'o3-deep-research': { input: 10, cachedInput: 2.5, output: 40 },
  'o3-mini': { input: 1.1, cachedInput: 0.55, output: 4.4 },
  'o3-pro': { input: 20, output: 80 },
  'o4-mini': { input: 1.1, cachedInput: 0.275, output: 4.4 },
  'o4-mini-deep-research': { input: 2, cachedInput: 0.5, output: 8 },
  'claude-sonnet-4': { input: 3, cachedInput: 0.3, cacheWrite: 3.75, output: 15 },
  'claude-haiku-4-5': { input: 1, cachedInput: 0.1, cacheWrite: 1.25, output: 5 },
  'claude-opus-4': { input: 15, cachedInput: 1.5, cacheWrite: 18.75, output: 75 },
  'claude-opus-4-1': { input: 15, cachedInput: 1.5, cacheWrite: 18.75, output: 75 },
  'claude-opus-4-5': { input: 5, cachedInput: 0.5, cacheWrite: 6.25, output: 25 },
  'gemini-2.5-pro': { input: 1.25, cachedInput: 0.125, output: 10 },
  'gemini-2.5-flash': { input: 0.3, cachedInput: 0.03, output: 2.5 },
  'gemini-2.5-flash-lite': { input: 0.1, cachedInput: 0.01, output: 0.4 },
  'gemini-2.0-flash': { input: 0.1, cachedInput: 0.025, output: 0.4 },
  // runs locally
  'ollama/': { input: 0, output: 0 },
}

/** Throws `invalid-option` for a price by which a cost would be no number, which no limit would stop. */
export function checkPrices(prices: object): void {
  for (const [name, price] of Object.entries(prices))
    if (!isPrice(price))
      throw invalidOption(
        'prices',
        `of ${quote(name)} must be { input, output, cachedInput?, cacheWrite? } in US dollars for a million tokens`,
      )
}

function isPrice(given: unknown): boolean {
  if (!isObject(given)) return false
  const { input, output, cachedInput = input, cacheWrite = input } = given as Partial<Price>
  return [input, output, cachedInput, cacheWrite].every(
    (each) => typeof each === 'number' && each >= 0 && each < Infinity,
  )
}

/** The cost of a call in US dollars; undefined if no table has a price. The caller's table wins. */
export function costOf(name: string, tokens: PricedTokens, prices?: PriceTable): number | undefined {
  const price = (prices && byName(name, prices)) ?? knownPrice(name)
  if (price === undefined) return undefined
  const read = tokens.cachedTokens ?? 0
  const written = tokens.cacheWriteTokens ?? 0
  const plain = Math.max(0, tokens.inputTokens - read - written)
  const sum =
    plain * price.input +
    read * (price.cachedInput ?? price.input) +
    written * (price.cacheWrite ?? price.input) +
    tokens.outputTokens * price.output
  return sum / 1_000_000
}

/** Prices of the models asked so far: a table is searched once for each. */
const found = new Map<string, Price | undefined>()

function knownPrice(name: string): Price | undefined {
  if (!found.has(name)) found.set(name, byName(name, PRICES))
  return found.get(name)
}
