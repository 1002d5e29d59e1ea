/**
 * The events of a conversation as parts of an exchange: texts, calls, results, steps, requests. A protocol writes each part
 * in its own form. Ids of messages are positions of the journal, so every reader of a conversation gets the same ones.
 *
 * A text comes as it streams, and its rest with the entry that completes it. If the completed text is another one, such as
 * after lost deltas, the message ends and the whole text follows as a new one.
 */
import type { HostEvent } from '../host/index.ts'
import type {
  AssistantPart,
  DeltaEvent,
  Entry,
  EntryData,
  EntryType,
  Json,
  JsonObject,
  Message,
  RequestData,
  SettledStatus,
  Sighting,
  ToolCallPart,
  ToolResultPart,
  UserContent,
  UserMessage,
} from '../protocol/index.ts'

export type ConversationPart =
  | { readonly type: 'user'; readonly id: string; readonly content: UserContent }
  /** A text of a program in a graph, such as a plan or a verdict. */
  | { readonly type: 'note'; readonly id: string; readonly text: string }
  /** More text of a message. */
  | { readonly type: 'text' | 'reasoning'; readonly id: string; readonly text: string }
  | { readonly type: 'text.end' | 'reasoning.end'; readonly id: string }
  /** `id`: the message that requests the call. */
  | {
      readonly type: 'call'
      readonly id: string
      readonly callId: string
      readonly tool: string
      readonly args: Json
    }
  /** The call runs, with its final arguments. */
  | { readonly type: 'call.start'; readonly callId: string; readonly tool: string; readonly args: Json }
  | { readonly type: 'progress'; readonly callId: string; readonly progress: Json }
  | {
      readonly type: 'result'
      readonly callId: string
      readonly status: SettledStatus
      readonly output: Json
      readonly display?: string
      readonly seen: readonly Sighting[]
    }
  | { readonly type: 'step'; readonly task: string; readonly node: string }
  | { readonly type: 'step.end'; readonly task: string; readonly node: string; readonly update: JsonObject }
  /** The selection has changed. */
  | { readonly type: 'selection' }
  /** `callId`: the call of this exchange that waits for the answer. */
  | { readonly type: 'request'; readonly request: RequestData; readonly callId?: string }
  | { readonly type: 'request.end'; readonly requestId: string }
  | { readonly type: 'artifact'; readonly change: JsonObject }
  | { readonly type: 'warning'; readonly code: string; readonly message: string }
  | { readonly type: 'turn.end'; readonly turn: number; readonly end: EntryData['turn.end'] }

type Handlers = { readonly [T in EntryType]?: (data: EntryData[T], entry: Entry) => ConversationPart[] }

/** A message that streams. */
interface OpenMessage {
  readonly type: 'text' | 'reasoning'
  readonly id: string
  readonly sent: string
}

export class ConversationParts {
  readonly #inputs = new Map<number, EntryData['input']>()
  readonly #calls = new Set<string>()
  readonly #open = new Map<'text' | 'reasoning', OpenMessage>()
  /** The position of the model call under way, or the turn of a flow's reply; empty between them. */
  #call = ''
  readonly #handlers: Handlers = {
    input: (data, { seq }) => {
      this.#inputs.set(seq, data)
      return []
    },
    'model.start': (_, { seq }) => {
      const parts = this.#endAll()
      this.#call = String(seq)
      return parts
    },
    'model.end': ({ content }, { seq }) => {
      // A reply that was given to the turn has no start.
      this.#call ||= String(seq)
      return this.#reply(content)
    },
    'tool.start': ({ callId, tool, args }) => [{ type: 'call.start', callId, tool, args }],
    'tool.end': ({ callId, status, output, display, seen = [] }) => [
      { type: 'result', callId, status, output, seen, ...(display === undefined ? {} : { display }) },
    ],
    'graph.step': ({ tasks }) => tasks.map(({ task, node }) => ({ type: 'step', task, node })),
    'node.end': (data, { seq }) => this.#node(data, seq),
    active: () => [{ type: 'selection' }],
    'request.start': (request) => {
      const callId = request.requestId.split('/').find((segment) => this.#calls.has(segment))
      return [{ type: 'request', request, ...(callId === undefined ? {} : { callId }) }]
    },
    'request.end': ({ requestId }) => [{ type: 'request.end', requestId }],
    artifact: (change) => [{ type: 'artifact', change: change as unknown as JsonObject }],
    warning: ({ code, message }) => [{ type: 'warning', code, message }],
    'turn.end': (end, { turn }) => [...this.#endAll(), { type: 'turn.end', turn, end }],
  }

  take(event: HostEvent): readonly ConversationPart[] {
    if (event.type === 'entry') return [...this.#taken(event.entry), ...this.#entry(event.entry)]
    if (event.type === 'text') {
      const { reasoning = this.#sent('reasoning'), text } = event
      // The reply of a flow has no model call.
      this.#call ||= `turn${event.turn}`
      return [...this.#advance('reasoning', reasoning), ...this.#advance('text', text)]
    }
    return event.type === 'delta' ? this.#delta(event.event) : []
  }

  #entry(entry: Entry): ConversationPart[] {
    const handle = this.#handlers[entry.type as EntryType] as
      | ((data: unknown, entry: Entry) => ConversationPart[])
      | undefined
    return handle?.(entry.data, entry) ?? []
  }

  /** Messages of people become part of the exchange when a turn takes them. */
  #taken({ type, data, takes = [] }: Entry): ConversationPart[] {
    if (type === 'take' && data['as'] === 'nothing') return []
    return takes.flatMap((seq) => this.takeNow(seq))
  }

  /** The message at this position, before any turn has taken it. */
  takeNow(seq: number): ConversationPart[] {
    const input = this.#inputs.get(seq)
    this.#inputs.delete(seq)
    const content = input?.message ?? contentIn(input?.values)
    return content === undefined ? [] : [{ type: 'user', id: `u${seq}`, content }]
  }

  /** Text of sub-agents and nodes is not the conversation's own. */
  #delta(event: DeltaEvent): ConversationPart[] {
    if (event.type === 'tool.progress') {
      const { callId, progress } = event.data
      return [{ type: 'progress', callId, progress }]
    }
    if (event.path !== undefined) return []
    if (event.type === 'text.delta') return this.#advance('text', this.#sent('text') + event.data.text)
    if (event.type === 'reasoning.delta')
      return this.#advance('reasoning', this.#sent('reasoning') + event.data.text)
    return []
  }

  #sent(type: 'text' | 'reasoning'): string {
    return this.#open.get(type)?.sent ?? ''
  }

