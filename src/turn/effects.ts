/** Running the calls of a group: together, each settled as soon as it ends. */
import { debugThrown, isPromise, type MaybePromise } from '../base/index.ts'
import type { Call } from '../journal/index.ts'
import type { Batch } from '../loop/index.ts'
import {
  answerOriginsOf,
  answersOf,
  endsTurn,
  givenAnswersOf,
  Interrupted,
  reasonsOf,
  request,
} from '../loop/index.ts'
import type { Json } from '../protocol/index.ts'
import {
  type CallEnd,
  type CallRun,
  type Credentials,
  runCall,
  type Settled,
  type Tool,
  type ToolContext,
} from '../tool/index.ts'
import { uncounted } from './ending.ts'
import { select, shown } from './grounding.ts'
import { idsOfTurn } from './ids-above.ts'
import { tellEnded } from './phases.ts'
import type { TurnRun } from './turn-run.ts'

/** A call that nothing stands in the way of. */
export interface Ready {
  readonly call: Call
  readonly tool: Tool
  readonly input: unknown
  readonly argsKey: string
}

/** Every call of the group is durably started. What ends while others run is made durable without waiting for them. */
export async function* runGroup(
  play: TurnRun,
  group: readonly Ready[],
  credentials: Credentials,
): AsyncGenerator<Batch, void> {
  const runs: CallRun[] = []
  for (const one of group) runs.push(await callRun(play, one, credentials))
  // Last of all: what was looked up for the calls may have taken its time.
  const acting = play.scope.mayAct()
  if (isPromise(acting)) await acting
  const ended: Ended[] = []
  let bell = Promise.withResolvers<void>()
  const running = runs.map(async (run) => {
    ended.push({ callId: run.context.callId, end: await runCall(run) })
    bell.resolve()
  })
  try {
    for (let left = running.length; left > 0; ) {
      await bell.promise
      bell = Promise.withResolvers<void>()
      const now = ended.splice(0)
      left -= now.length
      for (const one of now) {
        const saying = sayEnd(play, one, readyOf(group, one.callId))
        if (isPromise(saying)) await saying
      }
      if (left > 0) yield* play.commit('on')
      if (left > 0 && !play.hooks.isEmpty) yield* tellEnded(play, 'on')
    }
  } catch (error) {
    // Somebody else may have the turn. What is under way is waited for and handed in (R4).
    await Promise.all(running)
    // A hook that was not waited for any longer takes nothing away from the turn.
    const isOurs = endsTurn(error) || (error instanceof Interrupted && play.signal.aborted)
    for (const one of ended)
      if (isOurs) await sayEnd(play, one, readyOf(group, one.callId))
      else if (one.end.kind === 'settled') play.scope.late(one.callId, one.end)
    throw error
  }
}

export async function callRun(play: TurnRun, one: Ready, credentials: Credentials): Promise<CallRun> {
  const { scope } = play
  const { callId, idempotencyKey } = one.call
  const { turn, iteration } = play.open
  const [knowing, ended] = [play.info(), play.previousTools()]
  const { contextId, task, principal, metadata } = isPromise(knowing) ? await knowing : knowing
  const { secrets } = play
  const context: ToolContext = {
    ...scope.extras?.(idsOfTurn(play), {
      answers: givenAnswersOf(one.call),
      answerOrigins: answerOriginsOf(one.call),
    }),
    contextId,
    callId,
    turn,
    iteration,
    principal,
    credentials,
    idempotencyKey: idempotencyKey ?? callId,
    argumentsKey: one.argsKey,
    signal: play.signal,
    artifacts: scope.artifacts(callId, secrets),
    task,
    previousTools: isPromise(ended) ? await ended : ended,
    metadata,
    answers: answersOf(one.call),
    reasons: reasonsOf(one.call),
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
      debugThrown(`The tool ${one.tool.name}`, error)
      play.thrown.set(callId, error)
    },
  }
}

interface Ended {
  readonly callId: string
  readonly end: CallEnd
}

function readyOf(group: readonly Ready[], callId: string): Ready | undefined {
  return group.find(({ call }) => call.callId === callId)
}

function sayEnd(play: TurnRun, { callId, end }: Ended, one: Ready | undefined): MaybePromise<void> {
  if (end.kind === 'settled') return saySettled(play, callId, { ...end, ...one })
  const call = play.open.calls.find((candidate) => candidate.callId === callId)
  const before = call?.answers?.length ?? 0
  const usage = end.usage && uncounted(call, end.usage)
  if (usage !== undefined) play.draft.append('usage', { callId, usage })
  for (const { name, ...asked } of end.requests)
    request(play, { id: before === 0 ? name : `${name}-${before}`, name, ...asked }, callId)
}

interface SettledCall extends Settled {
  /** The tool and what it was given, if they are known: they say what the result shows and chooses. */
  readonly tool?: Tool
  readonly input?: unknown
  /** The inbox entry that brought the result, if one did. */
  readonly takes?: readonly string[]
}

export function saySettled(play: TurnRun, callId: string, settled: SettledCall): MaybePromise<void> {
  const { status, output, cut, display, usage: used, seen = [], tool, input, takes } = settled
  const call = play.open.calls.find((candidate) => candidate.callId === callId)
  const usage = used && uncounted(call, used)
  // What was cut away shows nothing and chooses nothing.
  const isWhole = status === 'ok' && !cut
  const end = {
    callId,
    status,
    output,
    ...(cut ? { cut } : {}),
    ...(display === undefined ? {} : { display }),
    ...(usage === undefined ? {} : { usage }),
    ...(status === 'ok' ? shown(play, isWhole ? tool : undefined, { output, input, seen }) : {}),
  }
  play.draft.append('tool.end', end, takes)
  if (isWhole && tool?.grounding !== undefined) return select(play, tool, { output, input })
}
