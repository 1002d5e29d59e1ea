/**
 * Entries: the durable lines of a journal. Everything about a type but its data is in `entry-table.ts`.
 *
 * `Entry` is a stored entry; a newer version may have written it, so its type is only a string. `KnownEntry` is an
 * entry of a type that this version understands; `journal/format.ts` converts the one into the other.
 */
import type { ArtifactChange } from './artifact.ts'
import type { Principal } from './context.ts'
import type { ActiveValue, Ground, Sighting } from './entity.ts'
import type { Grant } from './grant.ts'
import type { Json, JsonObject } from './json.ts'
import type { AssistantPart, Message, SettledStatus, UserContent } from './message.ts'
import type { OutcomeReason, Usage } from './outcome.ts'

export interface Entry {
  /** Position in its conversation: 1, 2, 3 … without gaps. */
  readonly seq: number
  /** The driver's turn; 0 outside of turns and for inbox entries. */
  readonly turn: number
  /** Milliseconds since 1970 by the store's clock; never less than that of the entry before (R12). */
  readonly at: number
  readonly type: string
  /** Format version of `data` for this type. */
  readonly v: number
  readonly data: JsonObject
  /** Inbox entries only: the sender's idempotency key. */
  readonly key?: string
  /** Positions of the inbox entries that take effect here (R2). */
  readonly takes?: readonly number[]
  /** Hashes of blobs that `data` names, beyond those that the store extracted itself. */
  readonly refs?: readonly string[]
  /** A reader that does not know this type or version may skip it; without this mark it must decline (R21). */
  readonly optional?: true
}

export type KnownEntry = { readonly [T in EntryType]: EntryOf<T> }[EntryType]

export interface EntryOf<T extends EntryType> extends Entry {
  readonly type: T
  readonly data: EntryData[T]
}

export type EntryType = keyof EntryData

export interface EntryData {
  // inbox: appended by anyone authorised, no effect until a driver takes it
  /**
   * `message` is for an agent, `values` for a graph. `steer`: for the running turn. `credentials`: the sender holds
   * some, which are not stored (R19).
   */
  input: {
    readonly message: UserContent
    readonly values?: JsonObject
    readonly principal?: Principal
    readonly limits?: JsonObject
    readonly metadata?: JsonObject
    readonly steer?: true
    readonly credentials?: true
    /** JSON Schema of the turn's output, if the sender asks for one. */
    readonly outputSchema?: JsonObject
    /** Posted from inside a call: the words are a model's or a program's, not a person's. */
    readonly origin?: InputOrigin
  }
  answer: {
    readonly requestId: string
    readonly value: Json
    readonly principal?: Principal
    /** Limits of the turn that it begins, if any. */
    readonly limits?: JsonObject
    readonly metadata?: JsonObject
    readonly credentials?: true
    readonly outputSchema?: JsonObject
    /** As for an input; absent for a person's answer that is passed down to a sub-agent. */
    readonly origin?: InputOrigin
  }
  cancel: { readonly turn: number; readonly reason?: string }
  'late-result': {
    readonly callId: string
    readonly status: SettledStatus
    readonly output: Json
    readonly cut?: true
    readonly display?: string
    readonly usage?: Usage
    /** Things that tools below the call showed. */
    readonly seen?: readonly Sighting[]
  }

  // ownership
  claim: {
    readonly epoch: number
    readonly driver: string
    readonly leaseMs: number
    /** How many claims in a row made no progress, this one included if it drives (R7). */
    readonly attempt: number
    /** The claim is released in the same append: it continues no turn. */
    readonly drives?: false
  }
  release: { readonly reason: string; readonly wakeAt?: number; readonly pause?: true }

