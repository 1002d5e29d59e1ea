/** R18: watching is reading by position; a notifier only speeds it up, and no notification is lost. */
import { describe, expect, it } from 'vitest'
import type { Entry } from '../protocol/index.ts'
import { Notifier, type Watch, watchEntries } from './watch.ts'

function entry(seq: number): Entry {
  return { seq, turn: 0, at: 1, type: 'note', v: 1, data: {} }
}

/** A journal in a list, read in pages; notifies on demand. */
class Journal {
  readonly notifier = new Notifier()
  readonly reads: [number, number][] = []
  length = 0
  ended = false
  /** Called during a read, before it resolves. */
  meanwhile: () => void = () => {}

  grow(count: number): void {
    this.length += count
    this.notifier.notify('k')
  }

  watch(options: { since?: number; signal?: AbortSignal } = {}): Watch {
    return watchEntries(
      { notifier: this.notifier, key: 'k', read: (from, limit) => this.#read(from, limit) },
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

async function take(watching: Watch, count: number): Promise<number[]> {
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

  it('reads page after page without waiting for a notification', async () => {
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
    const watching = watchEntries({ notifier: new Notifier(), key: 'k', read })
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
    await watching.return()
    expect(counts).toEqual({ addEventListener: 1, removeEventListener: 1 })
  })

  it('ends at once when it is left while it waits, and so does what waits for it', async () => {
    const journal = new Journal()
    const watching = journal.watch()
    const waiting = watching.next()
    await new Promise((resolve) => setTimeout(resolve, 5))
    expect(await watching.return()).toEqual({ done: true, value: undefined })
    expect(await waiting).toEqual({ done: true, value: undefined })
    expect(await watching.next()).toEqual({ done: true, value: undefined })
    expect(journal.notifier.size).toBe(0)
  }, 1000)

  it('gives nothing more when it is left while it reads', async () => {
    const journal = new Journal()
    journal.grow(3)
    const watching = journal.watch()
    const waiting = watching.next()
    await watching.return()
    expect(await waiting).toEqual({ done: true, value: undefined })
  }, 1000)

  it('is opened before it reads and closed once, however it ends; not at all if it never began', async () => {
    const calls: string[] = []
    const watched = {
      notifier: new Notifier(),
      key: 'k',
      read: async () => {
        calls.push('read')
        return { entries: [entry(1)], ended: true }
      },
      open: async () => void calls.push('open'),
      close: () => void calls.push('close'),
    }
    await watchEntries(watched).return()
    expect(calls).toEqual([])
    expect(await take(watchEntries(watched), 9)).toEqual([1])
    expect(calls.splice(0)).toEqual(['open', 'read', 'close'])
    const left = watchEntries(watched)
    await take(left, 1)
    await left.return()
    expect(calls.splice(0)).toEqual(['open', 'read', 'close'])
    const open = async () => {
      throw new Error('closed')
    }
    await expect(watchEntries({ ...watched, open }).next()).rejects.toThrow('closed')
    expect(calls).toEqual([])
  })

  it('leaves nothing behind on the notifier while its reader is busy or gone', async () => {
    const journal = new Journal()
    journal.grow(1)
    const watching = journal.watch()
    await take(watching, 1)
    expect(journal.notifier.size).toBe(0)
    const stop = new AbortController()
    const aborted = take(journal.watch({ since: 1, signal: stop.signal }), 1)
    await new Promise((resolve) => setTimeout(resolve, 5))
    expect(journal.notifier.size).toBe(1)
    stop.abort()
    await aborted
    expect(journal.notifier.size).toBe(0)
  })
})

describe('a notifier', () => {
  it('tells everybody who listens for a key, until they leave', () => {
    const notifier = new Notifier()
    const heard: string[] = []
    const listen = (name: string, key: string) => notifier.listen(key, () => heard.push(name))
    const leave = listen('a', 'k')
    listen('b', 'k')
    listen('c', 'other')
    notifier.notify('k')
    notifier.notify('nobody')
    expect(heard.splice(0)).toEqual(['a', 'b'])
    leave()
    notifier.notifyAll()
    expect(heard).toEqual(['b', 'c'])
  })

  it('forgets a key when the last of its listeners leaves, and only then', () => {
    const notifier = new Notifier()
    const heard: string[] = []
    const [one, two] = [notifier.listen('k', () => {}), notifier.listen('k', () => {})]
    one()
    expect(notifier.size).toBe(1)
    two()
    expect(notifier.size).toBe(0)
    notifier.listen('k', () => heard.push('later'))
    two()
    notifier.notify('k')
    expect(heard).toEqual(['later'])
  })
})
