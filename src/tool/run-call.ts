/**
 * One call of one tool, from start to settlement: progress, time limit, cancellation. Does not decide whether the call may
 * start or what is stored; finish-call.ts converts its result.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { isPromise, type Timer } from '../base/index.ts'
import { defined, HoldfastError, type InputOrigin, type Json } from '../protocol/index.ts'
import { type CallEnd, finishReturn, finishThrow, type Questions } from './finish-call.ts'
import { NO_SECRETS, type Redactor } from './redact.ts'
import { askedBy } from './result.ts'
import { JsonProblem, toJson } from './to-json.ts'
import type { Settled, Tool, ToolContext, VerifyResult } from './tool.ts'
import { callError, withoutResult } from './tool-errors.ts'

/** An abort without a reason creates an exception with a stack; no code reads this one. */
const SETTLED = 'settled'

export interface CallRun {
  readonly tool: Tool
  /** The arguments as parsed by `prepareCall`. */
  readonly input: unknown
  /** A plain object; the tool gets a copy with its own signal and progress. */
  readonly context: ToolContext
  readonly timer: Timer
  /** Redacts secrets from all output. */
  readonly secrets?: Redactor
  /** How long a tool may take to end after the context's signal aborts. Default: 5 seconds. */
  readonly graceMs?: number
  /** Called once if the tool ends after its call was settled without it. */
  readonly onLate?: (settled: Settled) => void
  /** Called with the thrown value itself: the result has only its message. */
  readonly onThrown?: (error: unknown) => void
}

/**
 * Runs a tool and never rejects: every behaviour becomes a result. A call is settled at its time limit, or after a grace
 * time when cancelled: as an error if the tool is safe to replay, else as unknown, because it may have happened. A call
 * cancelled before this began is not run.
 */
export async function runCall(run: CallRun): Promise<CallEnd> {
  const { tool, input } = run
  if (run.context.signal.aborted) return { kind: 'settled', ...notRun(tool) }
  const supervision = await supervise(run, (context, isOpen) => execute(run, { input, context, isOpen }))
  if ('ended' in supervision) {
    const { ended } = supervision
    return 'requests' in ended ? { kind: 'asks', ...ended } : { kind: 'settled', ...ended }
  }
  if (run.onLate) void reportLate(supervision.working, run.onLate)
  return { kind: 'settled', ...abandoned(run, supervision.why) }
}

/**
 * Asks the tool whether a started call happened. `run`: it did not, run it. Settled: it did, with this result. Undefined:
 * unknown. Never rejects.
 */
export async function verifyCall(run: CallRun): Promise<'run' | Settled | undefined> {
  const { verify } = run.tool
  if (verify === undefined || run.context.signal.aborted) return undefined
  const supervision = await supervise(run, (context) =>
    verdictOf(run, async () => verify(run.input, context)),
  )
  return 'ended' in supervision ? supervision.ended : undefined
}

/** The call that started the running code, linked to the call around it. */
interface CallScope {
  readonly context: object
  readonly isOpen: () => boolean
  readonly outer: CallScope | undefined
}

const callScopes = new AsyncLocalStorage<CallScope>()

/** The contexts of the open calls around the running code, innermost first. */
export function callsAround(): readonly object[] {
  const contexts: object[] = []
  for (let call = callScopes.getStore(); call !== undefined; call = call.outer)
    if (call.isOpen()) contexts.push(call.context)
  return contexts
}

/**
 * The innermost call, hook or node that started the running code, as the origin of its posts: their words are a model's or
 * a program's. Ended calls count: code they left running is still theirs. The async context identifies the code, so a
 * listener belongs to the code that registered its source.
 */
export function inputOrigin(): { readonly origin?: InputOrigin } {
  for (let call = callScopes.getStore(); call !== undefined; call = call.outer) {
    const { contextId, callId } = call.context as Partial<ToolContext>
    if (contextId !== undefined) return { origin: { contextId, ...defined({ callId }) } }
  }
  return {}
}

/** Runs code that a turn waits for and that is no call, such as a hook, as if it were one. */
export async function runAround<T>(context: object, work: () => Promise<T>): Promise<T> {
  let isOpen = true
  try {
    return await callScopes.run({ context, isOpen: () => isOpen, outer: callScopes.getStore() }, work)
  } finally {
    isOpen = false
  }
}

const DEFAULT_GRACE_MS = 5000

type StopReason = 'timeout' | 'cancelled'

type Supervised<T> = { readonly ended: T } | { readonly why: StopReason; readonly working: Promise<T> }

