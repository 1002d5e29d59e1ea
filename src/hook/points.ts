/**
 * What each hook receives. The table of hooks says what it may do; a hook that may not do something is given no way to.
 * Hooks run at least once: what a hook did is kept when its phase is durable, and a process that dies before that runs
 * it again (R8).
 */
import type {
  AssistantPart,
  HOOK_TABLE,
  HookName,
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
export type Hooks = { readonly [Name in keyof HookTable]?: HookOption<PointOf<Name>> }

type HookTable = typeof HOOK_TABLE

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

export interface EditsPrompt {
  /** What is given replaces that part of the prompt, for this call only. The journal keeps the difference. */
  readonly edit: (changes: Partial<Prompt>) => void
}

export interface EditsCall {
  /** Other arguments for this call. */
  readonly edit: (args: Json) => void
}

/** What hooks receive beside what all of them do; of a hook that is not here, nothing. */
export interface PointData {
  readonly beforeLlm: { readonly prompt: Prompt }
  readonly afterLlm: { readonly reply: Reply }
  /** The calls of the round that are still to be run. */
  readonly beforeTools: { readonly pending: readonly PendingCall[] }
  readonly beforeEachTool: { readonly pending: PendingCall }
  readonly onError: { readonly error: CallError | ModelError }
  readonly afterEachTool: { readonly result: CallResult }
  readonly afterTools: { readonly results: readonly CallResult[] }
  readonly onLimit: { readonly limit: string; readonly message: string }
  /** `text`: the model's last words in this turn. */
  readonly onComplete: { readonly outcome: OutcomeReason; readonly text: string }
}

/** The argument of each hook. */
export type PointOf<Name extends HookName> = HookTable[Name]['scope'] extends 'agent'
  ? ReadyPoint
  : TurnPoint & DataOf<Name> & Powers<HookTable[Name]>

export type DataOf<Name extends HookName> = Name extends keyof PointData ? PointData[Name] : unknown

type Powers<Row> = (Row extends { readonly add: string } ? Adds : unknown) &
  (Row extends { readonly stop: true } ? Stops : unknown) &
  (Row extends { readonly change: infer Change extends keyof Changes } ? Changes[Change] : unknown)

interface Changes {
  readonly prompt: EditsPrompt
  readonly calls: EditsCalls
  readonly call: EditsCall
}

export type InputPoint = PointOf<'afterUserInput'>
export type IterationPoint = PointOf<'beforeIteration'>
export type BeforeLlmPoint = PointOf<'beforeLlm'>
export type AfterLlmPoint = PointOf<'afterLlm'>
export type BeforeToolsPoint = PointOf<'beforeTools'>
/** To throw here is to reject the call. */
export type BeforeEachToolPoint = PointOf<'beforeEachTool'>
export type AfterEachToolPoint = PointOf<'afterEachTool'>
export type AfterToolsPoint = PointOf<'afterTools'>
export type ErrorPoint = PointOf<'onError'>
export type LimitPoint = PointOf<'onLimit'>
export type CompletePoint = PointOf<'onComplete'>

/** What a model call is made of. */
export interface Prompt {
  readonly system: string
  readonly messages: readonly Message[]
  /** Names of the tools that the model may call. */
  readonly tools: readonly string[]
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
