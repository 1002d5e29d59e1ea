import { describe, expect, test } from 'vitest'
import { memoryStore } from '../store/memory/index.ts'
import { type Fault, faultyStore } from './faulty-store.ts'
import { input, keyOf } from './store-contract/talk.ts'

const key = keyOf()

function post(name: string): {
  key: typeof key
  id: string
  since: number
  inbox: [ReturnType<typeof input>]
} {
  return { key, id: name, since: 0, inbox: [input(name)] }
}

describe('a faulty store', () => {
  test('counts appends from 1 and fails the one that was named', async () => {
    const store = faultyStore(memoryStore(), [{ at: 2, how: 'fail', when: 'before' }])
    await store.append(post('a'))
    await expect(store.append(post('b'))).rejects.toMatchObject({ code: 'ambiguous', retry: 'later' })
    await store.append(post('c'))
    expect((await store.read(key)).map((entry) => entry.key)).toEqual(['a', 'c'])
  })

  test('counts repetitions as appends', async () => {
    const store = faultyStore(memoryStore(), [{ at: 2, how: 'fail', when: 'after' }])
    await store.append(post('a'))
    await expect(store.append(post('a'))).rejects.toMatchObject({ code: 'ambiguous' })
    expect((await store.append(post('a'))).repeated).toBe(true)
  })

  test('fails after the write, so that the entry is there', async () => {
    const store = faultyStore(memoryStore(), [{ at: 1, how: 'fail', when: 'after' }])
    await expect(store.append(post('a'))).rejects.toMatchObject({ code: 'ambiguous' })
    expect((await store.read(key)).map((entry) => entry.key)).toEqual(['a'])
  })

  test('asks a predicate for every append, with the request and its number', async () => {
    const asked: [string, number][] = []
    const at: Fault['at'] = ({ id }, n) => {
      asked.push([id, n])
      return id === 'b'
    }
    const store = faultyStore(memoryStore(), [{ at, how: 'fail', when: 'before' }])
    await store.append(post('a'))
    await expect(store.append(post('b'))).rejects.toMatchObject({ code: 'ambiguous' })
    expect(asked).toEqual([
      ['a', 1],
      ['b', 2],
    ])
  })

  test('lets a refusal through as it is: what was refused was not written', async () => {
    const store = faultyStore(memoryStore(), [{ at: 1, how: 'fail', when: 'after' }])
    const fenced = store.append({ key, id: 'x', since: 0, epoch: 1, entries: [] })
    await expect(fenced).rejects.toMatchObject({ code: 'invalid-entry' })
  })

  test('stalls before the write until it is let go', async () => {
    const { promise: until, resolve } = Promise.withResolvers<void>()
    const store = faultyStore(memoryStore(), [{ at: 1, how: 'stall', when: 'before', until }])
    const stalled = store.append(post('a'))
    await new Promise((soon) => setImmediate(soon))
    expect(await store.head(key)).toBeUndefined()
    resolve()
    expect((await stalled).last).toBe(1)
  })

  test('stalls after the write for ever if nobody lets it go', async () => {
    const store = faultyStore(memoryStore(), [{ at: 1, how: 'stall', when: 'after' }])
    let answered = false
    void store.append(post('a')).finally(() => {
      answered = true
    })
    await new Promise((soon) => setImmediate(soon))
    expect([answered, (await store.head(key))?.seq]).toEqual([false, 1])
  })

  test('is otherwise the store that it was given', async () => {
    const store = memoryStore()
    const faulty = faultyStore(Object.assign(store, { path: 'somewhere' }), [])
    await faulty.append(post('a'))
    expect(faulty.path).toBe('somewhere')
    expect(await store.head(key)).toEqual(await faulty.head(key))
    await faulty.close()
    await expect(store.head(key)).rejects.toMatchObject({ code: 'store-closed' })
  })
})

describe('a store that refuses', () => {
  test('has written nothing, and says whether asking again can help', async () => {
    const store = faultyStore(memoryStore(), [
      { at: 1, how: 'refuse' },
      { at: 2, how: 'refuse', code: 'store-busy' },
      { at: 3, how: 'refuse', code: 'store-full' },
    ])
    await expect(store.append(post('a'))).rejects.toMatchObject({ code: 'store-failed', retry: 'never' })
    await expect(store.append(post('b'))).rejects.toMatchObject({ code: 'store-busy', retry: 'later' })
    await expect(store.append(post('c'))).rejects.toMatchObject({ code: 'store-full', retry: 'later' })
    expect(await store.head(key)).toBeUndefined()
    expect((await store.append(post('a'))).repeated).toBe(false)
  })
})
