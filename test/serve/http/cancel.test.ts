/** A cancel over HTTP names its turn. */
import { expect, test } from 'vitest'
import { z } from 'zod'
import { END, graph, START, value } from '../../../src/graph/index.ts'
import { defineTool, LOCAL_OWNER, memoryStore } from '../../../src/index.ts'
import type { Store } from '../../../src/store/index.ts'
import { ScriptedModel } from '../../../src/testing/index.ts'
import { gate, until } from '../../turn/kit.ts'
import { open } from './kit.ts'

const key = { ...LOCAL_OWNER, contextId: 'a:1' }

const pay = () =>
  defineTool({
    name: 'pay',
    description: 'Pays',
    input: z.object({}),
    approve: 'always',
    run: () => 'paid',
  })

/** A store whose next head is given only after `meanwhile`. */
function lateHead(meanwhile: () => Promise<void>) {
  const memory = memoryStore()
  let isArmed = false
  const head: Store['head'] = async (of) => {
    const found = await memory.head(of)
    if (!isArmed) return found
    isArmed = false
    await meanwhile()
    return found
  }
  const store = new Proxy(memory, {
    get: (target, name: keyof Store) => {
      const member = name === 'head' ? head : target[name]
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
  return { memory, store, arm: () => void (isArmed = true) }
}

test.each([{ turn: 1 }, {}])(
  'a cancel of a turn that ends meanwhile, with %o, does not cancel the next',
  async (body) => {
    const [one, two] = [gate(), gate()]
    const { memory, store, arm } = lateHead(async () => {
      one.resolve()
      await until('the second turn runs', async () => (await memory.head(key))?.turn === 2)
    })
    const script = [
      async () => {
        await one.promise
        return 'One.'
      },
      async () => {
        await two.promise
        return 'Two.'
      },
    ]
    const { host, call } = await open({ store, agents: { a: { model: new ScriptedModel(script) } } })
    const first = await host.send(key, 'First')
    await until('the first turn runs', async () => (await memory.head(key))?.turn === 1)
    const second = await host.send(key, 'Second')
    arm()
    expect((await call('/conversations/a:1/cancel', { json: body })).status).toBe(202)
    two.resolve()
    expect((await first.outcome).text).toBe('One.')
    expect(await second.outcome).toMatchObject({ status: 'completed', text: 'Two.' })
  },
)

test('a cancel of a run that ends meanwhile does not cancel the next', async () => {
  const gates = [gate(), gate()]
  let runs = 0
  const { memory, store, arm } = lateHead(async () => {
    gates[0]?.resolve()
    await until('the second run goes on', async () => (await memory.head(key))?.turn === 2)
  })
  const flow = graph({ state: { done: value<number>(0) } })
    .addNode('work', async ({ done }) => {
      await gates[runs++]?.promise
      return { done: done + 1 }
    })
    .addEdge(START, 'work')
    .addEdge('work', END)
    .compile({ store })
  const { host, call } = await open({ store, graphs: { a: flow } })
  const first = await host.send(key, { done: 0 })
  await until('the first run goes on', async () => (await memory.head(key))?.turn === 1)
  const second = await host.send(key, { done: 1 })
  arm()
  expect((await call('/conversations/a:1/cancel', { json: { turn: 1 } })).status).toBe(202)
  gates[1]?.resolve()
  expect((await first.outcome).status).toBe('completed')
  expect((await second.outcome).status).toBe('completed')
  expect((await memory.read(key)).filter(({ type }) => type === 'cancel')).toEqual([])
})

test('a cancel ends the wait of the turn that it names, and of no other', async () => {
  const { host, call } = await open({
    store: memoryStore(),
    agents: {
      a: {
        tools: [pay()],
        model: new ScriptedModel(() => ({ calls: [{ tool: 'pay', args: {} }] })),
      },
    },
  })
  await (await host.send(key, 'Pay')).outcome
  expect((await call('/conversations/a:1/cancel', { json: { turn: 0 } })).status).toBe(202)
  expect((await host.reads.info(key))?.status).toBe('waiting')
  expect((await call('/conversations/a:1/cancel', { json: { turn: 1 } })).status).toBe(202)
  expect(await host.reads.info(key)).toMatchObject({ status: 'idle', turn: 2, outcome: 'cancelled' })
})

test('a cancel is taken while as many conversations are in use as may be open', async () => {
  const store = memoryStore()
  const model = new ScriptedModel(() => ({ calls: [{ tool: 'pay', args: {} }] }))
  const earlier = await open({ store, agents: { a: { tools: [pay()], model } } })
  await (await earlier.host.send(key, 'Pay')).outcome
  const end = gate()
  const slow = new ScriptedModel(async () => {
    await end.promise
    return 'Done.'
  })
  const { host, call } = await open({ store, agents: { a: { tools: [pay()], model: slow } }, maxOpen: 1 })
  const other = await host.send({ ...key, contextId: 'a:2' }, 'Work')
  expect((await call('/conversations/a:1/cancel', { json: { turn: 1 } })).status).toBe(202)
  expect(host.load.open).toBe(1)
  end.resolve()
  expect((await other.outcome).text).toBe('Done.')
  expect(await host.reads.info(key)).toMatchObject({ status: 'idle', outcome: 'cancelled' })
})
