/**
 * A task as a fold of its conversation's entries, from the message that began it on. Pure: every process, and every
 * repetition, gets the same task. Knows no transport.
 *
 * T1  The turn that takes the message is the task's. Entries of other turns do not change it.
 * T2  A turn that ends to wait leaves the task waiting. The turn that ends one of the requests it waits for, by an answer
 *     or because it has expired, continues the task; a request that is dismissed cancels it.
 * T3  A task that has ended never changes.
 */
import type { Message } from '@a2a-js/sdk'
import {
  type ArtifactChange,
  type Entry,
  type EntryData,
  isWaiting,
  type Json,
  type JsonObject,
  limitText,
  REMOTE_TASK,
  type RequestData,
  replyText,
} from '../../protocol/index.ts'
import { sentParts } from './flow-message.ts'
import { credentialsMessage, messageIdOf, type TaskName, taskIdOf } from './names.ts'
import { endedState, isTerminal, isWaitingState, type StateName } from './outcome-state.ts'
import { dataPart, message, partsOf, textPart } from './parts.ts'

/** `reply`: the whole text of one model call; `isLast` if the turn ends with it. */
export type TaskChange =
  | { readonly type: 'status' }
  | { readonly type: 'reply'; readonly text: string; readonly isLast: boolean }
  | { readonly type: 'output'; readonly value: Json }
  | { readonly type: 'artifact'; readonly change: ArtifactChange }

const NONE: readonly TaskChange[] = []
const STATUS: readonly TaskChange[] = [{ type: 'status' }]

export class TaskFold {
  readonly name: TaskName
  readonly id: string
  readonly history: Message[] = []
  /** The task's own changes of the newest version of each artifact, by id. */
  readonly artifacts: Map<string, ArtifactChange[]> = new Map()
  state: StateName = 'submitted'
  /** The time of the state, in milliseconds since 1970. */
  at = 0
  metadata: JsonObject = {}
  statusMessage: Message | undefined
  reply = ''
  output: Json | undefined
  /** The turn that the task is in, or was in last; 0 before the first. */
  turn = 0
  /** The position of the last entry that was read. */
  last: number
  /** Requests that are open in the conversation, by id. */
  readonly #requests = new Map<string, RequestData>()
  /** Inbox entries after the first message, by position. */
  readonly #posted = new Map<number, Entry>()
  /** Ids of messages that brought credentials alone: a turn without an input keeps them in its metadata. */
  readonly #credentialed = new Set<string>()
  #exists = false

  constructor(name: TaskName) {
    this.name = name
    this.id = taskIdOf(name)
    this.last = name.seq - 1
  }

  /** False if there is no message at the position of the task. */
  get exists(): boolean {
    return this.#exists
  }

  get isEnded(): boolean {
    return isTerminal(this.state)
  }

  /** True if the task goes on only with a message, or not at all. */
  get isSettled(): boolean {
    return this.isEnded || isWaitingState(this.state)
  }

  /** Requests that the task waits for. */
  get requests(): readonly RequestData[] {
    return isWaitingState(this.state) ? [...this.#requests.values()] : []
  }

  /** True if the message was taken before. */
  has(messageId: string): boolean {
    return this.#credentialed.has(messageId) || this.history.some((each) => each.messageId === messageId)
  }

  /** Reads the next entry of the conversation. `flowReply`: the reply of a flow whose turn ends with this entry. */
  add(entry: Entry, flowReply = ''): readonly TaskChange[] {
    this.last = entry.seq
    if (entry.seq === this.name.seq) return this.#begin(entry)
    if (!this.#exists || this.isEnded) return NONE
    if (entry.takes?.includes(this.name.seq)) return this.#taken(entry)
    return this.#change(entry, flowReply)
  }

  #change(entry: Entry, flowReply: string): readonly TaskChange[] {
    const isOwn = entry.turn === this.turn
    switch (entry.type) {
      case 'input':
        this.#posted.set(entry.seq, entry)
        return NONE
      case 'answer':
        if (this.#requests.has(requestIn(entry))) this.#addUser(entry)
        return NONE
      case 'take':
        return this.#steered(entry)
      case 'turn.start':
        this.#started(entry.data as EntryData['turn.start'])
        return NONE
      case 'request.start':
        this.#requests.set(requestIn(entry), entry.data as RequestData)
        return NONE
      case 'request.end':
        return this.#answered(entry)
      case 'model.end':
        return isOwn ? this.#replied(entry) : NONE
      case 'artifact':
        return isOwn ? this.#wrote(entry.data as ArtifactChange) : NONE
      case 'turn.end':
        return isOwn ? this.#ended(entry, flowReply) : NONE
      default:
        return NONE
    }
  }

  #begin(entry: Entry): readonly TaskChange[] {
    if (entry.type !== 'input') return NONE
    this.#exists = true
    this.at = entry.at
    this.#addUser(entry)
    return STATUS
  }

  #taken(entry: Entry): readonly TaskChange[] {
    const { as, reason = '' } = entry.data as { as?: string; reason?: string }
    if (entry.type === 'take' && as === 'nothing') {
      this.#say(entry, reason)
      return this.#become(entry, 'rejected', { reason: 'rejected' })
    }
    this.turn = entry.turn
    if (entry.type === 'request.end') this.#requests.delete(requestIn(entry))
    return this.#become(entry, 'working')
  }

