/** Work in order per key, and side by side for different keys. */
import { describe, expect, it } from 'vitest'
import { keyedQueue } from './keyed-queue.ts'

describe('a keyed queue', () => {
  it('runs what has the same key in the order it was asked for, and other keys meanwhile', async () => {
    const queue = keyedQueue()
    const seen: string[] = []
    const gate = Promise.withResolvers<void>()
    const first = queue.run('a', async () => {
      seen.push('a1 begins')
      await gate.promise
      seen.push('a1 ends')
    })
    const second = queue.run('a', () => Promise.resolve(seen.push('a2')))
    await queue.run('b', () => Promise.resolve(seen.push('b1')))
    expect(seen).toEqual(['a1 begins', 'b1'])
    expect(queue.busy).toBe(1)
    gate.resolve()
    await Promise.all([first, second])
    expect(seen).toEqual(['a1 begins', 'b1', 'a1 ends', 'a2'])
  })

  it('lets nobody overtake who asks while the second of three is at work', async () => {
    const queue = keyedQueue()
    const seen: string[] = []
    const gate = Promise.withResolvers<void>()
    const first = queue.run('a', () => Promise.resolve(seen.push('first')))
    const second = queue.run('a', async () => {
      await gate.promise
      seen.push('second')
    })
    await first
    const third = queue.run('a', () => Promise.resolve(seen.push('third')))
    await new Promise((resolve) => setImmediate(resolve))
    gate.resolve()
    await Promise.all([second, third])
    expect(seen).toEqual(['first', 'second', 'third'])
  })

  it('goes on after work that fails, and tells only its asker', async () => {
    const queue = keyedQueue()
    const failing = queue.run('a', () => Promise.reject(new Error('no')))
    const throwing = queue.run('a', () => {
      throw new Error('not at all')
    })
    const next = queue.run('a', () => Promise.resolve('yes'))
    await expect(failing).rejects.toThrow('no')
    await expect(throwing).rejects.toThrow('not at all')
    expect(await next).toBe('yes')
  })

  it('keeps nothing of what has ended', async () => {
    const queue = keyedQueue()
    await Promise.all(
      Array.from({ length: 100 }, (_, index) => queue.run(`k${index % 10}`, () => Promise.resolve())),
    )
    expect(queue.busy).toBe(0)
  })
})
