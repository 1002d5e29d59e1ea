/** Turns that one agent pauses while another follows them: left alone until a caller comes, and never lost. */
import { describe, expect, it } from 'vitest'
import type { Turn } from '../../src/agent/index.ts'
import type { Entry } from '../../src/protocol/index.ts'
import type { Store } from '../../src/store/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { bench, calls, gate, journal, KEY, probe, until } from '../turn/kit.ts'
import { withMethods } from './refusing-store.ts'

interface Following {
  readonly leaseMs?: number
  /** The store of the second agent. */
  readonly through?: (store: Store) => Store
}

/** A turn that waits in its tool, a second agent, and a third one. */
async function inTool({ leaseMs = 300, through = (store) => store }: Following = {}) {
  const held = gate()
  const slow = probe('slow', () => held.promise)
  const store = memoryStore()
  const { agent, another } = bench({
    script: [calls('slow'), 'Done'],
    tools: [slow],
    realTime: true,
    leaseMs,
    store,
  })
  const other = another({ store: through(store) })
  const turn = agent.executeTurn('one')
  await until('the tool runs', () => slow.ran.length > 0)
  const pause = async () => {
    const pausing = agent.pause()
    held.resolve()
    await pausing
  }
  return { agent, other, third: another(), store, turn, slow, pause }
}

/** Several heartbeats of a follower. */
const heartbeats = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 500))

async function posted(store: Store, count: number): Promise<void> {
  const inputs = async () => (await store.read(KEY)).filter(({ type }) => type === 'input')
  await expect.poll(async () => (await inputs()).length).toBe(count)
}

const isPaused = async (store: Store): Promise<boolean> => (await store.head(KEY))?.status === 'paused'

/** A store whose watches see nothing until `release`. */
function holdingWatch() {
  const [held, watched] = [gate(), gate()]
  const through = (store: Store): Store =>
    withMethods(store, {
      watch: (key, options) => {
        watched.resolve()
        const watch = store.watch(key, options)
        return (async function* late(): AsyncGenerator<Entry> {
          const ended = new Promise<void>((resolve) =>
            options?.signal?.addEventListener('abort', () => resolve()),
          )
          await Promise.race([held.promise, ended])
          for await (const entry of watch) yield entry
        })() as ReturnType<Store['watch']>
      },
    })
  return { through, watched: watched.promise, release: () => held.resolve() }
}

describe('a follower of a paused turn', () => {
  it('continues it for a caller that comes before the pause is seen here', async () => {
    const { through, watched, release } = holdingWatch()
    const { other, store, pause } = await inTool({ through, leaseMs: 60_000 })
    const followed = (await other.lastTurn()) as Turn
    await watched
    await pause()
    const steering = other.executeTurn('Go on', { whileBusy: 'steer' })
    await posted(store, 2)
    release()
    expect(await steering.outcome).toMatchObject({ status: 'completed' })
    expect(await followed.outcome).toMatchObject({ status: 'completed' })
  })

  it('leaves it alone when others write to the conversation', async () => {
    const { other, third, store, pause } = await inTool()
    await other.lastTurn()
    await pause()
    await third.artifacts.writeFile('notes', 'of a third')
    const before = await journal(store)
    await heartbeats()
    expect(await journal(store)).toEqual(before)
    expect(await isPaused(store)).toBe(true)
  })

  it('leaves it alone after a head that could not be read', async () => {
    let isFailing = false
    const through = (store: Store): Store =>
      withMethods(store, {
        head: async (key) => {
          if (!isFailing) return store.head(key)
          isFailing = false
          throw new Error('The test fails this read.')
        },
      })
    const { other, store, pause } = await inTool({ through })
    await other.lastTurn()
    await pause()
    const before = await journal(store)
    await heartbeats()
    isFailing = true
    await until('the head was read', () => !isFailing)
    await heartbeats()
    expect(await journal(store)).toEqual(before)
  })

  it('leaves it alone if it was paused while it was read', async () => {
    const [reading, read] = [gate(), gate()]
    const through = (store: Store): Store =>
      withMethods(store, {
        read: async (key, range) => {
          const entries = await store.read(key, range)
          if (range?.turn === undefined) return entries
          reading.resolve()
          await read.promise
          return entries
        },
      })
    const { other, store, pause } = await inTool({ through })
    const following = other.lastTurn()
    await reading.promise
    await pause()
    const before = await journal(store)
    read.resolve()
    await following
    await heartbeats()
    expect(await journal(store)).toEqual(before)
  })

  it('leaves it alone after a cancel of an earlier turn', async () => {
    const [one, two] = [gate(), gate()]
    const slow = probe('slow', () => (slow.ran.length === 1 ? one.promise : two.promise))
    const { agent, another, store } = bench({
      script: [calls('slow'), calls('slow'), 'Done'],
      ...{ tools: [slow], realTime: true, leaseMs: 300 },
    })
    const other = another()
    const cancelled = agent.executeTurn('one')
    await until('the tool runs', () => slow.ran.length === 1)
    await other.cancel()
    one.resolve()
    expect(await cancelled.outcome).toMatchObject({ status: 'cancelled' })
    agent.executeTurn('two')
    await until('the tool runs', () => slow.ran.length === 2)
    const pausing = agent.pause()
    two.resolve()
    await pausing
    const before = await journal(store)
    await other.lastTurn()
    await heartbeats()
    expect(await journal(store)).toEqual(before)
  })

  it('sees it continued by the one who paused it', async () => {
    const { agent, other, turn, pause } = await inTool()
    await pause()
    const followed = (await other.lastTurn()) as Turn
    await agent.start()
    expect(await followed.outcome).toEqual(await turn.outcome)
  })

  it('continues it when an engine drives', async () => {
    const { other, pause } = await inTool()
    const followed = (await other.lastTurn()) as Turn
    const driving = other.drive()
    await pause()
    await driving
    while ((await other.drive()).state === 'again');
    expect(await followed.outcome).toMatchObject({ status: 'completed' })
  })

  it('cancels it', async () => {
    const { other, pause } = await inTool()
    const followed = (await other.lastTurn()) as Turn
    await pause()
    await followed.cancel()
    expect(await followed.outcome).toMatchObject({ status: 'cancelled' })
  })

  it('refuses to clear it at once', async () => {
    const { other, pause } = await inTool()
    await other.lastTurn()
    await pause()
    await expect(other.clear()).rejects.toMatchObject({ code: 'in-use' })
  })

  it('cancels it by its number', async () => {
    const { other, turn, pause } = await inTool()
    const followed = (await other.lastTurn()) as Turn
    await pause()
    await other.cancel('by number', { turn: turn.number })
    expect(await followed.outcome).toMatchObject({ status: 'cancelled' })
  })

  it('ends with an error when the conversation is erased', async () => {
    const { other, store, pause } = await inTool()
    const followed = (await other.lastTurn()) as Turn
    await pause()
    await heartbeats()
    await store.erase(KEY)
    expect(await followed.outcome).toMatchObject({ status: 'failed', error: { code: 'erased' } })
  })
})
