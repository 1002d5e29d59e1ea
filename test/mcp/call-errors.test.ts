/** Failures of requests: only those before anything was sent may be repeated. */
import * as sdk from '@modelcontextprotocol/client'
import { expect, it } from 'vitest'
import { failureOf } from '../../src/mcp/call-errors.ts'

const ofNetwork = (code: string, syscall: string) => {
  const cause = Object.assign(new Error(code), { code, syscall })
  return failureOf(sdk, new TypeError('fetch failed', { cause }))
}

const ofStatus = (status: number) =>
  failureOf(
    sdk,
    new sdk.SdkHttpError(sdk.SdkErrorCode.ClientHttpNotImplemented, 'no', {
      status,
      statusText: '',
    }),
  )

it('a request that found no connection was not sent, and one over a connection may have been', () => {
  expect(ofNetwork('ECONNREFUSED', 'connect')).toBe('unsent')
  expect(ofNetwork('ENETUNREACH', 'connect')).toBe('unsent')
  expect(ofNetwork('ENOTFOUND', 'getaddrinfo')).toBe('unsent')
  expect(ofNetwork('EHOSTUNREACH', 'read')).toBe('lost')
  expect(ofNetwork('ECONNRESET', 'read')).toBe('lost')
})

it('a gateway that answers may have passed the request on', () => {
  expect([502, 503, 504].map(ofStatus)).toEqual(['lost', 'lost', 'lost'])
  expect([403, 429].map(ofStatus)).toEqual(['refused', 'refused'])
})

it('a list without an end breaks the protocol', () => {
  const error = new sdk.SdkError(sdk.SdkErrorCode.ListPaginationExceeded, 'resources/list: exceeded')
  expect(failureOf(sdk, error)).toBe('unreadable')
})