  // the turn
  'turn.start': {
    readonly principal: Principal
    readonly limits?: JsonObject
    readonly metadata?: JsonObject
    /** Requested with credentials, which the driver must hold too (R19). */
    readonly credentials?: true
    /** JSON Schema of the turn's output. A turn that continues another has that of the other unless it has its own. */
    readonly outputSchema?: JsonObject
    /** From here on, prompts compact tool results up to this position. */
    readonly trimmedUpTo?: number
    /** The file of the system prompt. */
    readonly prompt?: PromptVersion
    /** The span of the turn's first driver, in W3C form; a later one links to it. */
    readonly traceparent?: string
  }
  take: { readonly as: 'message' | 'nothing'; readonly reason?: string }
  /** `from`: the hook that added it, `runtime`, or `output`: the last reply was no valid output. */
  note: { readonly text: string; readonly from: string }
  /** The hooks of a phase have run. Their additions follow in the same append; `changes` holds the rest (R8). */
  phase: { readonly name: string; readonly callId?: string; readonly changes?: PhaseChanges }
  'model.start': { readonly model: string; readonly iteration: number; readonly attempt?: number }
  'model.end': {
    readonly content: readonly AssistantPart[]
    /** As reported by the model; `given` for a reply from elsewhere, whose calls run here. */
    readonly finish: string
    /** The model that replied, as `provider/model`. */
    readonly model?: string
    readonly usage?: Usage
    /** The reason for an incomplete reply, and the next attempt. */
    readonly error?: JsonObject
    /** Hashes of the request; absent if none was sent, and in entries of format 1. */
    readonly sent?: SentHashes
  }
  'tool.start': {
    readonly callId: string
    readonly tool: string
    readonly args: Json
    readonly idempotencyKey: string
    /** Equal for every call of this tool with these arguments. */
    readonly argsKey?: string
    /** The same of the arguments as its schema converts them, which the tool receives; absent if equal. */
    readonly inputKey?: string
    readonly replay: ReplayClass
    /** The source of each id among the arguments. */
    readonly grounds?: readonly Ground[]
  }
  'tool.end': {
    readonly callId: string
    readonly status: SettledStatus
    readonly output: Json
    /** The result was too large to store: `output` is its beginning, marked as such. */
    readonly cut?: true
    /** For people; the model gets `output`. */
    readonly display?: string
    /** Things with ids that the output shows. */
    readonly seen?: readonly Sighting[]
    /** A sub-agent's usage, without the part that `usage` entries of the call have counted. */
    readonly usage?: Usage
  }
  'tool.late': { readonly callId: string; readonly status: SettledStatus; readonly output: Json }
  /**
   * Usage below a call or task that has not ended: it counts in this turn, and not again at the end. `below`: total
   * usage of each child of a task, by key.
   */
  usage: {
    readonly callId: string
    readonly usage: Usage
    readonly below?: { readonly [key: string]: Usage }
  }
  'request.start': RequestData
  'request.end': {
    readonly requestId: string
    readonly how: 'answered' | 'expired' | 'cancelled'
    readonly value?: Json
    /** Origin of the answer, if no person gave it. */
    readonly origin?: InputOrigin
    /** Texts of the answer that repeat the question's options: the asker's words. */
    readonly picked?: readonly string[]
  }
  /** `tokens`: threshold of `context-near-full`. `usage`: tokens spent without a result. */
  warning: {
    readonly code: string
    readonly message: string
    readonly tokens?: number
    readonly usage?: Usage
  }
  'turn.end': {
    readonly outcome: OutcomeReason
    readonly usage: Usage
    readonly durationMs: number
    readonly error?: JsonObject
    readonly limit?: string
    readonly maximum?: number
    readonly stopped?: StopRequest
    readonly wakeAt?: number
    /** Calls of the last reply that the caller of the turn runs elsewhere: they are not settled here. */
    readonly handedOn?: readonly string[]
    /** The last reply as data, validated, if the turn had an output schema and completed. */
    readonly output?: Json
  }
  artifact: ArtifactChange

