/**
 * Where a turn can be looked at and changed from outside, and what each place may do. A hook that may not do something
 * is given no way to. Hooks run at least once: what a hook did is kept when its phase is durable, and a process that
 * dies before that runs it again (R8).
 */
import type {
  AssistantPart,
  Json,
  JsonObject,
  Message,
  OutcomeReason,
  Principal,
  SettledStatus,
  Usage,
} from '../protocol/index.ts'
import type { Credentials } from '../tool/index.ts'

/** Every hook, by name: a function, or a list of functions that run one after the other. What a hook throws ends the turn as `failed`, except in `beforeEachTool`: there it rejects the call. */
export interface Hooks {
  /** Once, when an agent has started: before it plays or takes up a turn. What it throws, `start()` rejects with. */
  readonly onAgentReady?: HookOption<ReadyPoint>
  /** When a turn has taken what somebody said: at its start, and when it is steered. */
  readonly afterUserInput?: HookOption<InputPoint>
  /** Before the model call of each iteration, once, however often the call is repeated. */
  readonly beforeIteration?: HookOption<IterationPoint>
  /** Right before the model is asked; may change what this one call gets to see. */
  readonly beforeLlm?: HookOption<BeforeLlmPoint>
  /** When the whole reply is there; may change or refuse the calls it asks for. */
  readonly afterLlm?: HookOption<AfterLlmPoint>
  /** Once for each round of calls, before any of them is looked at. */
  readonly beforeTools?: HookOption<BeforeToolsPoint>
  /** For each call, before it is checked, approved and started. */
  readonly beforeEachTool?: HookOption<BeforeEachToolPoint>
  /** For each call of a round that has come to rest, as it does. */
  readonly afterEachTool?: HookOption<AfterEachToolPoint>
  /** Once for each round, when all its calls have come to rest. */
  readonly afterTools?: HookOption<AfterToolsPoint>
  /** After the reply and the round of each iteration, the last one too. */
  readonly afterIteration?: HookOption<IterationPoint>
  /** For each call that failed, was refused or is of unknown outcome, before `afterEachTool`; for each model call that failed. */
  readonly onError?: HookOption<ErrorPoint>
  /** When a limit ends the turn. */
  readonly onLimit?: HookOption<LimitPoint>
  /** Before a turn ends that was not cancelled, did not fail and does not wait for anybody. */
  readonly onComplete?: HookOption<CompletePoint>
}

export type HookName = keyof Hooks

export type Hook<Point> = (point: Point) => void | Promise<void>

export type HookOption<Point> = Hook<Point> | readonly Hook<Point>[]

export interface ReadyPoint {
  readonly contextId: string
  readonly name: string
  readonly turnCount: number
  readonly metadata: JsonObject
}

/** What every hook of a turn can read. */
export interface TurnPoint {
  readonly contextId: string
  readonly turn: number
  /** Model calls begun in this turn. */
  readonly iteration: number
  readonly principal: Principal
  /** Secret: not to be written down (R19). */
  readonly credentials: Credentials
  readonly metadata: JsonObject
  /** What the turn was asked. */
  readonly task: string
  readonly usage: Usage
  /** How full the model's window is, as far as that is known. */
  readonly contextPercent?: number
  /** Aborts when the turn is cancelled, out of time, or with another process. */
  readonly signal: AbortSignal
  /** What a model would be shown now. */
  readonly messages: () => Promise<readonly Message[]>
}

export interface Adds {
  /**
   * Says something to the model, as the words of neither side: it is read as a user's text. While a round of calls is
   * open it takes its place after the round (R9).
   */
  readonly add: (text: string) => void
}

export interface Stops {
  /** Ends the turn as `stop` when this phase is over. Calls that have not started are not run. */
  readonly stop: (reason?: string) => void
}

export interface EditsCalls {
  /** Other arguments for a call. They are checked like those of the model. */
  readonly edit: (callId: string, args: Json) => void
  /** The call is not run; the model reads why. */
  readonly reject: (callId: string, reason: string) => void
}

export interface InputPoint extends TurnPoint, Adds, Stops {}

