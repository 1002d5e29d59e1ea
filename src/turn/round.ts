/**
 * The tool calls of one reply, from requested to settled. A call is checked, approved, and started with its intent
 * durable (R3); those that may run together do. The round is played from the session alone, so it goes on after a crash
 * as it would have gone on without one.
 */
import { debugThrown, isPromise, type MaybePromise } from '../base/index.ts'
import type { Call } from '../journal/index.ts'
import type { Batch } from '../loop/index.ts'
import { approvalOf, findCredentials, hearAnswers, request, waitingFor } from '../loop/index.ts'
import { HoldfastError } from '../protocol/index.ts'
import { approvalOf as approvalQuestion, argumentsKey, thrownText } from '../tool/index.ts'
import { type Ready, runGroup } from './effects.ts'
import { endTurn, UNANSWERED } from './ending.ts'
import { ground, recordGrounds } from './grounding.ts'
import { isDue, Phase } from './hooks.ts'
import { failuresReached } from './limits.ts'
import { beforeRound, finishAtLimit, tellEnded } from './phases.ts'
import type { Play } from './play.ts'
import { recoverStarted } from './recovery.ts'
import { pendingCall } from './told.ts'

export async function* playRound(play: Play): AsyncGenerator<Batch, void> {
  const failures = failuresReached(play)
  if (failures !== undefined) {
    yield* finishAtLimit(play, failures)
    return
  }
  if (!play.hooks.isEmpty) yield* beforeRound(play)
  if (play.open.stop !== undefined || play.open.calls.length === 0) return
  const credentials = yield* findCredentials(play)
  if (credentials === undefined) {
    await endToWait(play)
    return
  }
  const again = play.open.calls.some(isStarted) ? await recoverStarted(play, credentials) : []
  yield* commitForHooks(play)
  let ready: readonly Ready[] = [...again, ...(await findReady(play))]
  while (ready.length > 0 && !play.signal.aborted && play.open.stop === undefined) {
    const { toolConcurrency } = play.scope.definition
    // A driver that wants to let go does so here: nothing is started any more.
    if (play.scope.leave?.aborted) yield* play.commit('wait')
    const group = firstGroup(ready).slice(0, toolConcurrency)
    const rest = ready.slice(group.length).filter(({ call }) => call.state === 'started')
    for (const one of group) if (one.call.state === 'requested') sayStart(play, one)
    for (const one of ready.slice(group.length)) recordGrounds(play, one.call)
    yield* play.commit('tools')
    yield* runGroup(play, group, credentials)
    if (play.inbox.length > 0 || play.open.requests.length > 0) await hearAnswers(play)
    ready = play.signal.aborted ? [] : rest
    if (ready.length > 0 || play.signal.aborted) continue
    // Before the next call is looked at, hooks are told of the last one.
    if (play.open.calls.some(isNext)) yield* tellEnded(play)
    yield* commitForHooks(play)
    ready = play.open.stop === undefined ? await findReady(play) : []
  }
  if (play.signal.aborted || play.open.stop !== undefined || play.open.calls.length === 0) return
  yield* tellEnded(play)
  if (play.open.stop === undefined) await endToWait(play)
}

/** What was said is durable before the hooks of the next calls are told of it. */
function* commitForHooks(play: Play): Generator<Batch, void> {
  if (play.draft.hasNews && isHookedIn(play, play.open.calls.filter(isNext))) yield* play.commit('hooks')
}

function isNext({ state }: Call): boolean {
  return state === 'requested'
}

function isStarted({ state }: Call): boolean {
  return state === 'started'
}

/** Calls that run together, or the one that must run alone. */
function firstGroup(ready: readonly Ready[]): readonly Ready[] {
  const alone = ready.findIndex(({ tool }) => tool.exclusive)
  if (alone < 0) return ready
  return alone === 0 ? ready.slice(0, 1) : ready.slice(0, alone)
}

/** Settles what cannot run, asks where somebody has to agree, and returns what can start now, no more than may at once. */
async function findReady(play: Play): Promise<readonly Ready[]> {
  const ready: Ready[] = []
  const asking = new Set(play.open.requests.map(({ callId }) => callId))
  const requested = play.calls.filter(({ callId, state }) => state === 'requested' && !asking.has(callId))
  const { toolCalls = Number.POSITIVE_INFINITY } = play.limits
  for (const call of requested) {
    if (play.open.stop !== undefined) return []
    if (ready.length >= play.scope.definition.toolConcurrency) return ready
    const isNew = call.idempotencyKey === undefined
    const started = play.open.toolCalls + ready.filter((one) => one.call.idempotencyKey === undefined).length
    if (isNew && started >= toolCalls) refuse(play, call, toolCalls)
    else {
      const one = await prepare(play, call)
      if (one !== undefined) ready.push(one)
    }
  }
  return ready
}

