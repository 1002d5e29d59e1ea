/** Effects inside of nodes, under the rules of tools: intent first (R3), settled once (R4), never twice by accident. */
import { type GraphTask, isStarted, type GraphEffect as Known } from '../journal/index.ts'
import { dataOf, effectEnd, lateResultOf } from '../loop/index.ts'
import { checkOptions, defined, HoldfastError, type Json, quote } from '../protocol/index.ts'
import {
  type CallRun,
  runCall,
  type Settled,
  type Tool,
  type ToolContext,
  UNKNOWN,
  verifyCall,
} from '../tool/index.ts'
import type { Effect, EffectContext, NodeDefinition, StepOptions } from './definition.ts'
import type { EntryQueue } from './entry-queue.ts'
import { STEP } from './graph-options.ts'
import { invalid } from './invalid.ts'
import { plainTool } from './plain-tool.ts'
import type { Run } from './run.ts'

/** The attempt that takes a step. */
export interface StepCaller {
  readonly run: Run
  readonly queue: EntryQueue
  readonly node: NodeDefinition
  /** The task, by its name and in its current state. */
  readonly name: string
  readonly task: GraphTask
  /** The number of the attempt. */
  readonly number: number
  readonly context: ToolContext
  /** Keys of the steps taken. */
  readonly keys: Set<string>
  /** Throws if the run no longer waits for it. */
  checkOpen(): void
}

interface EffectCall {
  readonly attempt: StepCaller
  readonly callId: string
  readonly key: string
  readonly idempotencyKey: string
  readonly tool: Tool
}

export async function performStep<T>(
  attempt: StepCaller,
  key: string,
  step: { readonly effect: Effect<T>; readonly options: StepOptions<T> },
): Promise<T> {
  checkStep(attempt, key, step)
  const known = attempt.task.effects?.find((effect) => effect.key === key)
  const isAgain = known !== undefined && mayTryAgain(known, attempt.number)
  const callId = `${attempt.name}/${key}${isAgain ? `/${known.tries + 1}` : ''}`
  // A new key per effect, stored with its intent: journals of the same name in other stores have other keys.
  const isNew = known === undefined || isAgain
  const idempotencyKey = isNew ? newIdempotencyKey(attempt.run, callId) : known.idempotencyKey
  const call = { attempt, callId, key, idempotencyKey, tool: effectTool(attempt, { key, ...step }) }
  if (isNew) return resultOf(call, await onceUnderWay(call, () => begin(call))) as T
  const earlier = { ...call, callId: known.callId }
  if (known.status !== undefined) return resultOf(earlier, known as Settled) as T
  return resultOf(earlier, await onceUnderWay(earlier, () => recover(earlier, known))) as T
}

/** Attempts of a node share the effect that one of them began, from before its intent is stored until it is settled. */
function onceUnderWay(
  { attempt: { run }, callId }: EffectCall,
  work: () => Promise<Settled>,
): Promise<Settled> {
  const known = run.underWay.get(callId)
  if (known !== undefined) return known
  const working = work()
  run.underWay.set(callId, working)
  working.catch(() => run.underWay.delete(callId))
  return working
}

/** True for an effect that did not start, and in another attempt for one that is known to have failed. */
function mayTryAgain({ status, output, attempt }: Known, now: number): boolean {
  return status === 'not-run' || (status === 'error' && attempt < now && !wasDone(output))
}

/** An effect that ran to its end and whose result cannot be stored. */
function wasDone(output: Json | undefined): boolean {
  const { code } = (output ?? {}) as { readonly code?: Json }
  return code === 'not-json' || code === 'too-large'
}

async function begin(call: EffectCall): Promise<Settled> {
  const { attempt, callId, key, idempotencyKey, tool } = call
  const { run, queue, name: task } = attempt
  await queue.appendDurably(() =>
    run.draft.append('effect.start', { callId, task, key, idempotencyKey, replay: tool.replay }),
  )
  return execute(call)
}

async function execute(call: EffectCall): Promise<Settled> {
  const { attempt, callId } = call
  const { run } = attempt
  await run.scope.ensureLease()
  const made = callRun(call, (late) => run.scope.late(callId, late))
  const step = { kind: 'effect', turn: run.open.turn, callId, name: call.tool.name } as const
  const settled = settledBy(
    await run.observed(
      () => step,
      () => runCall(made),
    ),
  )
  run.scope.ended(callId, settled)
  return appendEnd(call, settled)
}