export interface IterationPoint extends TurnPoint, Adds, Stops {}

export interface BeforeLlmPoint extends TurnPoint, Adds, Stops {
  readonly prompt: Prompt
  /** What is given replaces that part of the prompt, for this call only. The journal keeps the difference. */
  readonly edit: (changes: Partial<Prompt>) => void
}

/** What a model call is made of. */
export interface Prompt {
  readonly system: string
  readonly messages: readonly Message[]
  /** Names of the tools that the model may call. */
  readonly tools: readonly string[]
}

export interface AfterLlmPoint extends TurnPoint, Adds, Stops, EditsCalls {
  readonly reply: Reply
}

export interface Reply {
  readonly text: string
  readonly content: readonly AssistantPart[]
  readonly calls: readonly PendingCall[]
  readonly finish: string
  readonly model?: string
  readonly usage?: Usage
}

export interface PendingCall {
  readonly callId: string
  readonly tool: string
  readonly args: Json
  /** What the tool says it does; absent if there is no such tool. */
  readonly description?: string
}

export interface BeforeToolsPoint extends TurnPoint, Adds, Stops, EditsCalls {
  /** The calls of the round that are still to be run. */
  readonly pending: readonly PendingCall[]
}

/** To throw here is to reject the call. */
export interface BeforeEachToolPoint extends TurnPoint, Stops {
  readonly pending: PendingCall
  /** Other arguments for this call. */
  readonly edit: (args: Json) => void
}

export interface AfterEachToolPoint extends TurnPoint, Stops {
  readonly result: CallResult
}

export interface CallResult {
  readonly callId: string
  readonly tool: string
  readonly args: Json
  readonly status: SettledStatus
  readonly output: Json
  readonly display?: string
  /** From its start to its end; absent if it was never started. */
  readonly durationMs?: number
}

export interface AfterToolsPoint extends TurnPoint, Adds, Stops {
  readonly results: readonly CallResult[]
}

export interface ErrorPoint extends TurnPoint, Stops {
  readonly error: CallError | ModelError
}

export interface CallError extends CallResult {
  readonly source: 'tool'
  /** In the words of the tool or of what it threw. */
  readonly message: string
  /** The class of what was thrown, such as `TypeError`, and its code; absent where there is none. */
  readonly name?: string
  readonly code?: string
  /** What the tool threw, if it did so in this process. */
  readonly cause?: unknown
}

export interface ModelError {
  readonly source: 'model'
  readonly message: string
  readonly model?: string
  readonly kind?: string
  /** `retry`, `fallback`, or `fail`: then the turn ends. */
  readonly next: string
  /** What the provider threw. */
  readonly cause?: unknown
}

export interface LimitPoint extends TurnPoint {
  readonly limit: string
  readonly message: string
}

export interface CompletePoint extends TurnPoint, Adds {
  readonly outcome: OutcomeReason
  /** The model's last words in this turn. */
  readonly text: string
}

/** The argument of each hook. */
export type PointOf<Name extends HookName> = Parameters<Extract<Hooks[Name], Hook<never>>>[0]

/** In the order of a turn's life. */
export const HOOK_NAMES: readonly HookName[] = [
  'onAgentReady',
  'afterUserInput',
  'beforeIteration',
  'beforeLlm',
  'afterLlm',
  'beforeTools',
  'beforeEachTool',
  'afterEachTool',
  'afterTools',
  'afterIteration',
  'onError',
  'onLimit',
  'onComplete',
]

/** The steps of each iteration, in their order: hooks, and what they stand around. */
export const ITERATION: readonly string[] = [
  'beforeIteration',
  'beforeLlm',
  'model',
  'afterLlm',
  'beforeTools',
  'tools',
  'afterTools',
  'afterIteration',
] satisfies (HookName | 'model' | 'tools')[]

/** What closes something runs in the reverse order, so that the first plugin is around all the others. */
export const CLOSING: ReadonlySet<HookName> = new Set([
  'afterLlm',
  'afterEachTool',
  'afterTools',
  'afterIteration',
])
