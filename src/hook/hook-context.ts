/**
 * The argument of each hook. The table of hooks says what it may do; a hook gets only the actions that it may use.
 * Hooks run at least once: their changes are kept when their phase is durable, and a process that dies before that runs
 * them again.
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
  TraceEntry,
  Usage,
} from '../protocol/index.ts'
import type { Credentials } from '../tool/index.ts'

/**
 * Every hook, by name: a function, or a list that runs in order. An exception ends the turn as `failed`; in
 * `beforeEachTool` it rejects the call.
 */
export type Hooks = { readonly [Name in keyof HookTable]?: HookOption<HookContextOf<Name>> }

type HookTable = typeof HOOK_TABLE

export type Hook<Context> = (context: Context) => void | Promise<void>

export type HookOption<Context> = Hook<Context> | readonly Hook<Context>[]

export interface AgentReadyContext {
  readonly contextId: string
  readonly name: string
  readonly turnCount: number
  readonly metadata: JsonObject
}

/** The fields that every hook of a turn gets. */
export interface HookContext {
  readonly contextId: string
  /** The name of the agent. */
  readonly name: string
  readonly turn: number
  /** Model calls begun in this turn. */
  readonly iteration: number
  readonly principal: Principal
  /** Secret: do not write it down. */
  readonly credentials: Credentials
  readonly metadata: JsonObject
  /** The text of the turn's input. */
  readonly task: string
  readonly usage: Usage
  /**
   * The trace of this turn up to here. In `afterEachTool` and `onError` of a tool its last entry is that call; calls that
   * ended with it follow with their own hooks.
   */
  readonly trace: readonly TraceEntry[]
  /** The fill level of the model's context in percent, if known. */
  readonly contextPercent?: number
  /** Aborts when the turn is cancelled, out of time, or lost to another process. */
  readonly signal: AbortSignal
  /** The messages of the next prompt. */
  readonly messages: () => Promise<readonly Message[]>
}

export interface CanAdd {
  /** Adds a note for the model, read as a user's text. In an open round of calls, it comes after the round. */
  readonly add: (text: string) => void
}

export interface CanStop {
  /** Ends the turn as `stop` after this phase. Calls that have not started are not run. */
  readonly stop: (reason?: string) => void
}

export interface CanEditCalls {
  /** Replaces the arguments of a call. They are checked like those of the model. */
  readonly edit: (callId: string, args: Json) => void
  /** Rejects the call; the model reads the reason. */
  readonly reject: (callId: string, reason: string) => void
}

export interface CanEditPrompt {
  /** Replaces the given parts of the prompt, for this call only. The journal keeps the difference. */
  readonly edit: (changes: Partial<Prompt>) => void
}

export interface CanEditCall {
  /** Replaces the arguments of this call. */
  readonly edit: (args: Json) => void
}

export interface CanEditResult {
  /** Replaces the output that the model reads. The journal keeps the tool's own, and the change. */
  readonly edit: (output: Json) => void
}

/** The further fields of each hook; a hook that is not here has none. */
interface HookData {
  readonly beforeLlm: { readonly prompt: Prompt }
  readonly afterLlm: { readonly reply: Reply }
  /** The calls of the round that are still to be run. */
  readonly beforeTools: { readonly pending: readonly PendingCall[] }
  readonly beforeEachTool: { readonly pending: PendingCall }
  readonly onError: { readonly error: CallError | ModelError }
  readonly afterEachTool: { readonly result: CallResult }
  readonly afterTools: { readonly results: readonly CallResult[] }
  readonly onLimit: { readonly limit: string; readonly message: string }
  /** `text`: the model's last text in this turn. `output`: its structured output, if the turn has one. */
  readonly onComplete: { readonly outcome: OutcomeReason; readonly text: string; readonly output?: Json }
}

/** The argument of each hook. */
export type HookContextOf<Name extends HookName> = HookTable[Name]['scope'] extends 'agent'
  ? AgentReadyContext
  : HookContext & HookDataOf<Name> & ActionsOf<HookTable[Name]>

export type HookDataOf<Name extends HookName> = Name extends keyof HookData ? HookData[Name] : unknown

type ActionsOf<Row> = (Row extends { readonly add: string } ? CanAdd : unknown) &
  (Row extends { readonly stop: true } ? CanStop : unknown) &
  (Row extends { readonly change: infer Change extends keyof Changes } ? Changes[Change] : unknown)

interface Changes {
  readonly prompt: CanEditPrompt
  readonly calls: CanEditCalls
  readonly call: CanEditCall
  readonly result: CanEditResult
}

export type AfterUserInputContext = HookContextOf<'afterUserInput'>
export type IterationContext = HookContextOf<'beforeIteration'>
export type BeforeLlmContext = HookContextOf<'beforeLlm'>
export type AfterLlmContext = HookContextOf<'afterLlm'>
export type BeforeToolsContext = HookContextOf<'beforeTools'>
/** An exception rejects the call. */
export type BeforeEachToolContext = HookContextOf<'beforeEachTool'>
export type AfterEachToolContext = HookContextOf<'afterEachTool'>
export type AfterToolsContext = HookContextOf<'afterTools'>
export type ErrorContext = HookContextOf<'onError'>
export type LimitContext = HookContextOf<'onLimit'>
export type CompleteContext = HookContextOf<'onComplete'>

/** The parts of a model call. */
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
  /** The tool's description; absent if there is no such tool. */
  readonly description?: string
}

export interface CallResult {
  readonly callId: string
  readonly tool: string
  readonly args: Json
  readonly status: SettledStatus
  readonly output: Json
  readonly display?: string
  /** Absent if the call never started. */
  readonly durationMs?: number
}

export interface CallError extends CallResult {
  readonly source: 'tool'
  /** The message of the tool or of the error that it threw. */
  readonly message: string
  /** The class of the thrown error, such as `TypeError`, and its code; absent where there is none. */
  readonly name?: string
  readonly code?: string
  /** The error that the tool threw in this process. */
  readonly cause?: unknown
}

export interface ModelError {
  readonly source: 'model'
  readonly message: string
  readonly model?: string
  readonly kind?: string
  /** `retry`, `fallback`, or `fail`: then the turn ends. */
  readonly next: string
  /** The error that the provider threw. */
  readonly cause?: unknown
}