/** An effect that an earlier driver started and did not settle: it runs again, is verified, or stays unknown. */
async function recover(call: EffectCall, known: Known): Promise<Settled> {
  const { attempt, callId, tool } = call
  const late = lateResultOf(attempt.run, callId)
  if (late?.key !== undefined) {
    return appendEnd(call, dataOf(late, 'late-result'), [late.key])
  }
  if (known.replay === 'safe' && tool.replay === 'safe') return execute(call)
  const found = await verifyCall(callRun(call))
  if (found === 'run') {
    checkUnsettled(call)
    return execute(call)
  }
  return appendEnd(call, found ?? { status: 'unknown', output: UNKNOWN })
}

/** The run may have gone on without the effect while it was verified, and settled it as unknown: that is final. */
function checkUnsettled({ attempt, callId }: EffectCall): void {
  if (isStarted(attempt.run.session, callId)) return
  throw new HoldfastError('cancelled', {
    message: `${callId} was settled while it was verified, and is not done any more.`,
  })
}

/** Settles once (R4): a result that comes after the run has continued is posted as late. */
function appendEnd(
  { attempt, callId }: EffectCall,
  settled: Settled,
  takes: readonly string[] = [],
): Settled {
  const { run, queue } = attempt
  const postLate = (): void => {
    if (settled.status !== 'unknown') run.scope.late(callId, settled)
  }
  const write = (): void => {
    run.underWay.delete(callId)
    if (isStarted(run.session, callId))
      run.draft.append('effect.end', effectEnd({ callId, ...settled }), takes)
    else postLate()
  }
  queue.append(write, postLate)
  return settled
}

function callRun(
  { attempt, callId, idempotencyKey, tool }: EffectCall,
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
    onThrown: (error) => {
      run.threw({ kind: 'effect', name: tool.name, callId }, error)
      run.thrown.set(callId, error)
    },
    ...defined({ onLate }),
  }
}

function newIdempotencyKey({ scope: { key, ids } }: Run, callId: string): string {
  return `${key.contextId}/${callId}/${ids.next('effect')}`
}

function effectTool<T>(
  { node }: StepCaller,
  { key, effect, options }: { key: string; effect: Effect<T>; options: StepOptions<T> },
): Tool {
  const { replay = 'never', timeoutMs, verify } = options
  const effectContext = ({ signal, idempotencyKey }: ToolContext): EffectContext => ({
    signal,
    idempotencyKey,
  })
  return plainTool({
    '~kind': 'step',
    name: `${key} of ${node.name}`,
    replay,
    ...defined({ timeoutMs }),
    ...(verify === undefined ? {} : { verify: (_, context) => verify(effectContext(context)) }),
    run: (_, context) => effect(effectContext(context)),
  })
}

function settledBy(end: Awaited<ReturnType<typeof runCall>>): Settled {
  const { kind, ...settled } = end
  if (kind === 'settled') return settled as Settled
  const error = 'An effect cannot ask. Ask with interrupt() before it.'
  return { status: 'error', output: { error, code: 'invalid-question' } }
}

/** The stored result, so that a repeated node sees the same. */
function resultOf(
  { attempt, callId, key }: EffectCall,
  { status, output, cut }: Pick<Settled, 'status' | 'output' | 'cut'>,
): Json {
  if (status === 'ok' && cut) throw cutOff(key, output)
  // The node must not change the stored value.
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

/** A node must not mistake a part of a result for the whole. */
function cutOff(key: string, output: Json): HoldfastError {
  const { bytes } = output as { readonly bytes?: Json }
  const size = typeof bytes === 'number' ? ` of ${bytes} bytes` : ''
  return new HoldfastError('too-large', {
    message: `${key} was done and will not be done again, but its result${size} is too large to be stored. Return less, or write it into an artifact.`,
    details: { key },
  })
}

/** Keys and names are stored and looked up as they are: none may contain a secret (R19). */
export function checkPublic({ secrets }: Run, what: string, name: string): void {
  if (secrets.isEmpty || !secrets.isIn(name)) return
  throw invalid('invalid-option', `the ${what} contains one of the credentials; use another`)
}

function checkStep<T>(
  attempt: StepCaller,
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
