/** A turn that is taken up, and something that is asked in the moment in which its claim is written and not yet heard of. */
import { expect, it } from 'vitest'
import { Agent } from '../../src/agent/index.ts'
import type { Store } from '../../src/store/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { type Fault, faultyStore, ScriptedModel } from '../../src/testing/index.ts'

const KEY = { tenant: 'local', actor: 'local', contextId: 'talk' }

function agentOn(store: Store, plan: readonly Fault[]): Agent {
  return new Agent({ contextId: 'talk', store: faultyStore(store, plan), model: new ScriptedModel(['Hi.']) })
}

/** The same store; from when on it is told to, whoever looks into the inbox waits a moment, and `onLook` is called. */
function slowInbox(store: Store, onLook: () => void): { store: Store; begin: () => void } {
  let isSlow = false
  const inbox: Store['inbox'] = async (key) => {
    if (isSlow) {
      onLook()
      await new Promise((later) => setTimeout(later, 20))
    }
    return store.inbox(key)
  }
  const slow = new Proxy(store, {
    get: (target, name): unknown => {
      if (name === 'inbox') return inbox
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
  return {
    store: slow,
    begin: () => {
      isSlow = true
    },
  }
}

it('what is asked while a claim is on its way does not disturb the turn that it is for', async () => {
  const store = memoryStore({ liveness: () => 'dead' })
  // Its turn is begun, and it never hears of it.
  agentOn(store, [{ at: 1, how: 'stall', when: 'after' }]).executeTurn('hello')
  while ((await store.read(KEY)).length === 0) await new Promise(setImmediate)

  const { promise: until, resolve } = Promise.withResolvers<void>()
  const slow = slowInbox(store, resolve)
  const agent = agentOn(slow.store, [{ at: 1, how: 'stall', when: 'after', until }])
  await agent.start()
  const { turn } = agent
  while ((await store.head(KEY))?.epoch !== 2) await new Promise(setImmediate)
  slow.begin()
  const asked = agent.requests()
  // Whoever waits for the claim instead of reading again looks into no inbox.
  setTimeout(resolve, 50)
  expect(await asked).toEqual([])
  expect(await turn?.outcome).toMatchObject({ reason: 'stop', text: 'Hi.' })
})
