/**
 * The hook phases of a turn, in their order. Which of them is next follows from the session: `phase` is the last step
 * that is known to be complete, so a turn that is taken up again goes on after it (R8).
 */
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
import { configuredPrompt, withRules } from './grounding-prompt.ts'
import { callResults, lastReply, lastWords, pendingCalls } from './hook-input.ts'
import { type DataMaker, isDue, Phase, runPhase } from './hooks.ts'
import type { ReachedLimit } from './limits.ts'
import { changed, difference } from './prompt-edit.ts'
import type { TurnRun } from './turn-run.ts'

const nothing = () => ({})

/** Before the model is asked, however often this one call is tried. */
export async function* beforeModel(play: TurnRun): AsyncGenerator<Batch, void> {
  if (play.open.fresh) yield* runPhase(play, 'afterUserInput', () => nothing)
  const { phase } = play.open
  if (isAheadOfModel('beforeIteration', phase)) yield* runPhase(play, 'beforeIteration', () => nothing)
  if (isAheadOfModel('beforeLlm', phase) || !(await fits(play))) yield* editPrompt(play)
}

async function fits(play: TurnRun): Promise<boolean> {
  const { messages } = play.open.prompt ?? {}
  return messages === undefined || changed(await play.scope.view.messages(), messages) !== undefined
}

async function* editPrompt(play: TurnRun): AsyncGenerator<Batch, void> {
  if (!isDue(play, 'beforeLlm')) return
  if (play.draft.hasNews) yield* play.commit('hooks')
  const before = await promptOf(play)
  const phase = new Phase(play)
  await phase.run('beforeLlm', () => ({ prompt: { ...before, ...phase.prompt } }))
  phase.say({ name: 'beforeLlm' }, promptChanges(before, phase.prompt))
}

async function promptOf(play: TurnRun): Promise<Prompt> {
  const [tools, own] = await Promise.all([play.tools(), configuredPrompt(play)])
  return {
    system: withRules(play, own) ?? '',
    messages: await play.scope.view.messages(),
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

/** When the reply is there, and before the round that it asks for. */
export async function* beforeRound(play: TurnRun): AsyncGenerator<Batch, void> {
  if (isAhead('afterLlm', play.open.phase)) yield* afterReply(play)
  if (play.open.calls.length === 0 || !isAhead('beforeTools', play.open.phase)) return
  yield* runPhase(play, 'beforeTools', async () => {
    const all = await pendingCalls(play)
    return (phase) => ({ pending: phase.left(all) })
  })
}

async function* afterReply(play: TurnRun): AsyncGenerator<Batch, void> {
  yield* runPhase(play, 'afterLlm', async () => {
    const reply = await lastReply(play)
    return (phase) => ({ reply: { ...reply, calls: phase.left(reply.calls) } })
  })
}

/** What is left of an iteration when nothing is open: the model has said its piece, or all calls have come to rest. */
export async function* closeIteration(play: TurnRun): AsyncGenerator<Batch, void> {
  if (play.open.replied && isAhead('afterLlm', play.open.phase)) yield* afterReply(play)
  if (!play.open.replied) yield* tellEnded(play)
  if (play.open.stop !== undefined) return
  if (!play.open.replied && isAhead('afterTools', play.open.phase))
    yield* runPhase(play, 'afterTools', () => afterRound(play))
  if (play.open.stop !== undefined || !isAhead('afterIteration', play.open.phase)) return
  yield* runPhase(play, 'afterIteration', () => nothing)
}

/**
 * The iteration of a turn that ends in the middle of it: calls that were not run are settled, and the hooks that close what
 * others have opened are told. Nothing can be stopped any more.
 */
async function* closeOpened(play: TurnRun, why: string): AsyncGenerator<Batch, void> {
  if (play.open.phase === 'model') yield* afterReply(play)
  const isRound = hasRound(play.open)
  if (play.open.calls.length > 0) settleRest(play, why)
  yield* tellEnded(play)
  if (isRound && isAhead('afterTools', play.open.phase))
    yield* runPhase(play, 'afterTools', () => afterRound(play))
  if (play.open.phase !== undefined && isAhead('afterIteration', play.open.phase))
    yield* runPhase(play, 'afterIteration', () => nothing)
}

async function afterRound(play: TurnRun): Promise<DataMaker<'afterTools'>> {
  const results = await callResults(play)
  return () => ({ results })
}

/** Has the iteration more to do than a model call? */
export function isClosing({ open }: TurnRun): boolean {
  const { replied, overCalls, phase } = open
  return replied === true || overCalls === true || (phase !== undefined && CLOSING_STEPS.has(phase))
}

/** Tells of each call that has come to rest and was not told of. `next` says what else goes on meanwhile. */
export async function* tellEnded(play: TurnRun, next: Next = 'hooks'): AsyncGenerator<Batch, void> {
  if (!play.hooks.has('afterEachTool', 'onError') || play.open.ended === undefined) return
  // A hook that was interrupted by a cancel hangs, and would again.
  if (play.scope.signal.aborted && play.open.ended.some((callId) => play.told.has(callId))) return
  if (play.draft.hasNews) yield* play.commit(next)
  for (const result of await callResults(play, play.open.ended)) {
    play.told.add(result.callId)
    const phase = new Phase(play)
    if (result.status !== 'ok' && result.status !== 'not-run') {
      const cause = play.thrown.get(result.callId)
      const error = {
        source: 'tool',
        ...failureText(result.output),
        ...result,
        ...(cause === undefined ? {} : { cause }),
      } as const
      await phase.run('onError', () => ({ error }))
    }
    await phase.run('afterEachTool', () => ({ result }))
    phase.say({ name: 'afterEachTool', callId: result.callId })
  }
}

/** What a tool threw is kept as `{ error, name, code }`; other outputs are shown as they are. */
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
  play: TurnRun,
  { limit, message }: ReachedLimit,
): AsyncGenerator<Batch, void> {
  play.draft.append('warning', { code: limit, message })
  yield* finish(play, 'limit', { limit, message, why: `Not run. ${message}` })
}

/** Hooks are told of the calls that have ended; no hook keeps a turn from being cancelled. */
export async function* finishCancelled(play: TurnRun): AsyncGenerator<Batch, void> {
  try {
    yield* tellEnded(play)
  } catch (error) {
    if (HoldfastError.is(error, 'hook-failed'))
      play.draft.append('warning', { code: error.code, message: error.message })
    else if (!(error instanceof Interrupted)) throw error
    // Another driver has the turn: what is said here does not count.
    else if (!play.scope.signal.aborted) throw error
  }
  await endTurn(play, 'cancelled', { why: 'Not run: the turn was cancelled.' })
}

/** Ends a turn that has done what it could: not one that failed, was cancelled or waits. */
export async function* finish(
  play: TurnRun,
  outcome: OutcomeReason,
  ending: Ending & { readonly message?: string } = {},
): AsyncGenerator<Batch, void> {
  const { limit, message = '', why = NOT_RUN } = ending
  try {
    if (!play.hooks.isEmpty) yield* closeOpened(play, why)
    if (limit !== undefined) yield* runPhase(play, 'onLimit', () => () => ({ limit, message }))
    if (!play.hooks.isEmpty)
      yield* runPhase(play, 'onComplete', async () => {
        const text = await lastWords(play)
        return () => ({ outcome, text })
      })
  } catch (error) {
    // When its time is up, a turn ends without those that do not come to an end.
    if (!(error instanceof Interrupted) || play.scope.stop.aborted || !play.signal.aborted) throw error
  }
  await endTurn(play, outcome, ending)
}
