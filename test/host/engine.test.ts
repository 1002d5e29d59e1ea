import { expect, test } from 'vitest'
import { createHost, type EnginePort, embeddedEngine } from '../../src/host/index.ts'
import { memoryStore } from '../../src/index.ts'
import { ManualClock, ScriptedModel } from '../../src/testing/index.ts'

const key = { tenant: 'acme', actor: 'ann', contextId: 'a:1' }

/** An engine on one due conversation, in manual time. `fail` ends the drive that runs. */
async function engineOf(pollMs: number) {
  const clock = new ManualClock()
  const store = memoryStore()
  await store.append({
    key,
    id: 'a',
    since: 0,
    inbox: [{ type: 'input', key: 'm', data: { message: 'Hi' } }],
  })
  let polls = 0
  let drives = 0
  let fail: (error: Error) => void = () => {}
  const due: typeof store.due = async (limit) => {
    const heads = await store.due(limit)
    polls += 1
    return heads
  }
  const port: EnginePort = {
    store: Object.assign(Object.create(store) as typeof store, { due }),
    timer: clock,
    isHosted: () => true,
    most: 10,
    drive: () => {
      drives += 1
      return new Promise((_, reject) => {
        fail = reject
      })
    },
  }
  const engine = embeddedEngine({ pollMs })
  engine.start(port)
  await expect.poll(() => drives).toBe(1)
  return {
    engine,
    drives: () => drives,
    fail: async () => {
      fail(new Error('The disk is full.'))
      await new Promise((resolve) => setImmediate(resolve))
    },
    /** Time passes, one poll after the other. */
    pass: async (ms: number) => {
      for (let passed = 0; passed < ms; passed += pollMs) {
        const before = polls
        clock.advance(pollMs)
        await expect.poll(() => polls).toBe(before + 1)
        await new Promise((resolve) => setImmediate(resolve))
      }
    },
  }
}

test('a conversation whose drive failed is driven again a second after the failure, then after two', async () => {
  const { engine, drives, fail, pass } = await engineOf(100)
  await pass(60_000)
  await fail()
  await pass(900)
  expect(drives()).toBe(1)
  await pass(100)
  expect(drives()).toBe(2)
  await fail()
  await pass(1900)
  expect(drives()).toBe(2)
  await pass(100)
  expect(drives()).toBe(3)
  await fail()
  await engine.stop()
})

test('what earlier processes left takes no place of messages that wait, and goes on as soon as there is one', async () => {
  const store = memoryStore()
  const keys = Array.from({ length: 6 }, (_, at) => ({ ...key, contextId: `a:${at}` }))
  for (const each of keys) {
    const inbox = [{ type: 'input', key: 'm', data: { message: 'Left' } }] as const
    await store.append({ key: each, id: 'a', since: 0, inbox })
  }
  const begun = Promise.withResolvers<void>()
  const held = Promise.withResolvers<void>()
  const model = new ScriptedModel(async () => {
    begun.resolve()
    await held.promise
    return 'Done.'
  })
  const engine = embeddedEngine({ pollMs: 600_000 })
  const host = createHost({ store, agents: { a: { model } }, engine, maxTurns: 1, maxWaiting: 1 })
  host.start()
  await begun.promise
  const sent = host.send({ ...key, contextId: 'a:new' }, 'Hi')
  held.resolve()
  expect((await (await sent).outcome).text).toBe('Done.')
  await expect.poll(async () => (await store.due(10)).length).toBe(0)
  await host.shutdown()
})