  #become({ at }: Entry, state: StateName, metadata: JsonObject = {}): readonly TaskChange[] {
    if (state === 'working') this.statusMessage = undefined
    this.state = state
    this.at = at
    this.metadata = metadata
    return STATUS
  }

  /** A message of the client. Answers of one message are posted one by one. */
  #addUser({ key, seq, data }: Entry): void {
    const { message: content = '', values, value, requestId, metadata } = data as Partial<Posted>
    const sent = values === undefined ? partsOf(content) : sentParts(values, metadata)
    const parts = value === undefined ? sent : [answerPart(value)]
    const messageId = messageIdOf(key ?? `${this.id}-${seq}`, requestId)
    const last = this.history.at(-1)
    if (last?.messageId === messageId) last.parts.push(...parts)
    else this.history.push(message('user', { ...this.#ids, messageId, parts }))
  }

  /** A message of the agent as that of the state. */
  #say({ seq }: Entry, text: string, data?: Json): void {
    const parts = [textPart(text), ...(data === undefined ? [] : [dataPart(data)])]
    this.statusMessage = message('agent', { ...this.#ids, messageId: `${this.id}-${seq}`, parts })
    this.history.push(this.statusMessage)
  }

  get #ids(): { readonly contextId: string; readonly taskId: string } {
    return { contextId: this.name.contextId, taskId: this.id }
  }

  /** A message into the running turn of the task. */
  #steered(entry: Entry): readonly TaskChange[] {
    for (const seq of entry.takes ?? []) {
      const posted = this.#posted.get(seq)
      this.#posted.delete(seq)
      if (entry.turn === this.turn && entry.data['as'] === 'message' && posted !== undefined)
        this.#addUser(posted)
    }
    return NONE
  }

  #started({ metadata }: EntryData['turn.start']): void {
    const messageId = credentialsMessage(metadata)
    if (messageId !== undefined) this.#credentialed.add(messageId)
  }

  #answered(entry: Entry): readonly TaskChange[] {
    const { requestId, how } = entry.data as EntryData['request.end']
    const isAwaited = this.#requests.delete(requestId) && isWaitingState(this.state)
    if (!isAwaited) return NONE
    if (how === 'cancelled') {
      this.statusMessage = undefined
      return this.#become(entry, 'canceled', { reason: 'canceled' })
    }
    this.turn = entry.turn
    return this.#become(entry, 'working')
  }

  #replied(entry: Entry): readonly TaskChange[] {
    const { content, error } = entry.data as EntryData['model.end']
    const text = replyText(content)
    if (text === '') return NONE
    this.reply = text
    const isLast = error === undefined && !content.some(({ type }) => type === 'tool-call')
    return [{ type: 'reply', text, isLast }]
  }

  #wrote(change: ArtifactChange): readonly TaskChange[] {
    const { artifactId, op } = change
    if (artifactId.startsWith(REMOTE_TASK)) return NONE
    if (op === 'delete') {
      this.artifacts.delete(artifactId)
      return NONE
    }
    const known = op === 'write' ? undefined : this.artifacts.get(artifactId)
    if (known !== undefined) known.push(change)
    // The end of an artifact that an earlier task wrote is no content.
    else if (op !== 'complete') this.artifacts.set(artifactId, [change])
    return [{ type: 'artifact', change }]
  }

  #ended(entry: Entry, flowReply: string): readonly TaskChange[] {
    const data = entry.data as EntryData['turn.end']
    const reply = flowReply === '' ? NONE : [{ type: 'reply', text: flowReply, isLast: true } as const]
    if (flowReply !== '') this.reply = flowReply
    const { state, metadata } = endedState(data)
    this.statusMessage = undefined
    if (isWaiting(data.outcome)) this.#ask(entry)
    else if (data.outcome === 'failed') this.#say(entry, errorText(data.error))
    else if (data.limit !== undefined)
      this.#say(entry, `The task is incomplete: it reached its limit, ${limitText(data)}.`)
    this.output = data.output
    const output = data.output === undefined ? NONE : [{ type: 'output', value: data.output } as const]
    return [...reply, ...output, ...this.#become(entry, state, metadata)]
  }

  #ask(entry: Entry): void {
    const open = [...this.#requests.values()]
    const text = open.map(({ prompt }) => prompt).join('\n\n')
    this.#say(entry, text, { requests: open.map(shownRequest) })
  }
}

type Posted = EntryData['input'] & EntryData['answer']

function answerPart(value: Json) {
  return typeof value === 'string' ? textPart(value) : dataPart(value)
}

/** A request without the fields that only the runtime needs. */
function shownRequest(request: RequestData): JsonObject {
  const { callId: _, ...shown } = request
  return shown
}

function requestIn({ data }: Entry): string {
  return (data as RequestData).requestId
}

function errorText(error: JsonObject = {}): string {
  const { message: text } = error
  return typeof text === 'string' ? text : 'The task failed.'
}
