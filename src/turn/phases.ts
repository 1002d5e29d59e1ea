/**
 * The hook phases of a turn, in their order. The session's `phase` is the last completed one, so a turn that is taken
 * over continues after it (R8).
 */
import { isPromise } from '../base/index.ts'
import type { CallError, Prompt } from '../hook/index.ts'
import { hasRound } from '../journal/index.ts'
import type { Batch, Next } from '../loop/index.ts'
import { type Ending, Interrupted } from '../loop/index.ts'
import {
  CLOSING_STEPS,
  HoldfastError,
  isAhead,
  isAheadOfModel,
  type Json,
  type JsonObject,
  type OutcomeReason,
  type PromptChanges,
} from '../protocol/index.ts'
import { endTurn, NOT_RUN, settleRest } from './ending.ts'
import { frozenCopy } from './frozen-copy.ts'
import { configuredPrompt, withRules } from './grounding-prompt.ts'
import { callResults, lastReply, lastText, pendingHookCalls } from './hook-input.ts'
import { type DataMaker, isPhaseDue, Phase, runPhase } from './hooks.ts'
import type { ReachedLimit } from './limits.ts'
import { changed, difference } from './prompt-edit.ts'
import type { TurnRun } from './turn-run.ts'

const nothing = () => ({})

/** Runs the hooks before a model call, once for all its attempts. */
export async function* beforeModel(run: TurnRun): AsyncGenerator<Batch, void> {
  if (run.open.fresh) yield* runPhase(run, 'afterUserInput', () => nothing)
  const { phase } = run.open
  if (isAheadOfModel('beforeIteration', phase)) yield* runPhase(run, 'beforeIteration', () => nothing)
  if (isAheadOfModel('beforeLlm', phase) || !(await fits(run))) yield* editPrompt(run)
}

async function fits(run: TurnRun): Promise<boolean> {
  const { messages } = run.open.prompt ?? {}
  return messages === undefined || changed(await run.scope.view.messages(), messages) !== undefined
}

async function* editPrompt(run: TurnRun): AsyncGenerator<Batch, void> {
  if (!isPhaseDue(run, 'beforeLlm')) return
  if (run.draft.hasNews) yield run.commit('hooks')
  const before = await promptOf(run)
  const phase = new Phase(run)
  await phase.run('beforeLlm', () => ({ prompt: { ...before, ...phase.prompt } }))
  phase.append({ name: 'beforeLlm' }, promptChanges(before, phase.prompt))
}

async function promptOf(run: TurnRun): Promise<Prompt> {
  const [tools, own] = await Promise.all([run.tools(), configuredPrompt(run)])
  return {
    system: withRules(run, own) ?? '',
    messages: frozenCopy(await run.scope.view.messages()),
    tools: tools.map(({ name }) => name),
  }
}

function promptChanges(before: Prompt, after: Partial<Prompt>): PromptChanges | undefined {
  const { system, tools, messages } = after
  const splices = messages === undefined ? undefined : difference(before.messages, messages)
  const changes = {
    ...(system === undefined || system === before.system ? {} : { system }),
    ...(tools === undefined ? {} : { tools }),
    ...(splices === undefined ? {} : { messages: splices }),
  }
  return Object.keys(changes).length === 0 ? undefined : changes
}

/** Runs the hooks after a reply and before its round. */
export async function* beforeRound(run: TurnRun): AsyncGenerator<Batch, void> {
  const { kind } = run.scope.definition.nodeTurn ?? {}
  // The node that made a given reply has run these hooks.
  if (kind !== 'round' && isAhead('afterLlm', run.open.phase)) yield* afterReply(run)
  if (kind === 'reply' || run.open.calls.length === 0 || !isAhead('beforeTools', run.open.phase)) return
  yield* runPhase(run, 'beforeTools', async () => {
    const all = await pendingHookCalls(run)
    return (phase) => ({ pending: phase.left(all) })
  })
}

async function* afterReply(run: TurnRun): AsyncGenerator<Batch, void> {
  yield* runPhase(run, 'afterLlm', async () => {
    const reply = await lastReply(run)
    return (phase) => ({ reply: { ...reply, calls: phase.left(reply.calls) } })
  })
}

/** Runs the hooks that end an iteration: the model has replied without calls, or all calls are settled. */
export async function* closeIteration(run: TurnRun): AsyncGenerator<Batch, void> {
  if (run.open.replied && isAhead('afterLlm', run.open.phase)) yield* afterReply(run)
  if (!run.open.replied) yield* runEndHooks(run)
  if (run.open.stop !== undefined) return
  if (!run.open.replied && isAhead('afterTools', run.open.phase))
    yield* runPhase(run, 'afterTools', () => afterRound(run))
  if (run.open.stop !== undefined || !isAhead('afterIteration', run.open.phase)) return
  yield* runPhase(run, 'afterIteration', () => nothing)
}

/**
 * Closes the iteration of a turn that ends in the middle of it: settles calls that were not run, and runs the closing
 * hooks. Nothing can be stopped any more.
 */