async function prepare(play: Play, asked: Call): Promise<Ready | undefined> {
  if (!play.knowsArguments(asked.callId)) {
    rejectForgotten(play, asked)
    return undefined
  }
  const hooked = isHookedIn(play, [asked]) ? await beforeCall(play, asked) : asked
  const grounding = hooked && ground(play, hooked)
  const grounded = isPromise(grounding) ? await grounding : grounding
  if (grounded === undefined) return undefined
  const { call, prepared } = grounded
  const { callId } = call
  if (!prepared.ok) {
    play.draft.say('tool.end', { callId, ...prepared.settled })
    return undefined
  }
  const { tool, input } = prepared
  // Of what is stored: it is the same in every process, and says nothing of a secret.
  const argsKey = argumentsKey(tool.name, play.redacted(call.args))
  const unanswered = call.answers?.find(({ how, from }) => how !== 'answered' && from !== 'approval')
  if (unanswered !== undefined) {
    reject(
      play,
      call,
      unanswered.how === 'expired' ? UNANSWERED : 'The person did not answer and said something else.',
    )
    return undefined
  }
  const approval = approvalOf(call)
  if (approval?.approved === false) {
    const reason = approval.reason === undefined ? '' : ` (${approval.reason})`
    reject(play, call, `Not approved${reason}. Do not repeat it; ask what to do instead.`)
    return undefined
  }
  const asking = approval === undefined ? questionFor(play, { call, tool, input, argsKey }) : undefined
  const question = isPromise(asking) ? await asking : asking
  if (question === undefined) return { call, tool, input, argsKey }
  recordGrounds(play, call)
  const about = { tool: tool.name, args: call.args }
  request(play, { id: 'approval', from: 'approval', kind: 'confirmation', prompt: question, about }, callId)
  return undefined
}

function isHookedIn(play: Play, calls: readonly Call[]): boolean {
  return isDue(play, 'beforeEachTool') && calls.some(({ checked }) => !checked)
}

/** The call as the hooks before it want it; undefined if they do not want it. To throw is to reject it. */
async function beforeCall(play: Play, call: Call): Promise<Call | undefined> {
  const { callId } = call
  const phase = new Phase(play)
  const asked = await pendingCall(play, call)
  let refusal: string | undefined
  try {
    await phase.run('beforeEachTool', () => ({ pending: phase.edited(asked) }))
  } catch (error) {
    if (!HoldfastError.is(error, 'hook-failed')) throw error
    const { cause, details } = error
    debugThrown(`The hook ${details['hook'] as string}`, cause)
    refusal = thrownText(cause, play.secrets)
  }
  phase.say({ name: 'beforeEachTool', callId })
  if (refusal !== undefined) reject(play, call, `Rejected: ${refusal}`)
  if (refusal !== undefined || play.open.stop !== undefined) return undefined
  return play.call(callId)
}

/** Somebody has to agree if the tool says so, or if the same call may have happened before (R4). */
function questionFor(play: Play, ready: Ready): MaybePromise<string | undefined> {
  const { tool, argsKey } = ready
  if (
    tool.replay === 'never' &&
    play.session.unknown?.some((other) => other.argsKey === argsKey && !other.repeated)
  )
    return `${tool.name} was started before with the same arguments, and nobody knows whether it happened. Run it again?`
  return tool.approve === 'never' ? undefined : approvalFor(play, ready)
}

async function approvalFor(play: Play, { call, tool, input }: Ready): Promise<string | undefined> {
  const { principal } = await play.info()
  const about = { tool: tool.name, input, principal, callId: call.callId }
  await play.credentials()
  const onFailed = (message: string): void => play.draft.say('warning', { code: 'approve-failed', message })
  return play.within(approvalQuestion(tool, about, { secrets: play.secrets, onFailed }))
}

function sayStart(play: Play, { call, tool, argsKey }: Ready): void {
  const { callId, args, idempotencyKey, grounds } = call
  play.draft.say('tool.start', {
    callId,
    tool: tool.name,
    args,
    idempotencyKey: idempotencyKey ?? callId,
    argsKey,
    replay: tool.replay,
    // A call that asked something and runs again has said them with its first start.
    ...(grounds === undefined || idempotencyKey !== undefined ? {} : { grounds }),
  })
}

/** One more than the turn may make. The model has had its chance: the turn ends when the round does. */
function refuse(play: Play, { callId, tool }: Call, most: number): void {
  const message = `${tool} was not run: the turn may make ${most} tool calls.`
  play.draft.say('tool.end', { callId, status: 'not-run', output: message })
  play.draft.say('warning', { code: 'toolCalls', message })
}

/** The arguments had a secret in them, which was with the process that received them. */
function rejectForgotten(play: Play, { callId, tool }: Call): void {
  const error = `${tool} was not run: its arguments contained a credential, which is not stored, and the agent that received them is not here any more. Nothing was done. Call it again.`
  play.draft.say('tool.end', { callId, status: 'rejected', output: { error, code: 'redacted-arguments' } })
}

function reject(play: Play, { callId }: Call, output: string): void {
  play.draft.say('tool.end', { callId, status: 'rejected', output })
}

/** Nothing more can be done until somebody answers. */
async function endToWait(play: Play): Promise<void> {
  await endTurn(play, waitingFor(play.open.requests))
}
