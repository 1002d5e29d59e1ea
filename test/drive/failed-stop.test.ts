/** A stop whose writes the store refuses: the turn is released as requested once they are taken, and every caller is told. */
import { expect, it } from 'vitest'
import { END, graph, START, value } from '../../src/graph/index.ts'
import type { AppendRequest } from '../../src/store/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { faultyStore } from '../../src/testing/faulty-store.ts'
import { bench, calls, gate, journal, KEY, probe, until } from '../turn/kit.ts'

/** A store that refuses the first release. */
function refusingRelease() {
  let isFirst = true
  const at = ({ entries = [] }: AppendRequest) => {
    const isRefused = isFirst && entries.some(({ type }) => type === 'release')
    isFirst &&= !isRefused
    return isRefused
  }
  return faultyStore(memoryStore(), [{ at, how: 'refuse' }])
}

it('a pause stays a pause', async () => {
  const [store, ended] = [refusingRelease(), gate()]
  const slow = probe('slow', () => ended.promise)
  const { agent } = bench({ store, tools: [slow], script: [calls('slow'), 'Done.'] })
  const turn = agent.executeTurn('Hi')
  await until('the tool runs', () => slow.ran.length === 1)
  const paused = agent.pause()
  ended.resolve()
  await expect(paused).rejects.toMatchObject({ code: 'store-failed' })
  await until('it is released', async () => (await journal(store)).at(-1)?.includes('release'))
  expect(await store.head(KEY)).toMatchObject({ status: 'paused' })
  await agent.resume()
  expect((await turn.outcome).text).toBe('Done.')
})

it('a pause holds for a turn that broke before and is not released yet', async () => {
  let isBroken = true
  const at = ({ epoch }: AppendRequest) => isBroken && epoch !== undefined
  const store = faultyStore(memoryStore(), [{ at, how: 'refuse' }])
  const { agent, clock } = bench({ store, script: ['Done.', 'Done.'] })
  expect((await agent.executeTurn('Hi').outcome).error).toMatchObject({ stored: true })
  await agent.pause().catch(() => {})
  isBroken = false
  clock.advance(1000)
  await until('it is released', async () => (await journal(store)).at(-1)?.includes('release'))
  expect(await store.head(KEY)).toMatchObject({ status: 'paused' })
})

it('a graph that is closed tells those who wait for its run', async () => {
  const [store, begun, ended] = [refusingRelease(), gate(), gate()]
  const flow = graph({ state: { a: value('') } })
    .addNode('one', async () => {
      begun.resolve()
      await ended.promise
      return { a: 'x' }
    })
    .addNode('two', () => ({ a: 'y' }))
    .addEdge(START, 'one')
    .addEdge('one', 'two')
    .addEdge('two', END)
    .compile({ store })
  const run = flow.stream({}, { contextId: 'order-7' })
  await begun.promise
  const closed = flow.shutdown({ contextId: 'order-7' })
  ended.resolve()
  await expect(closed).rejects.toMatchObject({ code: 'store-failed' })
  expect((await run.outcome).error).toMatchObject({ code: 'shutdown', stored: true })
})
