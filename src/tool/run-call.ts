/**
 * One call of one tool, from its start to its rest: progress, time limit, cancelling. Whether it may be started, and what
 * is stored of it, is decided by others; what it returns is made fit in finish-call.ts.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Timer } from '../base/index.ts'
import { defined, type InputOrigin, type Json } from '../protocol/index.ts'
import { type CallEnd, failed, finished, type Questions } from './finish-call.ts'
import { NO_SECRETS, type Redactor } from './redact.ts'
import { JsonProblem, toJson } from './to-json.ts'
import type { Settled, Tool, ToolContext, Verdict } from './tool.ts'
import { troubled } from './tool-errors.ts'

/** Nobody looks at it; without a reason, an abort makes an exception with a stack. */
const SETTLED = 'settled'

export interface CallRun {
  readonly tool: Tool
  /** What `prepareCall` made of the arguments. */
  readonly input: unknown
  /** A plain object; the tool gets a copy with a signal and progress of its own. */
  readonly context: ToolContext
  readonly timer: Timer
  /** Takes out what must not be seen in anything that comes out. */
  readonly secrets?: Redactor
  /** How long a tool may take to end by itself after the context's signal aborts; 5 seconds unless said otherwise. */
  readonly graceMs?: number
  /** Called once if the tool comes to an end after its call was settled without it. */
  readonly onLate?: (settled: Settled) => void
  /** Called with what the tool throws, as it is: its result has the message only. */
  readonly onThrown?: (error: unknown) => void
}

/**
 * Runs a tool and never rejects: whatever the tool does is a result. A call whose time is up is settled at once, and one
 * that is cancelled after a grace time: as an error if its tool may be run again, else as unknown, because it may have
 * happened. A call that was cancelled before this began is not run.
 */
export async function runCall(run: CallRun): Promise<CallEnd> {
  const { tool, input } = run
  if (run.context.signal.aborted) return { kind: 'settled', ...notRun(tool) }
  const watched = await supervised(run, (context, isOpen) => carriedOut(run, { input, context, isOpen }))
  if ('ended' in watched) {
    const { ended } = watched
    return 'requests' in ended ? { kind: 'asks', ...ended } : { kind: 'settled', ...ended }
  }
  if (run.onLate) void reportLate(watched.working, run.onLate)
  return { kind: 'settled', ...abandoned(run, watched.why) }
}

/**
 * Asks a tool whether a call that was started happened. `run`: it did not, run it. Settled: it did, and this is its
 * result. Undefined: nobody can say. Never rejects.
 */
export async function verifyCall(run: CallRun): Promise<'run' | Settled | undefined> {
  const { verify } = run.tool
  if (verify === undefined || run.context.signal.aborted) return undefined
  const watched = await supervised(run, (context) => verdictOf(() => verify(run.input, context)))
  const verdict = 'ended' in watched ? watched.ended : undefined
  if (verdict?.happened === false) return 'run'
  if (verdict?.happened !== true) return undefined
  const end = await finished(run, verdict.output)
  return 'requests' in end ? undefined : end
}

/** A call that whatever runs now was started by, and the call that this one was started by. */
interface Around {
  readonly context: object
  readonly isOpen: () => boolean
  readonly outer: Around | undefined
}

const around = new AsyncLocalStorage<Around>()

/** The contexts of the calls that the running code is a part of and that are waited for, innermost first. */
export function callsAround(): readonly object[] {
  const contexts: object[] = []
  for (let call = around.getStore(); call !== undefined; call = call.outer)
    if (call.isOpen()) contexts.push(call.context)
  return contexts
}

/**
 * The innermost call, hook or node that the running code was begun by, as a field of whatever that code posts: its words
 * are a model's or a program's. A call that has ended counts, too: what it left running is still its code. The code is
 * known by its async context, so a listener belongs to whoever registered its source, not to whoever speaks through it.
 */
export function inputOrigin(): { readonly origin?: InputOrigin } {
  for (let call = around.getStore(); call !== undefined; call = call.outer) {
    const { contextId, callId } = call.context as Partial<ToolContext>
    if (contextId !== undefined) return { origin: { contextId, ...defined({ callId }) } }
  }
  return {}
}

/** Runs something that a turn waits for and that is no call, such as a hook, as if it were one. */
export async function runAround<T>(context: object, work: () => Promise<T>): Promise<T> {
  let isOpen = true
  try {
    return await around.run({ context, isOpen: () => isOpen, outer: around.getStore() }, work)
  } finally {
    isOpen = false
  }
}

