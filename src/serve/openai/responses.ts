/** The Responses API: one reply as a `response`, or as the events that build it. */
import type { Usage } from '../../protocol/index.ts'
import { HttpProblem } from '../problem.ts'
import { HEARTBEAT } from '../sse-response.ts'
import { UNFINISHED } from './chat.ts'
import { turnProblem } from './errors.ts'
import type { ReplyEvent } from './reply.ts'

export interface ResponseOptions {
  readonly model: string
  /** The id of a response, by the number of its turn. */
  readonly idOf: (turn: number) => string
  readonly previous: string | null
}

type Status = 'in_progress' | 'completed' | 'incomplete' | 'failed' | 'cancelled'

/** The response so far; `in_progress` if the events end before the turn. */
export async function responseObject(
  events: AsyncIterable<ReplyEvent>,
  options: ResponseOptions,
): Promise<object> {
  const response = new ResponseSnapshot(options)
  for await (const event of events) response.add(event)
  return response.object
}

/** The events of a response, each with its place in their sequence. */
export async function* responseFrames(
  events: AsyncIterable<ReplyEvent>,
  options: ResponseOptions,
): AsyncGenerator<string, void, undefined> {
  const response = new ResponseSnapshot(options)
  let sequence = 0
  const frame = ({ type, ...data }: SentEvent): string =>
    `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: sequence++, ...data })}\n\n`
  for await (const event of events) {
    if (event.type === 'heartbeat') yield HEARTBEAT
    const isFirstText = event.type === 'text' && response.text === ''
    response.add(event)
    if (event.type === 'start')
      for (const type of ['response.created', 'response.in_progress'])
        yield frame({ type, response: response.object })
    if (isFirstText) for (const begun of response.itemBegun) yield frame(begun)
    if (event.type === 'text') yield frame(response.delta(event.text))
    if (event.type !== 'end') continue
    for (const done of response.itemDone) yield frame(done)
    yield frame({ type: `response.${LAST[response.status]}`, response: response.object })
    return
  }
  throw new HttpProblem(UNFINISHED)
}

/** The last event by status. There is none for `cancelled`. */
const LAST: Readonly<Record<Status, string>> = {
  in_progress: 'incomplete',
  completed: 'completed',
  incomplete: 'incomplete',
  failed: 'failed',
  cancelled: 'incomplete',
}

type SentEvent = { readonly type: string } & Readonly<Record<string, unknown>>

class ResponseSnapshot {
  readonly #options: ResponseOptions
  #id = ''
  #created = 0
  #end: Extract<ReplyEvent, { type: 'end' }>['end'] | undefined
  text = ''

  constructor(options: ResponseOptions) {
    this.#options = options
  }

  add(event: ReplyEvent): void {
    if (event.type === 'start') {
      this.#id = this.#options.idOf(event.turn)
      this.#created = Math.floor(event.at / 1000)
    }
    if (event.type === 'text') this.text += event.text
    if (event.type === 'end') this.#end = event.end
  }

  get status(): Status {
    if (this.#end === undefined) return 'in_progress'
    const { outcome } = this.#end
    if (outcome === 'failed' || outcome === 'cancelled') return outcome
    return outcome === 'limit' || outcome === 'max-iterations' ? 'incomplete' : 'completed'
  }

  get object(): object {
    const { model, previous } = this.#options
    const { status } = this
    const failure = status === 'failed' ? turnProblem('failed', this.#end?.error) : undefined
    return {
      id: this.#id,
      object: 'response',
      created_at: this.#created,
      status,
      error: failure === undefined ? null : { code: 'server_error', message: failure.detail },
      incomplete_details: status === 'incomplete' ? { reason: 'max_output_tokens' } : null,
      instructions: null,
      max_output_tokens: null,
      metadata: {},
      model,
      output: this.text === '' ? [] : [this.#item(status)],
      parallel_tool_calls: false,
      previous_response_id: previous,
      store: true,
      temperature: null,
      text: { format: { type: 'text' } },
      tool_choice: 'auto',
      tools: [],
      top_p: null,
      truncation: 'disabled',
      usage: this.#end === undefined ? null : responseUsage(this.#end.usage),
    }
  }

  /** The events that begin the message of the response. */
  get itemBegun(): readonly SentEvent[] {
    return [
      {
        type: 'response.output_item.added',
        output_index: 0,
        item: { ...this.#item('in_progress'), content: [] },
      },
      { type: 'response.content_part.added', ...this.#place, part: textPart('') },
    ]
  }

  delta(delta: string): SentEvent {
    return { type: 'response.output_text.delta', ...this.#place, delta, logprobs: [] }
  }

  /** The events that complete it; none if there is no text. */
  get itemDone(): readonly SentEvent[] {
    if (this.text === '') return []
    const { text } = this
    return [
      { type: 'response.output_text.done', ...this.#place, text, logprobs: [] },
      { type: 'response.content_part.done', ...this.#place, part: textPart(text) },
      { type: 'response.output_item.done', output_index: 0, item: this.#item(this.status) },
    ]
  }

  get #place(): object {
    return { item_id: this.#itemId, output_index: 0, content_index: 0 }
  }

  get #itemId(): string {
    return this.#id.replace(/^resp_/, 'msg_')
  }

  #item(status: Status): object {
    const own = status === 'completed' || status === 'in_progress' ? status : 'incomplete'
    return {
      id: this.#itemId,
      type: 'message',
      role: 'assistant',
      status: own,
      content: [textPart(this.text)],
    }
  }
}

function textPart(text: string): object {
  return { type: 'output_text', text, annotations: [], logprobs: [] }
}

function responseUsage({ inputTokens, outputTokens, cachedTokens }: Usage): object {
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: cachedTokens },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: inputTokens + outputTokens,
  }
}
