/** Values from before a run's question neither answer nor dismiss it; their run comes after. */
import { describe, expect, it } from 'vitest'
import { END, type GraphRun, graph, list, START, value } from '../../src/graph/index.ts'
import { LOCAL_OWNER } from '../../src/protocol/index.ts'
import { gate, until } from '../turn/kit.ts'
import { nodesOf, PLACES, type Place } from './kit.ts'

const contextId = 'text'
const state = { text: value<string>(), said: list<string>() }

/** Works, asks about its text, and keeps the answer. Only the first run waits for the gate. */
function flow({ store }: Pick<Place, 'store'>, work: Promise<void>) {
  return graph({ name: 'flow', state })
    .addNode('work', () => work)
    .addNode('ask', async ({ text = '' }, { interrupt }) => {
      const told = text === 'Hi' ? await interrupt({ kind: 'text', prompt: `${text}?` }) : 'nothing'
      return { said: `${text}: ${told}` }
    })
    .addEdge(START, 'work')
    .addEdge('work', 'ask')
    .addEdge('ask', END)
    .compile({ store })
}

/** One run that asks, and others that were requested before it asked. */
async function queued(place: Pick<Place, 'store'>, ...texts: string[]) {
  const { promise, resolve } = gate()
  const flowing = flow(place, promise)
  const first = flowing.stream({ text: 'Hi' }, { contextId })
  const key = { ...LOCAL_OWNER, contextId }
  await until('it runs', async () => (await place.store.head(key))?.status === 'running')
  const runs: GraphRun<typeof state>[] = []
  for (const text of texts) {
    runs.push(flowing.stream({ text }, { contextId }))
    await until('it is posted', async () => (await place.store.inbox(key)).length === runs.length)
  }
  resolve()
  const asked = await first.outcome
  const outcomes = await Promise.all(runs.map(({ outcome }) => outcome))
  return { flowing, asked, outcomes }
}

describe.each(PLACES)('values that were queued before a question, on %s', (_, open) => {
  it('leave it open, and are run when the run that asked is over', async () => {
    const place = open()
    const { flowing, asked, outcomes } = await queued(place, 'Bye', 'Again')
    expect(outcomes.map(({ status, requests }) => [status, requests])).toEqual([
      ['input-required', asked.requests],
      ['input-required', asked.requests],
    ])
    const { status, state: reached } = await flowing.answer({ 'ask.2/answer': 'yes' }, { contextId }).outcome
    expect([status, reached]).toEqual([
      'completed',
      { text: 'Again', said: ['Hi: yes', 'Bye: nothing', 'Again: nothing'] },
    ])
    expect(await nodesOf(place.store, contextId)).toEqual(['work', 'ask', 'work', 'ask', 'work', 'ask'])
  })

  it('are run by another process, too', async () => {
    const place = open()
    await queued(place, 'Bye')
    const other = flow({ store: place.another() }, Promise.resolve())
    const { state: reached } = await other.answer({ 'ask.2/answer': 'no' }, { contextId }).outcome
    expect(reached.said).toEqual(['Hi: no', 'Bye: nothing'])
  })

  it('are run before the values that give the question up', async () => {
    const place = open()
    const { flowing } = await queued(place, 'Bye')
    const { state: reached } = await flowing.invoke({ text: 'New' }, { contextId })
    expect(reached.said).toEqual(['Bye: nothing', 'New: nothing'])
  })
})
