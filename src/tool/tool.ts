/** The contract of a tool, for its author and its runner. Knows nothing of execution or storage. */
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
 * A tool's definition. TypeScript infers in the order of the properties, so `display` knows its output type only after
 * `run`.
 */
export interface ToolDefinition<S extends StandardSchema, Out> {
  /** A letter, then letters, digits, `_` and `-`; at most 64. */
  readonly name: string
  /** For the model: what the tool does, and when to use it. */
  readonly description: string
  /** The input schema, of any library that follows Standard Schema. Its top level is an object. */
  readonly input: S
  /** The same as JSON Schema. Needed only where the library of `input` cannot convert it. */
  readonly parameters?: JsonObject
  /** The output schema. Its parsed value becomes the result; an output that does not fit is an error. */
  readonly output?: StandardSchema
  /** Controls whether a call of unknown outcome runs again. Default: `never`. */
  readonly replay?: ReplayClass
  /** Runs alone: not while other calls of the same reply run. */
  readonly exclusive?: boolean
  /** The time limit of a call. Default: none. */
  readonly timeoutMs?: number
  /** The largest result, in bytes of JSON. Default: 256 KB. Write larger results into an artifact. */
  readonly maxResultBytes?: number
  /** Requires the approval of a person. A function may return the question itself. If it throws, the person is asked. */
  readonly approve?:
    | 'always'
    | 'never'
    | ((call: ApprovalCall<SchemaOutput<S>>) => Approval | Promise<Approval>)
  /** Callers who were not authenticated may use it, where a host lets them in. Default: false. */
  readonly public?: boolean
  /** For the person who approves a call: what it would change, such as a diff. Changes nothing. */
  readonly preview?: (input: SchemaOutput<S>, context: PreviewContext) => string | Promise<string>
  /** The source of a tool that is not of this program. */
  readonly origin?: ToolOrigin
  /** After a crash: reports whether a call with this key happened, instead of running a `never` tool again. */
  readonly verify?: (
    input: SchemaOutput<S>,
    context: ToolContext,
  ) => VerifyResult<NoInfer<Out>> | Promise<VerifyResult<NoInfer<Out>>>
  /** The result for people. */
  readonly display?: (output: NoInfer<Out>) => string
  /** The things with ids in the output: `returns: (rows) => project.rows(rows, { id: 'id', label: 'name' })`. */
  readonly returns?: (output: NoInfer<Out>, input: SchemaOutput<S>) => readonly Sighting[]
  /** The selections that the call makes: `selects: ({ id }) => [project.select(id)]`. */
  readonly selects?: (output: NoInfer<Out>, input: SchemaOutput<S>) => readonly Selection[]
  /**
   * For a tool with marks: `judge`, the default, drops fields that the schema does not declare and judges every text that
   * fits an entity's pattern; `allow` passes both to the tool.
   */
  readonly unmarkedIds?: 'judge' | 'allow'
  /** The effect. Each value that a generator yields is progress. */
  readonly run: (input: SchemaOutput<S>, context: ToolContext) => RunReturn<Out>
}

/**
 * The return value of `run`: the output, the output with a text for people, or a question; sync, async, or as a generator.
 */
export type RunReturn<Out> =
  | ReturnValue<Out>
  | Promise<ReturnValue<Out>>
  | AsyncGenerator<Json, ReturnValue<Out>, undefined>

export type ReturnValue<Out> = Out | ToolResult<Out> | Ask

/** The sightings and selections of a tool, as functions of the stored output, so that a later read yields the same. */
export interface ToolGrounding {
  readonly seen?: (output: Json, input: unknown) => readonly Sighting[]
  readonly selects?: (output: Json, input: unknown) => readonly Selection[]
  /** The entity whose things this tool looks up by name. */
  readonly lookup?: string
  /** Unmarked values are not judged. */
  readonly unmarkedIds?: 'allow'
}

/** Created by `defineTool`. Tools of different types fit into one `readonly Tool[]`. */
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
  readonly public?: true
  readonly preview?: (input: unknown, context: PreviewContext) => string | Promise<string>
  readonly origin?: ToolOrigin
  readonly verify?: (input: unknown, context: ToolContext) => VerifyResult | Promise<VerifyResult>
  readonly display?: (output: unknown) => string
  /** The sightings and selections, as functions of the stored output. */
  readonly grounding?: ToolGrounding
  /** Takes the parsed arguments, which only `prepareCall` has checked. */
  readonly run: (input: unknown, context: ToolContext) => unknown
  /** Set for code that runs under the rules of tools and is none. */
  readonly '~kind'?: 'node' | 'step'
  /** Never set; carries the types. */
  readonly '~types'?: { readonly input: In; readonly output: Out }
}

/** An MCP server, by its name in the config; or a remote agent. */
export type ToolOrigin =
  | { readonly kind: 'mcp'; readonly server: string }
  | { readonly kind: 'a2a'; readonly url: string }

export interface PreviewContext {
  readonly signal: AbortSignal
}

export interface ApprovalCall<In = unknown> {
  readonly tool: string
  readonly input: In
  readonly principal: Principal
  readonly callId: string
}

/** False: no question. True: the default question. A text: this question. */
export type Approval = boolean | string

/** The result of `verify`. */
export type VerifyResult<Out = unknown> =
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
  /** The same for every run of this call; pass it to services that support idempotency keys. */
  readonly idempotencyKey: string
  /** The same for every call of this tool with these arguments. */
  readonly argumentsKey: string
  /** Aborts when the turn is cancelled and when the tool's time limit is reached. */
  readonly signal: AbortSignal
  readonly artifacts: Artifacts
  /** The input text of the turn. */
  readonly task: string
  /** The settled calls of this turn, oldest first. */
  readonly previousTools: readonly PreviousTool[]
  readonly metadata: JsonObject
  /** Answers to this call's earlier questions, by name: true or false for a confirmation, else as given. */
  readonly answers: Readonly<Record<string, Json>>
  /** The reasons given with confirmations, by the same names. */
  readonly reasons: Readonly<Record<string, string>>
  /** Publishes progress to subscribers. Not stored. */
  readonly progress: (value: Json) => void
}

export interface PreviousTool {
  readonly tool: string
  readonly status: SettledStatus
}

/** The result of a settled call. `output` is for the model, `display` for people. */
export interface Settled {
  readonly status: SettledStatus
  readonly output: Json
  /** The result was too large to store: `output` is its beginning and says so. */
  readonly cut?: true
  readonly display?: string
  readonly usage?: Usage
  /** Things that were shown below. */
  readonly seen?: readonly Sighting[]
}
