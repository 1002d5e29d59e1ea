import { describe, expect, it } from 'vitest'
import { systemClock } from './clock.ts'

describe('the system clock', () => {
  it('tells the time of day, and how much time has passed', async () => {
    const [now, elapsed] = [systemClock.now(), systemClock.elapsed()]
    await new Promise((resolve) => setTimeout(resolve, 12))
    expect(Math.abs(systemClock.now() - Date.now())).toBeLessThan(1000)
    expect(systemClock.now()).toBeGreaterThanOrEqual(now)
    expect(systemClock.elapsed() - elapsed).toBeGreaterThan(5)
  })
})
