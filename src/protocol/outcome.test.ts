import { describe, expect, it } from 'vitest'
import { addUsage, NO_USAGE } from './outcome.ts'

describe('usage', () => {
  const some = { inputTokens: 1, outputTokens: 2, cachedTokens: 3, costUsd: 0.25 }

  it('adds up, and nothing is changed by it', () => {
    expect(addUsage(some, { inputTokens: 10, outputTokens: 20, cachedTokens: 30, costUsd: 0.5 })).toEqual({
      inputTokens: 11,
      outputTokens: 22,
      cachedTokens: 33,
      costUsd: 0.75,
    })
    expect(some.inputTokens).toBe(1)
  })

  it('is not changed by nothing', () => {
    expect(addUsage(some, NO_USAGE)).toEqual(some)
    expect(addUsage(NO_USAGE, NO_USAGE)).toEqual(NO_USAGE)
  })
})
