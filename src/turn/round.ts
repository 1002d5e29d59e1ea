/**
 * Runs the tool calls of one reply, from requested to settled. A call is checked, approved, and started with its intent
 * durable (R3); calls that may run together do. The round is derived from the session alone, so it continues after a
 * crash as it would have without one.
 */
import { isPromise } from '../base/index.ts'
import type { Call } from '../journal/index.ts'
import type { Batch } from '../loop/index.ts'
import {
  endsTurn,
  findCredentials,
  Interrupted,
  isCommittedFirst,
  takeAnswers,
  waitingFor,
} from '../loop/index.ts'
import { HoldfastError } from '../protocol/index.ts'
import { thrownText } from '../tool/index.ts'
import { approved } from './approval.ts'
import { lookUpCalls, runGroup } from './effects.ts'
import { endTurn, UNANSWERED } from './ending.ts'
import { ground, recordGrounds } from './grounding.ts'
import { pendingCall } from './hook-input.ts'
import { isPhaseDue, Phase } from './hooks.ts'
import { failuresReached } from './limits.ts'
import { beforeRound, finishAtLimit, runEndHooks } from './phases.ts'
import { type ReadyCall, readyCall } from './ready-call.ts'
import { recoverStarted } from './recovery.ts'
import type { TurnRun } from './turn-run.ts'

export async function* runRound(run: TurnRun): AsyncGenerator<Batch, void> {
  const failures = failuresReached(run)
  if (failures !== undefined) {
    yield* finishAtLimit(run, failures)
    return
  }
  if (!run.hooks.isEmpty) yield* beforeRound(run)
  if (run.open.stop !== undefined || run.open.calls.length === 0) return
  if (isCommittedFirst(run)) yield run.commit('continue')
  const finding = findCredentials(run)
  const credentials = isPromise(finding) ? await finding : finding
  if (credentials === undefined) {
    await endToWait(run)
    return
  }
  const again = run.open.calls.some(isStarted) ? await recoverStarted(run, credentials) : []
  if (!run.hooks.isEmpty) yield* commitForHooks(run)
  let ready: readonly ReadyCall[] = [...again, ...(yield* keepingReply(run, findReady(run)))]
  while (ready.length > 0 && !run.cancelledOrTimedOut.aborted && run.open.stop === undefined) {
    const { toolConcurrency } = run.scope.definition
    // A stopping driver leaves here: no further call is started.
    if (run.scope.stopping?.aborted) yield run.commit('wait')
    const group = firstGroup(ready).slice(0, toolConcurrency)
    const rest = ready.slice(group.length).filter(({ call }) => call.state === 'started')
    const looking = lookUpCalls(run)
    if (isPromise(looking)) yield* keepingReply(run, looking)
    for (const one of group) if (one.call.state === 'requested') appendStart(run, one)
    for (const one of ready.slice(group.length)) recordGrounds(run, one.call)
    yield run.commit('tools')
    yield* runGroup(run, group, credentials)
    if (run.inbox.length > 0 || run.open.requests.length > 0) await takeAnswers(run)
    ready = run.cancelledOrTimedOut.aborted ? [] : rest
    if (ready.length > 0 || run.cancelledOrTimedOut.aborted) continue
    if (!run.open.calls.some(isNext)) break
    // Hooks get a result before the next call is prepared.
    if (!run.hooks.isEmpty) {
      yield* runEndHooks(run)
      yield* commitForHooks(run)
    }
    ready = run.open.stop === undefined ? await findReady(run) : []
  }
  if (run.cancelledOrTimedOut.aborted || run.open.stop !== undefined || run.open.calls.length === 0) return
  yield* runEndHooks(run)
  if (run.open.stop === undefined) await endToWait(run)
}

/** A store that cannot be read does not take the reply away, which is paid for. */
async function* keepingReply<T>(run: TurnRun, work: Promise<T>): AsyncGenerator<Batch, T> {
  try {
    return await work
  } catch (error) {
    const isLeft = !endsTurn(error) && !(error instanceof Interrupted)
    const isBegun = run.scope.view.session.open !== undefined
    if (isLeft && isBegun && !run.draft.isEmpty) yield run.commit('continue')
    throw error
  }
}

/** Makes the draft durable before the hooks of the next calls run. */
function* commitForHooks(run: TurnRun): Generator<Batch, void> {
  if (run.draft.hasNews && isHookedIn(run, run.open.calls.filter(isNext))) yield run.commit('hooks')
}

function isNext({ state }: Call): boolean {
  return state === 'requested'
}

function isStarted({ state }: Call): boolean {
  return state === 'started'
}

/** Calls that run together, or the one that must run alone. */
function firstGroup(ready: readonly ReadyCall[]): readonly ReadyCall[] {
  const alone = ready.findIndex(({ tool }) => tool.exclusive)
  if (alone < 0) return ready
  return alone === 0 ? ready.slice(0, 1) : ready.slice(0, alone)
}

