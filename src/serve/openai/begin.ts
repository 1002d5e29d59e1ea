/** Begins the turn of a request: with its message, or with the answer that the message gives to an open question. */
import type { Host, HostedTurn, SendOptions } from '../../host/index.ts'
import { canonical, type Entry, type EntryData, type Json } from '../../protocol/index.ts'
import { answerFrom, checkAnswer } from '../../tool/index.ts'
import type { Place } from './conversation.ts'
import type { MessageParts, ModelRequest } from './request.ts'

export async function beginReply(
  host: Host,
  { key, inputKey, posted }: Place,
  { request, auth }: { readonly request: ModelRequest; readonly auth: NonNullable<SendOptions['auth']> },
): Promise<HostedTurn> {
  const options = { auth, key: inputKey }
  const earlier = posted.filter(({ type }) => type === 'answer')
  if (earlier.length > 0)
    return host.answer(
      key,
      Object.fromEntries(
        earlier.map(({ data }) => {
          const { requestId, value } = data as unknown as EntryData['answer']
          return [requestId, value]
        }),
      ),
      options,
    )
  const info = await host.reads.info(key)
  const answer =
    posted.length === 0 && info?.status === 'waiting' ? await answerIn(host, key, request.message) : undefined
  if (answer !== undefined) return host.answer(key, answer, options)
  const isNew = info === undefined && (await host.store.head(key)) === undefined
  const sent = posted.find(({ type }) => type === 'input')
  const isOpening = sent === undefined ? isNew || info?.turn === 0 : hasMessage(sent, openingOf(request))
  const { history: messages, format } = request
  const history = isNew && messages.length > 0 ? { history: { messages, format } } : {}
  return host.send(key, isOpening ? openingOf(request) : request.message, { ...options, ...history })
}

function hasMessage({ data }: Entry, message: MessageParts): boolean {
  return canonical(data['message'] ?? null) === canonical(message as unknown as Json)
}

/** The message as the answer to the oldest question; undefined if it does not answer it. */
async function answerIn(
  host: Host,
  key: Place['key'],
  message: MessageParts,
): Promise<Readonly<Record<string, Json>> | undefined> {
  const [question] = await host.requests(key)
  const [part, more] = message
  if (question === undefined || question.kind === 'auth' || part?.type !== 'text' || more !== undefined)
    return undefined
  const value = answerFrom(question, part.text)
  return (await checkAnswer(question, value)) === undefined ? { [question.requestId]: value } : undefined
}

/** The first message of a conversation, after the system texts of the request, which are no words of the person. */
function openingOf({ system, message }: ModelRequest): MessageParts {
  return system.trim() === '' ? message : [{ type: 'text', text: system, by: 'program' }, ...message]
}