const DEFAULT_GRACE_MS = 5000

type Why = 'timeout' | 'cancelled'

type Watched<T> = { readonly ended: T } | { readonly why: Why; readonly working: Promise<T> }

/** `work` must not reject. `isOpen` tells whether anybody still waits for it. */
function supervised<T>(
  { tool, context, timer, graceMs = DEFAULT_GRACE_MS, secrets = NO_SECRETS }: CallRun,
  work: (context: ToolContext, isOpen: () => boolean) => Promise<T>,
): Promise<Watched<T>> {
  const { promise, resolve } = Promise.withResolvers<Watched<T>>()
  const own = new AbortController()
  let isSettled = false
  /** Ends what is waited for; most calls wait for nothing. */
  let waiting: AbortController | undefined
  const isOpen = (): boolean => !isSettled
  const progress = (value: unknown): void => {
    if (isOpen()) reportProgress(context, value, secrets)
  }
  const settle = (watched: Watched<T>): void => {
    if (isSettled) return
    isSettled = true
    waiting?.abort(SETTLED)
    context.signal.removeEventListener('abort', cancel)
    resolve(watched)
  }
  const giveUpAfter = async (ms: number, why: Why): Promise<void> => {
    waiting ??= new AbortController()
    await timer.wait(ms, { signal: waiting.signal })
    if (isSettled) return
    settle({ why, working })
    if (why === 'timeout') own.abort(new DOMException(`${tool.name} took too long`, 'TimeoutError'))
  }
  const cancel = (): void => {
    own.abort(context.signal.reason)
    void giveUpAfter(graceMs, 'cancelled')
  }

  context.signal.addEventListener('abort', cancel, { once: true })
  const working = around.run({ context, isOpen, outer: around.getStore() }, () =>
    work({ ...context, signal: own.signal, progress }, isOpen),
  )
  if (tool.timeoutMs !== undefined) void giveUpAfter(tool.timeoutMs, 'timeout')
  void working.then((ended) => settle({ ended }))
  return promise
}

interface Attempt {
  readonly input: unknown
  readonly context: ToolContext
  readonly isOpen: () => boolean
}

async function carriedOut(run: CallRun, attempt: Attempt): Promise<Settled | Questions> {
  const { input, context } = attempt
  try {
    const returned = await run.tool.run(input, context)
    return await finished(run, isGenerator(returned) ? await drained(returned, attempt) : returned)
  } catch (error) {
    run.onThrown?.(error)
    return failed(run, error, context.signal)
  }
}

function isGenerator(value: unknown): value is AsyncGenerator<Json, unknown, undefined> {
  if (typeof value !== 'object' || value === null || !(Symbol.asyncIterator in value)) return false
  return typeof (value as { next?: unknown }).next === 'function'
}

async function drained(
  generator: AsyncGenerator<Json, unknown, undefined>,
  { context, isOpen }: Attempt,
): Promise<unknown> {
  for (;;) {
    const step = await generator.next()
    if (step.done) return step.value
    if (!isOpen()) {
      // Nobody waits any more, and it may never end by itself.
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
    // Whoever watches must not be able to make an effect fail.
  }
}

async function verdictOf(verify: () => Verdict | Promise<Verdict>): Promise<Verdict | undefined> {
  try {
    return await verify()
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
    // There is nobody left to tell.
  }
}

const LATE_QUESTION: Settled = troubled({
  status: 'error',
  code: 'invalid-question',
  error: 'The tool asked a question after its call was settled. Call it again to be asked.',
})

function notRun(tool: Tool): Settled {
  const error = `${tool.name} was cancelled before it started. Nothing was done.`
  return troubled({ status: 'not-run', code: 'cancelled', error })
}

function abandoned({ tool, graceMs = DEFAULT_GRACE_MS }: CallRun, why: Why): Settled {
  const what =
    why === 'timeout'
      ? `${tool.name} did not end within ${tool.timeoutMs ?? 0} ms.`
      : `${tool.name} was cancelled and did not stop within ${graceMs} ms.`
  return tool.replay === 'safe'
    ? troubled({
        status: 'error',
        code: why,
        error: `${what} It has no result. It is safe to call it again.`,
      })
    : troubled({
        status: 'unknown',
        code: why,
        error: `${what} It may or may not have happened. Find out before you call it again.`,
      })
}