/** Settles calls that cannot run, requests approvals, and returns the calls to start now, within `toolConcurrency`. */
async function findReady(run: TurnRun): Promise<readonly ReadyCall[]> {
  const ready: ReadyCall[] = []
  const waiting = new Set(run.open.requests.map(({ callId }) => callId))
  const requested = run.calls.filter(({ callId, state }) => state === 'requested' && !waiting.has(callId))
  const { toolCalls = Number.POSITIVE_INFINITY } = run.limits
  for (const call of requested) {
    if (run.open.stop !== undefined) return []
    if (ready.length >= run.scope.definition.toolConcurrency) return ready
    const isNew = call.idempotencyKey === undefined
    const started = run.open.toolCalls + ready.filter((one) => one.call.idempotencyKey === undefined).length
    if (isNew && started >= toolCalls) refuse(run, call, toolCalls)
    else {
      const one = await prepare(run, call)
      if (one !== undefined) ready.push(one)
    }
  }
  return ready
}

async function prepare(run: TurnRun, requested: Call): Promise<ReadyCall | undefined> {
  if (!run.knowsArguments(requested.callId)) {
    rejectForgotten(run, requested)
    return undefined
  }
  const hooked = isHookedIn(run, [requested]) ? await beforeCall(run, requested) : requested
  const grounding = hooked && ground(run, hooked)
  const grounded = isPromise(grounding) ? await grounding : grounding
  if (grounded === undefined) return undefined
  const { call, prepared } = grounded
  const { callId } = call
  if (!prepared.ok) {
    run.draft.append('tool.end', { callId, ...prepared.settled })
    return undefined
  }
  const unanswered = call.answers?.find(({ how, from }) => how !== 'answered' && from !== 'approval')
  if (unanswered !== undefined) {
    run.abandon(callId)
    reject(
      run,
      call,
      unanswered.how === 'expired' ? UNANSWERED : 'The person did not answer and said something else.',
    )
    return undefined
  }
  return approved(run, readyCall(run, call, prepared))
}

function isHookedIn(run: TurnRun, calls: readonly Call[]): boolean {
  return isPhaseDue(run, 'beforeEachTool') && calls.some(({ checked }) => !checked)
}

/** The call as edited by its hooks; undefined if they reject it. An exception rejects it. */
async function beforeCall(run: TurnRun, call: Call): Promise<Call | undefined> {
  const { callId } = call
  const phase = new Phase(run)
  const pending = await pendingCall(run, call)
  let refusal: string | undefined
  try {
    await phase.run('beforeEachTool', () => ({ pending: phase.edited(pending) }))
  } catch (error) {
    if (!HoldfastError.is(error, 'hook-failed')) throw error
    const { cause, details } = error
    run.threw({ kind: 'hook', name: details['hook'] as string, callId }, cause)
    refusal = thrownText(cause, run.secrets)
  }
  phase.append({ name: 'beforeEachTool', callId })
  if (refusal !== undefined) reject(run, call, `Rejected: ${refusal}`)
  if (refusal !== undefined || run.open.stop !== undefined) return undefined
  return run.call(callId)
}

function appendStart(run: TurnRun, { call, tool, argsKey, inputKey }: ReadyCall): void {
  const { callId, args, idempotencyKey, grounds } = call
  run.draft.append('tool.start', {
    callId,
    tool: tool.name,
    args,
    idempotencyKey: idempotencyKey ?? callId,
    argsKey,
    ...(inputKey === undefined ? {} : { inputKey }),
    replay: tool.replay,
    // A call that asked and runs again has recorded them with its first start.
    ...(grounds === undefined || idempotencyKey !== undefined ? {} : { grounds }),
  })
}

/** Refuses a call over the limit. The turn ends when the round does. */
function refuse(run: TurnRun, { callId, tool }: Call, most: number): void {
  const message = `${tool} was not run: the turn may make ${most} tool calls.`
  run.draft.append('tool.end', { callId, status: 'not-run', output: message })
  run.draft.append('warning', { code: 'toolCalls', message })
}

/** Rejects a call whose arguments had a secret that only the former process knows. */
function rejectForgotten(run: TurnRun, { callId, tool }: Call): void {
  const error = `${tool} was not run: its arguments contained a credential, which is not stored, and the process that had it is gone. Nothing was done. Call it again.`
  run.draft.append('tool.end', { callId, status: 'rejected', output: { error, code: 'redacted-arguments' } })
}

function reject(run: TurnRun, { callId }: Call, output: string): void {
  run.draft.append('tool.end', { callId, status: 'rejected', output })
}

/** Ends the turn until its requests are answered. */
async function endToWait(run: TurnRun): Promise<void> {
  await endTurn(run, waitingFor(run.open.requests))
}
