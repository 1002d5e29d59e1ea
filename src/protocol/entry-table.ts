/**
 * The table of entry types: everything that stores and readers need to know of a type, apart from its data
 * (`entry.ts`). A new type is a row here, its data there, and its step in the fold. The compiler requires the rest: a
 * type in transcripts needs its line in the transcript, one that moves the head row its reducer in the store.
 */
import type { EntryType } from './entry.ts'

/** One row. An absent mark is false. */
export interface EntryKind {
  /** The current format version; an entry with a higher one was written by a newer version. */
  readonly v: number
  /** Appended to the inbox by anyone authorised; no effect until a driver takes it (R2). */
  readonly inbox?: true
  /**
   * Proves that a claim made progress (R7). Announcing an attempt does not, because the attempt may kill the process;
   * neither do hook phases and their additions, which an attempt may repeat.
   */
  readonly progress?: true
  /** Durable before the driver continues, even with buffered writes: an effect or a person depends on it (R3). */
  readonly unbuffered?: true
  /** Changes the transcript. */
  readonly inTranscript?: true
  /** Changes more of the head row than its position, its lease and its claims (R6). */
  readonly head?: true
  /** Ends the ownership under which it was appended. */
  readonly ends?: true
  /** The fields that every reader relies on, each with a check of `entry-shape.ts`; `?` if it may be absent. */
  readonly shape?: { readonly [field: string]: string }
}

/** Inbox entries may lack a field: the entry that takes them reports it to the sender. */
export const ENTRY_TABLE = {
  input: {
    v: 1,
    inbox: true,
    inTranscript: true,
    shape: {
      message: 'content?',
      values: 'object?',
      principal: 'principal?',
      origin: 'object?',
      limits: 'object?',
      metadata: 'object?',
      outputSchema: 'object?',
    },
  },
  answer: {
    v: 1,
    inbox: true,
    shape: { requestId: 'text?', principal: 'principal?', origin: 'object?', outputSchema: 'object?' },
  },
  cancel: { v: 1, inbox: true, shape: { turn: 'turn?' } },
  'late-result': { v: 1, inbox: true, shape: { callId: 'text?' } },

  // 2: with `drives`
  claim: { v: 2, head: true },
  release: { v: 1, unbuffered: true, head: true, ends: true, shape: { wakeAt: 'time?', pause: 'true?' } },

  'turn.start': {
    v: 1,
    progress: true,
    unbuffered: true,
    inTranscript: true,
    head: true,
    shape: { principal: 'object', trimmedUpTo: 'position?', outputSchema: 'object?' },
  },
  take: { v: 1, inTranscript: true },
  note: { v: 1, inTranscript: true },
  // 2: with `results`
  phase: { v: 2, inTranscript: true },
  'model.start': { v: 1 },
  // 2: with `sent`
  'model.end': { v: 2, progress: true, inTranscript: true, shape: { content: 'parts' } },
  'tool.start': { v: 1, unbuffered: true, inTranscript: true, shape: { callId: 'text' } },
  'tool.end': { v: 1, progress: true, inTranscript: true, shape: { callId: 'text' } },
  'tool.late': { v: 1, inTranscript: true, shape: { callId: 'text' } },
  'request.start': { v: 1, progress: true, unbuffered: true, shape: { requestId: 'text' } },
  'request.end': { v: 1, progress: true, unbuffered: true, shape: { requestId: 'text', origin: 'object?' } },
  usage: { v: 1, shape: { callId: 'text' } },
  warning: { v: 1 },
  'turn.end': {
    v: 1,
    progress: true,
    inTranscript: true,
    head: true,
    ends: true,
    shape: { outcome: 'outcome', wakeAt: 'time?' },
  },
  artifact: { v: 1 },

  // 2: with `ahead`
  'graph.start': {
    v: 2,
    unbuffered: true,
    shape: { channels: 'object', update: 'object', changes: 'object?', ahead: 'true?' },
  },
  'graph.channels': { v: 1, shape: { channels: 'object', changes: 'object?' } },
  // 2: with `sender`
  'graph.queue': { v: 2, shape: { update: 'object', origin: 'object?', sender: 'object?' } },
  'graph.step': { v: 1, shape: { tasks: 'tasks', changes: 'object?' } },
  'node.end': { v: 1, progress: true, shape: { task: 'text', update: 'object?' } },
  'effect.start': { v: 1, unbuffered: true, shape: { callId: 'text', task: 'text', key: 'text' } },
  'effect.end': { v: 1, progress: true, shape: { callId: 'text' } },

  active: { v: 1, shape: { values: 'objects' } },
  grants: { v: 1, unbuffered: true, shape: { values: 'objects' } },
  import: {
    v: 1,
    progress: true,
    inTranscript: true,
    shape: { messages: 'messages', key: 'text', continues: 'entries?', origin: 'object?' },
  },
  state: { v: 1 },
  compact: { v: 1, progress: true, inTranscript: true, shape: { upTo: 'position', kept: 'count' } },
  clear: { v: 1, progress: true, inTranscript: true, head: true },
  fork: { v: 1, progress: true, inTranscript: true, head: true },
  base: { v: 1 },
} as const

const rows: { readonly [T in EntryType]: EntryKind } = ENTRY_TABLE
/**
 * The same table, for types that may be of a newer version: those have no row. All rows have one shape, because every
 * entry is looked up here.
 */
export const ENTRY_KINDS: ReadonlyMap<string, EntryKind> = new Map(
  Object.entries(rows).map(([type, { v, inbox, progress, unbuffered, inTranscript, head, ends, shape }]) => [
    type,
    { v, inbox, progress, unbuffered, inTranscript, head, ends, shape } as EntryKind,
  ]),
)

export type TypesThat<Mark extends keyof EntryKind> = {
  [T in EntryType]: (typeof ENTRY_TABLE)[T] extends { readonly [M in Mark]: true } ? T : never
}[EntryType]

export type InboxType = TypesThat<'inbox'>

export function isInboxType(type: string): type is InboxType {
  return ENTRY_KINDS.get(type)?.inbox === true
}

export function formatOf(type: string): number {
  return ENTRY_KINDS.get(type)?.v ?? 1
}
