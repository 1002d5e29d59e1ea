/** A deploy that renames a node while a run is open: edges that are gone end no run as if it were complete. */
import { expect, it } from 'vitest'
import { END, graph, list, START } from '../../src/graph/index.ts'
import type { Store } from '../../src/store/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'

const contextId = 'c'

/** `draft` has ended while `ask` waits; `send` comes after `draft`. */
function version(store: Store, draft: string) {
  return graph({ state: { done: list<string>() } })
    .addNode<string, { readonly done: string }>(draft, () => ({ done: 'draft' }))
    .addNode('ask', async (_, { interrupt }) => ({ done: await interrupt({ kind: 'text', prompt: 'Ok?' }) }))
    .addNode('send', () => ({ done: 'send' }))
    .addEdge(START, draft)
    .addEdge(START, 'ask')
    .addEdge(draft, 'send')
    .addEdge('ask', END)
    .addEdge('send', END)
    .compile({ store })
}

it('a renamed node that has ended fails the run, and null goes on once it is back', async () => {
  const store = memoryStore()
  await version(store, 'draft').invoke({}, { contextId })
  const failed = await version(store, 'outline').answer({ 'ask.2/answer': 'yes' }, { contextId }).outcome
  expect([failed.status, failed.error]).toEqual([
    'failed',
    {
      code: 'no-such-node',
      message: 'The graph has no node draft any more. Add it again, or give the graph a new input.',
      node: 'draft',
    },
  ])
  const done = await version(store, 'draft').invoke(null, { contextId })
  expect([done.status, done.state]).toEqual(['completed', { done: ['draft', 'yes', 'send'] }])
})
