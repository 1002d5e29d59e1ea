/** Secrets stay out of what is stored and shown (R19). */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json } from '../protocol/index.ts'
import { redact, secretsOf } from './redact.ts'

describe('the secrets in credentials', () => {
  it('are all texts of 8 characters or more at any depth, the longest first', () => {
    const credentials = {
      token: 'abcdefgh',
      short: 'abcdefg',
      number: 123456789,
      list: ['a-longer-secret', { deep: new Map([['k', 'in-a-map-it-is']]) }],
      bytes: new Uint8Array(200_000),
      twice: 'abcdefgh',
      nothing: null,
    }
    expect(secretsOf(credentials)).toEqual(['a-longer-secret', 'in-a-map-it-is', 'abcdefgh'])
  })

  it('are found in credentials that name themselves', () => {
    const credentials: Record<string, unknown> = { token: 'abcdefgh' }
    credentials['self'] = credentials
    expect(secretsOf(credentials)).toEqual(['abcdefgh'])
  })

  it('are none in none', () => {
    expect(secretsOf({})).toEqual([])
  })
})

describe('a redacted value', () => {
  it('has no secret in any text or key', () => {
    const value = { a: 'Bearer hunter22!', 'x-hunter22-y': ['hunter22hunter22', 7, null, true] }
    expect(redact(value, ['hunter22'])).toEqual({
      a: 'Bearer [redacted]!',
      'x-[redacted]-y': ['[redacted][redacted]', 7, null, true],
    })
  })

  it('is the same one when there was nothing to hide, in all its parts', () => {
    const value = { a: ['text'], b: { c: 'hunter22' } }
    expect(redact(value, [])).toBe(value)
    expect(redact(value, ['unrelated'])).toBe(value)
    expect(redact(value, ['hunter22']).a).toBe(value.a)
  })

  it('loses the longer of two secrets that overlap', () => {
    expect(redact('secret-1-and-more', ['secret-1', 'secret-1-and'])).toBe('[redacted]-more')
  })

  it('takes secrets as they are, whatever they mean in patterns', () => {
    expect(redact('a.*b(c)[d]$^|\\-/', ['.*b(c)[d]$^|\\-/'])).toBe('a[redacted]')
    expect(redact('axxb', ['a..b', ''])).toBe('axxb')
    expect(redact('$& stays', ['stays'])).toBe('$& [redacted]')
  })

  it('does not redact its own mark', () => {
    expect(redact('redacted', ['redacted', 'edac'])).toBe('[redacted]')
  })

  it('loses no field when two keys become the same', () => {
    expect(redact({ 'token-aaaaaaaa': 1, 'token-bbbbbbbb': 2 }, ['aaaaaaaa', 'bbbbbbbb'])).toEqual({
      'token-[redacted]': 1,
      'token-[redacted] (2)': 2,
    })
  })

  it('shows no secret, wherever it stands', () => {
    const secret = fc.string({ minLength: 8, maxLength: 12 }).filter((text) => !'[redacted]'.includes(text))
    fc.assert(
      fc.property(fc.jsonValue(), secret, fc.string(), (value, hidden, before) => {
        const hiding = { value, here: `${before}${hidden}`, [`${hidden}!`]: [hidden] } as Json
        const shown: string[] = []
        JSON.stringify(redact(hiding, [hidden]), (key, item: unknown) => {
          shown.push(key, typeof item === 'string' ? item : '')
          return item
        })
        expect(shown.filter((text) => text.replaceAll('[redacted]', '\0').includes(hidden))).toEqual([])
      }),
    )
  })
})
