import { expect, it } from 'vitest'
import { ManualClock } from './manual-clock.ts'

it('a timer that an earlier one cancels does not fire', () => {
  const clock = new ManualClock()
  const fired: number[] = []
  const cancel = clock.after(2, () => fired.push(2))
  clock.after(1, () => {
    fired.push(1)
    cancel()
  })
  clock.advance(5)
  expect([fired, clock.waiting]).toEqual([[1], 0])
})
