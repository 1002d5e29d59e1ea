/**
 * Turns the events of an exchange into the chunks of one UI message. Entries alone give the same message as entries and
 * deltas do, so a message that is replayed from the journal equals the one that was streamed.
 */
import type { HostEvent } from '../../host/index.ts'
import {
  type DeltaData,
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
  /** Calls that the model writes, and their tools. */
  readonly #inputs = new Map<string, string>()
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
      const calls = (event.calls ?? []).flatMap((call) => this.#input(call))
      return [...this.#reply.whole(event.text, event.reasoning), ...calls]
    }
    if (event.type === 'heartbeat') return []
    const { type, data } = event.event
    if (type === 'call.delta') return this.#input(data)
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

  /** The reply so far ends, and with it the calls that it has not completed. */
  #endReply(): readonly UiChunk[] {
    const chunks: UiChunk[] = [...(this.#reply?.end() ?? [])]
    this.#reply = undefined
    for (const [callId, tool] of this.#inputs) chunks.push(errorChunk({ callId, tool }, UNFINISHED))
    this.#inputs.clear()
    return chunks
  }

  /** More arguments of a call that the model writes. */
  #input({ callId, tool, text }: DeltaData['call.delta']): readonly UiChunk[] {
    if (this.#reply === undefined) return []
    const delta: UiChunk = { type: 'tool-input-delta', toolCallId: callId, inputTextDelta: text }
    if (this.#inputs.has(callId)) return [delta]
    this.#inputs.set(callId, tool)
    return [...this.#reply.end(), { type: 'tool-input-start', toolCallId: callId, toolName: tool }, delta]
  }

  #endModel({ content, error }: EntryData['model.end']): readonly UiChunk[] {
    if (error !== undefined) return this.#endReply()
    // A reply that no model of this conversation has written has no start.
    this.#reply ??= new ReplyChunks('given')
    const calls = content.filter((part) => part.type === 'tool-call')
    for (const { callId } of calls) this.#inputs.delete(callId)
    return [
      ...this.#reply.complete(content),
      ...this.#endReply(),
      ...calls.flatMap(({ callId, tool, args, malformed }) =>
        malformed === undefined
          ? this.#announce(callId, { tool, input: args })
          : [errorChunk({ callId, tool }, malformed, args)],
      ),
    ]
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

const UNFINISHED = 'The model did not finish this call. It was not run.'

function errorChunk(
  call: { readonly callId: string; readonly tool: string },
  errorText: string,
  input: Json = null,
): UiChunk {
  return { type: 'tool-input-error', toolCallId: call.callId, toolName: call.tool, input, errorText }
}

function textOf(output: Json): string {
  return typeof output === 'string' ? output : JSON.stringify(output)
}

/** A call that the client runs, and whose result answers its request. */
export function clientCallOf(request: RequestData): string | undefined {
  return isClientCall(request) ? request.callId : undefined
}
