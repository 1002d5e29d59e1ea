/** Prices, and what providers report. */
import { describe, expect, it } from 'vitest'
import { checkPrices, costOf, PRICES, PRICES_AS_OF } from './index.ts'
import { reportedUsage } from './usage.ts'

const million = { inputTokens: 1_000_000, outputTokens: 1_000_000 }

describe('a cost', () => {
  it.each([
    ['openai/gpt-4.1', 10],
    ['openai/gpt-4.1-2025-04-14', 10],
    ['openai/gpt-4.1-mini', 2],
    ['openai/gpt-4.1-nano-2025-04-14', 0.5],
    ['openai/gpt-4o', 12.5],
    ['openai/gpt-4o-mini', 0.75],
    ['openai/gpt-4o-2024-05-13', 20],
    ['openai/gpt-5-pro', 135],
    ['openai/o3', 10],
    ['openai/o3-mini-2025-01-31', 5.5],
    ['openai/o3-pro', 100],
    ['openai/o3-deep-research', 50],
    ['openai/o4-mini-deep-research', 10],
    ['anthropic/claude-sonnet-4-5-20250929', 18],
    ['anthropic/claude-opus-4-1-20250805', 90],
    ['anthropic/claude-opus-4-5-20251101', 30],
    ['google/gemini-2.5-flash-lite', 0.5],
    ['vertex/gemini-2.5-flash', 2.8],
    ['ollama/o3-distilled', 0],
  ])('of a million tokens each way is for %s %s', (name, cost) => {
    expect(costOf(name, million)).toBeCloseTo(cost, 10)
  })

  it('is not made up for a model that is not known', () => {
    expect([costOf('acme/m1', million), costOf('acme/', million), costOf('', million)]).toEqual([
      undefined,
      undefined,
      undefined,
    ])
  })

  it('counts what is read from and written to a cache at its own price', () => {
    const tokens = {
      inputTokens: 1_000_000,
      outputTokens: 0,
      cachedTokens: 500_000,
      cacheWriteTokens: 250_000,
    }
    expect(costOf('anthropic/claude-sonnet-4', tokens)).toBeCloseTo(0.25 * 3 + 0.5 * 0.3 + 0.25 * 3.75, 10)
    expect(costOf('x/y', tokens, { y: { input: 1, output: 1 } })).toBe(1)
  })

  it('is by the table of the caller first, by the whole name before a part of it', () => {
    const table = { 'gpt-4.1': { input: 7, output: 0 }, openai: { input: 9, output: 0 } }
    expect(costOf('openai/gpt-4.1', million, table)).toBe(9)
    expect(costOf('azure/gpt-4.1', million, table)).toBe(7)
    expect(costOf('anthropic/claude-haiku-4-5', million, table)).toBe(6)
  })

  it('has a table with a date and sane prices', () => {
    expect(PRICES_AS_OF).toMatch(/^\d{4}-\d\d$/)
    const odd = Object.entries(PRICES).filter(
      ([, { input, output, cachedInput = 0 }]) => !(input <= output && cachedInput <= input && input >= 0),
    )
    expect(odd).toEqual([])
  })
})

describe('what a provider reports', () => {
  it('is taken only where it makes sense', () => {
    const usage = (total: unknown, cacheRead: unknown, output: unknown) =>
      reportedUsage('acme/m1', {
        inputTokens: { total, cacheRead, cacheWrite: undefined },
        outputTokens: { total: output },
      } as never)
    expect(usage(5, undefined, 2)).toEqual({ inputTokens: 5, outputTokens: 2, cachedTokens: 0, costUsd: 0 })
    expect(usage(5, 9, Number.NaN)).toEqual({
      inputTokens: 9,
      outputTokens: 0,
      cachedTokens: 9,
      costUsd: 0,
    })
    expect(usage(0, 0, 0)).toEqual({ inputTokens: 0, outputTokens: 0, cachedTokens: 0, costUsd: 0 })
    expect([usage(undefined, 1, -1), reportedUsage('x', undefined)]).toEqual([undefined, undefined])
    expect(reportedUsage('x', {} as never)).toBeUndefined()
  })
})

describe('prices of your own', () => {
  it('are those that every cost can be reckoned with', () => {
    expect(() => checkPrices(PRICES)).not.toThrow()
    expect(() =>
      checkPrices({ 'acme/m1': { input: 0, output: 1, cachedInput: 0.5, cacheWrite: 2 } }),
    ).not.toThrow()
  })

  it.each([
    null,
    5,
    {},
    { input: 3 },
    { input: '3', output: 5 },
    { input: -3, output: 5 },
    { input: 1, output: Infinity },
  ])('%j is no price', (price) => {
    expect(() => checkPrices({ 'acme/m1': price })).toThrow(
      'prices of "acme/m1" must be { input, output, cachedInput?, cacheWrite? } in US dollars for a million tokens.',
    )
  })
})