  /** Sends the part of `text` that is missing; none of an empty one, such as that of a call that failed in mid-reply. */
  #advance(type: 'text' | 'reasoning', text: string): ConversationPart[] {
    if (text === '') return []
    const open = this.#open.get(type)
    const { id, sent } = open ?? { id: `${type === 'text' ? 'm' : 'r'}${this.#call}`, sent: '' }
    if (text.startsWith(sent)) {
      this.#open.set(type, { type, id, sent: text })
      const rest = text.slice(sent.length)
      return rest === '' ? [] : [{ type, id, text: rest }]
    }
    const again = `${id}-2`
    this.#open.set(type, { type, id: again, sent: text })
    return [
      { type: `${type}.end`, id },
      { type, id: again, text },
    ]
  }

  #end(type: 'text' | 'reasoning'): ConversationPart[] {
    const open = this.#open.get(type)
    this.#open.delete(type)
    return open === undefined || open.sent === '' ? [] : [{ type: `${type}.end`, id: open.id }]
  }

  #endAll(): ConversationPart[] {
    this.#call = ''
    return [...this.#end('reasoning'), ...this.#end('text')]
  }

  #reply(content: readonly AssistantPart[]): ConversationPart[] {
    const id = `m${this.#call}`
    const joined = (type: 'text' | 'reasoning'): string =>
      content.flatMap((part) => (part.type === type ? [part.text] : [])).join('')
    const parts = [
      ...this.#advance('reasoning', joined('reasoning')),
      ...this.#end('reasoning'),
      ...this.#advance('text', joined('text')),
      ...this.#end('text'),
      ...content.flatMap((part) => (part.type === 'tool-call' ? this.#requested(id, part) : [])),
    ]
    this.#call = ''
    return parts
  }

  #requested(id: string, { callId, tool, args }: ToolCallPart): ConversationPart[] {
    this.#calls.add(callId)
    return [{ type: 'call', id, callId, tool, args }]
  }

  /** Messages that a node adds to a channel called `messages` are part of the exchange. */
  #node({ task, node, update = {}, error }: EntryData['node.end'], seq: number): ConversationPart[] {
    if (error !== undefined) return []
    const messages = messagesIn(update).flatMap((message, at) => {
      if (message.role === 'tool') return message.content.map(resultOf)
      if (message.role === 'user') return noteOf(message, `n${seq}.${at}`)
      // Each message is complete at once: it gets a position of its own.
      this.#call = String(seq + at / 100)
      return this.#reply(message.content)
    })
    return [...messages, { type: 'step.end', task, node, update }]
  }
}

function noteOf({ by, content }: UserMessage, id: string): ConversationPart[] {
  return by === 'program' && typeof content === 'string' ? [{ type: 'note', id, text: content }] : []
}

function resultOf({ callId, status, output }: ToolResultPart): ConversationPart {
  return { type: 'result', callId, status, output, seen: [] }
}

/** The person's message in the values of a run: the newest of `messages`, or the only text. */
function contentIn(values: JsonObject = {}): UserContent | undefined {
  const last = messagesIn(values).at(-1)
  if (last !== undefined) return last.role === 'user' ? last.content : undefined
  const [text, ...others] = Object.values(values).filter((each) => typeof each === 'string')
  return others.length === 0 ? text : undefined
}

function messagesIn({ messages }: JsonObject): readonly Message[] {
  return Array.isArray(messages) ? (messages as readonly unknown[]).filter(isMessage) : []
}

function isMessage(value: unknown): value is Message {
  if (typeof value !== 'object' || value === null) return false
  const { role, content } = value as { readonly role?: unknown; readonly content?: unknown }
  if (role === 'user') return typeof content === 'string' || Array.isArray(content)
  return (role === 'assistant' || role === 'tool') && Array.isArray(content)
}
