/**
 * Asks models for a summary of messages, piece by piece if they are too long for one request: each has the summary so
 * far and the next messages. It must not know what is cut, or where the summary is kept.
 */
import type { Ids, Timer } from '../base/index.ts'
import {
  ModelFailure,
  type ModelReply,
  streamModel,
  type TokenCounter,
  tokenCounter,
} from '../model/index.ts'
import { addUsage, type Message, NO_USAGE, replyText, type Usage } from '../protocol/index.ts'
import type { ModelSource } from './definition.ts'
import { shortenedText } from './fit-prompt.ts'
import { attemptAfter, NO_MODEL, notSent } from './model-retry.ts'

export interface SummaryRequest {
  /** The models to ask, in this order. */
  readonly models: readonly ModelSource[]
  readonly instructions?: string
  readonly signal: AbortSignal
  readonly ids: Ids
  readonly timer: Timer
}

/** The summary and its model, or the failure; with the usage in any case. */
export type WrittenSummary =
  | { readonly text: string; readonly model: string; readonly usage: Usage }
  | { readonly failure: ModelFailure; readonly usage: Usage }

const SYSTEM =
  'You write summaries of conversations between a user and an assistant that uses tools. Somebody will go on with the conversation who knows nothing but your summary.'

const TASK = `Summarise the conversation above, for whoever goes on with it. Keep: what the user wants and has decided, names, numbers and ids word for word, what was done with which result, what is still open. Leave out greetings and repetitions. Do not answer anything and do not go on with the conversation: write only the summary, in the language of the conversation.`

/** The smallest piece in tokens that is worth a request. */
const LEAST_PIECE = 100
/** The most tokens to reserve for the summary itself. */
const MAX_RESERVED = 4_000

export async function writeSummary(
  messages: readonly Message[],
  request: SummaryRequest,
): Promise<WrittenSummary> {
  let usage = NO_USAGE
  let failure = new ModelFailure('invalid', { message: NO_MODEL })
  for (const source of request.models) {
    const written = await new Summary(source, request, usage).write(messages.flatMap(asText))
    if (!('failure' in written) || request.signal.aborted) return written
    usage = written.usage
    failure = written.failure
  }
  return { failure, usage }
}

/** One model's summary so far. */
class Summary {
  readonly #source: ModelSource
  readonly #request: SummaryRequest
  #usage: Usage
  #text: string | undefined
  #model: string

  constructor(source: ModelSource, request: SummaryRequest, usage: Usage) {
    this.#source = source
    this.#request = request
    this.#usage = usage
    this.#model = source.name
  }

