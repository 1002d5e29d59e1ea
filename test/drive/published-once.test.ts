/** Every entry is published once, also where the store or the owner is slow. */
import { expect, it, vi } from 'vitest'
import { z } from 'zod'
import { pruneContext } from '../../src/entry/operate.ts'
import { END, graph, START, value } from '../../src/graph/index.ts'
import { Agent, defineTool, memoryStore, type Store } from '../../src/index.ts'
import { HoldfastError, LOCAL_OWNER } from '../../src/protocol/index.ts'
import { ScriptedModel } from '../../src/testing/index.ts'

const contextId = 'c'
const key = { ...LOCAL_OWNER, contextId }

const look = defineTool({
  name: 'look',
  description: 'Looks.',
  input: z.object({ n: z.number() }),
  run: ({ n }) => n,
})

const calls = (n: number) => ({ calls: [{ tool: 'look', args: { n } }] })

const sizeOf = (data: object): number => JSON.stringify(data).length

/** A store with some of its methods replaced. */
function storeWith(store: Store, own: Partial<Store>): Store {
  return new Proxy(store, {
    get: (target, name) => {
      const found: unknown = Reflect.get(name in own ? own : target, name)
      return typeof found === 'function' ? (found.bind(target) as unknown) : found
    },
  })
}

it('an entry that is held back is told once, whether or not it is saved since (L3)', async () => {
  const model = new ScriptedModel([calls(1), calls(2), 'Done', calls(3), 'Done'])
  const agent = new Agent({ contextId, store: memoryStore(), model, tools: [look], autoSave: false })
  for (const _ of ['first turn', 'second turn']) {
    const types: string[] = []
    for await (const { type } of agent.executeTurn('Hi')) if (!type.endsWith('.delta')) types.push(type)
    const count = (wanted: string) => types.filter((type) => type === wanted).length
    expect(count('tool.end')).toBe(count('tool.start'))
    expect(count('model.end')).toBe(count('model.start'))
    expect(count('turn.end')).toBe(1)
  }
})

it('somebody who wants to go on while another owns the conversation and runs nothing does not go round in circles', async () => {
  const store = memoryStore()
  const model = new ScriptedModel([calls(1), 'Done'])
  const agent = new Agent({ contextId, store, model, tools: [look], leaseMs: 300 })
  await agent.executeTurn('Hi', { limits: { iterations: 1 } }).outcome
  const { seq = 0 } = (await store.head(key)) ?? {}
  const { epoch } = await store.append({ key, id: 'x', since: seq, claim: { driver: 'x', leaseMs: 60_000 } })
  const tries = vi.spyOn(store, 'append')
  const turn = agent.executeTurn(null)
  await new Promise((resolve) => setTimeout(resolve, 100))
  const tried = tries.mock.calls.length
  await store.append({
    ...{ key, id: 'y', since: seq + 1, epoch },
    entries: [{ type: 'release', turn: 0, data: { reason: 'idle' } }],
  })
  expect((await turn.outcome).text).toBe('Done')
  expect(tried).toBeLessThan(10)
})

it('a message that was pruned since is not said to be stored', async () => {
  const store = memoryStore()
  const agent = new Agent({ contextId, store, model: new ScriptedModel(['One', 'Two', 'Three']) })
  await agent.executeTurn('Hi', { key: 'first' }).outcome
  await agent.executeTurn('Hi again').outcome
  await pruneContext(store, key, { keepTurns: 1 })
  const { error } = await agent.executeTurn('Hi', { key: 'first' }).outcome
  expect(error?.['code']).toBe('pruned')
  expect(error).not.toHaveProperty('stored')
})

it('a watch that breaks off leaves nobody looking', async () => {
  const store = memoryStore()
  const model = new ScriptedModel([{ stall: true }])
  const driving = new Agent({ contextId, store, model, leaseMs: 300 })
  const first = driving.executeTurn('Hi')
  await vi.waitFor(() => expect(model.calls).toHaveLength(1))
  const looks = vi.spyOn(store, 'head')
  const broken = storeWith(store, {
    watch: () => {
      throw new Error('no watching here')
    },
  })
  const following = new Agent({ contextId, store: broken, model, leaseMs: 300 })
  expect((await following.executeTurn('And you?').outcome).status).toBe('failed')
  looks.mockClear()
  await new Promise((resolve) => setTimeout(resolve, 400))
  expect(looks.mock.calls.length).toBeLessThan(2)
  await driving.cancel()
  await first.outcome
})

