/** Effects inside of nodes, under the rules of tools: intent first (R3), settled once (R4), never twice by accident. */
import { type GraphTask, isStarted, type Effect as Known } from '../journal/index.ts'
import { dataOf, lateResultOf } from '../loop/index.ts'
import { checkOptions, defined, HoldfastError, type Json, quote } from '../protocol/index.ts'
import {
  type CallRun,
  runCall,
  type Settled,
  type Tool,
  type ToolContext,
  verifyCall,
} from '../tool/index.ts'
import type { Effect, EffectContext, NodeDefinition, StepOptions } from './definition.ts'
import type { EntryQueue } from './entry-queue.ts'
import { STEP } from './graph-options.ts'
import { invalid } from './invalid.ts'
import { plainTool } from './plain-tool.ts'
import type { Run } from './run.ts'

/** Whoever takes a step: one attempt to run a node. */
export interface Doer {
  readonly run: Run
  readonly queue: EntryQueue
  readonly node: NodeDefinition
  /** The task, by its name, and as it stands now. */
  readonly name: string
  readonly task: GraphTask
  /** Which attempt of the task it is. */
  readonly number: number
  readonly context: ToolContext
  /** Of steps that it has taken. */
  readonly keys: Set<string>
  /** Throws if nobody waits for it any more. */
  checkOpen(): void
}

interface Wanted {
  readonly attempt: Doer
  readonly callId: string
  readonly key: string
  readonly idempotencyKey: string
  readonly tool: Tool
}

export async function performStep<T>(
  attempt: Doer,
  key: string,
  given: { readonly effect: Effect<T>; readonly options: StepOptions<T> },
): Promise<T> {
  checkStep(attempt, key, given)
  const known = attempt.task.effects?.find((effect) => effect.key === key)
  const isAgain = known !== undefined && mayTryAgain(known, attempt.number)
  const callId = `${attempt.name}/${key}${isAgain ? `/${known.tries + 1}` : ''}`
  // Made for this one effect and stored with its intent: journals of the same name in other stores have others.
  const isNew = known === undefined || isAgain
  const idempotencyKey = isNew ? newIdempotencyKey(attempt.run, callId) : known.idempotencyKey
  const wanted = { attempt, callId, key, idempotencyKey, tool: effectTool(attempt, { key, ...given }) }
  if (known === undefined || isAgain) return resultOf(wanted, await begin(wanted)) as T
  const earlier = { ...wanted, callId: known.callId }
  if (known.status !== undefined) return resultOf(earlier, known as Settled) as T
  const settled = attempt.run.underWay.get(known.callId) ?? recover(earlier, known)
  return resultOf(earlier, await settled) as T
}

/** What was not begun, and in another attempt what is known to have failed. */
function mayTryAgain({ status, output, attempt }: Known, now: number): boolean {
  return status === 'not-run' || (status === 'error' && attempt < now && !wasDone(output))
}

/** An effect that ran to its end and gave a result that cannot be stored. */
function wasDone(output: Json | undefined): boolean {
  const { code } = (output ?? {}) as { readonly code?: Json }
  return code === 'not-json' || code === 'too-large'
}

async function begin(wanted: Wanted): Promise<Settled> {
  const { attempt, callId, key, idempotencyKey, tool } = wanted
  const { run, queue, name: task } = attempt
  await queue.sayDurably(() =>
    run.draft.append('effect.start', { callId, task, key, idempotencyKey, replay: tool.replay }),
  )
  return carryOut(wanted)
}

function carryOut(wanted: Wanted): Promise<Settled> {
  const { attempt, callId } = wanted
  const { run } = attempt
  const working = (async () => {
    await run.scope.mayAct()
    const settled = settledBy(await runCall(callRun(wanted, (late) => run.scope.late(callId, late))))
    return sayEnd(wanted, settled)
  })()
  run.underWay.set(callId, working)
  return working
}

/** An effect that an earlier driver began and did not settle: it runs again, is looked up, or stays unknown. */
async function recover(wanted: Wanted, known: Known): Promise<Settled> {
  const { attempt, callId, tool } = wanted
  const late = lateResultOf(attempt.run, callId)
  if (late?.key !== undefined) {
    return sayEnd(wanted, dataOf(late, 'late-result'), [late.key])
  }
  if (known.replay === 'safe' && tool.replay === 'safe') return carryOut(wanted)
  const found = await verifyCall(callRun(wanted))
  if (found === 'run') return carryOut(wanted)
  return sayEnd(wanted, found ?? { status: 'unknown', output: UNKNOWN })
}

export const UNKNOWN =
  'Begun, and nobody can say whether it happened: the process that did it is gone. Find out before doing it again.'

