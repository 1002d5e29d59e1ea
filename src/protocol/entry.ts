/**
 * Entries: the durable lines of a journal, and the nouns of the whole runtime. What else is to know of each type is in
 * `entry-table.ts`.
 *
 * `Entry` is what a store keeps and hands out; it may have been written by a newer version, so its type is only a
 * string. `KnownEntry` is an entry that this version understands; `journal/format.ts` turns the one into the other.
 */
import type { ArtifactChange } from './artifact.ts'
import type { Principal } from './context.ts'
import type { ActiveValue, Ground, Sighting } from './entity.ts'
import type { Json, JsonObject } from './json.ts'
import type { AssistantPart, Message, SettledStatus, UserContent } from './message.ts'
import type { OutcomeReason, Usage } from './outcome.ts'

export interface Entry {
  /** Position in its conversation: 1, 2, 3 … without gaps. */
  readonly seq: number
  /** The turn that the driver was in; 0 outside of turns and for inbox entries. */
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
  /** Blobs that `data` names by their hash, beyond the ones that the store cut out of it by itself. */
  readonly refs?: readonly string[]
  /** A reader that does not know this type or version may skip it. Without this mark it must decline (R21). */
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
   * `message` speaks to an agent, `values` are given to a graph. `steer`: meant for the turn that is running.
   * `credentials`: the sender holds some, and they are not here (R19).
   */
  input: {
    readonly message: UserContent
    readonly values?: JsonObject
    readonly principal?: Principal
    readonly limits?: JsonObject
    readonly metadata?: JsonObject
    readonly steer?: true
    readonly credentials?: true
    /** It was posted from inside of a call: it has words of a model or a program, not of a person. */
    readonly origin?: InputOrigin
  }
  answer: {
    readonly requestId: string
    readonly value: Json
    readonly principal?: Principal
    /** Of the turn that it begins, if it begins one. */
    readonly limits?: JsonObject
    readonly metadata?: JsonObject
    readonly credentials?: true
    /** As of an input. An answer of a person that is handed down to a sub-agent has none. */
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
    readonly attempt: number
  }
  release: { readonly reason: string; readonly wakeAt?: number; readonly pause?: true }

  // the turn
  'turn.start': {
    readonly principal: Principal
    readonly limits?: JsonObject
    readonly metadata?: JsonObject
    /** It was asked for with credentials, which whoever drives it must have too (R19). */
    readonly credentials?: true
    /** From here on, prompts show tool results up to this position in their compact form. */
    readonly trimmedUpTo?: number
  }
  take: { readonly as: 'message' | 'nothing'; readonly reason?: string }
  note: { readonly text: string; readonly from: string }
  /** The hooks of a phase have run. What they said follows it in the same append, what else they changed is in it (R8). */
  phase: { readonly name: string; readonly callId?: string; readonly changes?: PhaseChanges }
  'model.start': { readonly model: string; readonly iteration: number; readonly attempt?: number }
  'model.end': {
    readonly content: readonly AssistantPart[]
    readonly finish: string
    /** Who replied, as `provider/model`. */
    readonly model?: string
    readonly usage?: Usage
    /** Why there is no whole reply, and what is tried next. */
    readonly error?: JsonObject
    /** What the model was sent; absent if nothing was, and in entries of format 1. */
    readonly sent?: SentHashes
  }
  'tool.start': {
    readonly callId: string
    readonly tool: string
    readonly args: Json
    readonly idempotencyKey: string
    /** The same for every call of this tool with these arguments. */
    readonly argsKey?: string
    readonly replay: ReplayClass
    /** The source of each id among the arguments. */
    readonly grounds?: readonly Ground[]
  }
  'tool.end': {
    readonly callId: string
    readonly status: SettledStatus
    readonly output: Json
    /** The result was too large to be stored: `output` is its beginning and says so. */
    readonly cut?: true
    /** For people; the model gets `output`. */
    readonly display?: string
    /** Things with ids that the output shows. */
    readonly seen?: readonly Sighting[]
    /** What a sub-agent used on the way, without what `usage` entries of the call have counted. */
    readonly usage?: Usage
  }
  'tool.late': { readonly callId: string; readonly status: SettledStatus; readonly output: Json }
  /**
   * What was used so far below a call or a task that has not ended: it counts in this turn, and not again at the end.
   * `below`: what each of those that a task ran has used in all, by their keys.
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
    /** Of the answer, if no person gave it. */
    readonly origin?: InputOrigin
    /** Texts of the answer that only repeat what the question offered: they are the asker's words. */
    readonly picked?: readonly string[]
  }
  /** `tokens`: of `context-near-full`, how many are too many. `usage`: what was used for nothing. */
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
    /** Which limit, if one ended it. */
    readonly limit?: string
    /** The value of that limit. */
    readonly maximum?: number
    /** Which hook ended it, if one did. */
    readonly stopped?: StopWish
    readonly wakeAt?: number
  }
  artifact: ArtifactChange

  // the run of a graph
  /** A run begins at the start: `changes` are set, then `update` counts, by the kinds of its channels. */
  'graph.start': {
    readonly graph: string
    readonly channels: ChannelKinds
    readonly update: JsonObject
    readonly changes?: JsonObject
    /** Of its input. */
    readonly origin?: InputOrigin
  }
  /** Values that were given before the open requests of a run were asked: they begin a run when that one is over. */
  'graph.queue': { readonly update: JsonObject; readonly origin?: InputOrigin }
  /**
   * What the tasks before have said counts now, in their order, and `changes` are set: what their reducers made of it.
   * These tasks are begun. `waiting`: of each join that is not complete, who has arrived. `leads`: where edges and routes
   * lead, if a limit keeps the run from going there; the next turn does.
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
  /** A node has come to its end, or to the end of an attempt: then `error` says what is tried next. */
  'node.end': {
    readonly task: string
    readonly node: string
    readonly update?: JsonObject
    readonly error?: JsonObject
    readonly usage?: Usage
    /** Things with ids that the node vouches for, or that were shown below it. */
    readonly seen?: readonly Sighting[]
    /** If it failed: what each of those that it ran below has used in all, by their keys. */
    readonly below?: { readonly [key: string]: Usage }
  }
  /** The intent of an effect inside of a node, durable before it begins (R3). */
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
    /** The result was too large to be stored: `output` is its beginning and says so. */
    readonly cut?: true
  }

  // the conversation
  /** What is chosen from here on: all of it. `chosen`: the entities of which this very entry chooses something. */
  active: {
    readonly values: readonly ActiveValue[]
    readonly by?: string
    readonly chosen?: readonly string[]
  }
  import: ImportData
  /** What the owner wants to be remembered of the conversation as a whole. */
  state: {
    readonly metadata: JsonObject
    /** The agent was paused or shut down while no turn was open. It counts until somebody drives the conversation again. */
    readonly status?: 'paused' | 'shutdown'
  }
  /** `kept`: how many messages after `upTo` stay in the window. */
  compact: {
    readonly upTo: number
    readonly kept: number
    readonly summary?: string
    readonly receipt?: JsonObject
  }
  clear: { readonly reason?: string }
  fork: { readonly parent: string; readonly at: number; readonly position: Position }
  /** `kept`: up to here forks still read, and nothing was deleted. */
  base: {
    readonly upTo: number
    readonly kept: number
    readonly position: Position
    readonly session: JsonObject
  }
}

