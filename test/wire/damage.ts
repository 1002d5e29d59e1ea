/** Breaks a legal request by one change, and sees it refused. */
import { describe, expect, it } from 'vitest'
import { checkVendorRequest, type Vendor } from '../vendors/check-vendor-request.ts'
import { LEGAL } from './legal.ts'

export type Edit = (body: unknown) => void

interface Spot {
  readonly holder: Record<string, unknown>
  readonly last: string
}

/** A place such as `messages.1.content`, and what holds it. */
function spot(body: unknown, path: string): Spot {
  const keys = path.split('.')
  const last = keys.pop() ?? ''
  let holder = body as Record<string, unknown>
  for (const key of keys) holder = holder[key] as Record<string, unknown>
  return { holder, last }
}

export function put(path: string, value: unknown): Edit {
  return (body) => {
    const { holder, last } = spot(body, path)
    holder[last] = value
  }
}

/** Takes elements out of a list and puts others there. */
export function splice(path: string, count: number, ...values: unknown[]): Edit {
  return (body) => {
    const { holder, last } = spot(body, path)
    ;(holder as unknown as unknown[]).splice(Number(last), count, ...values)
  }
}

export function both(...edits: Edit[]): Edit {
  return (body) => {
    for (const edit of edits) edit(body)
  }
}

export type Row = readonly [what: string, edit: Edit, complaint: string]

/** Text that JavaScript writes and other languages refuse to read. */
export const HALF = 'half \ud83d'

/** What each change is refused for. */
export function describeRules(vendor: Vendor, rows: readonly Row[]): void {
  describe(`what ${vendor} refuses`, () => {
    it('is nothing of a request as it should be', () => {
      expect(checkVendorRequest(vendor, LEGAL[vendor]())).toEqual([])
    })

    it.each(rows)('is %s', (_, edit, complaint) => {
      const body = LEGAL[vendor]()
      edit(body)
      expect(checkVendorRequest(vendor, body).join('\n')).toContain(complaint)
    })

    it.each([null, 'hello', 7, [], [{}]])('is a body that is %j', (body) => {
      expect(checkVendorRequest(vendor, body)).toEqual([expect.stringContaining('must be a JSON object')])
    })
  })
}

/** Every place in a value. */
export function pathsOf(value: unknown, path = ''): string[] {
  if (typeof value !== 'object' || value === null) return path === '' ? [] : [path]
  const below = Object.entries(value).flatMap(([key, each]) =>
    pathsOf(each, path === '' ? key : `${path}.${key}`),
  )
  return path === '' ? below : [path, ...below]
}