/** `work` must not reject. `isOpen`: whether the call is still unsettled. */
function supervise<T>(
  { tool, context, timer, graceMs = DEFAULT_GRACE_MS, secrets = NO_SECRETS }: CallRun,
  work: (context: ToolContext, isOpen: () => boolean) => Promise<T>,
): Promise<Supervised<T>> {
  const { promise, resolve } = Promise.withResolvers<Supervised<T>>()
  const own = new AbortController()
  let isSettled = false
  /** Ends pending waits; most calls have none. */
  let waiting: AbortController | undefined
  const isOpen = (): boolean => !isSettled
  const progress = (value: unknown): void => {
    if (isOpen()) reportProgress(context, value, secrets)
  }
  const settle = (supervision: Supervised<T>): void => {
    if (isSettled) return
    isSettled = true
    waiting?.abort(SETTLED)
    context.signal.removeEventListener('abort', cancel)
    resolve(supervision)
  }
  const settleAfter = async (ms: number, why: StopReason): Promise<void> => {
    waiting ??= new AbortController()
    await timer.wait(ms, { signal: waiting.signal })
    if (isSettled) return
    settle({ why, working })
    if (why === 'timeout') own.abort(new DOMException(`${tool.name} took too long`, 'TimeoutError'))
  }
  const cancel = (): void => {
    own.abort(context.signal.reason)
    void settleAfter(graceMs, 'cancelled')
  }

  context.signal.addEventListener('abort', cancel, { once: true })
  const working = callScopes.run({ context, isOpen, outer: callScopes.getStore() }, () =>
    work({ ...context, signal: own.signal, progress }, isOpen),
  )
  if (tool.timeoutMs !== undefined) void settleAfter(tool.timeoutMs, 'timeout')
  void working.then((ended) => settle({ ended }))
  return promise
}

interface ToolRun {
  readonly input: unknown
  readonly context: ToolContext
  readonly isOpen: () => boolean
}

async function execute(run: CallRun, toolRun: ToolRun): Promise<Settled | Questions> {
  const { input, context } = toolRun
  try {
    const returned = await run.tool.run(input, context)
    const end = finishReturn(run, isGenerator(returned) ? await drain(returned, toolRun) : returned)
    return isPromise(end) ? await end : end
  } catch (error) {
    reportThrown(run.onThrown, error)
    return finishThrow(run, error, context.signal)
  }
}

/** A caller that fails takes no result away. */
function reportThrown(onThrown: CallRun['onThrown'], error: unknown): void {
  try {
    onThrown?.(error)
  } catch {
    // The result says what was thrown.
  }
}

function isGenerator(value: unknown): value is AsyncGenerator<Json, unknown, undefined> {
  if (typeof value !== 'object' || value === null || !(Symbol.asyncIterator in value)) return false
  return typeof (value as { next?: unknown }).next === 'function'
}

async function drain(
  generator: AsyncGenerator<Json, unknown, undefined>,
  { context, isOpen }: ToolRun,
): Promise<unknown> {
  for (;;) {
    const step = await generator.next()
    if (step.done) return step.value
    if (askedBy(step.value) !== undefined) {
      await generator.return(undefined)
      throw new HoldfastError('invalid-option', {
        message: 'A question was yielded, and nobody is asked by that. Return it: return ask({ … }).',
      })
    }
    if (!isOpen()) {
      // The call is settled, and the generator may never end by itself.
      await generator.return(undefined)
      context.signal.throwIfAborted()
    }
    context.progress(step.value)
  }
}

function reportProgress(context: ToolContext, value: unknown, secrets: Redactor): void {
  const json = toJson(value)
  try {
    context.progress(
      secrets.json(
        json instanceof JsonProblem ? { error: `This progress is not JSON: ${json.message}.` } : json,
      ),
    )
  } catch {
    // A failing subscriber must not make an effect fail.
  }
}

/** Undefined for a `verify` that throws, and for a verdict that cannot be read. */
async function verdictOf(
  run: CallRun,
  verify: () => Promise<VerifyResult | undefined>,
): Promise<'run' | Settled | undefined> {
  try {
    const verdict = await verify()
    if (verdict?.happened === false) return 'run'
    if (verdict?.happened !== true) return undefined
    const end = await finishReturn(run, verdict.output)
    return 'requests' in end ? undefined : end
  } catch {
    return undefined
  }
}

async function reportLate(
  working: Promise<Settled | Questions>,
  onLate: (settled: Settled) => void,
): Promise<void> {
  const end = await working
  try {
    onLate('requests' in end ? LATE_QUESTION : end)
  } catch {
    // The call is settled: there is no caller left to notify.
  }
}

const LATE_QUESTION: Settled = callError({
  status: 'error',
  code: 'invalid-question',
  error: 'The tool asked a question after its call was settled. Call it again to be asked.',
})

function notRun(tool: Tool): Settled {
  const error = `${tool.name} was cancelled before it started. Nothing was done.`
  return callError({ status: 'not-run', code: 'cancelled', error })
}

function abandoned({ tool, graceMs = DEFAULT_GRACE_MS }: CallRun, why: StopReason): Settled {
  const event =
    why === 'timeout'
      ? `${tool.name} did not end within ${tool.timeoutMs ?? 0} ms.`
      : `${tool.name} was cancelled and did not stop within ${graceMs} ms.`
  return withoutResult(tool.replay, event, why)
}
