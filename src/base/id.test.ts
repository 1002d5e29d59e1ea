/** System ids: unique, sorted by time, readable. */
import { describe, expect, it } from 'vitest'
import { systemIds } from './id.ts'

describe('an id', () => {
  it('says what it names', () => {
    expect(systemIds.next('append')).toMatch(/^append_[0-9a-z]{9}[0-9a-f]{20}$/)
  })

  it('is unlike every other, over many refills of the pool', () => {
    const ids = Array.from({ length: 5000 }, () => systemIds.next('x'))
    expect(new Set(ids).size).toBe(5000)
  })

  it('sorts by the time of its making', async () => {
    const first = systemIds.next('x')
    await new Promise((resolve) => setTimeout(resolve, 3))
    expect(systemIds.next('x') > first).toBe(true)
  })

  it('has its time at the front, in base 36', () => {
    const before = Date.now()
    const time = Number.parseInt(systemIds.next('x').slice(2, 11), 36)
    expect(time).toBeGreaterThanOrEqual(before)
    expect(time).toBeLessThanOrEqual(Date.now())
  })
})
