/** Runs the calls of a group together, and settles each as soon as it ends. */
import { chain, isPromise, type MaybePromise } from '../base/index.ts'
import type { Batch } from '../loop/index.ts'
import {
  answerOriginsOf,
  answersOf,
  endsTurn,
  givenAnswersOf,
  Interrupted,
  newRequestId,
  reasonsOf,
  request,
} from '../loop/index.ts'
import type { Entry, Json } from '../protocol/index.ts'
import {
  type CallEnd,
  type CallRun,
  type Credentials,
  type Settled,
  type Tool,
  type ToolContext,
  XRAY,
  type XraySource,
} from '../tool/index.ts'
import { approvalsOf, stopIfAsked } from './approval.ts'
import type { TurnInfo } from './definition.ts'
import { uncounted } from './ending.ts'
import { selectActive, thingsShown } from './grounding.ts'
import { idsOfTurn } from './ids-of-turn.ts'
import { observedCall } from './observed-steps.ts'
import { runEndHooks } from './phases.ts'
import type { ReadyCall } from './ready-call.ts'
import { xraySource } from './trace.ts'
import type { TurnRun } from './turn-run.ts'

/** Every call of the group is durably started. A result is made durable without waiting for the others. */
export async function* runGroup(
  run: TurnRun,
  group: readonly ReadyCall[],
  credentials: Credentials,
): AsyncGenerator<Batch, void> {
  const runs: CallRun[] = []
  for (const one of group) {
    const making = callRun(run, one, credentials)
    runs.push(isPromise(making) ? await making : making)
  }
  // Checked last: the lookups for the calls may have taken time.
  const acting = run.scope.ensureLease()
  if (isPromise(acting)) await acting
  const ended: Ended[] = []
  let bell = Promise.withResolvers<void>()
  const running = runs.map(async (one) => {
    const { callId } = one.context
    const end = await observedCall(run, one)
    if (end.kind === 'settled') {
      const { kind: _, ...settled } = end
      run.scope.ended(callId, settled)
    }
    ended.push({ callId, end })
    bell.resolve()
  })
  try {
    for (let left = running.length; left > 0; ) {
      await bell.promise
      bell = Promise.withResolvers<void>()
      const now = ended.splice(0)
      left -= now.length
      for (const one of now) {
        const appending = appendEnd(run, one, readyCallOf(group, one.callId))
        if (isPromise(appending)) await appending
      }
      if (left > 0) yield run.commit('continue')
      if (left > 0 && !run.hooks.isEmpty) yield* runEndHooks(run, 'continue')
    }
  } catch (error) {
    // The turn may be lost: running calls are awaited, so that their results are posted before the loop ends (R4).
    await Promise.all(running)
    // A hook that timed out takes nothing away from the turn.
    const isOurs = endsTurn(error) || (error instanceof Interrupted && run.cancelledOrTimedOut.aborted)
    if (isOurs) for (const one of ended) await appendEnd(run, one, readyCallOf(group, one.callId))
    throw error
  } finally {
    // A loop that is closed has aborted its calls: it ends after them.
    if (run.cancelledOrTimedOut.aborted) await Promise.all(running)
  }
}

/** Before the start of a call is stored: a lookup that fails must not leave a started call, which nobody would repeat. */
export function lookUpCalls(run: TurnRun): MaybePromise<CallInfo> {
  return chain(run.info(), (info) => chain(run.scope.view.turnEntries(), (entries) => ({ ...info, entries })))
}

export function callRun(run: TurnRun, one: ReadyCall, credentials: Credentials): MaybePromise<CallRun> {
  return chain(lookUpCalls(run), (info) => callRunWith(run, one, { ...info, credentials }))
}

type CallInfo = TurnInfo & { readonly entries: readonly Entry[] }

function callRunWith(run: TurnRun, one: ReadyCall, info: CallInfo): CallRun {
  const { scope, secrets } = run
  const { callId, idempotencyKey } = one.call
  const { turn, iteration } = run.open
  const { contextId, task, principal, metadata, credentials, entries } = info
  const context: ToolContext & { readonly [XRAY]: XraySource } = {
    ...scope.extras?.(idsOfTurn(run), {
      answers: givenAnswersOf(one.call),
      answerOrigins: answerOriginsOf(one.call),
      approvals: approvalsOf(run),
    }),
    contextId,
    callId,
    turn,
    iteration,
    principal,
    credentials,
    idempotencyKey: idempotencyKey ?? callId,
    argumentsKey: one.argsKey,
    signal: run.cancelledOrTimedOut,
    artifacts: scope.artifacts(callId, secrets),
    task,
    previousTools: run.previousTools(entries),
    metadata,
    answers: answersOf(one.call),
    reasons: reasonsOf(one.call),
    [XRAY]: xraySource(run, entries),
    progress: (progress: Json) => scope.emit('tool.progress', { callId, tool: one.tool.name, progress }),
  }
  return {
    tool: one.tool,
    input: one.input,
    context,
    timer: scope.timer,
    secrets,
    graceMs: scope.definition.graceMs,
    onLate: (settled) => scope.late(callId, settled),
    onThrown: (error) => {
      run.threw({ kind: 'tool', name: one.tool.name, callId }, error)
      run.thrown.set(callId, error)
    },
  }
}

interface Ended {
  readonly callId: string
  readonly end: CallEnd
}

function readyCallOf(group: readonly ReadyCall[], callId: string): ReadyCall | undefined {
  return group.find(({ call }) => call.callId === callId)
}

function appendEnd(run: TurnRun, { callId, end }: Ended, one: ReadyCall | undefined): MaybePromise<void> {
  if (end.kind === 'settled') return appendResult(run, callId, { ...end, ...one })
  const call = run.open.calls.find((candidate) => candidate.callId === callId)
  const before = call?.answers?.length ?? 0
  const usage = end.usage && uncounted(call, end.usage)
  if (usage !== undefined) run.draft.append('usage', { callId, usage })
  for (const { name, ...question } of end.requests) {
    const id = newRequestId(run, { ...call, callId }, before === 0 ? name : `${name}-${before}`)
    request(run, { id, name, ...question }, callId)
  }
}

interface SettledCall extends Settled {
  /** The tool and its input, if known: they say what the result shows and selects. */
  readonly tool?: Tool
  readonly input?: unknown
  /** The late result that settles the call, if one does. */
  readonly takes?: readonly string[]
}

export function appendResult(run: TurnRun, callId: string, settled: SettledCall): MaybePromise<void> {
  const { status, output, cut, display, usage: used, seen = [], tool, input, takes } = settled
  const call = run.open.calls.find((candidate) => candidate.callId === callId)
  const usage = used && uncounted(call, used)
  // A cut result shows nothing and selects nothing.
  const isWhole = status === 'ok' && !cut
  const end = {
    callId,
    status,
    output,
    ...(cut ? { cut } : {}),
    ...(display === undefined ? {} : { display }),
    ...(usage === undefined ? {} : { usage }),
    ...(status === 'ok' ? thingsShown(run, isWhole ? tool : undefined, { output, input, seen }) : {}),
  }
  run.draft.append('tool.end', end, takes)
  stopIfAsked(run, call)
  if (isWhole && tool?.grounding !== undefined) return selectActive(run, tool, { output, input })
}
