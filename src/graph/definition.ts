/** A graph as it is run: nodes, edges and branches by name. Made by the builder, and checked. */
import type { Runnable } from '../drive/index.ts'
import type { ChannelKinds, Json, Principal, Sighting } from '../protocol/index.ts'
import type {
  Artifacts,
  AskKind,
  AskRequest,
  Credentials,
  SchemaOutput,
  StandardSchema,
  Verdict,
} from '../tool/index.ts'
import type { Channels } from './channel.ts'
import type { Send } from './send.ts'

/** Where every run begins; no node. */
export const START = '__start__' as const
/** Where a run, or a part of it, is over; no node. */
export const END = '__end__' as const

export interface GraphDefinition {
  readonly name: string
  readonly channels: Channels
  readonly kinds: ChannelKinds
  /** In the order in which they were added. */
  readonly nodes: ReadonlyMap<string, NodeDefinition>
  readonly edges: readonly Edge[]
  readonly branches: readonly Branch[]
}

export interface NodeDefinition {
  readonly name: string
  readonly run: (state: never, context: NodeContext) => unknown
  readonly retry: RetryPolicy
  readonly timeoutMs?: number
  /** The graph that it is, if it is one: for Mermaid. */
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
  /** Where each answer leads. Without it, answers are names of nodes. */
  readonly paths?: Readonly<Record<string, string>>
}

export interface RetryPolicy {
  /** How often it is tried in all; once unless said otherwise. */
  readonly attempts: number
  /** Before the second attempt; each further wait is `factor` times as long, up to `maxWaitMs`. */
  readonly waitMs: number
  readonly factor: number
  readonly maxWaitMs: number
  /** Is it worth another attempt? Every error is, unless said otherwise. */
  readonly when?: (error: unknown) => boolean
}

export interface RouteContext {
  readonly contextId: string
  readonly turn: number
  readonly signal: AbortSignal
}

/** What a node is given beside the state. */
export interface NodeContext extends RouteContext {
  readonly node: string
  /** This run of the node, by a name that no other run has. */
  readonly task: string
  /** How many steps the turn has taken, this one included. */
  readonly steps: number
  /** 1 for the first. */
  readonly attempt: number
  /** What it was sent, if it was sent something. */
  readonly input: Json | undefined
  readonly principal: Principal
  readonly credentials: Credentials
  readonly artifacts: Artifacts
  /** Tells those who watch how far it is. Not stored. */
  readonly progress: (value: Json) => void
  /**
   * An effect, under the rules of tools: its intent is durable before it begins, what came of it is kept under `key`, and
   * a node that is run again gets that instead of a second effect. Throws what the effect threw, and
   * `unknown-outcome` if it was begun and nobody can say whether it happened. The node is not over before its steps are.
   */
  readonly step: <T>(key: string, effect: Effect<T>, options?: StepOptions<T>) => Promise<T>
  /** Asks a person, and waits: the node is run again from its start when there is an answer, and gets it here. */
  readonly interrupt: Interrupt
  /** The reasons that were given with confirmations, by the names of the questions. */
  readonly reasons: Readonly<Record<string, string>>
  /**
   * Runs an agent or a graph below this task, in a journal of its own. Run again, it finds what was done before: each key
   * stands for one of them.
   */
  readonly run: <I, O>(key: string, runnable: Runnable<I, O>, input: I) => Promise<O>
  /**
   * Stands for ids: agents that this node runs from now on, and nodes that come after it, may use them as if a tool had
   * shown them. What tools below have shown needs nobody to vouch for it.
   *
   * @example
   * context.vouch(order.rows(rows, { id: 'id', label: 'name' }))
   */
  readonly vouch: (things: readonly Sighting[]) => void
}

/**
 * The answer has the type of its question: true or false for a confirmation, one of the options (a list of some with
 * `multiple`) for a choice, a text for a text, and for data what its schema makes of it. An answer that the schema does not
 * take is asked for again, and the prompt says why. `otherwise` counts if nobody answers in time; without it, `interrupt`
 * throws `expired` then.
 */
export type Interrupt = <const Q extends Question>(question: Q & NoOther<Q, Question>) => Promise<AnswerTo<Q>>

export interface Question extends AskRequest {
  readonly otherwise?: unknown
}

/** What comes back from `interrupt(question)`. */
export type AnswerTo<Q extends Question> =
  | (Q extends { readonly kind: infer Kind extends AskKind } ? AnswerOfKind<Q, Kind> : never)
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

/** What a property would have to be that there is no place for: nothing is. */
interface NoSuchName {
  readonly [NO_SUCH_NAME]: never
}

/** Refuses properties that `Known` does not have: where a type is inferred, TypeScript does not look for them. */
export type NoOther<Given, Known> = Given extends object
  ? { readonly [Name in Exclude<keyof Given, keyof Known>]?: NoSuchName | undefined }
  : unknown

export type Effect<T> = (context: EffectContext) => T | Promise<T>

export interface EffectContext {
  readonly signal: AbortSignal
  /** The same whenever this effect is run again; give it to services that know such keys. */
  readonly idempotencyKey: string
}

export interface StepOptions<T> {
  /** May it be run again when it was begun and nobody knows whether it happened? `never` unless said otherwise. */
  readonly replay?: 'never' | 'safe'
  readonly timeoutMs?: number
  /** After a crash: did it happen? Asked instead of running a `never` effect again. */
  readonly verify?: (context: EffectContext) => Verdict<T> | Promise<Verdict<T>>
}

/** What a route may answer: where to go on, with which input if not with the state, at one place or at several. */
export type Routed<Name extends string> = Name | Send<Name> | readonly (Name | Send<Name>)[]
