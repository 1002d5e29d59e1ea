/** Classification of providers' errors, by their shapes. */
import { APICallError } from '@ai-sdk/provider'
import { describe, expect, it } from 'vitest'
import { afterFailure, ModelFailure } from './index.ts'
import { readProviderError } from './provider-errors.ts'

function callError(statusCode: number, message: string, more: object = {}): APICallError {
  return new APICallError({ message, url: 'https://x', requestBodyValues: {}, statusCode, ...more })
}

describe('an error of a call', () => {
  it.each([
    [401, 'Incorrect API key', 'auth'],
    [403, 'not allowed', 'auth'],
    [404, 'no such model', 'invalid'],
    [408, 'too slow', 'timeout'],
    [413, 'too large', 'context-length'],
    [422, 'no', 'invalid'],
    [429, 'slow down', 'rate-limit'],
    [451, 'no', 'refused'],
    [500, 'oops', 'overloaded'],
    [502, 'bad gateway', 'overloaded'],
    [529, 'overloaded', 'overloaded'],
    [400, "This model's maximum context length is 8192 tokens", 'context-length'],
    [400, 'prompt is too long: 210000 tokens > 200000 maximum', 'context-length'],
    [400, 'The input token count (2000000) exceeds the maximum number of tokens allowed', 'context-length'],
    [400, 'Your request was rejected by the content management policy', 'refused'],
    [400, 'messages.1: tool_use ids must be unique', 'invalid'],
  ])('%i %s is %s', (status, message, kind) => {
    const trouble = readProviderError(callError(status, message), false)
    expect([trouble.kind, trouble.status, trouble.message]).toEqual([kind, status, message])
  })

  it('finds the code in the data of the answer', () => {
    const data = { error: { code: 'context_length_exceeded', message: 'x' } }
    expect(readProviderError(callError(400, 'Bad Request', { data }), false).kind).toBe('context-length')
  })

  it('does not ask again where the money is used up', () => {
    const data = { error: { code: 'insufficient_quota' } }
    const trouble = readProviderError(callError(429, 'Too Many Requests', { data }), false)
    expect([trouble.kind, trouble.retryable]).toEqual(['rate-limit', false])
  })

  it('believes the provider about what it does not know', () => {
    const conflict = readProviderError(callError(409, 'conflict'), false)
    expect([conflict.kind, conflict.retryable]).toEqual(['unknown', true])
    const plain = readProviderError(new Error('whatever'), false)
    expect([plain.kind, plain.retryable, plain.status]).toEqual(['unknown', false, undefined])
    expect(readProviderError(undefined, false).message).toBe('The provider failed without saying why')
  })
})

describe('a wait that the provider asks for', () => {
  it.each([
    [{ 'retry-after-ms': '1500', 'retry-after': '9' }, 1500],
    [{ 'retry-after': '20' }, 20_000],
    [{ 'retry-after': '0.5' }, 500],
    [{ 'retry-after': 'Fri, 07 Nov 2025 10:00:30 GMT', date: 'Fri, 07 Nov 2025 10:00:00 GMT' }, 30_000],
    [{ 'retry-after': 'Fri, 07 Nov 2025 10:00:00 GMT' }, 0],
    [{ 'retry-after': 'soon' }, undefined],
    [{ 'retry-after': '-1' }, undefined],
    [{}, undefined],
  ])('is read from %j as %s ms', (responseHeaders, ms) => {
    expect(readProviderError(callError(429, 'x', { responseHeaders }), false).retryAfterMs).toBe(ms)
  })

  it('is read from where Google puts it', () => {
    const data = {
      error: { code: 429, message: 'x', details: [{ '@type': 'RetryInfo', retryDelay: '34.2s' }] },
    }
    expect(readProviderError(callError(429, 'x', { data }), false).retryAfterMs).toBe(34_200)
  })
})

describe('a quota', () => {
  const message = 'You exceeded your current quota, please check your plan and billing details.'

  it('of a minute is full until the time that the provider names', () => {
    const data = { error: { code: 429, message, details: [{ '@type': 'RetryInfo', retryDelay: '34s' }] } }
    const read = readProviderError(callError(429, message, { data }), false)
    expect(read).toEqual({ kind: 'rate-limit', message, status: 429, retryAfterMs: 34_000 })
  })

  it('of an account does not help to repeat', () => {
    const read = readProviderError(callError(429, message), false)
    expect(read).toEqual({ kind: 'rate-limit', message, status: 429, retryable: false })
  })
})

