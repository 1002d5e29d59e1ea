/** A turn that another process ends while this one reads the journal: whoever asks to continue it is told. */
import { expect, it } from 'vitest'
import { memoryStore } from '../../src/store/memory/index.ts'
import { ScriptedModel } from '../../src/testing/index.ts'
import { bench, gate, quiet, until } from '../turn/kit.ts'
import { withMethods } from './refusing-store.ts'

/** A store whose next `head` waits, after `hold`, until `release`. */
function holdingHead() {
  const inner = memoryStore()
  const [reached, held] = [gate(), gate()]
  let isHeld = false
  const store = withMethods(inner, {
    head: async (key) => {
      const found = await inner.head(key)
      if (isHeld) {
        isHeld = false
        reached.resolve()
        await held.promise
      }
      return found
    },
  })
  const hold = () => {
    isHeld = true
  }
  return { inner, store, hold, reached: reached.promise, release: () => held.resolve() }
}

it('a request to continue finds nothing to continue, and does not wait for that turn', async () => {
  const { inner, store, hold, reached, release } = holdingHead()
  const slow = gate()
  const model = new ScriptedModel(async () => (await slow.promise, 'Done.'))
  const { agent, another } = bench({ store: inner, model })
  const first = agent.executeTurn('1')
  await until('it runs', () => model.calls.length === 1)
  const follower = another({ store })
  const followed = await follower.lastTurn()
  await quiet()
  hold()
  const joined = follower.executeTurn(null)
  await reached
  slow.resolve()
  await first.outcome
  await followed?.outcome
  release()
  expect(await joined.outcome).toMatchObject({ turn: 0, error: { code: 'nothing-to-continue' } })
})
