/** The name of "this tool with these arguments". */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonical, type Json } from '../protocol/index.ts'
import { argumentsKey } from './arguments-key.ts'

describe('the key of arguments', () => {
  it('is the same in every process and version', () => {
    expect(argumentsKey('search', { query: 'x', at: [1, { b: null, a: true }] })).toBe(
      '6f3ef7b9c154fd278ea4e03611ee34d9',
    )
  })

  it('does not depend on the order of keys, at any depth', () => {
    const a = { x: 1, y: { b: [1, { d: 1, c: 2 }], a: 2 } }
    const b = { y: { a: 2, b: [1, { c: 2, d: 1 }] }, x: 1 }
    expect(argumentsKey('t', a)).toBe(argumentsKey('t', b))
  })

  it('depends on the order of lists, on types and on the tool', () => {
    const keys = [
      argumentsKey('t', [1, 2]),
      argumentsKey('t', [2, 1]),
      argumentsKey('t', ['1', 2]),
      argumentsKey('u', [1, 2]),
      argumentsKey('t', { 0: 1, 1: 2 }),
      argumentsKey('t', null),
      argumentsKey('t', {}),
    ]
    expect(new Set(keys).size).toBe(keys.length)
  })

  it('does not see fields that are undefined', () => {
    expect(argumentsKey('t', { a: undefined, b: 1 })).toBe(argumentsKey('t', { b: 1 }))
  })
})

describe('canonical JSON', () => {
  it('sorts by code unit and changes nothing else', () => {
    expect(canonical({ b: 1, a: [-0, 1e21], é: '\ud800', 10: 1, 9: 2 })).toBe(
      '{"10":1,"9":2,"a":[0,1e+21],"b":1,"é":"\\ud800"}',
    )
  })

  it('is JSON of the same value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(JSON.parse(canonical(value as Json))).toEqual(JSON.parse(JSON.stringify(value)))
      }),
    )
  })
})
