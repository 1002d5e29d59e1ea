/** Recovers calls that an earlier driver started and did not settle (R3, R4): run again, verified, or unknown. */
import type { Call } from '../journal/index.ts'
import { dataOf, lateResultOf } from '../loop/index.ts'
import { type Credentials, verifyCall } from '../tool/index.ts'
import { appendResult, callRun } from './effects.ts'
import { settleUnknown } from './ending.ts'
import { isGroundedBefore } from './grounding.ts'
import { isReceivedOtherwise, preparedCall, type ReadyCall, readyCall } from './ready-call.ts'
import type { TurnRun } from './turn-run.ts'

/** Settles the calls that it can, and returns those to run again. */
export async function recoverStarted(run: TurnRun, credentials: Credentials): Promise<readonly ReadyCall[]> {
  const again: ReadyCall[] = []
  for (const call of run.calls.filter(({ state }) => state === 'started')) {
    const verdict = await recoverCall(run, call, credentials)
    if (verdict !== undefined) again.push(verdict)
  }
  return again
}

const FORGOTTEN =
  'Started, and no result was stored: whether it happened is unknown. There is a credential in its arguments, which is not stored and not known here. Check before you repeat it.'

async function recoverCall(
  run: TurnRun,
  call: Call,
  credentials: Credentials,
): Promise<ReadyCall | undefined> {
  const { callId, tool, args } = call
  const isKnown = run.knowsArguments(callId)
  const prepared = isKnown ? await preparedCall(run, { callId, tool, args }, await run.tools()) : undefined
  const late = lateResultOf(run, callId)
  if (late?.key !== undefined) {
    const known = prepared?.ok ? { tool: prepared.tool, input: prepared.input } : {}
    await appendResult(run, callId, { ...dataOf(late, 'late-result'), ...known, takes: [late.key] })
    return undefined
  }
  if (!prepared?.ok || !(await isGroundedBefore(run, call, prepared))) {
    settleUnknown(run, call, isKnown ? undefined : FORGOTTEN)
    return undefined
  }
  const now = readyCall(run, call, prepared)
  const ready = { ...now, argsKey: call.argsKey ?? now.argsKey }
  // The stricter of the stored and the current `replay`.
  if (call.replay === 'safe' && prepared.tool.replay === 'safe') return ready
  // Asked about other arguments, `verify` would answer for another effect.
  if (isReceivedOtherwise(call, now)) {
    settleUnknown(run, call)
    return undefined
  }
  const verified = async () => verifyCall(await callRun(run, ready, credentials))
  const found = prepared.tool.verify && (await run.within(verified()))
  if (found === 'run') return ready
  if (found === undefined) settleUnknown(run, call)
  else await appendResult(run, callId, { ...found, tool: ready.tool, input: ready.input })
  return undefined
}
