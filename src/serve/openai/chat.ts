/** The Chat Completions API: one reply as an object, or as chunks. */
import type { Usage } from '../../protocol/index.ts'
import { HttpProblem } from '../problem.ts'
import { dataFrame, HEARTBEAT } from '../sse-response.ts'
import { errorOf, turnProblem } from './errors.ts'
import type { ReplyEvent } from './reply.ts'

export interface ChatOptions {
  readonly model: string
  /** The id of a reply, by the number of its turn. */
  readonly idOf: (turn: number) => string
  /** A last chunk has the usage. */
  readonly includeUsage: boolean
}

/** The reply as `chat.completion`. Throws a problem if the turn failed. */
export async function chatCompletion(
  events: AsyncIterable<ReplyEvent>,
  { model, idOf }: ChatOptions,
): Promise<object> {
  let head = { id: '', created: 0 }
  let content = ''
  for await (const event of events) {
    if (event.type === 'start') head = { id: idOf(event.turn), created: Math.floor(event.at / 1000) }
    if (event.type === 'text') content += event.text
    if (event.type !== 'end') continue
    const { outcome, usage, error } = event.end
    if (outcome === 'failed' || outcome === 'cancelled') throw new HttpProblem(turnProblem(outcome, error))
    const message = { role: 'assistant', content, refusal: null }
    return {
      ...head,
      object: 'chat.completion',
      model,
      choices: [{ index: 0, message, logprobs: null, finish_reason: finishReason(outcome) }],
      usage: chatUsage(usage),
    }
  }
  throw new HttpProblem(UNFINISHED)
}

export const UNFINISHED = {
  status: 503,
  code: 'shutdown',
  detail:
    'This server stops before the turn has ended. Send the request again under the same Idempotency-Key.',
}

export async function* chatFrames(
  events: AsyncIterable<ReplyEvent>,
  { model, idOf, includeUsage }: ChatOptions,
): AsyncGenerator<string, void, undefined> {
  let head = { id: '', object: 'chat.completion.chunk', created: 0, model }
  const chunk = (delta: object, finish: string | null = null): string =>
    dataFrame({
      ...head,
      choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
      ...(includeUsage ? { usage: null } : {}),
    })
  for await (const event of events) {
    if (event.type === 'heartbeat') yield HEARTBEAT
    else if (event.type === 'start') {
      head = { ...head, id: idOf(event.turn), created: Math.floor(event.at / 1000) }
      yield chunk({ role: 'assistant', content: '' })
    } else if (event.type === 'text') yield chunk({ content: event.text })
    else {
      const { outcome, usage, error } = event.end
      if (outcome === 'failed' || outcome === 'cancelled')
        yield dataFrame({ error: errorOf(turnProblem(outcome, error)) })
      else {
        yield chunk({}, finishReason(outcome))
        if (includeUsage) yield dataFrame({ ...head, choices: [], usage: chatUsage(usage) })
      }
      yield DONE
      return
    }
  }
  throw new HttpProblem(UNFINISHED)
}

export const DONE = 'data: [DONE]\n\n'

function finishReason(outcome: string): 'stop' | 'length' {
  return outcome === 'limit' || outcome === 'max-iterations' ? 'length' : 'stop'
}

function chatUsage({ inputTokens, outputTokens, cachedTokens }: Usage): object {
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: cachedTokens },
  }
}
