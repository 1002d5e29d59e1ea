/** When a person is asked before a call, and with which question. */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { approvalOf } from './approval.ts'
import { defineTool } from './define-tool.ts'
import { Redactor } from './redact.ts'
import type { Approval, ApprovalCall, Tool } from './tool.ts'

const HUNTER = Redactor.of([{ value: 'hunter22' }])

const principal = { tenant: 't', actor: 'a' }
const call: ApprovalCall = { tool: 'pay', input: { amount: 7 }, principal, callId: 'c1' }
const usual = 'May "pay" be run with {"amount":7}?'

function pay(approve: Tool['approve']): Tool {
  return defineTool({ name: 'pay', description: 'Pays', input: z.object({}), approve, run: () => null })
}

describe('the question before a call', () => {
  it('is none if the tool needs no approval, and the usual one if it always does', async () => {
    expect(await approvalOf(pay('never'), call)).toBe(undefined)
    expect(await approvalOf(pay('always'), call)).toBe(usual)
  })

  it('is decided by a function that sees the call', async () => {
    const seen: ApprovalCall[] = []
    const approve = (given: ApprovalCall): boolean => {
      seen.push(given)
      return true
    }
    expect(await approvalOf(pay(approve), call)).toBe(usual)
    expect(seen).toEqual([call])
    expect(
      await approvalOf(
        pay(() => Promise.resolve(false)),
        call,
      ),
    ).toBe(undefined)
    expect(
      await approvalOf(
        pay(() => Promise.resolve('Really 7?')),
        call,
      ),
    ).toBe('Really 7?')
  })

  it.each([undefined, null, 0, '', {}])('is asked after all when the function gives %o', async (odd) => {
    expect(
      await approvalOf(
        pay(() => odd as Approval),
        call,
      ),
    ).toBe(usual)
  })

  it('is asked after all when the function throws, and only its author reads the reason', async () => {
    const broken = pay(() => Promise.reject(new Error('no connection for hunter22')))
    const told: string[] = []
    const onFailed = (why: string): void => void told.push(why)
    expect(await approvalOf(broken, call, { secrets: HUNTER, onFailed })).toBe(
      `${usual} (You are asked because the approval function of this tool failed.)`,
    )
    expect(told).toEqual(['The function approve of the tool pay failed: no connection for [redacted]'])
  })

  it('shows no secrets, nothing unseen, and no more than a person reads', async () => {
    const ask = (input: unknown): Promise<string | undefined> =>
      approvalOf(pay('always'), { ...call, input }, { secrets: HUNTER })
    expect(await ask({})).toBe('May "pay" be run?')
    expect(await ask({ a: new Map([['b', 1n]]) })).toBe(`May "pay" be run with { a: Map(1) { 'b' => 1n } }?`)
    expect(await ask({ key: 'hunter22' })).toBe('May "pay" be run with {"key":"[redacted]"}?')
    expect(await ask({ to: 'a\u202eb' })).toBe('May "pay" be run with {"to":"a\\u{202e}b"}?')
    expect(await ask({ text: 'x'.repeat(1000) })).toBe(`May "pay" be run with {"text":"${'x'.repeat(491)}…?`)
  })
})
