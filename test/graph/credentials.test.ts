/** Runs with credentials: names of the program stay readable, and a request for credentials is the run's own. */
import { expect, it } from 'vitest'
import { END, graph, list, START, value } from '../../src/graph/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'

const where = { contextId: 'c' }

it('a run that a limit stopped goes on at a node whose name is one of the credentials', async () => {
  const flow = graph({ state: { log: list<string>() } })
    .addNode('plan', () => ({ log: 'planned' }))
    .addNode('research', () => ({ log: 'researched' }))
    .addNode('write', () => ({ log: 'written' }))
    .addEdge(START, 'plan')
    .addEdge(START, 'research')
    .addConditionalEdges('plan', () => 'research', ['research'])
    .addEdge(['plan', 'research'], 'write')
    .addEdge('write', END)
    .compile()
  const auth = { credentials: { account: 'research' } }
  const options = { ...where, auth, limits: { steps: 1 } }
  const stopped = await flow.stream({}, options).outcome
  expect(stopped.limit).toBe('steps')
  const { status, error } = await flow.stream(null, { ...where, auth }).outcome
  expect({ status, error }).toEqual({ status: 'completed', error: undefined })
})

it('the node that failed is named, also if its name is one of the credentials', async () => {
  const flow = graph({ state: {} })
    .addNode('research', () => {
      throw new Error('the account research is locked')
    })
    .addEdge(START, 'research')
    .addEdge('research', END)
    .compile()
  const { error } = await flow.stream({}, { ...where, auth: { credentials: { account: 'research' } } })
    .outcome
  expect(error).toMatchObject({ node: 'research', task: 'research.1' })
  expect(error?.message).toBe('the account [redacted] is locked')
})

it('the events of a request for credentials have the path of the run', async () => {
  const store = memoryStore()
  const flow = () =>
    graph({ state: { said: value<unknown>() } })
      .addNode('ask', async (_, { interrupt }) => ({
        said: await interrupt({ kind: 'text', prompt: 'Who?' }),
      }))
      .addEdge(START, 'ask')
      .addEdge('ask', END)
      .compile({ store })
  const auth = { credentials: { token: 'sesame-open-4711' } }
  const pathsOf = async (run: ReturnType<ReturnType<typeof flow>['stream']>): Promise<unknown[]> => {
    const paths: unknown[] = []
    for await (const { type, path } of run) if (type.startsWith('request.')) paths.push([type, path])
    return paths
  }
  await flow().invoke({}, { ...where, auth })
  expect(await pathsOf(flow().answer({ 'ask.1/answer': 'Ann' }, where))).toEqual([
    ['request.end', ['ask.1']],
    ['request.start', []],
  ])
  expect(await pathsOf(flow().stream(null, { ...where, auth }))).toEqual([['request.end', []]])
})