  // the run of a graph
  /**
   * A run begins at the start: `changes` are set, then `update` is applied by the kinds of its channels. It is the first
   * queued run, if there is one, unless it starts `ahead` of them.
   */
  'graph.start': {
    readonly graph: string
    readonly channels: ChannelKinds
    readonly update: JsonObject
    readonly changes?: JsonObject
    readonly origin?: InputOrigin
    readonly ahead?: true
  }
  /**
   * Values posted before the run's open requests were asked; they begin a run after this one ends. `sender`: the fields
   * of the turn that the run needs; format 1 has none, and runs in the turn that ends the run before it.
   */
  'graph.queue': {
    readonly update: JsonObject
    readonly origin?: InputOrigin
    readonly sender?: {
      readonly principal?: Principal
      readonly limits?: JsonObject
      readonly metadata?: JsonObject
      readonly credentials?: true
    }
  }
  /** Channels that the graph's code has gained or changed since the run began: `changes` are set under the new kinds. */
  'graph.channels': { readonly channels: ChannelKinds; readonly changes?: JsonObject }
  /**
   * Applies the updates of the previous tasks in their order, sets `changes` (the results of their reducers), and
   * begins `tasks`. `waiting`: arrivals at each incomplete join. `leads`: targets of edges and routes that a limit kept
   * this turn from running; the next turn runs them.
   */
  'graph.step': {
    readonly tasks: readonly TaskData[]
    readonly changes?: JsonObject
    readonly waiting?: { readonly [join: string]: readonly string[] }
    readonly leads?: {
      readonly targets: readonly Omit<TaskData, 'task'>[]
      readonly waiting?: { readonly [join: string]: readonly string[] }
    }
  }
  /** A node has ended, or an attempt of it: then `error` holds the next attempt. */
  'node.end': {
    readonly task: string
    readonly node: string
    readonly update?: JsonObject
    readonly error?: JsonObject
    readonly usage?: Usage
    /** Things that the node vouches for, or that were shown below it. */
    readonly seen?: readonly Sighting[]
    /** If it failed: total usage of each of its children, by key. */
    readonly below?: { readonly [key: string]: Usage }
  }
  /** The intent of an effect of a node, durable before it begins (R3). */
  'effect.start': {
    readonly callId: string
    readonly task: string
    readonly key: string
    readonly idempotencyKey: string
    readonly replay: ReplayClass
  }
  'effect.end': {
    readonly callId: string
    readonly status: SettledStatus
    readonly output: Json
    /** The result was too large to store: `output` is its beginning, marked as such. */
    readonly cut?: true
  }

  // the conversation
  /** The whole active selection from here on. `chosen`: the entities that this entry selects. */
  active: {
    readonly values: readonly ActiveValue[]
    readonly by?: string
    readonly chosen?: readonly string[]
  }
  /** All grants from here on: of the conversation, or, in a person's own journal, of the person. */
  grants: { readonly values: readonly Grant[] }
  import: ImportData
  /** State that the owner stores with the conversation. */
  state: {
    readonly metadata: JsonObject
    /** The agent was paused or shut down while no turn was open. Valid until the next driver. */
    readonly status?: 'paused' | 'shutdown'
  }
  /** `kept`: number of messages after `upTo` that stay in the window. */
  compact: {
    readonly upTo: number
    readonly kept: number
    readonly summary?: string
    readonly receipt?: JsonObject
  }
  clear: { readonly reason?: string }
  fork: { readonly parent: string; readonly at: number; readonly position: Position }
  /** `kept`: forks still read up to here, and nothing was deleted. */
  base: {
    readonly upTo: number
    readonly kept: number
    readonly position: Position
    readonly session: JsonObject
  }
}

/**
 * Hashes of a request to a model: its system prompt, messages, tools with their schemas, and settings without headers
 * and keys. Two requests to one model are equal exactly if all of these are.
 */
export type SentHashes = {
  readonly system?: string
  readonly messages: string
  readonly tools?: string
  readonly settings?: string
}

/** The file that a system prompt was read from, without its extension or as its front matter says, and its hash. */
export type PromptVersion = {
  readonly name: string
  readonly version?: string
  readonly label?: string
  readonly hash: string
}

/** The call that posted an entry, or, without a call id, the hook: its words are a model's or a program's. */
export type InputOrigin = { readonly contextId: string; readonly callId?: string }

/** An update of a channel replaces the value, is appended to a list, is merged, or goes through a reducer. */
export type ChannelKind = 'value' | 'list' | 'merge' | 'reduced'

export type ChannelKinds = { readonly [channel: string]: ChannelKind }

