/**
 * The reply of a turn as text: what its model calls say, one paragraph each, and the question that it ends with. Calls of
 * tools and reasoning stay inside.
 */
import type { Host, HostEvent } from '../../host/index.ts'
import {
  type ContextKey,
  type EntryData,
  isWaiting,
  type KnownEntry,
  type RequestData,
  replyText,
} from '../../protocol/index.ts'
import { questionText } from '../question-text.ts'

const AUTH = 'Send your credentials to the server, and write again.'

export type ReplyEvent =
  | { readonly type: 'start'; readonly turn: number; readonly at: number }
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'end'; readonly end: EntryData['turn.end']; readonly at: number }
  | { readonly type: 'heartbeat' }

/** Ends without an `end` if the events do. */
export async function* replyEvents(
  host: Host,
  key: ContextKey,
  events: AsyncIterable<HostEvent> | Iterable<HostEvent>,
): AsyncGenerator<ReplyEvent, void, undefined> {
  const reply = new ReplyText()
  let isStarted = false
  for await (const event of events) {
    if (event.type === 'heartbeat') yield event
    if (event.type === 'entry' && !isStarted && event.entry.turn > 0) {
      isStarted = true
      yield { type: 'start', turn: event.entry.turn, at: event.entry.at }
    }
    const text = reply.next(event)
    if (text !== '') yield { type: 'text', text }
    if (event.type !== 'entry' || event.entry.type !== 'turn.end') continue
    const end = event.entry.data as unknown as EntryData['turn.end']
    const question = isWaiting(end.outcome) ? (reply.question ?? (await host.requests(key))[0]) : undefined
    if (question !== undefined) yield { type: 'text', text: reply.paragraph(questionText(question, AUTH)) }
    yield { type: 'end', end, at: event.entry.at }
  }
}

class ReplyText {
  readonly #open = new Map<string, RequestData>()
  /** Text of the model call under way that was given. */
  #sent = ''
  #isEmpty = true

  /** The oldest question of the turn that is open. */
  get question(): RequestData | undefined {
    return this.#open.values().next().value
  }

  /** The text that an event adds. */
  next(event: HostEvent): string {
    if (event.type === 'entry') return this.#entry(event.entry as KnownEntry)
    if (event.type === 'text') return this.#rest(event.text)
    return event.type === 'delta' && event.event.type === 'text.delta' ? this.#add(event.event.data.text) : ''
  }

  paragraph(text: string): string {
    const gap = this.#isEmpty ? '' : '\n\n'
    this.#isEmpty = false
    return gap + text
  }

  #entry({ type, data }: KnownEntry): string {
    if (type === 'model.start') this.#sent = ''
    if (type === 'request.start') this.#open.set(data.requestId, data)
    if (type === 'request.end') this.#open.delete(data.requestId)
    return type === 'model.end' && data.error === undefined ? this.#rest(replyText(data.content)) : ''
  }

  #rest(all: string): string {
    return all.startsWith(this.#sent) ? this.#add(all.slice(this.#sent.length)) : ''
  }

  #add(text: string): string {
    if (text === '') return ''
    const isFirst = this.#sent === ''
    this.#sent += text
    return isFirst ? this.paragraph(text) : text
  }
}
