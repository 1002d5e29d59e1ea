/** Values of tools that throw when they are read, such as a revoked Proxy: they end their call, and nothing else. */
import { expect, it } from 'vitest'
import { z } from 'zod'
import { ManualClock } from '../testing/manual-clock.ts'
import { fakeToolContext } from '../testing/tool-context.ts'
import { defineTool } from './define-tool.ts'
import { type CallRun, runCall, verifyCall } from './run-call.ts'
import type { VerifyResult } from './tool.ts'

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}

function running(run: () => unknown, verify?: () => VerifyResult): CallRun {
  const described = { name: 'act', description: 'Acts', input: z.object({}) }
  const tool = defineTool({ ...described, ...(verify === undefined ? {} : { verify }), run })
  return { tool, input: {}, context: fakeToolContext(), timer: new ManualClock() }
}

it('a tool that throws one fails its call', async () => {
  expect(await runCall(running(() => Promise.reject(revoked())))).toEqual({
    kind: 'settled',
    status: 'error',
    output: { error: 'The tool threw something that cannot be read.' },
  })
})

it('a tool that returns one fails its call', async () => {
  expect(await runCall(running(revoked))).toMatchObject({ kind: 'settled', status: 'error' })
})

it('a verdict that is one, or has one, leaves the call unknown', async () => {
  for (const verdict of [revoked(), { happened: true, output: revoked() }])
    expect(
      await verifyCall(
        running(
          () => 'ran',
          () => verdict as VerifyResult,
        ),
      ),
    ).toBe(undefined)
})
