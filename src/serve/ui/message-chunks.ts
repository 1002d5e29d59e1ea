/**
 * Turns the events of an exchange into the chunks of one UI message. Entries alone give the same message as entries and
 * deltas do, so a message that is replayed from the journal equals the one that was streamed.
 */
import type { HostEvent } from '../../host/index.ts'
import {
  defined,
  type Entry,
  type EntryData,
  type EntryOf,
  type EntryType,
  isClientCall,
  type Json,
  limitText,
  type RequestData,
} from '../../protocol/index.ts'
import { confirmationIn } from '../../tool/index.ts'
import type { UiChunk } from './chunks.ts'
import { ReplyChunks } from './reply-chunks.ts'

interface Call {
  readonly tool: string
  readonly input: Json
  isDenied?: true
}

type Handlers = { readonly [T in EntryType]?: (entry: EntryOf<T>) => readonly UiChunk[] }

export class MessageChunks {
  readonly #calls = new Map<string, Call>()
  readonly #requests = new Map<string, RequestData>()
  readonly #handlers: Handlers = {
    'model.start': ({ seq }) => this.#beginStep(seq),
    'model.end': ({ data }) => this.#endModel(data),
    'tool.start': ({ data: { callId, tool, args } }) => this.#announce(callId, { tool, input: args }),
    'tool.end': ({ data }) => this.#result(data),
    'request.start': ({ data }) => this.#request(data),
    'request.end': ({ data }) => this.#answer(data),
    active: ({ data: { values, by } }) => [
      { type: 'data-selection', id: 'selection', data: { values, ...defined({ by }) } },
    ],
  }
  #reply: ReplyChunks | undefined
  #isStepOpen = false

  /** The chunks of an event, in order. `turn.end` gives none: see `end`. */
  next(event: HostEvent): readonly UiChunk[] {
    if (event.type === 'entry') return this.#handlerOf(event.entry)?.(event.entry) ?? []
    if (event.type === 'text') {
      // The reply of a flow has no model call.
      this.#reply ??= new ReplyChunks('given')
      return this.#reply.whole(event.text, event.reasoning)
    }
    if (event.type === 'heartbeat') return []
    const { type, data } = event.event
    if (type === 'text.delta') return this.#reply?.text(data.text) ?? []
    return type === 'reasoning.delta' ? (this.#reply?.reasoning(data.text) ?? []) : []
  }

  /** The last chunks of the message. */
  end({ turn, data }: EntryOf<'turn.end'>): readonly UiChunk[] {
    const { outcome, usage, limit, maximum, error } = data
    const closed = [...this.#endReply(), ...this.#endStep()]
    if (outcome === 'cancelled') return [...closed, { type: 'abort', reason: 'The turn was cancelled.' }]
    const messageMetadata = {
      turn,
      outcome,
      usage,
      ...defined({ error, limit: limit === undefined ? undefined : limitText(defined({ limit, maximum })) }),
    }
    if (outcome === 'failed')
      return [
        ...closed,
        { type: 'finish', finishReason: 'error', messageMetadata },
        { type: 'error', errorText: textOf(error?.['message'] ?? 'The turn failed.') },
      ]
    return [...closed, { type: 'finish', finishReason: FINISH[outcome], messageMetadata }]
  }

  #handlerOf({ type }: Entry): ((entry: Entry) => readonly UiChunk[]) | undefined {
    return this.#handlers[type as EntryType] as ((entry: Entry) => readonly UiChunk[]) | undefined
  }

  #beginStep(seq: number): readonly UiChunk[] {
    const before = this.#endReply()
    this.#reply = new ReplyChunks(String(seq))
    const step = this.#endStep()
    this.#isStepOpen = true
    return [...before, ...step, { type: 'start-step' }]
  }

  #endStep(): readonly UiChunk[] {
    if (!this.#isStepOpen) return []
    this.#isStepOpen = false
    return [{ type: 'finish-step' }]
  }

  #endReply(): readonly UiChunk[] {
    const chunks = this.#reply?.end() ?? []
    this.#reply = undefined
    return chunks
  }

  #endModel({ content, error }: EntryData['model.end']): readonly UiChunk[] {
    if (error !== undefined) return this.#endReply()
    // A reply that no model of this conversation has written has no start.
    this.#reply ??= new ReplyChunks('given')
    const chunks: UiChunk[] = [...this.#reply.complete(content), ...this.#endReply()]
    for (const part of content) {
      if (part.type !== 'tool-call') continue
      const { callId, tool, args, malformed } = part
      if (malformed === undefined) chunks.push(...this.#announce(callId, { tool, input: args }))
      else
        chunks.push({
          type: 'tool-input-error',
          toolCallId: callId,
          toolName: tool,
          input: args,
          errorText: malformed,
        })
    }
    return chunks
  }

  /** The call and its arguments; again if they have changed, such as by a hook. */
  #announce(callId: string, call: Call): readonly UiChunk[] {
    const known = this.#calls.get(callId)
    if (known !== undefined && JSON.stringify(known.input) === JSON.stringify(call.input)) return []
    this.#calls.set(callId, call)
    return [inputChunk(callId, call)]
  }

  /** The result of a call; none for a call of an earlier message, which the client would not find. */
  #result({ callId, status, output, seen = [] }: EntryData['tool.end']): readonly UiChunk[] {
    const call = this.#calls.get(callId)
    if (call === undefined) return []
    const result: UiChunk =
      status === 'ok'
        ? { type: 'tool-output-available', toolCallId: callId, output }
        : call.isDenied && status === 'rejected'
          ? { type: 'tool-output-denied', toolCallId: callId }
          : { type: 'tool-output-error', toolCallId: callId, errorText: textOf(output) }
    if (seen.length === 0) return [result]
    return [result, { type: 'data-sightings', id: callId, data: { toolCallId: callId, sightings: seen } }]
  }

  #request(request: RequestData): readonly UiChunk[] {
    const { requestId, callId, from } = request
    this.#requests.set(requestId, request)
    const data: UiChunk = { type: 'data-request', id: requestId, data: { ...request, status: 'open' } }
    if (from !== 'approval' || callId === undefined || !this.#calls.has(callId)) return [data]
    return [{ type: 'tool-approval-request', toolCallId: callId, approvalId: requestId }, data]
  }

  #answer({ requestId, how, value }: EntryData['request.end']): readonly UiChunk[] {
    const request = this.#requests.get(requestId)
    if (request === undefined) return []
    const data: UiChunk = { type: 'data-request', id: requestId, data: { ...request, status: how } }
    const { callId, from } = request
    const call = callId === undefined ? undefined : this.#calls.get(callId)
    if (from !== 'approval' || callId === undefined || call === undefined) return [data]
    if (how === 'answered' && confirmationIn(value).approved) return [data, inputChunk(callId, call)]
    call.isDenied = true
    return [data]
  }
}

const FINISH = {
  stop: 'stop',
  limit: 'length',
  'max-iterations': 'length',
  'input-required': 'tool-calls',
  'auth-required': 'tool-calls',
} as const

function inputChunk(toolCallId: string, { tool, input }: Call): UiChunk {
  return { type: 'tool-input-available', toolCallId, toolName: tool, input }
}

function textOf(output: Json): string {
  return typeof output === 'string' ? output : JSON.stringify(output)
}

/** A call that the client runs, and whose result answers its request. */
export function clientCallOf(request: RequestData): string | undefined {
  return isClientCall(request) ? request.callId : undefined
}
