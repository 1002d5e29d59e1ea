/** A compiled graph: nodes, edges and branches by name, built and checked by the builder. */
import type { Runnable } from '../drive/index.ts'
import type { ChannelKinds, Json, JsonObject, Principal, Sighting } from '../protocol/index.ts'
import type {
  Artifacts,
  AskKind,
  AskRequest,
  Credentials,
  SchemaOutput,
  StandardSchema,
  VerifyResult,
} from '../tool/index.ts'
import type { Channels } from './channel.ts'
import type { Send } from './send.ts'

/** The start of every run; not a node. */
export const START = '__start__' as const
/** The end of a run or of one of its paths; not a node. */
export const END = '__end__' as const

export interface GraphDefinition {
  readonly name: string
  readonly channels: Channels
  readonly kinds: ChannelKinds
  /** In the order of `addNode`. */
  readonly nodes: ReadonlyMap<string, NodeDefinition>
  readonly edges: readonly Edge[]
  readonly branches: readonly Branch[]
}

export interface NodeDefinition {
  readonly name: string
  readonly run: (state: never, context: NodeContext) => unknown
  readonly retry: RetryPolicy
  readonly timeoutMs?: number
  /** The schema of the input that a `Send` brings. */
  readonly input?: StandardSchema
  /** The node's own graph, if it is one: for Mermaid. */
  readonly inner?: GraphDefinition
}

/** From one node, or from several when all of them have ended. */
export interface Edge {
  readonly from: readonly string[]
  readonly to: string
}

export interface Branch {
  readonly from: string
  readonly route: (state: never, context: RouteContext) => unknown
  /** The target of each answer. Without it, answers are names of nodes. */
  readonly paths?: Readonly<Record<string, string>>
}

export interface RetryPolicy {
  /** Attempts in all. Default: 1. */
  readonly attempts: number
  /** The wait before the second attempt; each further wait is `factor` times as long, up to `maxWaitMs`. */
  readonly waitMs: number
  readonly factor: number
  readonly maxWaitMs: number
  /** Decides whether an error is retried; one of a node that ran out of time has the code `timeout`. Default: every error. */
  readonly when?: (error: unknown) => boolean
}

export interface RouteContext {
  readonly contextId: string
  readonly turn: number
  readonly signal: AbortSignal
}

/** The context of a node, beside the state. `Input`: the output of the node's `input` schema, if it has one. */
export interface NodeContext<Input = Json | undefined> extends RouteContext {
  readonly node: string
  /** The unique name of this run of the node. */
  readonly task: string
  /** The steps of the turn so far, this one included. */
  readonly steps: number
  /** 1 for the first. */
  readonly attempt: number
  /** The input of a `Send`, if there was one. */
  readonly input: Input
  readonly principal: Principal
  readonly credentials: Credentials
  readonly artifacts: Artifacts
  /** Publishes progress to subscribers. Not stored. */
  readonly progress: (value: Json) => void
  /**
   * Runs an effect under the rules of tools: the intent is durable before it starts, its result is stored under `key`,
   * and a repeated node gets the stored result instead of a second effect. Throws the effect's error, and
   * `unknown-outcome` if it started and its outcome is unknown. The node does not end before its steps.
   */
  readonly step: <T>(key: string, effect: Effect<T>, options?: StepOptions<T>) => Promise<T>
  /** Asks a person and waits: the node runs again from its start once there is an answer, and receives it here. */
  readonly interrupt: Interrupt
  /** The reasons given with confirmations, by the names of the questions. */
  readonly reasons: Readonly<Record<string, string>>
  /**
   * Runs an agent or a graph below this task, in a journal of its own. A repeated run finds the earlier work: each key
   * names one child.
   */
  readonly run: <I, O>(key: string, runnable: Runnable<I, O>, input: I) => Promise<O>
  /**
   * Vouches for ids: agents that this node runs from now on, and later nodes, may use them as if a tool had shown them.
   * Ids shown by tools below need no vouching.
   *
   * @example
   * context.vouch(order.rows(rows, { id: 'id', label: 'name' }))
   */
  readonly vouch: (things: readonly Sighting[]) => void
}

/**
 * The answer has the type of its question: true or false for a confirmation, one of the options (a list with `multiple`)
 * for a choice, a text for a text, and for data the output of its schema. An answer that the schema rejects is asked again,
 * and the prompt says why. An answer counts for the question that was asked: one that shows anything else when the node runs
 * again is asked again. `otherwise` is returned if the request expires; without it, `interrupt` throws `expired`.
 */
export type Interrupt = <const Q extends Question>(question: Q & NoOther<Q, Question>) => Promise<AnswerTo<Q>>

export type Question = (AskRequest | SchemaQuestion) & { readonly otherwise?: unknown }

/** A question for data that fits a schema: the schema implies its kind. */
export interface SchemaQuestion extends Omit<AskRequest, 'kind' | 'schema'> {
  readonly kind?: 'data'
  readonly schema: StandardSchema | JsonObject
}

/** The result of `interrupt(question)`. */
export type AnswerTo<Q extends Question> =
  | (Q extends { readonly kind: infer Kind extends AskKind }
      ? AnswerOfKind<Q, Kind>
      : AnswerOfKind<Q, 'data'>)
  | (Q extends { readonly otherwise: infer Otherwise } ? Otherwise : never)

type AnswerOfKind<Q extends Question, Kind extends AskKind> = {
  readonly confirmation: boolean
  readonly text: string
  readonly choice: Q extends { readonly options: readonly (infer Option)[] }
    ? Q extends { readonly multiple: true }
      ? readonly Option[]
      : Option
    : Json
  readonly data: Q extends { readonly schema: infer S extends StandardSchema } ? SchemaOutput<S> : Json
  readonly auth: Json
}[Kind]

declare const NO_SUCH_NAME: unique symbol

/** The type of a property that must not exist: no value has it. */
interface NoSuchName {
  readonly [NO_SUCH_NAME]: never
}

/** Refuses properties that `Known` does not have: TypeScript does not check for them where a type is inferred. */
export type NoOther<Given, Known> = Given extends object
  ? { readonly [Name in Exclude<keyof Given, keyof Known>]?: NoSuchName | undefined }
  : unknown

export type Effect<T> = (context: EffectContext) => T | Promise<T>

export interface EffectContext {
  readonly signal: AbortSignal
  /** The same for every run of this effect; pass it to services that support idempotency keys. */
  readonly idempotencyKey: string
}

export interface StepOptions<T> {
  /** Controls whether an effect of unknown outcome runs again. Default: `never`. */
  readonly replay?: 'never' | 'safe'
  readonly timeoutMs?: number
  /** After a crash: reports whether the effect happened, instead of running a `never` effect again. */
  readonly verify?: (context: EffectContext) => VerifyResult<T> | Promise<VerifyResult<T>>
}

/** The answer of a route: one or several targets, each with the state or with an input of its own. */
export type Routed<Name extends string, Inputs = object> =
  | Name
  | SendTo<Name, Inputs>
  | readonly (Name | SendTo<Name, Inputs>)[]

/** `Inputs`: the inputs of nodes with a schema, by their names. */
type SendTo<Name extends string, Inputs> = Name extends keyof Inputs ? Send<Name, Inputs[Name]> : Send<Name>
