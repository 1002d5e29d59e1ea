import { expect, test } from 'vitest'
import { type EnginePort, embeddedEngine } from '../../src/host/index.ts'
import { memoryStore } from '../../src/index.ts'
import { ManualClock } from '../../src/testing/index.ts'

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