/**
 * Hashes of a request to a model. Two requests of one model are the same exactly if these are: its system prompt, its
 * messages, its tools with their schemas, and its settings without headers and keys.
 */
export type SentHashes = {
  readonly system?: string
  readonly messages: string
  readonly tools?: string
  readonly settings?: string
}

/** The call that posted something, or the hook if there is no call id: its words are a model's or a program's. */
export type InputOrigin = { readonly contextId: string; readonly callId?: string }

/** How what a node says of a channel counts: it replaces, is added to a list, is merged, or is for a reducer to say. */
export type ChannelKind = 'value' | 'list' | 'merge' | 'reduced'

export type ChannelKinds = { readonly [channel: string]: ChannelKind }

/** A node that is to run, under a name that no other task of the conversation has; with an input of its own, if it is sent one. */
export type TaskData = { readonly task: string; readonly node: string; readonly input?: Json }

export type PhaseChanges = {
  /** Other arguments, by call. */
  readonly args?: { readonly [callId: string]: Json }
  /** What the model call that follows is shown instead. */
  readonly prompt?: PromptChanges
  readonly stop?: StopWish
  /** Where the ids among the arguments of the call came from. */
  readonly grounds?: readonly Ground[]
  /** Arguments that the schema of the tool does not declare, and that the tool was not given. */
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

/** At position `at` of what was there before, `remove` messages make room for others. */
export type Splice = { readonly at: number; readonly remove: number; readonly insert: readonly Message[] }

/** A hook wants the turn to end. */
export type StopWish = { readonly by: string; readonly reason?: string }

/**
 * Messages that were said elsewhere, whole rounds only (R11). An import is one or more such entries in one append; each
 * begins with what a user said, except those that go on with a long exchange.
 */
export type ImportData = {
  readonly messages: readonly Message[]
  /** The format that they were read from. */
  readonly source: string
  /** The same for all entries of one import, and for the same messages. */
  readonly key: string
  /** How many entries before this one the user spoke whom it goes on to answer. */
  readonly continues?: number
  /** The import was made from inside of a call: no message is the person's. */
  readonly origin?: InputOrigin
  /** First entry only: how much was repaired, and the first of it. */
  readonly repaired?: number
  readonly repairs?: readonly Repair[]
}

/** What was done to a foreign history to make a legal transcript of it. */
export type Repair = {
  /** Which message of the history, from 0 on. */
  readonly at: number
  readonly kind: string
  readonly said: string
}

/** Something that only a person, or another program, can say. */
export type RequestData = {
  readonly requestId: string
  readonly kind: string
  readonly prompt: string
  /** Who wants to know: `approval`, `credentials`, or the tool. */
  readonly from?: string
  readonly callId?: string
  /** What the asker calls the answer. */
  readonly name?: string
  /** JSON Schema of the answer. */
  readonly schema?: JsonObject
  readonly options?: readonly Json[]
  /** Several of the options may be chosen. */
  readonly multiple?: true
  readonly expiresAt?: number
  /** What the question is about, such as the call to be approved. */
  readonly about?: JsonObject
}

/** May an effect that was started and never settled be run again? Only if its tool says that this is safe. */
export type ReplayClass = 'never' | 'safe'

/**
 * Where a conversation stood at some entry: enough to rebuild a head row when what came before that entry is in
 * another journal (a fork) or gone (a base).
 */
export type Position = {
  readonly at: number
  readonly turn: number
  readonly epoch: number
  readonly claims: number
  readonly running: boolean
  readonly createdAt: number
  readonly activeAt: number
  readonly outcome?: OutcomeReason
  /** Added by the store to a base: what the head row rests on and the entries after the base may not say again. */
  readonly lease?: { readonly driver: string; readonly leaseMs: number }
  readonly wakeAt?: number
  readonly erasedUpTo?: number
}