/** Settled once (R4): what comes after the run has gone on without it is handed in. */
function sayEnd({ attempt, callId }: Wanted, settled: Settled, takes: readonly string[] = []): Settled {
  const { run, queue } = attempt
  const { status, output, cut } = settled
  const end = { callId, status, output, ...(cut ? { cut } : {}) }
  const tooLate = (): void => {
    if (status !== 'unknown') run.scope.late(callId, settled)
  }
  const write = (): void => {
    run.underWay.delete(callId)
    if (isStarted(run.session, callId)) run.draft.append('effect.end', end, takes)
    else tooLate()
  }
  queue.say(write, tooLate)
  return settled
}

function callRun(
  { attempt, callId, idempotencyKey, tool }: Wanted,
  onLate?: (late: Settled) => void,
): CallRun {
  const { run, context } = attempt
  return {
    tool,
    input: undefined,
    context: { ...context, callId, idempotencyKey },
    timer: run.scope.timer,
    secrets: run.secrets,
    graceMs: run.scope.definition.graceMs,
    onThrown: (error) => void run.thrown.set(callId, error),
    ...defined({ onLate }),
  }
}

function newIdempotencyKey({ scope: { key, ids } }: Run, callId: string): string {
  return `${key.contextId}/${callId}/${ids.next('effect')}`
}

function effectTool<T>(
  { node }: Doer,
  { key, effect, options }: { key: string; effect: Effect<T>; options: StepOptions<T> },
): Tool {
  const { replay = 'never', timeoutMs, verify } = options
  const given = ({ signal, idempotencyKey }: ToolContext): EffectContext => ({ signal, idempotencyKey })
  return plainTool({
    '~kind': 'step',
    name: `${key} of ${node.name}`,
    replay,
    ...defined({ timeoutMs }),
    ...(verify === undefined ? {} : { verify: (_, context) => verify(given(context)) }),
    run: (_, context) => effect(given(context)),
  })
}

function settledBy(end: Awaited<ReturnType<typeof runCall>>): Settled {
  if (end.kind === 'settled') return end
  const error = 'An effect cannot ask. Ask with interrupt() before it.'
  return { status: 'error', output: { error, code: 'invalid-question' } }
}

/** What was stored of it, so that a node that is run again sees the same. */
function resultOf(
  { attempt, callId, key }: Wanted,
  { status, output, cut }: Pick<Settled, 'status' | 'output' | 'cut'>,
): Json {
  if (status === 'ok' && cut) throw cutOff(key, output)
  // What was stored is not for the node to change.
  if (status === 'ok') return structuredClone(output)
  const { error, code } = (typeof output === 'object' && output !== null ? output : {}) as {
    readonly error?: Json
    readonly code?: Json
  }
  const message = typeof error === 'string' ? error : JSON.stringify(output)
  if (status === 'unknown')
    throw new HoldfastError('unknown-outcome', {
      message: `${key}: ${message} settleCall() takes its callId, ${quote(callId)}.`,
      details: { key, callId },
    })
  const cause = attempt.run.thrown.get(callId)
  const failure = cause === undefined ? new Error(message) : new Error(message, { cause })
  throw Object.assign(failure, typeof code === 'string' ? { code } : {})
}

/** A part of a result is not the result, and a node must not take it for that. */
function cutOff(key: string, output: Json): HoldfastError {
  const { bytes } = output as { readonly bytes?: Json }
  const size = typeof bytes === 'number' ? ` of ${bytes} bytes` : ''
  return new HoldfastError('too-large', {
    message: `${key} was done and will not be done again, but its result${size} is too large to be stored. Return less, or write it into an artifact.`,
    details: { key },
  })
}

/** Keys and names are stored as they are, and others are found by them: none may contain a secret (R19). */
export function checkPublic({ secrets }: Run, what: string, name: string): void {
  if (secrets.isEmpty || !secrets.isIn(name)) return
  throw invalid('invalid-option', `the ${what} contains one of the credentials; use another`)
}

function checkStep<T>(
  attempt: Doer,
  key: string,
  { effect, options }: { readonly effect: Effect<T>; readonly options: StepOptions<T> },
): void {
  if (typeof key !== 'string' || key === '' || key.includes('/'))
    throw invalid('invalid-option', `the key of a step must be a text without /, not ${quote(key)}`)
  checkPublic(attempt.run, 'key of a step', key)
  if (typeof effect !== 'function')
    throw invalid('invalid-option', `step ${quote(key)} has no function to run`)
  checkOptions(options, { place: `Step ${quote(key)}`, ...STEP })
  attempt.checkOpen()
  if (attempt.keys.has(key))
    throw invalid(
      'invalid-option',
      `node ${attempt.node.name} has two steps with the key ${quote(key)}; each needs one of its own`,
    )
  attempt.keys.add(key)
}