  async write(messages: readonly Message[]): Promise<WrittenSummary> {
    const counter = await tokenCounter()
    const { message: count } = counter
    let rest = messages
    let budget = await this.#budget()
    do {
      const opening = this.#opening(budget, counter)
      const piece = nextPiece(rest, budget - count(opening), counter)
      const reply = await this.#ask([opening, ...piece])
      if (reply instanceof ModelFailure) {
        const sent = piece.reduce((sum, each) => sum + count(each), 0)
        budget = Math.min(budget, sent + count(opening)) / 2
        if (reply.kind === 'context-length' && budget >= LEAST_PIECE) continue
        return { failure: reply, usage: this.#usage }
      }
      this.#text = textIn(reply)
      this.#model = reply.model
      rest = rest.slice(Math.max(1, piece.length))
    } while (rest.length > 0)
    return { text: this.#text ?? '', model: this.#model, usage: this.#usage }
  }

  /** The token budget of a request's messages; infinite if the model's context size is unknown. */
  async #budget(): Promise<number> {
    const size = this.#source.contextTokens
    if (size === undefined) return Number.POSITIVE_INFINITY
    const { text } = await tokenCounter()
    const around = text(SYSTEM) + text(this.#task())
    return Math.max(LEAST_PIECE, size - around - Math.min(MAX_RESERVED, size / 4))
  }

  #opening(budget: number, { text }: TokenCounter): Message {
    if (this.#text === undefined) return { role: 'user', content: 'The conversation begins here.' }
    const summary = shortenedText(this.#text, { tokens: text(this.#text), most: budget / 2 })
    return { role: 'user', content: `The conversation so far, in short:\n\n${summary}\n\nIt went on:` }
  }

  #task(): string {
    const { instructions } = this.#request
    return instructions === undefined ? TASK : `${TASK}\n\n${instructions}`
  }

  async #ask(messages: readonly Message[]): Promise<ModelReply | ModelFailure> {
    const { signal, timer } = this.#request
    for (let attempt = 1; ; attempt++) {
      const reply = await this.#askOnce(messages)
      this.#usage = addUsage(this.#usage, reply.usage)
      if (!(reply instanceof ModelFailure) || signal.aborted) return reply
      const step = attemptAfter(reply, this.#source, attempt)
      if (step.next !== 'retry') return reply
      await timer.wait(step.waitMs, { signal })
    }
  }

  async #askOnce(messages: readonly Message[]): Promise<ModelReply | ModelFailure> {
    const { signal, ids, timer } = this.#request
    try {
      const model = await this.#source.resolve()
      if (model.capabilities?.freeText === false) return cannotSummarise(this.#source)
      const reply = await streamModel({
        model,
        system: SYSTEM,
        messages: [...messages, { role: 'user', content: this.#task() }],
        tools: [],
        ...this.#source.request,
        signal,
        ids,
        timer,
        onDelta: () => {},
      })
      const problem = problemWith(reply)
      return problem === undefined ? reply : unusable(reply, problem)
    } catch (error) {
      return error instanceof ModelFailure ? error : notSent(error)
    }
  }
}

/** As many messages as fit, at least one: too long by itself, it is cut in the middle. */
function nextPiece(messages: readonly Message[], budget: number, counter: TokenCounter): readonly Message[] {
  let tokens = 0
  const fitting = messages.findIndex((message) => {
    tokens += counter.message(message)
    return tokens > budget
  })
  if (fitting !== 0) return fitting < 0 ? messages : messages.slice(0, fitting)
  const [first] = messages as [Message]
  const text = typeof first.content === 'string' ? first.content : textsOf(first)
  const cut = shortenedText(text, { tokens: counter.message(first), most: Math.max(LEAST_PIECE / 2, budget) })
  return [first.role === 'user' ? { role: 'user', content: cut } : assistantText(cut)]
}

function assistantText(text: string): Message {
  return { role: 'assistant', content: [{ type: 'text', text }] }
}

/** Its text must not replace the conversation. */
function cannotSummarise({ name }: ModelSource): ModelFailure {
  const message = `${name} cannot write summaries. Name another model for them, or compact with the strategy sliding.`
  return new ModelFailure('invalid', { message })
}

/** The reason why a reply is not a whole summary. */
function problemWith(reply: ModelReply): string | undefined {
  if (reply.finish === 'length') return 'was cut off; allow it more with maxOutputTokens'
  if (reply.finish === 'content-filter') return 'was stopped by a content filter'
  return textIn(reply) === '' ? 'is empty' : undefined
}

function unusable({ model, usage }: ModelReply, problem: string): ModelFailure {
  return new ModelFailure('invalid', { message: `The summary of ${model} ${problem}.`, usage })
}

function textIn({ content }: ModelReply): string {
  return replyText(content).trim()
}

/**
 * Turns calls, results and files into text, and drops thoughts: no tools are declared for a summary, and some providers
 * refuse calls of undeclared tools.
 */
function asText(message: Message): readonly Message[] {
  const text = typeof message.content === 'string' ? message.content : textsOf(message)
  if (text.trim() === '') return []
  return [message.role === 'assistant' ? assistantText(text) : { role: 'user', content: text }]
}

function textsOf({ content }: Message): string {
  return typeof content === 'string' ? content : content.map(partText).join('\n')
}

function partText(part: Exclude<Message['content'], string>[number]): string {
  if (part.type === 'text') return part.text
  if (part.type === 'tool-call') return `[calls ${part.tool} with ${JSON.stringify(part.args)}]`
  if (part.type === 'tool-result') return `[${part.tool}: ${part.status} ${JSON.stringify(part.output)}]`
  return part.type === 'file' ? `[file ${part.name ?? part.mediaType}]` : ''
}
