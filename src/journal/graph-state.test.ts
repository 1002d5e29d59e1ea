/** Updates that are applied together give the state that they give one after the other. */
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import type { ChannelKinds, Json, JsonObject } from '../protocol/index.ts'
import { type GraphState, withUpdate, withUpdates } from './graph-state.ts'

const kinds: ChannelKinds = { value: 'value', list: 'list', merge: 'merge', reduced: 'reduced' }

const key = fc.constantFrom('a', 'b', '1', '__proto__')
const object = fc
  .array(fc.tuple(key, fc.nat(9)), { maxLength: 3 })
  .map((pairs) => Object.fromEntries(pairs) as JsonObject)
const value: fc.Arbitrary<Json> = fc.oneof(
  { weight: 3, arbitrary: object },
  { weight: 2, arbitrary: fc.array(fc.nat(9), { maxLength: 70 }) },
  fc.constantFrom<Json>(null, 'text', 5, [[1], [2]]),
)
const update = fc.dictionary(fc.constantFrom(...Object.keys(kinds), 'undeclared'), value)

it('updates of a step are applied together as one after the other', () => {
  fc.assert(
    fc.property(
      fc.array(update, { maxLength: 6 }),
      fc.array(update, { maxLength: 8 }),
      (earlier, updates) => {
        const inOrder = (state: GraphState, list: readonly JsonObject[]): GraphState =>
          list.reduce<GraphState>((sum, one) => withUpdate(sum, kinds, one), state)
        const before = inOrder({}, earlier)
        const text = JSON.stringify(before)
        const after = withUpdates(before, kinds, updates)
        expect(JSON.stringify(after)).toBe(JSON.stringify(inOrder(before, updates)))
        expect(JSON.stringify(before)).toBe(text)
      },
    ),
  )
})

it('an object is merged into the objects before it, up to the last other value', () => {
  const merge = (...values: readonly Json[]): unknown =>
    withUpdates(
      { merge: { value: { held: 1 } } },
      kinds,
      values.map((one) => ({ merge: one })),
    )['merge']
  expect(merge({ a: 1 }, { b: 2 }, { a: 3 })).toEqual({ value: { held: 1, a: 3, b: 2 } })
  expect(merge({ a: 1 }, 'text', { b: 2 })).toEqual({ value: { b: 2 } })
  expect(merge({ a: 1 }, null)).toEqual({ value: null })
  const { value: made } = merge(JSON.parse('{"__proto__":{"x":1}}') as Json) as { value: JsonObject }
  expect([Object.keys(made), (made as { x?: unknown }).x]).toEqual([['held', '__proto__'], undefined])
})
