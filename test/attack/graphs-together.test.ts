/** Several who ask the same run at once: inputs, answers, cancels, listeners; in one process and on one file. */
import { describe, expect, it } from 'vitest'
import { END, type Graph, graph, list, type NodeFunction, START } from '../../src/graph/index.ts'
import type { Store } from '../../src/store/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { PLACES } from '../graph/kit.ts'
import { until } from '../turn/kit.ts'
import { wait } from './kit.ts'

const STATE = { said: list<string>() }
type Node = NodeFunction<typeof STATE>
type Flow = Graph<typeof STATE>

const contextId = 'talk'

function flowOn(store: Store, node: Node): Flow {
  return graph({ state: STATE })
    .addNode('work', node)
    .addEdge(START, 'work')
    .addEdge('work', END)
    .compile({ store })
}

const asking: Node = async (_, { interrupt }) => ({
  said: await interrupt({ kind: 'text', prompt: '?' }),
})

/** Until it is cancelled, in the first turn; at once in the others. */
const stubborn: Node = async (_, { turn, signal }) => {
  if (turn === 1 && !signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve))
}

describe.each(PLACES)('on %s', (_, place) => {
  function two(node: Node): [Flow, Flow] {
    const { store, another } = place()
    return [flowOn(store, node), flowOn(another(), node)]
  }

  const isRunning = (flow: Flow) =>
    until('it runs', async () => ((await flow.getState({ contextId }))?.next.length ?? 0) > 0)

  it('inputs from both sides are runs one after the other, and none is lost', async () => {
    const [one, other] = two((_state, { turn }) => ({ said: `turn ${turn}` }))
    const runs = ['a', 'b', 'c', 'd'].map((said, index) =>
      (index % 2 === 0 ? one : other).invoke({ said }, { contextId }),
    )
    const turns = (await Promise.all(runs)).map(({ turn }) => turn)
    expect(turns.toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4])
    const { state } = (await one.getState({ contextId })) ?? {}
    expect(state?.said).toHaveLength(8)
  })

  it('of two answers to one question one counts, and the other one is told', async () => {
    const [one, other] = two(asking)
    await one.invoke({}, { contextId })
    const answer = (flow: Flow, said: string) => flow.answer({ 'work.1/answer': said }, { contextId }).outcome
    const outcomes = await Promise.all([answer(one, 'this'), answer(other, 'that'), answer(one, 'third')])
    expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['completed', 'failed', 'failed'])
    const refused = outcomes.flatMap(({ error }) => error?.code ?? [])
    expect(['not-taken', 'invalid-answer']).toEqual(expect.arrayContaining(refused))
    expect((await one.getState({ contextId }))?.state.said).toHaveLength(1)
  })

  it('an answer and an input at once: whichever is first, both are told', async () => {
    const [one, other] = two(asking)
    await one.invoke({}, { contextId })
    const [answered, anew] = await Promise.all([
      one.answer({ 'work.1/answer': 'yes' }, { contextId }).outcome,
      other.stream({ said: 'new' }, { contextId }).outcome,
    ])
    expect(['completed', 'failed']).toContain(answered.status)
    expect([anew.status, anew.requests.length]).toEqual(['input-required', 1])
  })

  it('null follows a run that another one drives, to the same end', async () => {
    const held = Promise.withResolvers<void>()
    const [one, other] = two(async () => {
      await held.promise
      return { said: 'done' }
    })
    const run = one.stream({}, { contextId })
    await isRunning(other)
    const following = other.stream(null, { contextId })
    await wait(30)
    held.resolve()
    const types: string[] = []
    for await (const { type } of following) types.push(type)
    expect(types).toEqual(['turn.start', 'graph.start', 'graph.step', 'node.end', 'graph.step', 'turn.end'])
    const [here, there] = await Promise.all([run.outcome, following.outcome])
    expect([here.turn, here.state, here.status]).toEqual([there.turn, there.state, there.status])
  })

  it('cancel ends the run that is going on, whoever asks and whatever waits behind it', async () => {
    for (const canceller of [0, 1]) {
      const flows = two(stubborn)
      const [one, other] = flows
      const run = one.stream({}, { contextId })
      await isRunning(other)
      const queued = (flows[canceller] ?? one).stream({}, { contextId })
      await wait(20)
      await flows[canceller]?.cancel({ contextId })
      expect([(await run.outcome).status, (await queued.outcome).status]).toEqual(['cancelled', 'completed'])
    }
  })

  it('the same key is one run, whoever sends it', async () => {
    let runs = 0
    const [one, other] = two(() => {
      runs += 1
    })
    const sent = [one, other, one].map((flow) => flow.invoke({}, { contextId, key: 'order-7' }))
    const outcomes = await Promise.all(sent)
    expect([runs, ...outcomes.map(({ turn }) => turn)]).toEqual([1, 1, 1, 1])
  })
})

it('cancel of a process whose claim is about to be refused ends the run of the other', async () => {
  const store = memoryStore()
  const asked = Promise.withResolvers<void>()
  const answered = Promise.withResolvers<void>()
  const append: Store['append'] = async (request) => {
    if (request.claim !== undefined) {
      asked.resolve()
      await answered.promise
    }
    return store.append(request)
  }
  const slow = new Proxy(store, {
    get: (target, name) => {
      if (name === 'append') return append
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
  const [one, other] = [flowOn(store, stubborn), flowOn(slow, stubborn)]
  const run = one.stream({}, { contextId })
  await until('it runs', async () => ((await one.getState({ contextId }))?.next.length ?? 0) > 0)
  const queued = other.stream({}, { contextId })
  await asked.promise
  const cancelling = other.cancel({ contextId })
  answered.resolve()
  await cancelling
  expect([(await run.outcome).status, (await queued.outcome).status]).toEqual(['cancelled', 'completed'])
})

it('cancel reaches a run that has only just been asked for', async () => {
  const flow = flowOn(memoryStore(), stubborn)
  const run = flow.stream({}, { contextId })
  await flow.cancel({ contextId })
  expect((await run.outcome).status).toBe('cancelled')
})
