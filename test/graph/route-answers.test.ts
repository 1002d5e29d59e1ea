/** The answer of a route is durable before anything acts on it, so no step evaluates a route twice. */
import { describe, expect, it } from 'vitest'
import { END, type Graph, type GraphOptions, graph, list, START } from '../../src/graph/index.ts'
import { LOCAL_OWNER } from '../../src/protocol/index.ts'
import type { Store } from '../../src/store/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { faultyStore } from '../../src/testing/index.ts'
import { gate, quiet } from '../turn/kit.ts'

const contextId = 'c'
const key = { ...LOCAL_OWNER, contextId }
const state = { seen: list<string>() }

interface World {
  /** How often the route ran. */
  asked: number
  /** Tasks that were started, by any process. */
  readonly begun: string[]
}

/** A loop of four steps whose route never answers the same twice in a row. */
function winding(store: Store, world: World, options: GraphOptions = {}): Graph<typeof state> {
  const node = (_: unknown, { task }: { task: string }) => {
    world.begun.push(task)
    return { seen: [task] }
  }
  return graph({ state })
    .addNode('a', node)
    .addNode('b', node)
    .addEdge(START, 'a')
    .addConditionalEdges('a', turnOff, ['a', 'b', END])
    .addConditionalEdges('b', turnOff, ['a', 'b', END])
    .compile({ store, leaseMs: 60, ...options })

  function turnOff({ seen }: { readonly seen: readonly string[] }): 'a' | 'b' | typeof END {
    world.asked += 1
    if (seen.length >= 4) return END
    return world.asked % 2 === 0 ? 'a' : 'b'
  }
}

async function tasksIn(store: Store): Promise<string[]> {
  const entries = await store.read(key)
  return entries.flatMap(({ type, data }) =>
    type === 'graph.step' ? (data['tasks'] as { task: string }[]).map(({ task }) => task) : [],
  )
}

describe('a route', () => {
  it.each([1, 2, 3])(
    'is asked once about each step, however often a limit of %s ends the turn',
    async (steps) => {
      const store = memoryStore()
      const world: World = { asked: 0, begun: [] }
      const flow = winding(store, world, { limits: { steps } })
      let outcome = await flow.stream({}, { contextId }).outcome
      while (outcome.reason === 'limit') outcome = await flow.stream(null, { contextId }).outcome
      expect(outcome.state.seen).toHaveLength(4)
      expect(world.asked).toBe(4)
      expect(world.begun).toEqual(await tasksIn(store))
    },
  )

  it('that a limit on tokens came before has answered, too', async () => {
    const store = memoryStore()
    const world: World = { asked: 0, begun: [] }
    const flow = winding(store, world)
    const first = await flow.stream({}, { contextId, limits: { tokens: 0 } }).outcome
    expect([first.reason, first.limit]).toEqual(['limit', 'tokens'])
    const asked = world.asked
    const last = await flow.invoke(null, { contextId })
    expect([last.reason, last.state.seen.length]).toEqual(['stop', 4])
    expect(world.asked - asked).toBe(4)
  })

  it('is never followed by a node that the journal does not name, wherever the process dies', async () => {
    for (let at = 1; at <= 7; at++)
      for (const when of ['before', 'after'] as const) {
        const store = memoryStore()
        const world: World = { asked: 0, begun: [] }
        await dieAt(store, world, { at, when })
        const input = (await store.head(key)) === undefined ? {} : null
        const run = winding(store, world).stream(input, { contextId })
        // A crash after the end leaves nothing to continue.
        expect(['stop', 'failed']).toContain((await run.outcome).reason)
        const named = await tasksIn(store)
        expect(new Set(world.begun)).toEqual(new Set(named))
        expect(named).toHaveLength(4)
      }
  })
})

/** Runs until an append hangs, and lets its lease lapse. */
async function dieAt(
  store: Store,
  world: World,
  { at, when }: { at: number; when: 'before' | 'after' },
): Promise<void> {
  const dead = gate()
  const reached = (_: unknown, n: number): boolean => {
    if (n === at) dead.resolve()
    return n === at
  }
  const timer = { wait: () => new Promise<void>(() => {}), after: () => () => {} }
  const flow = winding(faultyStore(store, [{ at: reached, how: 'stall', when }]), world, { timer })
  await Promise.race([dead.promise, flow.stream({}, { contextId }).outcome])
  await quiet()
}
