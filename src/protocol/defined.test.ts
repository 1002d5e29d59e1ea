import { expect, test } from 'vitest'
import { defined } from './defined.ts'

interface Named {
  readonly id: number
  readonly name?: string
  readonly note?: string | null
}

test('a field that is undefined is left out, every other value stays', () => {
  const name: string | undefined = undefined as string | undefined
  const named: Named = { id: 1, ...defined({ name, note: null }) }
  expect(named).toStrictEqual({ id: 1, note: null })
  expect(defined({ zero: 0, empty: '', no: false, list: [undefined] })).toStrictEqual({
    zero: 0,
    empty: '',
    no: false,
    list: [undefined],
  })
})

test('the order of the fields stays', () => {
  expect(Object.keys(defined({ b: 1, a: undefined, c: 2 }))).toEqual(['b', 'c'])
})
