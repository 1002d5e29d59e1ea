/** Keys: valid names of conversations, and no two names that could be confused (R20). */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkOwner, childKey, contextKey, keyText, LOCAL_OWNER, sameKey } from './context.ts'

const key = { tenant: 't', actor: 'a', contextId: 'c' }

describe('a key', () => {
  it.each(['c', 'user-123', 'a.b_c:d@e+f=g~h|i', 'Ελένη', '项目', 'naïve', 'a/b/c', 'x'.repeat(512)])(
    'may be called %s',
    (contextId) => {
      expect(contextKey({ ...key, contextId })).toEqual({ ...key, contextId })
    },
  )

  it.each([
    '',
    ' ',
    'a b',
    'a\n',
    'a\0',
    'a\\b',
    'a"b',
    "a'b",
    'a%b',
    'a*',
    'a?',
    '.',
    '..',
    '/',
    '/a',
    'a/',
    'a//b',
    'a/../b',
    'a/./b',
    'e\u0301',
    'a\u202eb',
    '\ud800',
    'x'.repeat(513),
    'é'.repeat(257),
    '😀',
  ])('may not be called %j', (contextId) => {
    expect(() => contextKey({ ...key, contextId })).toThrow(
      expect.objectContaining({ code: 'invalid-key', details: { field: 'contextId' } }),
    )
  })

  it.each([undefined, null, 7, {}, ['c']])('may not be called %o', (contextId) => {
    expect(() => contextKey({ ...key, contextId: contextId as string })).toThrow(
      expect.objectContaining({ code: 'invalid-key' }),
    )
  })

  it.each(['tenant', 'actor'] as const)('has a %s that is one name, no path', (field) => {
    expect(() => contextKey({ ...key, [field]: 'a/b' })).toThrow(
      expect.objectContaining({ details: { field } }),
    )
    expect(() => contextKey({ ...key, [field]: '' })).toThrow(expect.objectContaining({ details: { field } }))
  })

  it('is stripped to its three fields', () => {
    expect(Object.keys(contextKey({ ...key, secret: 's' } as never))).toEqual([
      'tenant',
      'actor',
      'contextId',
    ])
    expect(Object.keys(checkOwner({ ...key, secret: 's' } as never))).toEqual(['tenant', 'actor'])
  })

  it('is refused in words that cannot spoil a terminal', () => {
    const nasty = 'a\u001b[31m\u202e\u0085b'
    const message = (() => {
      try {
        contextKey({ ...key, contextId: nasty })
      } catch (error) {
        return (error as Error).message
      }
      return ''
    })()
    expect(message).toContain('"a\\u001b[31m\\u{202e}\\u{85}b"')
    expect(/[\p{Cc}\p{Cf}]/u.test(message)).toBe(false)
  })
})

describe('the text of a key', () => {
  it('is different for different keys', () => {
    const name = fc.stringMatching(/^[a-z.:|/-]{1,3}$/)
    const keys = fc.record({ tenant: name, actor: name, contextId: name }).filter(isValid)
    fc.assert(
      fc.property(keys, keys, (a, b) => {
        expect(keyText(a) === keyText(b)).toBe(sameKey(a, b))
      }),
      { numRuns: 500 },
    )
  })

  it('is one line', () => {
    expect(keyText(key)).toBe('t a c')
  })
})

describe('the key of a child', () => {
  it('is a path below its parent, of the same owner', () => {
    expect(childKey(key, 'research')).toEqual({ ...key, contextId: 'c/research' })
    expect(childKey(childKey(key, 'a'), 'b').contextId).toBe('c/a/b')
  })

  it.each(['', '..', 'a/b', 'a b'])('is no path by itself: %j', (name) => {
    expect(() => childKey(key, name)).toThrow(expect.objectContaining({ code: 'invalid-key' }))
  })

  it('is not longer than a key may be', () => {
    expect(() => childKey({ ...key, contextId: 'x'.repeat(510) }, 'ab')).toThrow(
      expect.objectContaining({ code: 'invalid-key' }),
    )
    expect(childKey({ ...key, contextId: 'x'.repeat(510) }, 'a').contextId).toHaveLength(512)
  })
})

describe('an owner', () => {
  it('is local if nobody is named', () => {
    expect(checkOwner(LOCAL_OWNER)).toEqual({ tenant: 'local', actor: 'local' })
  })

  it.each([undefined, null, 'acme'])('is an object: %j is refused, as owner and as key', (value) => {
    expect(() => checkOwner(value as never)).toThrow(
      expect.objectContaining({
        code: 'invalid-key',
        message: expect.stringMatching(/^The owner of a conversation is an object \{ tenant, actor \}, not /),
      }),
    )
    expect(() => contextKey(value as never)).toThrow(
      expect.objectContaining({
        code: 'invalid-key',
        message: expect.stringMatching(
          /^The key of a conversation is an object \{ tenant, actor, contextId \}, not /,
        ),
      }),
    )
  })
})

function isValid(candidate: { tenant: string; actor: string; contextId: string }): boolean {
  try {
    contextKey(candidate)
    return true
  } catch {
    return false
  }
}
