/** R18: watching is reading by position; a bell only hastens it, and no ring is lost. */
import { describe, expect, it } from 'vitest'
import type { Entry } from '../protocol/index.ts'
import { Bell, watchEntries } from './watch.ts'

function entry(seq: number): Entry {
  return { seq, turn: 0, at: 1, type: 'note', v: 1, data: {} }
}

/** A journal in a list, read in pages; rings when told to. */
class Journal {
  readonly bell = new Bell()
  readonly reads: [number, number][] = []
  length = 0
  ended = false
  /** Called while a read is under way, before it is answered. */
  meanwhile: () => void = () => {}

  grow(count: number): void {
    this.length += count
    this.bell.ring('k')
  }

  watch(options: { since?: number; signal?: AbortSignal } = {}): AsyncGenerator<Entry> {
    return watchEntries(
      { bell: this.bell, key: 'k', read: (from, limit) => this.#read(from, limit) },
      options,
    )
  }

  async #read(from: number, limit: number): Promise<{ entries: Entry[]; ended: boolean }> {
    this.reads.push([from, limit])
    const count = Math.max(0, Math.min(limit, this.length - from + 1))
    const entries = Array.from({ length: count }, (_, index) => entry(from + index))
    await Promise.resolve()
    this.meanwhile()
    return { entries, ended: this.ended }
  }
}

async function take(watching: AsyncGenerator<Entry>, count: number): Promise<number[]> {
  const seen: number[] = []
  while (seen.length < count) {
    const { done, value } = await watching.next()
    if (done) break
    seen.push(value.seq)
  }
  return seen
}

describe('watching', () => {
  it('begins after the position that is known, or with the first entry', async () => {
    const journal = new Journal()
    journal.grow(3)
    expect(await take(journal.watch(), 3)).toEqual([1, 2, 3])
    expect(await take(journal.watch({ since: 1 }), 2)).toEqual([2, 3])
  })

  it('goes on with each new entry', async () => {
    const journal = new Journal()
    const watching = journal.watch()
    const first = watching.next()
    await Promise.resolve()
    journal.grow(1)
    expect((await first).value).toEqual(entry(1))
    const second = take(watching, 2)
    journal.grow(1)
    journal.grow(1)
    expect(await second).toEqual([2, 3])
  })

  it('misses nothing that comes while it reads', async () => {
    const journal = new Journal()
    journal.meanwhile = () => {
      journal.meanwhile = () => {}
      journal.grow(1)
    }
    expect(await take(journal.watch(), 1)).toEqual([1])
  })

  it('reads page after page without waiting for a ring', async () => {
    const journal = new Journal()
    journal.grow(600)
    expect(await take(journal.watch(), 600)).toHaveLength(600)
    expect(journal.reads).toEqual([
      [1, 256],
      [257, 256],
      [513, 256],
    ])
  })

  it('ends when no more will come, after what is there', async () => {
    const journal = new Journal()
    journal.grow(2)
    journal.ended = true
    expect(await take(journal.watch(), 9)).toEqual([1, 2])
  })

  it('ends when it is told to: before, between and while waiting', async () => {
    const journal = new Journal()
    journal.grow(3)
    expect(await take(journal.watch({ signal: AbortSignal.abort() }), 9)).toEqual([])
    const between = new AbortController()
    const watching = journal.watch({ signal: between.signal })
    expect(await take(watching, 1)).toEqual([1])
    between.abort()
    expect(await take(watching, 9)).toEqual([])
    const waiting = new AbortController()
    const seen = take(journal.watch({ signal: waiting.signal }), 9)
    setTimeout(() => waiting.abort(), 5)
    expect(await seen).toEqual([1, 2, 3])
  })

  it('ends when it is told to while it reads', async () => {
    const journal = new Journal()
    const stop = new AbortController()
    journal.meanwhile = () => stop.abort()
    expect(await take(journal.watch({ signal: stop.signal }), 9)).toEqual([])
  })

  it('passes on what goes wrong', async () => {
    const read = async () => {
      throw new Error('no disk')
    }
    const watching = watchEntries({ bell: new Bell(), key: 'k', read })
    await expect(watching.next()).rejects.toThrow('no disk')
  })

  it('leaves nothing behind on its signal', async () => {
    const counts: Record<string, number> = {}
    const { signal } = new AbortController()
    const count = (name: 'addEventListener' | 'removeEventListener') => () => {
      counts[name] = (counts[name] ?? 0) + 1
    }
    Object.assign(signal, {
      addEventListener: count('addEventListener'),
      removeEventListener: count('removeEventListener'),
    })
    const journal = new Journal()
    journal.grow(1)
    const watching = journal.watch({ signal })
    await take(watching, 1)
    await watching.return(undefined)
    expect(counts).toEqual({ addEventListener: 1, removeEventListener: 1 })
  })
})

describe('a bell', () => {
  it('wakes everybody who listens for a key, once', async () => {
    const bell = new Bell()
    const heard: string[] = []
    const listen = (name: string, key: string) => void bell.listen(key).then(() => heard.push(name))
    listen('a', 'k')
    listen('b', 'k')
    listen('c', 'other')
    bell.ring('k')
    bell.ring('k')
    await Promise.resolve()
    expect(heard).toEqual(['a', 'b'])
    listen('d', 'k')
    bell.ringAll()
    bell.ring('nobody')
    await Promise.resolve()
    expect(heard).toEqual(['a', 'b', 'c', 'd'])
  })
})
