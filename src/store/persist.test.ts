/** R5, the writer's half: retries on an unknown outcome, under the same id, and stops on a certain one. */
import { describe, expect, it } from 'vitest'
import { type ErrorCode, HoldfastError } from '../protocol/index.ts'
import { persist } from './persist.ts'
import type { AppendRequest, Receipt } from './port.ts'

const request: AppendRequest = { key: { tenant: 't', actor: 'a', contextId: 'c' }, id: 'a', since: 0 }
const receipt: Receipt = { first: 1, last: 1, at: 1, epoch: 1, entries: [], inbox: [], repeated: false }

/** Returns a script of outcomes; fails on an unexpected call. */
function scripted(...script: readonly (Receipt | Error)[]) {
  const seen: AppendRequest[] = []
  const waits: number[] = []
  return {
    seen,
    waits,
    store: {
      async append(asked: AppendRequest): Promise<Receipt> {
        const outcome = script[seen.length]
        seen.push(asked)
        if (outcome === undefined) throw new Error('the script has no more steps')
        if (outcome instanceof Error) throw outcome
        return outcome
      },
    },
    wait: async (ms: number) => void waits.push(ms),
  }
}

function trouble(code: ErrorCode, retry: 'later' | 'never' = 'later'): HoldfastError {
  return new HoldfastError(code, { message: code, retry })
}

describe('persisting', () => {
  it('asks once when all is well', async () => {
    const { store, seen, wait } = scripted(receipt)
    expect(await persist(store, request, { wait })).toBe(receipt)
    expect(seen).toEqual([request])
  })

  it('asks again with the same request, and waits longer each time, while its fate is unknown', async () => {
    const { store, seen, waits, wait } = scripted(
      trouble('ambiguous'),
      new Error('socket'),
      trouble('ambiguous'),
      receipt,
    )
    expect(await persist(store, request, { wait })).toBe(receipt)
    expect(seen).toEqual([request, request, request, request])
    expect(waits).toEqual([20, 40, 80])
  })

  it.each<ErrorCode>(['fenced', 'owned', 'moved', 'not-pending', 'key-reused', 'inbox-full', 'erased'])(
    'passes %s on at once',
    async (code) => {
      const error = trouble(code)
      const { store, seen, wait } = scripted(error)
      await expect(persist(store, request, { wait })).rejects.toBe(error)
      expect(seen).toHaveLength(1)
    },
  )

  it.each<ErrorCode>(['store-busy', 'store-full', 'store-failed'])(
    'asks again after %s that may pass, and not after one that will not',
    async (code) => {
      const passing = scripted(trouble(code), receipt)
      expect(await persist(passing.store, request, { wait: passing.wait })).toBe(receipt)
      expect(passing.seen).toEqual([request, request])
      const lasting = scripted(trouble(code, 'never'), receipt)
      await expect(persist(lasting.store, request, { wait: lasting.wait })).rejects.toMatchObject({ code })
      expect(lasting.seen).toHaveLength(1)
    },
  )

  it.each([TypeError, RangeError, ReferenceError, SyntaxError])(
    'passes a mistake in the program on at once: %o',
    async (Mistake) => {
      const { store, seen, wait } = scripted(new Mistake('oops'), receipt)
      await expect(persist(store, request, { wait })).rejects.toThrow(Mistake)
      expect(seen).toHaveLength(1)
    },
  )

  it('passes a refusal on that comes after doubt', async () => {
    const { store, wait } = scripted(trouble('ambiguous'), trouble('fenced'))
    await expect(persist(store, request, { wait })).rejects.toMatchObject({ code: 'fenced' })
  })

  it('gives up with the last error after as many attempts as it was told', async () => {
    const last = trouble('store-full')
    const { store, seen, waits, wait } = scripted(trouble('store-full'), trouble('store-busy'), last)
    await expect(persist(store, request, { attempts: 3, wait })).rejects.toBe(last)
    expect(seen).toHaveLength(3)
    expect(waits).toEqual([20, 40])
  })

  it.each<[string, Error, Error]>([
    ['an error that is not the store’s own', trouble('store-busy'), new Error('socket')],
    ['a full disk after an attempt of unknown outcome', new Error('socket'), trouble('store-full')],
    ['a full disk after an ambiguous attempt', trouble('ambiguous'), trouble('store-full')],
    ['a broken store after an ambiguous attempt', trouble('ambiguous'), trouble('store-failed', 'never')],
  ])('gives up as ambiguous, with its cause: %s', async (_, first, last) => {
    const { store, wait } = scripted(first, last)
    const given = persist(store, request, { attempts: 2, wait })
    await expect(given).rejects.toMatchObject({ code: 'ambiguous', retry: 'later', cause: last })
  })

  it('tries five times if it was told nothing, and really waits', async () => {
    const { store, seen } = scripted()
    const began = performance.now()
    await expect(persist(store, request, { attempts: 2 })).rejects.toThrow('no more steps')
    expect(performance.now() - began).toBeGreaterThan(15)
    await expect(persist(store, request, { wait: async () => {} })).rejects.toThrow('no more steps')
    expect(seen).toHaveLength(2 + 5)
  })
})
