/** The one error class: recognised across copies of the package, and safe to log as JSON. */
import { describe, expect, it } from 'vitest'
import { HoldfastError } from './error.ts'

const COPY = './error.ts?copy'
const copy = (await import(COPY)) as { HoldfastError: typeof HoldfastError }

describe('an error', () => {
  it('says what, whether to repeat, and about what', () => {
    const error = new HoldfastError('owned', {
      message: 'Somebody has it.',
      retry: 'later',
      details: { epoch: 3 },
    })
    expect(error).toMatchObject({
      name: 'HoldfastError',
      code: 'owned',
      message: 'Somebody has it.',
      retry: 'later',
      details: { epoch: 3 },
    })
    expect(error).toBeInstanceOf(Error)
    expect(error.stack).toContain('error.test.ts')
  })

  it('is not to be repeated, and about nothing, if nothing is said', () => {
    const error = new HoldfastError('erased', { message: 'Gone.' })
    expect([error.retry, error.details, 'cause' in error]).toEqual(['never', {}, false])
  })

  it('keeps its cause', () => {
    const cause = new Error('disk')
    expect(new HoldfastError('store-failed', { message: 'No.', cause }).cause).toBe(cause)
  })
})

describe('telling errors apart', () => {
  it('works for the own class, with and without a code', () => {
    const error = new HoldfastError('fenced', { message: 'Stop.' })
    expect([
      HoldfastError.is(error),
      HoldfastError.is(error, 'fenced'),
      HoldfastError.is(error, 'owned'),
    ]).toEqual([true, true, false])
  })

  it('works across two copies of the package, where instanceof does not', () => {
    const foreign = new copy.HoldfastError('fenced', { message: 'Stop.' })
    expect(copy.HoldfastError).not.toBe(HoldfastError)
    expect(foreign).not.toBeInstanceOf(HoldfastError)
    expect([
      HoldfastError.is(foreign),
      HoldfastError.is(foreign, 'fenced'),
      HoldfastError.is(foreign, 'owned'),
    ]).toEqual([true, true, false])
    expect(copy.HoldfastError.is(new HoldfastError('owned', { message: 'x' }), 'owned')).toBe(true)
  })

  it.each([
    undefined,
    null,
    'fenced',
    7,
    {},
    { code: 'fenced' },
    new Error('fenced'),
    Object.assign(new Error('x'), { name: 'HoldfastError', code: 'fenced' }),
  ])('is not fooled by %o', (value) => {
    expect([HoldfastError.is(value), HoldfastError.is(value, 'fenced')]).toEqual([false, false])
  })
})

describe('an error as JSON', () => {
  const circular: Record<string, unknown> = {}
  circular['self'] = circular

  it('holds everything plain and nothing live', () => {
    const cause = Object.assign(new Error('secret'), circular)
    const error = new HoldfastError('store-full', {
      message: 'Full.',
      retry: 'later',
      details: { bytes: 9 },
      cause,
    })
    expect(JSON.parse(JSON.stringify(error))).toEqual({
      name: 'HoldfastError',
      code: 'store-full',
      message: 'Full.',
      retry: 'later',
      details: { bytes: 9 },
    })
    expect(JSON.stringify({ error })).not.toContain('secret')
  })

  it('does not show how errors are told apart', () => {
    const error = new HoldfastError('erased', { message: 'Gone.' })
    expect(Object.keys(error).sort()).toEqual(['code', 'details', 'name', 'retry'])
    expect(
      Object.getOwnPropertySymbols(error).filter(
        (symbol) => Object.getOwnPropertyDescriptor(error, symbol)?.enumerable,
      ),
    ).toEqual([])
  })

  it('is not mistaken for a value that nobody can read', () => {
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    expect([HoldfastError.is(proxy), HoldfastError.is(proxy, 'erased')]).toEqual([false, false])
  })
})
