/**
 * What a tool is, for those who write one and for those who run one. How it is run, and what is stored of it, is not
 * known here.
 */
import type {
  Json,
  JsonObject,
  Principal,
  ReplayClass,
  Selection,
  SettledStatus,
  Sighting,
  Usage,
} from '../protocol/index.ts'
import type { Artifacts } from './artifact.ts'
import type { Credentials } from './credentials.ts'
import type { Ask, ToolResult } from './result.ts'
import type { SchemaOutput, StandardSchema } from './standard-schema.ts'

/**
 * Data for a model and an effect in the world. TypeScript reads the properties in the order in which they are written,
 * so `display` knows the type of its output if it stands after `run`.
 */
export interface ToolDefinition<S extends StandardSchema, Out> {
  /** A letter, then letters, digits, `_` and `-`; at most 64. */
  readonly name: string
  /** For the model: what it does, and when to use it. */
  readonly description: string
  /** What the model must give, as a schema of any library that follows Standard Schema. Its top level is an object. */
  readonly input: S
  /** The same as JSON Schema. Needed only where the library of `input` cannot tell it. */
  readonly parameters?: JsonObject
  /** What comes out. What the schema makes of the result is the result; one that does not fit is an error. */
  readonly output?: StandardSchema
  /** May it be run again when it was started and nobody knows whether it happened? `never` unless said otherwise. */
  readonly replay?: ReplayClass
  /** Runs alone: not while other calls of the same reply run. */
  readonly exclusive?: boolean
  /** When to stop waiting for it. Without it, nobody does. */
  readonly timeoutMs?: number
  /** Largest result, in bytes of JSON; 256 KB unless said otherwise. What is larger belongs into an artifact. */
  readonly maxResultBytes?: number
  /** Must a person agree first? A function may return the question itself. If it throws, the person is asked. */
  readonly approve?:
    | 'always'
    | 'never'
    | ((call: ApprovalCall<SchemaOutput<S>>) => Approval | Promise<Approval>)
  /** After a crash: did a call with this key happen? Asked instead of running a `never` tool again. */
  readonly verify?: (
    input: SchemaOutput<S>,
    context: ToolContext,
  ) => Verdict<NoInfer<Out>> | Promise<Verdict<NoInfer<Out>>>
  /** The result for people. */
  readonly display?: (output: NoInfer<Out>) => string
  /** Things with ids that the output shows: `returns: (rows) => project.rows(rows, { id: 'id', label: 'name' })`. */
  readonly returns?: (output: NoInfer<Out>, input: SchemaOutput<S>) => readonly Sighting[]
  /** What is the chosen one after it: `selects: ({ id }) => [project.select(id)]`. */
  readonly selects?: (output: NoInfer<Out>, input: SchemaOutput<S>) => readonly Selection[]
  /**
   * Of a tool with marks: `judge`, the default, drops fields that the schema does not declare and judges every text that
   * fits the pattern of an entity; `allow` lets both reach the tool.
   */
  readonly unmarkedIds?: 'judge' | 'allow'
  /** The effect. Each value that a generator yields is progress. */
  readonly run: (input: SchemaOutput<S>, context: ToolContext) => Running<Out>
}

/** What `run` may give: the output, the output with a text for people, or a question; at once, later, or in steps. */
export type Running<Out> =
  | Returned<Out>
  | Promise<Returned<Out>>
  | AsyncGenerator<Json, Returned<Out>, undefined>

export type Returned<Out> = Out | ToolResult<Out> | Ask

/** What the output of a tool shows and chooses. The functions get what is stored, so that what is read again shows the same. */
export interface ToolGrounding {
  readonly seen?: (output: Json, input: unknown) => readonly Sighting[]
  readonly selects?: (output: Json, input: unknown) => readonly Selection[]
  /** The entity that this tool finds things of, by their names. */
  readonly lookup?: string
  /** Values without a mark are not looked at. */
  readonly unmarkedIds?: 'allow'
}

/** Made by `defineTool`. Tools of different types fit into one `readonly Tool[]`. */
export interface Tool<In = unknown, Out = unknown> {
  readonly name: string
  readonly description: string
  /** JSON Schema of the arguments; its top level is an object. */
  readonly parameters: JsonObject
  readonly input: StandardSchema
  readonly output?: StandardSchema
  readonly replay: ReplayClass
  readonly exclusive: boolean
  readonly timeoutMs?: number
  readonly maxResultBytes: number
  readonly approve: 'always' | 'never' | ((call: ApprovalCall) => Approval | Promise<Approval>)
  readonly verify?: (input: unknown, context: ToolContext) => Verdict | Promise<Verdict>
  readonly display?: (output: unknown) => string
  /** What its output shows and chooses, as functions of what is stored. */
  readonly grounding?: ToolGrounding
  /** Takes what `input` made of the arguments, which only `prepareCall` knows to be right. */
  readonly run: (input: unknown, context: ToolContext) => unknown
  /** For what is run under the rules of tools and is none. */
  readonly '~kind'?: 'node' | 'step'
  /** Never there; it carries the types. */
  readonly '~types'?: { readonly input: In; readonly output: Out }
}

export interface ApprovalCall<In = unknown> {
  readonly tool: string
  readonly input: In
  readonly principal: Principal
  readonly callId: string
}

/** No question, the usual question, or this question. */
export type Approval = boolean | string

/** What `verify` found out. */
export type Verdict<Out = unknown> =
  | { readonly happened: true; readonly output: Out }
  | { readonly happened: false }
  | { readonly happened: 'unknown' }

export interface ToolContext {
  readonly contextId: string
  readonly callId: string
  readonly turn: number
  readonly iteration: number
  readonly principal: Principal
  /** Empty if the turn has none. */
  readonly credentials: Credentials
  /** The same whenever this call is run again; give it to services that know such keys. */
  readonly idempotencyKey: string
  /** The same for every call of this tool with these arguments. */
  readonly argumentsKey: string
  /** Aborts when the turn is cancelled and when the time of the tool is up. */
  readonly signal: AbortSignal
  readonly artifacts: Artifacts
  /** The text that the turn was asked. */
  readonly task: string
  /** The calls of this turn that came to rest before, oldest first. */
  readonly previousTools: readonly PreviousTool[]
  readonly metadata: JsonObject
  /** Answers to what this call asked before, by name: of a confirmation true or false, else as they were given. */
  readonly answers: Readonly<Record<string, Json>>
  /** The reasons that were given with confirmations, by the same names. */
  readonly reasons: Readonly<Record<string, string>>
  /** Tells those who watch how far it is. Not stored. */
  readonly progress: (value: Json) => void
}

export interface PreviousTool {
  readonly tool: string
  readonly status: SettledStatus
}

/** How a call came to rest. `output` is for the model, `display` for people. */
export interface Settled {
  readonly status: SettledStatus
  readonly output: Json
  /** The result was too large to be stored: `output` is its beginning and says so. */
  readonly cut?: true
  readonly display?: string
  readonly usage?: Usage
  /** Things that were shown below. */
  readonly seen?: readonly Sighting[]
}
