/**
 * A graph: two parallel lookups, a question for a person, an effect that happens once. The run waits for the answer in
 * the journal, so another process can take it tomorrow.
 */
import { memoryStore } from 'holdfast'
import { END, graph, list, START, value } from 'holdfast/graph'

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

const flow = graph({
  name: 'order',
  state: { item: value<string>(), offers: list<string>(), order: value<string>() },
})
  .addNode('near', async ({ item }) => {
    await wait(20)
    return { offers: `${item} from the shop around the corner, 12 euros` }
  })
  .addNode('far', ({ item }) => ({ offers: `${item} by mail, 9 euros` }))
  .addNode('choose', async ({ offers }, { interrupt }) => ({
    order: await interrupt({ kind: 'choice', prompt: 'Which one?', options: [...offers] }),
  }))
  .addNode('buy', async ({ order }, { step }) => {
    const number = await step('order', ({ idempotencyKey }) => {
      console.log(`  ordering "${order}", key ${idempotencyKey}`)
      return 4711
    })
    return { order: `${order}: ordered, number ${number}` }
  })
  .addEdge(START, 'near')
  .addEdge(START, 'far')
  .addEdge(['near', 'far'], 'choose')
  .addConditionalEdges('choose', ({ order }) => (order === undefined ? 'nothing' : 'something'), {
    something: 'buy',
    nothing: END,
  })
  .addEdge('buy', END)
  .compile({ store: memoryStore() })

console.log(flow.toMermaid())

const contextId = 'lamp'
const run = flow.stream({ item: 'a lamp' }, { contextId })
for await (const event of run)
  if (event.type === 'graph.step') console.log(`step: ${event.data.tasks.map(({ task }) => task).join(', ')}`)

const { requests, state } = await run.outcome
const [question] = requests
console.log(`\n${question?.prompt}`, question?.options)
console.log(state)

const answered = await flow.answer({ [question?.requestId ?? '']: state.offers[1] ?? '' }, { contextId })
  .outcome
console.log(`\n${answered.status}: ${answered.state.order}`)

console.log('\nthe same, step by step:')
for await (const { seq, after, next } of flow.history({ contextId }))
  console.log(
    `  entry ${seq}: after ${after.join(', ') || 'the start'}, next ${next.map(({ node }) => node).join(', ') || '-'}`,
  )