/** A node to run, under a task name that is unique in the conversation; `input` if it was sent one of its own. */
export type TaskData = { readonly task: string; readonly node: string; readonly input?: Json }

export type PhaseChanges = {
  /** Replaced arguments, by call. */
  readonly args?: { readonly [callId: string]: Json }
  /** Replaced results, by call: the model reads these, `tool.end` keeps the tool's own. */
  readonly results?: { readonly [callId: string]: Json }
  readonly prompt?: PromptChanges
  readonly stop?: StopRequest
  /** Sources of the ids among the call's arguments. */
  readonly grounds?: readonly Ground[]
  /** Arguments that the tool's schema does not declare; the tool did not receive them. */
  readonly dropped?: readonly string[]
}

export type PromptChanges = {
  readonly system?: string
  readonly tools?: readonly string[]
  readonly messages?: MessageChanges
}

/** Splices in order, into a list of `of` messages, the last of which have this digest. */
export type MessageChanges = {
  readonly of: number
  readonly end: string
  readonly splices: readonly Splice[]
}

/** At position `at` of the original list, `insert` replaces `remove` messages. */
export type Splice = { readonly at: number; readonly remove: number; readonly insert: readonly Message[] }

/** A hook's request to end the turn. */
export type StopRequest = { readonly by: string; readonly reason?: string }

/**
 * Messages of another framework, whole rounds only (R11). An import is one or more such entries in one append; each
 * begins with a user message, except those that continue a long exchange.
 */
export type ImportData = {
  readonly messages: readonly Message[]
  /** The source format. */
  readonly source: string
  /** Equal for all entries of one import, and for the same messages. */
  readonly key: string
  /** Distance in entries to the one with the user message that this one continues. */
  readonly continues?: number
  /** Imported from inside a call: no message is the person's. */
  readonly origin?: InputOrigin
  /** First entry only: the number of repairs, and the first of them. */
  readonly repaired?: number
  readonly repairs?: readonly Repair[]
}

/** A change that made a foreign history a legal transcript. */
export type Repair = {
  /** Index of the message in the history, from 0. */
  readonly at: number
  readonly kind: string
  readonly said: string
}

/** A question that a person, or another program, has to answer. */
export type RequestData = {
  readonly requestId: string
  readonly kind: string
  readonly prompt: string
  /**
   * The asker: the runtime as `approval`, `credentials` or `grounding`, or the tool or node by its name. One that has such
   * a name is `tool:approval`, or `node:approval`.
   */
  readonly from?: string
  readonly callId?: string
  /** The asker's name for the answer. */
  readonly name?: string
  /** JSON Schema of the answer. */
  readonly schema?: JsonObject
  readonly options?: readonly Json[]
  /** Several options may be picked. */
  readonly multiple?: true
  readonly expiresAt?: number
  /** The subject of the question, such as the call to be approved. */
  readonly about?: JsonObject
  /**
   * The key of what the answer decides on. Of an approval: the arguments that the tool would receive; of a node's question:
   * the question, without the problem of an earlier answer.
   */
  readonly inputKey?: string
}

/** `safe`: a started effect without a result may run again, as its tool declares. */
export type ReplayClass = 'never' | 'safe'

/** State of a conversation at an entry: rebuilds a head row at a fork, or at a base whose older entries are gone. */
export type Position = {
  readonly at: number
  readonly turn: number
  readonly epoch: number
  readonly claims: number
  readonly running: boolean
  readonly createdAt: number
  readonly activeAt: number
  readonly outcome?: OutcomeReason
  /** Added by the store to a base: state of the head row that entries after the base may not repeat. */
  readonly lease?: { readonly driver: string; readonly leaseMs: number }
  readonly wakeAt?: number
  readonly erasedUpTo?: number
}

/** Metadata of a turn in a conversation that several tasks of a graph share: the task that it belongs to. */
export const TASK_METADATA = '~task'

/** The beginning of the ids of artifacts that keep a call's task at a remote agent: they are not for people. */
export const REMOTE_TASK = 'remote-task-'

/** `finish` of a reply that no model of this conversation has written. */
export const GIVEN = 'given'