describe('an error of the network', () => {
  const refused = Object.assign(new TypeError('fetch failed'), {
    cause: Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:1'), { code: 'ECONNREFUSED' }),
  })

  it.each([
    ['a refused connection', refused],
    [
      'one that the AI SDK wrapped',
      new APICallError({
        message: 'Cannot connect to API: connect ECONNREFUSED',
        url: 'x',
        requestBodyValues: {},
        cause: refused,
        isRetryable: true,
      }),
    ],
    ['a reset', Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })],
    ['a stream that broke', new TypeError('terminated')],
    ['a text', 'socket hang up'],
  ])('%s is network, and a cut once the reply has begun', (_, error) => {
    expect([readProviderError(error, false).kind, readProviderError(error, true).kind]).toEqual([
      'network',
      'cut-off',
    ])
  })
})

describe('an error inside of a stream', () => {
  it.each([
    [{ type: 'overloaded_error', message: 'Overloaded' }, 'overloaded'],
    [{ type: 'error', error: { type: 'rate_limit_error', message: 'slow' } }, 'rate-limit'],
    [{ code: 'server_error', message: 'sorry' }, 'overloaded'],
    [{ error: { code: 'context_length_exceeded', message: 'long' } }, 'context-length'],
    [{ code: 503, message: 'The model is overloaded', status: 'UNAVAILABLE' }, 'overloaded'],
    [{ type: 'invalid_request_error', message: 'bad' }, 'invalid'],
    [{ type: 'timeout_error', message: 'Request timed out' }, 'timeout'],
    [{ code: '429', message: 'slow' }, 'rate-limit'],
    [{ error: { code: '500', message: 'sorry' } }, 'overloaded'],
    ['no idea', 'unknown'],
  ])('%j is %s', (error, kind) => {
    expect(readProviderError(error, true).kind).toBe(kind)
  })
})

describe('what is kept of a failure', () => {
  it('is not cut inside of a character', () => {
    const { message } = new ModelFailure('file-refused', { message: `${'x'.repeat(499)}😀` })
    expect(message).toBe(`${'x'.repeat(499)}\u{fffd}`)
  })

  it('is short', () => {
    const trouble = readProviderError(callError(401, 'x'.repeat(2000)), false)
    const data = new ModelFailure(trouble.kind, trouble).toData()
    expect(data).toEqual({ kind: 'auth', status: 401, message: 'x'.repeat(500) })
  })

  it.each([
    ['Incorrect API key provided: sk-proj-abcdef1234567890. See', 'Incorrect API key provided: [key]. See'],
    ['Bad header Authorization: Bearer abc.def-ghi123', 'Bad header Authorization: [key]'],
    ['GET /v1beta/models?key=AIzaSyA-1234567890abcdef', 'GET /v1beta/models?[key]'],
    ['api-version-2024-10-21 is task-specific', 'api-version-2024-10-21 is task-specific'],
  ])('holds no key: %s', (message, kept) => {
    expect(readProviderError(new Error(message), false).message).toBe(kept)
  })
})

describe('after a failure', () => {
  const at = { retries: 2, maxWaitMs: 60_000 }
  const overloaded = new ModelFailure('overloaded', { message: 'x' })

  it('the same is tried again after 1, 2, 4 … seconds, as often as allowed', () => {
    const steps = [1, 2, 3].map((attempt) => afterFailure(overloaded, { ...at, attempt }))
    expect(steps).toEqual([
      { next: 'retry', waitMs: 1000 },
      { next: 'retry', waitMs: 2000 },
      { next: 'fallback' },
    ])
    expect(afterFailure(overloaded, { attempt: 30, retries: 99, maxWaitMs: 7000 })).toEqual({
      next: 'retry',
      waitMs: 7000,
    })
  })

  it('the wait is what the provider asked for, unless that is too long', () => {
    const limited = (retryAfterMs: number) => new ModelFailure('rate-limit', { message: 'x', retryAfterMs })
    expect(afterFailure(limited(17), { ...at, attempt: 1 })).toEqual({ next: 'retry', waitMs: 17 })
    expect(afterFailure(limited(60_001), { ...at, attempt: 1 })).toEqual({ next: 'fallback' })
  })

  it('what does not help is not repeated', () => {
    const kinds = ['aborted', 'auth', 'refused', 'context-length', 'invalid', 'unknown'] as const
    const steps = kinds.map((kind) =>
      afterFailure(new ModelFailure(kind, { message: 'x' }), { ...at, attempt: 1 }),
    )
    expect(steps).toEqual(kinds.map(() => ({ next: 'fallback' })))
  })

  it('a random port spreads the waits', () => {
    expect(afterFailure(overloaded, { ...at, attempt: 1, random: () => 1 })).toEqual({
      next: 'retry',
      waitMs: 1250,
    })
  })
})