async function* closeOpenIteration(run: TurnRun, why: string): AsyncGenerator<Batch, void> {
  const { kind } = run.scope.definition.nodeTurn ?? {}
  if (run.open.phase === 'model' && kind !== 'round') yield* afterReply(run)
  // After a model call alone, another node runs the calls.
  if (kind !== 'reply') yield* closeRound(run, why)
  if (run.open.phase !== undefined && isAhead('afterIteration', run.open.phase))
    yield* runPhase(run, 'afterIteration', () => nothing)
}

async function* closeRound(run: TurnRun, why: string): AsyncGenerator<Batch, void> {
  const isRound = hasRound(run.open)
  if (run.open.calls.length > 0) settleRest(run, why)
  yield* runEndHooks(run)
  if (isRound && isAhead('afterTools', run.open.phase))
    yield* runPhase(run, 'afterTools', () => afterRound(run))
}

async function afterRound(run: TurnRun): Promise<DataMaker<'afterTools'>> {
  const results = await callResults(run)
  return () => ({ results })
}

/** True if the iteration has to be closed before another model call. */
export function isIterationEnding({ open }: TurnRun): boolean {
  const { replied, overCalls, phase } = open
  return replied === true || overCalls === true || (phase !== undefined && CLOSING_STEPS.has(phase))
}

/** Runs the hooks of each settled call that has not had them. `next`: what else runs meanwhile. */
export async function* runEndHooks(run: TurnRun, next: Next = 'hooks'): AsyncGenerator<Batch, void> {
  if (!run.hooks.has('afterEachTool', 'onError') || run.open.ended === undefined) return
  // A cancel interrupted this hook: it hung, and would hang again.
  if (run.scope.cancelled.aborted && run.open.ended.some((callId) => run.notified.has(callId))) return
  if (run.draft.hasNews) yield run.commit(next)
  for (const result of await callResults(run, run.open.ended)) {
    run.notified.add(result.callId)
    const phase = new Phase(run)
    if (result.status !== 'ok' && result.status !== 'not-run') {
      const cause = run.thrown.get(result.callId)
      const error = {
        source: 'tool',
        ...failureText(result.output),
        ...result,
        ...(cause === undefined ? {} : { cause }),
      } as const
      await phase.run('onError', () => ({ error }))
    }
    await phase.run('afterEachTool', () => ({ result: phase.editedResult(result) }))
    phase.append({ name: 'afterEachTool', callId: result.callId })
  }
}

/** The text of a failure: thrown errors are `{ error, name, code }`, other outputs are shown as they are. */
function failureText(output: Json): Pick<CallError, 'message' | 'name' | 'code'> {
  if (typeof output === 'string') return { message: output }
  const { error, name, code } = (output ?? {}) as JsonObject
  return {
    message: typeof error === 'string' ? error : JSON.stringify(output),
    ...(typeof name === 'string' ? { name } : {}),
    ...(typeof code === 'string' ? { code } : {}),
  }
}

export async function* finishAtLimit(
  run: TurnRun,
  { limit, message }: ReachedLimit,
): AsyncGenerator<Batch, void> {
  run.draft.append('warning', { code: limit, message })
  yield* finish(run, 'limit', { limit, message, why: `Not run. ${message}` })
}

/** Runs the hooks of settled calls and ends the turn; no hook prevents a cancel. */
export async function* finishCancelled(run: TurnRun): AsyncGenerator<Batch, void> {
  try {
    yield* runEndHooks(run)
  } catch (error) {
    if (HoldfastError.is(error, 'hook-failed'))
      run.draft.append('warning', { code: error.code, message: error.message })
    else if (!(error instanceof Interrupted)) throw error
    // The turn is lost: nothing appended here counts.
    else if (!run.scope.cancelled.aborted) throw error
  }
  await endTurn(run, 'cancelled', { why: 'Not run: the turn was cancelled.' })
}

/** Ends a turn that was completed or limited, not one that failed, was cancelled or waits. */
export async function* finish(
  run: TurnRun,
  outcome: OutcomeReason,
  ending: Ending & { readonly message?: string } = {},
): AsyncGenerator<Batch, void> {
  const { limit, message = '', why = NOT_RUN, output } = ending
  try {
    if (!run.hooks.isEmpty) yield* closeOpenIteration(run, why)
    if (limit !== undefined) yield* runPhase(run, 'onLimit', () => () => ({ limit, message }))
    if (!run.hooks.isEmpty)
      yield* runPhase(run, 'onComplete', async () => {
        const text = await lastText(run)
        return () => ({ outcome, text, ...(output === undefined ? {} : { output: frozenCopy(output) }) })
      })
  } catch (error) {
    // When its time is up, a turn ends without hooks that hang.
    if (
      !(error instanceof Interrupted) ||
      run.scope.cancelledOrLost.aborted ||
      !run.cancelledOrTimedOut.aborted
    )
      throw error
  }
  const closing = endTurn(run, outcome, ending)
  if (isPromise(closing)) await closing
}
