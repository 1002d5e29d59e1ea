/** The work of checking a value by a schema, counted before it is done. */
import { expect, it } from 'vitest'
import { isHeavy } from './schema-work.ts'

it('counts the names that every item must have', () => {
  const names = Array.from({ length: 4500 }, (_, at) => `name${at}`)
  const items = Array.from({ length: 100 }, () => ({ a: 1 }))
  for (const item of [{ required: names }, { dependentRequired: { a: names } }])
    expect(isHeavy({ type: 'object', properties: { list: { contains: item } } }, { list: items })).toBe(true)
  expect(isHeavy({ properties: { list: { contains: { required: ['a'] } } } }, { list: items })).toBe(false)
})
