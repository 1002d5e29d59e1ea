/** Agents that follow a conversation which another one drives, or which another caller steps. */
import { describe, expect, it } from 'vitest'
import type { Turn } from '../../src/agent/index.ts'
import { HoldfastError } from '../../src/protocol/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { bench, calls, gate, journal, KEY, probe, quiet, until } from '../turn/kit.ts'
import { withMethods } from './refusing-store.ts'

const isEntry = (event: object): event is { type: string; seq: number } => 'seq' in event

async function entriesOf(turn: Turn): Promise<string[]> {
  const lines: string[] = []
  for await (const event of turn) if (isEntry(event)) lines.push(`${event.seq} ${event.type}`)
  return lines
}

/** A turn that waits in its tool, and a second agent that has loaded the conversation before it or not. */
async function inTool({ isLoaded }: { readonly isLoaded: boolean }) {
  const held = gate()
  const slow = probe('slow', () => held.promise)
  const script = ['first', { text: 'Looking it up', ...(calls('slow') as object) }, 'Done']
  const { agent, store, another } = bench({ script, tools: [slow], realTime: true, leaseMs: 300 })
  const other = another()
  await agent.executeTurn('one').outcome
  if (isLoaded) await other.requests()
  const turn = agent.executeTurn('two')
  await until('the tool runs', () => slow.ran.length > 0)
  return { agent, other, store, turn, slow, release: () => held.resolve() }
}

describe('a second agent that comes to a running turn', () => {
  it.each([true, false])('by lastTurn() gets each entry once (loaded before: %s)', async (isLoaded) => {
    const { other, turn, release } = await inTool({ isLoaded })
    const own = entriesOf(turn)
    const followed = (await other.lastTurn()) as Turn
    const seen = entriesOf(followed)
    release()
    expect((await followed.outcome).text).toBe((await turn.outcome).text)
    const lines = await seen
    const start = (await own).findIndex((line) => line.endsWith('turn.start'))
    expect(lines).toEqual((await own).slice(start))
  })

  it.each([true, false])(
    'by a request to continue gets its whole reply (loaded before: %s)',
    async (isLoaded) => {
      const { other, turn, release } = await inTool({ isLoaded })
      const followed = other.executeTurn(null)
      const seen: string[] = []
      const reading = (async () => {
        for await (const event of followed) if (isEntry(event)) seen.push(`${event.seq} ${event.type}`)
      })()
      await until('it follows', () => seen.some((line) => line.endsWith('tool.start')))
      release()
      expect((await followed.outcome).text).toBe((await turn.outcome).text)
      await reading
      const lines = seen.slice(seen.findIndex((line) => line.endsWith('turn.start')))
      const types = [
        'turn.start',
        'model.start',
        'model.end',
        'tool.start',
        'tool.end',
        'model.start',
        'model.end',
        'turn.end',
      ]
      expect(lines.map((line) => line.split(' ')[1])).toEqual(types)
    },
  )
})

describe('a turn that is paused', () => {
  it('is left alone by those who follow it, until one of them starts', async () => {
    const { agent, other, store, slow, release } = await inTool({ isLoaded: true })
    const followed = (await other.lastTurn()) as Turn
    const pausing = agent.pause()
    release()
    await pausing
    const before = await journal(store)
    // Several heartbeats, in which the follower looks at the head.
    await new Promise((resolve) => setTimeout(resolve, 700))
    expect(await journal(store)).toEqual(before)
    expect((await store.head(KEY))?.status).toBe('paused')
    await other.start()
    expect(await followed.outcome).toMatchObject({ status: 'completed' })
    expect(slow.ran).toHaveLength(1)
  })

  it('goes on with the next message of one who follows it', async () => {
    const { agent, other, release } = await inTool({ isLoaded: true })
    const followed = (await other.lastTurn()) as Turn
    const pausing = agent.pause()
    release()
    await pausing
    expect(await other.executeTurn('Go on', { whileBusy: 'steer' }).outcome).toMatchObject({
      status: 'completed',
    })
    expect(await followed.outcome).toMatchObject({ status: 'completed' })
  })
})

it('a request to step a turn that is refused leaves no other caller waiting', async () => {
  const { agent } = bench({ script: ['one', 'two'], realTime: true })
  const turn = agent.executeTurn('a')
  const refused = agent.executeTurn('b', { manual: true, signal: AbortSignal.abort() })
  expect(await refused.outcome).toMatchObject({ status: 'cancelled' })
  expect(await turn.outcome).toMatchObject({ status: 'completed', text: 'one' })
})

it('a manual turn whose store fails is not driven on when all callers were refused', async () => {
  const inner = memoryStore()
  let isFailing = false
  let refusals = 0
  const store = withMethods(inner, {
    append: async (request) => {
      if (isFailing && request.inbox === undefined && refusals++ < 1)
        throw new HoldfastError('store-failed', { message: 'The test fails this append.' })
      return inner.append(request)
    },
  })
  const { agent } = bench({ script: ['one', 'two'], realTime: true, store })
  const turn = agent.executeTurn('a', { manual: true })
  await turn.step()
  const queued = agent.executeTurn('b', { whileBusy: 'queue' })
  await expect.poll(() => journal(inner)).toContainEqual(expect.stringContaining('"b"'))
  isFailing = true
  await turn.step().catch(() => {})
  expect(await turn.outcome).toMatchObject({ status: 'failed' })
  expect(await queued.outcome).toMatchObject({ status: 'failed' })
  await quiet()
  expect((await journal(inner)).at(-1)).toBe('6 release trouble')
})
