/** The checks of requests against whatever else they may be given. */
import {
  array,
  assert,
  constant,
  constantFrom,
  dictionary,
  jsonValue,
  letrec,
  oneof,
  property,
  record,
} from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkVendorRequest, type Vendor } from '../vendors/check-vendor-request.ts'
import { pathsOf, put } from './damage.ts'
import { LEGAL } from './legal.ts'

describe('what is legal although it looks odd', () => {
  it('anthropic joins messages of one role, and takes an empty reply at the end', () => {
    const said = ['one', 'two'].map((content) => ({ role: 'user', content }))
    const body = { model: 'claude', max_tokens: 1, messages: [...said, { role: 'assistant', content: '' }] }
    expect(checkVendorRequest('anthropic', body)).toEqual([])
  })

  it('a stored response may hold the call that is answered', () => {
    const output = { type: 'function_call_output', call_id: 'x', output: 'sun' }
    const body = { model: 'gpt', previous_response_id: 'resp_1', input: [output] }
    expect(checkVendorRequest('openai-responses', body)).toEqual([])
    expect(checkVendorRequest('openai-responses', { ...body, previous_response_id: undefined })).toHaveLength(
      1,
    )
  })
})

describe('an attack', () => {
  const keys = constantFrom(
    ...[
      'messages',
      'input',
      'contents',
      'role',
      'content',
      'parts',
      'type',
      'text',
      'tool_calls',
      'function',
    ],
    ...[
      'id',
      'call_id',
      'tool_call_id',
      'tool_use_id',
      'name',
      'arguments',
      'functionCall',
      'functionResponse',
    ],
    ...['tools', 'functionDeclarations', 'system', 'thinking', 'toString', 'constructor', 'hasOwnProperty'],
  )
  const words = constantFrom(
    ...['user', 'assistant', 'tool', 'model', 'text', 'tool_use', 'tool_result', 'thinking', 'function_call'],
    ...['function_call_output', 'reasoning', 'message', '__proto__', 'constructor', 'toString', 'a', ''],
  )
  const vendors = Object.keys(LEGAL) as Vendor[]
  const { json } = letrec<{ json: unknown }>((tie) => ({
    json: oneof(
      { maxDepth: 6, withCrossShrink: true },
      words,
      constantFrom(null, true, 0, 1),
      array(tie('json'), { maxLength: 4 }),
      dictionary(keys, tie('json'), { maxKeys: 6 }),
    ),
  }))

  it('no JSON makes a check throw', () => {
    assert(
      property(oneof(json, jsonValue()), constantFrom(...vendors), (body, vendor) => {
        const problems = checkVendorRequest(vendor, body)
        expect(problems.every((problem) => typeof problem === 'string' && problem !== '')).toBe(true)
      }),
      { numRuns: 3000 },
    )
  })

  it('no damage to a legal request makes a check throw', () => {
    const places = vendors.map((vendor) => [vendor, pathsOf(LEGAL[vendor]())] as const)
    const damage = constantFrom(...places).chain(([vendor, paths]) =>
      record({ vendor: constant(vendor), path: constantFrom(...paths), value: json }),
    )
    assert(
      property(damage, ({ vendor, path, value }) => {
        const body = LEGAL[vendor]()
        put(path, value)(body)
        expect(Array.isArray(checkVendorRequest(vendor, body))).toBe(true)
      }),
      { numRuns: 3000 },
    )
  })

  it.each(vendors)('%s: no check goes down into a value', (vendor) => {
    const deep = JSON.parse(`${'['.repeat(20_000)}${']'.repeat(20_000)}`) as unknown
    for (const path of pathsOf(LEGAL[vendor]())) {
      const body = LEGAL[vendor]()
      put(path, deep)(body)
      expect(Array.isArray(checkVendorRequest(vendor, body))).toBe(true)
    }
  })
})
