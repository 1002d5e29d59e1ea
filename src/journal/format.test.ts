/** R21: a reader declines a required entry that it does not understand, before any change. */
import { describe, expect, it } from 'vitest'
import { ENTRY_TABLE, type Entry, HoldfastError } from '../protocol/index.ts'
import { memoryStore } from '../store/memory/index.ts'
import { fold } from './fold.ts'
import { isKnown, understand } from './format.ts'
import { loadSession } from './load.ts'
import { transcript } from './transcript.ts'

const key = { tenant: 't', actor: 'a', contextId: 'c' }

function entry(type: string, more: Partial<Entry> = {}): Entry {
  return { seq: 7, turn: 1, at: 1, type, v: 1, data: {}, ...more }
}

describe('understanding an entry', () => {
  it.each(Object.entries(ENTRY_TABLE).map(([type, { v }]): [string, number] => [type, v]))(
    'accepts %s of format %d',
    (type, v) => {
      expect(understand(entry(type, { v }))).toEqual(entry(type, { v }))
      expect(isKnown(entry(type, { v }))).toBe(true)
    },
  )

  it.each(Object.entries(ENTRY_TABLE).map(([type, { v }]): [string, number] => [type, v]))(
    'declines %s of a format after %d',
    (type, v) => {
      expect(() => understand(entry(type, { v: v + 1 }))).toThrow(HoldfastError)
      expect(understand(entry(type, { v: v + 1, optional: true }))).toBe(undefined)
      expect(isKnown(entry(type, { v: v + 1, optional: true }))).toBe(false)
    },
  )

  it.each(['x.future', 'constructor', '__proto__', 'toString', ''])(
    'declines the unknown type "%s"',
    (type) => {
      expect(() => understand(entry(type))).toThrow(HoldfastError)
      expect(understand(entry(type, { optional: true }))).toBe(undefined)
    },
  )

  it('says what it did not understand, and what to do', () => {
    const error = thrownBy(() => understand(entry('x.future', { v: 3 })))
    expect(error).toMatchObject({
      code: 'entry-not-understood',
      retry: 'never',
      details: { seq: 7, type: 'x.future', v: 3 },
    })
    expect(error.message).toBe(
      'Entry 7 is a "x.future" of format 3, which this version of holdfast does not understand and must not skip. The conversation was left untouched; upgrade the holdfast package.',
    )
  })
})

describe('a reader that meets an entry of a newer version', () => {
  const start = entry('turn.start', { seq: 1, data: { principal: { tenant: 't', actor: 'a' } } })

  it('declines and leaves the session that it started from as it was', () => {
    const session = fold([start])
    const before = JSON.stringify(session)
    expect(() => fold([entry('clear', { seq: 2 }), entry('x.future', { seq: 3 })], session)).toThrow(
      HoldfastError,
    )
    expect(JSON.stringify(session)).toBe(before)
  })

  it('declines to make a transcript', () => {
    expect(() => transcript([start, entry('note', { seq: 2, v: 2 })])).toThrow(HoldfastError)
  })

  it('skips what is marked as optional, and moves on', () => {
    const skipped = [
      entry('x.future', { seq: 2, at: 5, optional: true }),
      entry('note', { seq: 3, at: 6, v: 9, optional: true }),
    ]
    expect(fold([start, ...skipped])).toEqual({ ...fold([start]), seq: 3, at: 6 })
    expect(transcript([start, ...skipped])).toEqual([])
  })

  it('counts a newer format of a type that is progress as progress (R7)', () => {
    const claim = entry('claim', { seq: 1, data: { epoch: 1, driver: 'd', leaseMs: 1, attempt: 4 } })
    expect(fold([claim]).claims).toBe(4)
    expect(fold([claim, entry('model.end', { seq: 2, v: 9, optional: true })]).claims).toBe(0)
  })

  it('declines to load the conversation, and the store is as it was', async () => {
    const store = memoryStore()
    const future = { type: 'x.future', turn: 0, data: { of: 'another version' } }
    await store.append({ key, id: 'a', since: 0, claim: { driver: 'd', leaseMs: 1000 }, entries: [future] })
    const head = await store.head(key)
    await expect(loadSession(store, key)).rejects.toMatchObject({ code: 'entry-not-understood' })
    expect(await store.head(key)).toEqual(head)
    expect(await loadSession(store, key, 1)).toMatchObject({ seq: 1, epoch: 1 })
  })
})

function thrownBy(run: () => unknown): HoldfastError {
  try {
    run()
  } catch (error) {
    if (HoldfastError.is(error)) return error
  }
  throw new Error('It did not decline.')
}
