/** Results that the store could not take are kept for the next driver of this process (D1, D2). */
import { expect, it } from 'vitest'
import { deferredWrites, findDeferredWrites } from '../../src/drive/deferred-writes.ts'
import type { Ownership } from '../../src/drive/ownership.ts'
import type { Entry } from '../../src/protocol/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { ManualClock } from '../../src/testing/manual-clock.ts'
import { KEY, quiet } from '../turn/kit.ts'

/** An ownership whose posts fail while `isFull`. */
function fakeOwnership() {
  const fake = {
    isFull: true,
    post: (): Promise<readonly Entry[]> =>
      fake.isFull ? Promise.reject(new Error('the disk is full')) : Promise.resolve([]),
  }
  return { fake, ownership: fake as unknown as Ownership }
}

const result = (callId: string) => ({ callId, status: 'ok', output: { type: 'text', value: 'x' } }) as never

it('a retry that was overtaken by a flush removes no newer results', async () => {
  const timer = new ManualClock()
  const target = { store: memoryStore(), key: KEY, timer }
  const { fake, ownership } = fakeOwnership()
  deferredWrites(target).postResult(result('call_1'), 'x', ownership)
  await quiet()
  fake.isFull = false
  await findDeferredWrites(target)?.flush(ownership)
  expect(findDeferredWrites(target)).toBeUndefined()

  fake.isFull = true
  timer.advance(500)
  deferredWrites(target).postResult(result('call_2'), 'x', ownership)
  await quiet()
  timer.advance(600)
  await quiet()
  expect(findDeferredWrites(target)?.isEmpty).toBe(false)
})

it.each([1, 2, 3, 4, 5, 6])(
  'a result that comes %i ticks after the last post of a flush stays owed',
  async (ticks) => {
    const target = { store: memoryStore(), key: KEY, timer: new ManualClock() }
    const { fake, ownership } = fakeOwnership()
    const writes = deferredWrites(target)
    writes.postResult(result('call_1'), 'x', ownership)
    await quiet()
    const addAfter = async (count: number) => {
      for (let tick = 0; tick < count; tick++) await Promise.resolve()
      deferredWrites(target).postResult(result('call_2'), 'x', ownership)
    }
    let added = Promise.resolve()
    fake.post = () => {
      fake.post = () => Promise.reject(new Error('the disk is full'))
      added = addAfter(ticks)
      return Promise.resolve([])
    }
    await writes.flush(ownership).catch(() => {})
    await added
    await quiet()
    expect(findDeferredWrites(target)?.isEmpty).toBe(false)
  },
)
