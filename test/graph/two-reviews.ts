/**
 * A text that two people review side by side, each in a graph of its own; the test decides which answers come when and
 * in which process. As a program it answers: `node two-reviews.ts FILE CONTEXT ANSWERS`.
 */
import type { Clock } from '../../src/base/index.ts'
import { type Channel, END, type Graph, graph, list, START, value } from '../../src/graph/index.ts'
import type { Json } from '../../src/protocol/index.ts'
import type { Store } from '../../src/store/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'

type Review = {
  readonly text: Channel<string | undefined, string>
  readonly verdicts: Channel<readonly string[], string | readonly string[]>
}
type Whole = Review & { readonly published: Channel<string | undefined, string> }

const review: Review = { text: value<string>(), verdicts: list<string>() }
const whole: Whole = { ...review, published: value<string>() }

/** `prepared`: called for every effect. */
export function twoReviews(
  store: Store,
  { clock, prepared = () => {} }: { readonly clock?: Clock; readonly prepared?: (what: string) => void } = {},
): Graph<Whole> {
  const reviewer = (name: string, expiresInMs: number): Graph<Review> =>
    graph({ name, state: review })
      .addNode('prepare', async ({ text }, { step }) => {
        await step('note', () => prepared(`${name} prepares ${text}`))
      })
      .addNode('ask', async ({ text }, { interrupt }) => {
        const said = await interrupt({
          kind: 'text',
          prompt: `${name}: is "${text}" good?`,
          expiresInMs,
          otherwise: 'nothing',
        })
        return { verdicts: `${name} says ${said}` }
      })
      .addEdge(START, 'prepare')
      .addEdge('prepare', 'ask')
      .addEdge('ask', END)
      .compile()
  return graph({ name: 'reviews', state: whole })
    .addNode('ann', reviewer('Ann', 60_000))
    .addNode('bob', reviewer('Bob', 1000))
    .addNode('publish', ({ verdicts }) => ({ published: verdicts.join(', ') }))
    .addEdge(START, 'ann')
    .addEdge(START, 'bob')
    .addEdge(['ann', 'bob'], 'publish')
    .addEdge('publish', END)
    .compile({ store, ...(clock === undefined ? {} : { clock }) })
}

if (import.meta.main) {
  const [, , file = '', contextId = '', answers = '{}'] = process.argv
  const store = sqliteStore(file)
  const given = JSON.parse(answers) as Record<string, Json>
  const { status, requests, state } = await twoReviews(store).answer(given, { contextId }).outcome
  const asked = requests.map(({ requestId }) => requestId)
  process.stdout.write(JSON.stringify({ status, requests: asked, state }))
  await store.close()
}
