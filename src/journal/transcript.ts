/**
 * Converts entries to messages (R9). In every case, each call is answered right after its message, by all and only its
 * results; messages during an open round come after it.
 */
import {
  type AssistantMessage,
  defined,
  ENTRY_KINDS,
  type Entry,
  type EntryData,
  type EntryOf,
  invalidOption,
  isWaiting,
  type Json,
  type KnownEntry,
  type Message,
  type SettledStatus,
  type Sighting,
  shown,
  type ToolCallPart,
  type ToolResultPart,
  type TypesThat,
  type UserContent,
  type UserMessage,
} from '../protocol/index.ts'
import { understand } from './format.ts'
import { compactMessage, type SeenByCall } from './tool-results.ts'

/**
 * The messages of a range of entries. It should begin between two rounds and hold the inputs that it takes; results
 * without their call, and takes without their input, are left out. A round that is still open at the end is shown as
 * far as it is settled: no model is called before it closes.
 */
export function transcript(entries: Iterable<Entry>): Message[] {
  if (!isIterable(entries))
    throw invalidOption('transcript()', `takes entries, such as those of store.read(), not ${shown(entries)}`)
  const builder = new TranscriptBuilder()
  for (const entry of entries) builder.read(entry)
  return builder.messages()
}

function isIterable(entries: unknown): boolean {
  return typeof entries === 'object' && entries !== null && Symbol.iterator in entries
}

interface Round {
  readonly reply: AssistantMessage
  readonly calls: readonly ToolCallPart[]
  readonly started: Set<string>
  readonly results: Map<string, ToolResultPart>
  readonly seen: Map<string, readonly Sighting[]>
}

interface PlacedMessage {
  readonly seq: number
  readonly message: Message
  /** For a message with results: the things that each of them showed. */
  readonly seen?: SeenByCall
}

/** The same, incrementally: earlier messages are kept and cost nothing again. */
export class TranscriptBuilder {
  #messages: PlacedMessage[] = []
  #queued: PlacedMessage[] = []
  #round: Round | undefined
  #roundSeq = 0
  /** Results up to this position are compact. */
  #trimmedUpTo = 0
  readonly #inputs = new Map<number, UserMessage>()

  read(entry: Entry): void {
    const kind = ENTRY_KINDS.get(entry.type)
    const known = understand(entry, kind)
    if (known === undefined || !kind?.inTranscript) return
    const apply = writers[known.type as TypesThat<'inTranscript'>] as (
      builder: TranscriptBuilder,
      entry: KnownEntry,
    ) => void
    apply(this, known)
  }

