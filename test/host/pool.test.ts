import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { systemClock, systemTimer } from '../../src/base/index.ts'
import { Gate } from '../../src/host/gate.ts'
import type { Hosted } from '../../src/host/hosted.ts'
import { createHost } from '../../src/host/index.ts'
import { Pool } from '../../src/host/pool.ts'
import { defineTool, memoryStore } from '../../src/index.ts'
import { ScriptedModel } from '../../src/testing/index.ts'
import { gate } from '../turn/kit.ts'

const OWNER = { tenant: 'acme', actor: 'ann' }

test('a conversation that was just opened is in use: messages beyond maxOpen are overloaded, and not stored', async () => {
  const host = createHost({
    store: memoryStore(),
    agents: { a: { model: new ScriptedModel(() => 'Done.') } },
    maxOpen: 3,
  })
  const sent = Array.from({ length: 8 }, async (_, at) => {
    const turn = await host.send({ ...OWNER, contextId: `a:${at}` }, 'Hi')
    return (await turn.outcome).text
  })
  const results = await Promise.allSettled(sent)
  expect(
    results.map((each) =>
      each.status === 'fulfilled' ? each.value : (each.reason as { code: string }).code,
    ),
  ).toEqual([...Array<string>(3).fill('Done.'), ...Array<string>(5).fill('overloaded')])
  expect(await host.store.scan()).toHaveLength(3)
  await host.shutdown()
})

test('the requests of more conversations than may be open are listed', async () => {
  const pay = defineTool({
    name: 'pay',
    description: 'Pays',
    input: z.object({}),
    approve: 'always',
    run: () => 'paid',
  })
  const model = new ScriptedModel(() => ({ calls: [{ tool: 'pay', args: {} }] }))
  const host = createHost({ store: memoryStore(), agents: { a: { model, tools: [pay] } }, maxOpen: 2 })
  for (const id of ['a:1', 'a:2', 'a:3', 'a:4'])
    await (await host.send({ ...OWNER, contextId: id }, 'Pay')).outcome
  const { notices } = await host.openRequests(OWNER)
  const ids = notices.flatMap(({ key, requests }) => requests.map(() => key.contextId))
  expect(ids.toSorted()).toEqual(['a:1', 'a:2', 'a:3', 'a:4'])
  await host.shutdown()
})

test('messages to a conversation that gets a place get it together, before later ones', async () => {
  const places = new Gate(1, 10)
  const ends = { a: gate(), x: gate() }
  const order: string[] = []
  const enter = (name: 'a' | 'x', message: string) =>
    places.run(name, async () => {
      order.push(message)
      await ends[name].promise
    })
  const all = [enter('a', 'a1'), enter('x', 'x1'), enter('x', 'x2')]
  ends.a.resolve()
  await all[0]
  all.push(enter('x', 'x3'))
  await expect.poll(() => order).toEqual(['a1', 'x1', 'x2', 'x3'])
  expect([places.running, places.waiting]).toEqual([1, 0])
  ends.x.resolve()
  await Promise.all(all)
  expect(places.running).toBe(0)
})

test('a conversation that fails to close makes room all the same', async () => {
  const failures: unknown[] = []
  const note = (error: unknown): unknown => failures.push(error)
  process.on('unhandledRejection', note)
  onTestFinished(() => void process.off('unhandledRejection', note))
  const hosted = { close: async () => Promise.reject(new Error('The disk is full.')) } as unknown as Hosted
  const pool = new Pool({
    open: async () => hosted,
    most: 1,
    idleMs: 60_000,
    clock: systemClock,
    timer: systemTimer,
  })
  for (const id of ['a:1', 'a:2', 'a:3'])
    expect(await pool.use({ ...OWNER, contextId: id }, () => id)).toBe(id)
  await new Promise(setImmediate)
  expect([pool.size, failures]).toEqual([1, []])
  await pool.closeAll()
})