it('a run whose first batch does not fit ends as failed, and the next one is played', async () => {
  const store = memoryStore()
  const append: Store['append'] = async (request) => {
    const isLarge = request.entries?.some(({ type, data }) => type === 'graph.start' && sizeOf(data) > 1000)
    if (isLarge) throw new HoldfastError('too-large', { message: 'over 1,000 bytes' })
    return store.append(request)
  }
  const flow = graph({ state: { text: value('') } })
    .addNode('work', () => ({ text: 'done' }))
    .addEdge(START, 'work')
    .addEdge('work', END)
    .compile({ store: storeWith(store, { append }) })
  const { status, error } = await flow.stream({ text: 'x'.repeat(1000) }, { contextId }).outcome
  expect([status, error?.['code']]).toEqual(['failed', 'too-large'])
  expect((await store.read(key)).at(-1)?.type).toBe('turn.end')
  expect((await flow.stream({ text: 'short' }, { contextId }).outcome).status).toBe('completed')
})

it('a tool that never ends does not keep callers from the turn of whoever took it over', async () => {
  const store = memoryStore()
  const never = defineTool({
    name: 'look',
    description: 'Looks for ever.',
    input: z.object({ n: z.number() }),
    run: () => new Promise<never>(() => {}),
  })
  const model = () => new ScriptedModel([calls(1), 'Done'])
  const agent = new Agent({ contextId, store, model: model(), tools: [never], leaseMs: 100 })
  const turn = agent.executeTurn('Hi')
  await vi.waitFor(async () => expect((await store.read(key)).at(-1)?.type).toBe('tool.start'))
  const { seq = 0 } = (await store.head(key)) ?? {}
  await store.append({ key, id: 'x', since: seq, claim: { driver: 'x', leaseMs: 1, force: true } })
  const other = new Agent({ contextId, store, model: new ScriptedModel(['Done']), tools: [look] })
  await vi.waitFor(async () => expect((await other.lastTurn()) !== undefined).toBe(true))
  expect((await other.lastTurn().then((last) => last?.outcome))?.text).toBe('Done')
  expect((await turn.outcome).text).toBe('Done')
})

it.each([
  ['once', 1, { status: 'completed', text: 'Three' }],
  ['at all', Number.POSITIVE_INFINITY, { status: 'failed', error: { message: 'no reading', stored: true } }],
])('a gap that cannot be read %s ends no turn without its entries', async (_, failures, outcome) => {
  const store = memoryStore()
  let [isArmed, left] = [false, failures]
  const append: Store['append'] = async (request) => {
    const receipt = await store.append(request)
    isArmed = receipt.first > 10
    return receipt
  }
  const read: Store['read'] = (of, range) =>
    isArmed && left-- > 0 ? Promise.reject(new Error('no reading')) : store.read(of, range)
  const model = new ScriptedModel(['One', 'Two', 'Three'])
  const agent = new Agent({ contextId, store: storeWith(store, { read, append }), model })
  await agent.executeTurn('Hi').outcome
  await new Agent({ contextId, store, model }).executeTurn('Hi').outcome
  expect((await store.head(key))?.seq).toBe(12)
  expect(await agent.executeTurn('Hi').outcome).toMatchObject(outcome)
  expect(isArmed).toBe(true)
})

/** A store that loses its first reply to an append with such an entry, and keeps the repeated append waiting. */
function losing(store: Store, type: string): { store: Store; lost: Promise<void>; continueTurn: () => void } {
  const [lost, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let id = ''
  const append: Store['append'] = async (request) => {
    if (request.id === id) await gate.promise
    const receipt = await store.append(request)
    if (id !== '' || !request.entries?.some((entry) => entry.type === type)) return receipt
    id = request.id
    lost.resolve()
    throw new Error('the reply was lost')
  }
  return { store: storeWith(store, { append }), lost: lost.promise, continueTurn: gate.resolve }
}

const aWhile = () => new Promise((resolve) => setTimeout(resolve, 60))

it('the end of a turn is published when its append is answered, whatever is posted beside it (W4)', async () => {
  const { store, lost, continueTurn } = losing(memoryStore(), 'turn.end')
  const agent = new Agent({ contextId, store, model: new ScriptedModel(['Done']) })
  const turn = agent.executeTurn('Hi')
  const seen: string[] = []
  const ended = turn.outcome.then(() => seen.push(agent.state.status))
  await lost
  await turn.cancel()
  await aWhile()
  expect(seen).toEqual([])
  continueTurn()
  await ended
  expect(seen).toEqual(['ready'])
})

it('a buffered entry is published once, also if the reply to its append was lost (L3)', async () => {
  const { store, lost, continueTurn } = losing(memoryStore(), 'tool.end')
  const model = new ScriptedModel([calls(1), calls(2), 'Done'])
  const agent = new Agent({ contextId, store, model, tools: [look], autoSave: false })
  const turn = agent.executeTurn('Hi')
  const types: string[] = []
  const read = (async () => {
    for await (const { type } of turn) types.push(type)
  })()
  await lost
  await turn.cancel()
  await aWhile()
  continueTurn()
  await read
  const count = (wanted: string) => types.filter((type) => type === wanted).length
  expect(count('tool.end')).toBe(count('tool.start'))
  expect(count('model.start')).toBe(count('model.end'))
  expect(count('turn.end')).toBe(1)
})