  messages(): Message[] {
    const messages = this.#messages.map(({ message }) => message)
    if (this.#round !== undefined) messages.push(...roundMessages(this.#round))
    for (const { message } of this.#queued) messages.push(message)
    return messages
  }

  remember(entry: EntryOf<'input'>): void {
    const { message, origin } = entry.data as Partial<EntryData['input']>
    // Values for a graph are no message.
    if (message === undefined) return
    this.#inputs.set(entry.seq, origin === undefined ? userMessage(message) : programMessage(message))
  }

  appendTaken({ seq, takes = [] }: Entry): void {
    for (const taken of takes) {
      const message = this.#inputs.get(taken)
      if (message !== undefined) this.append(seq, message)
    }
  }

  append(seq: number, message: Message): void {
    const list = this.#round === undefined ? this.#messages : this.#queued
    list.push(this.#shown({ seq, message }))
  }

  reply(seq: number, reply: AssistantMessage): void {
    this.closeRound('not-run', 'Not run.')
    const calls = reply.content.filter((part) => part.type === 'tool-call')
    if (calls.length === 0) {
      if (reply.content.length > 0) this.append(seq, reply)
      return
    }
    this.#round = { reply, calls, started: new Set(), results: new Map(), seen: new Map() }
    this.#roundSeq = seq
  }

  start(callId: string): void {
    this.#round?.started.add(callId)
  }

  settle(result: Omit<ToolResultPart, 'type' | 'tool'>, seen: readonly Sighting[] = []): void {
    const call = this.#round?.calls.find(({ callId }) => callId === result.callId)
    if (this.#round === undefined || call === undefined || this.#round.results.has(call.callId)) return
    this.#round.results.set(call.callId, { type: 'tool-result', tool: call.tool, ...result })
    if (seen.length > 0) this.#round.seen.set(call.callId, seen)
    if (this.#round.results.size === this.#round.calls.length) this.closeRound('not-run', '')
  }

  /** Replaces the output of a settled call of the newest round. */
  editResult(callId: string, output: Json): void {
    const open = this.#round?.results.get(callId)
    if (open !== undefined) {
      this.#round?.results.set(callId, { ...open, output })
      return
    }
    const at = this.#messages.findLastIndex(({ message }) => message.role === 'tool')
    const placed = this.#messages[at]
    if (placed?.message.role !== 'tool') return
    const content = placed.message.content.map((part) =>
      part.callId === callId ? { ...part, output } : part,
    )
    this.#messages[at] = { ...placed, message: { ...placed.message, content } }
  }

  /** Adds imported messages, in whole rounds. */
  quote(seq: number, messages: readonly Message[]): void {
    this.closeRound('not-run', 'Not run.')
    for (const message of messages) this.append(seq, message)
  }

  /** Settles all unanswered calls, so that the next message is legal. */
  closeRound(status: SettledStatus, why: string): void {
    const round = this.#round
    if (round === undefined) return
    for (const { callId, tool } of round.calls) {
      if (round.results.has(callId)) continue
      const unknown = status === 'not-run' && round.started.has(callId)
      const end = unknown
        ? { status: 'unknown', output: 'Started; its outcome is unknown.' }
        : { status, output: why }
      round.results.set(callId, { type: 'tool-result', callId, tool, ...end } as ToolResultPart)
    }
    const [seq, { seen }] = [this.#roundSeq, round]
    for (const message of roundMessages(round)) this.#messages.push(this.#shown({ seq, message, seen }))
    this.leaveRound()
  }

  /** Compacts the results up to a position from here on. */
  trimResults(upTo: number): void {
    const before = this.#trimmedUpTo
    if (upTo <= before) return
    this.#trimmedUpTo = upTo
    this.#messages = this.#messages.map((placed) => (placed.seq > before ? this.#shown(placed) : placed))
  }

  #shown(placed: PlacedMessage): PlacedMessage {
    if (placed.seq > this.#trimmedUpTo) return placed
    const message = compactMessage(placed.message, placed.seen)
    return message === placed.message ? placed : { seq: placed.seq, message }
  }

  forkHere(): void {
    this.#round?.started.clear()
    this.closeRound('not-run', 'Not run in this fork.')
  }

  leaveRound(): void {
    this.#round = undefined
    this.#messages.push(...this.#queued)
    this.#queued = []
  }

  /** Drops the messages of all entries but these. False if the open round began with none of them. */
  keep(isKept: (seq: number) => boolean): boolean {
    if (this.#round !== undefined && !isKept(this.#roundSeq)) return false
    this.#messages = this.#messages.filter(({ seq }) => isKept(seq))
    for (const seq of this.#inputs.keys()) if (!isKept(seq)) this.#inputs.delete(seq)
    return true
  }

  /**
   * Drops all messages up to a position, and begins with their summary if there is one. A round goes with its reply,
   * even if it is open: a window that begins after that reply cannot show it either.
   */
  startOver(upTo: number, summary?: string): void {
    if (this.#round !== undefined && this.#roundSeq <= upTo) this.leaveRound()
    const kept = this.#messages.filter(({ seq }) => seq > upTo)
    const opening = summary === undefined ? [] : [{ seq: upTo, message: programMessage(summary) }]
    this.#messages = [...opening, ...kept]
  }
}

const writers: {
  readonly [T in TypesThat<'inTranscript'>]: (builder: TranscriptBuilder, entry: EntryOf<T>) => void
} = {
  input: (builder, entry) => builder.remember(entry),
  'turn.start': (builder, entry) => {
    builder.trimResults(entry.data.trimmedUpTo ?? 0)
    builder.appendTaken(entry)
  },
  take: (builder, entry) => (entry.data.as === 'message' ? builder.appendTaken(entry) : undefined),
  phase: (builder, { data: { changes } }) => {
    for (const [callId, output] of Object.entries(changes?.results ?? {})) builder.editResult(callId, output)
  },
  note: (builder, { seq, data }) => builder.append(seq, programMessage(data.text)),
  'model.end': (builder, { seq, data: { content, model } }) =>
    builder.reply(seq, { role: 'assistant', content, ...defined({ model }) }),
  'tool.start': (builder, { data }) => builder.start(data.callId),
  'tool.end': (builder, { data: { callId, status, output, seen } }) =>
    builder.settle({ callId, status, output }, seen),
  'tool.late': (builder, { seq, data }) => builder.append(seq, programMessage(lateText(data))),
  'turn.end': (builder, { data }) =>
    isWaiting(data.outcome) ? undefined : builder.closeRound('not-run', 'Not run: the turn ended first.'),
  import: (builder, { seq, data }) => builder.quote(seq, data.messages),
  fork: (builder) => builder.forkHere(),
  compact: (builder, { data }) => builder.startOver(data.upTo, data.summary),
  clear: (builder, { seq }) => builder.startOver(seq),
}

function userMessage(content: UserContent): UserMessage {
  return { role: 'user', content }
}

function programMessage(content: UserContent): UserMessage {
  return { role: 'user', content, by: 'program' }
}

/** A late result comes after its place in the round, so it is a text. */
function lateText({ callId, status, output }: EntryData['tool.late']): string {
  const text = typeof output === 'string' ? output : JSON.stringify(output)
  return `[The call ${callId}, whose outcome was unknown, has come to an end (${status}): ${text}]`
}

function roundMessages({ reply, calls, results }: Round): Message[] {
  const content = calls.map(({ callId }) => results.get(callId)).filter((result) => result !== undefined)
  return content.length === 0 ? [reply] : [reply, { role: 'tool', content }]
}
