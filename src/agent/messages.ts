/** Reading what was said, by number of messages or by tokens, without splitting a round (R11). */
import { processIdentity, systemIds } from '../base/index.ts'
import {
  type ImportReceipt,
  type ImportRequest,
  importContext,
  loadSession,
  readWindow,
  transcript,
  type WindowOptions,
} from '../journal/index.ts'
import { estimatedTokens, tokenCounter } from '../model/index.ts'
import {
  type ContextKey,
  type EntryData,
  type JsonObject,
  type Message,
  NO_USAGE,
  programsContent,
  type UserMessage,
} from '../protocol/index.ts'
import { persist, type Store } from '../store/index.ts'
import { inputOrigin } from '../tool/index.ts'
import { messageGiven } from './given.ts'

export interface MessageQuery {
  readonly maxMessages?: number
  /** Counted by a tokenizer if one is installed, else estimated. */
  readonly maxTokens?: number
}

export async function readMessages(
  store: Store,
  key: ContextKey,
  query: MessageQuery & Pick<WindowOptions, 'tokens'> = {},
): Promise<readonly Message[]> {
  const { maxMessages, tokens } = query
  const session = await loadSession(store, key)
  const view = {
    session,
    ...(maxMessages === undefined ? {} : { maxMessages }),
    ...(tokens === undefined ? {} : { tokens }),
  }
  return newest(transcript(await readWindow(store, key, view)), query)
}

/**
 * Adds what was said elsewhere: one finished turn for each message of a user, with what was replied to it. Results
 * without their call are left out, and calls without a result read as not run (R9).
 */
export async function appendMessages(
  store: Store,
  key: ContextKey,
  messages: readonly Message[],
): Promise<void> {
  const exchanges = exchangesOf(messages)
  // All or nothing: each exchange is an append of its own.
  for (const { user } of exchanges) if (user !== undefined) messageGiven(user.content)
  const head = await store.head(key)
  let turn = head?.turn ?? 0
  let since = head?.seq ?? 0
  for (const { user, replies } of exchanges) {
    turn += 1
    const input = systemIds.next('input')
    const principal = { tenant: key.tenant, actor: key.actor }
    const inbox = user === undefined ? [] : [{ type: 'input' as const, key: input, data: inputOf(user) }]
    const receipt = await persist(store, {
      key,
      id: systemIds.next('append'),
      since,
      inbox,
      claim: { driver: `${processIdentity()}#append`, leaseMs: 10_000 },
      entries: [
        { type: 'turn.start', turn, data: { principal }, ...(user === undefined ? {} : { takes: [input] }) },
        ...replies.flatMap(entriesOf).map((entry) => ({ ...entry, turn })),
        { type: 'turn.end', turn, data: { outcome: 'stop', usage: NO_USAGE, durationMs: 0 } },
      ],
    })
    since = receipt.last
  }
}

/** Words of a program stay those of a program, and no words are the person's if the code of a call appends them. */
function inputOf({ content, by }: UserMessage): EntryData['input'] {
  return { message: by === undefined ? content : programsContent(content), ...inputOrigin() }
}

/** `importContext` from wherever it is called: no message is the person's if the code of a call imports them. */
export function importInto(store: Store, key: ContextKey, request: ImportRequest): Promise<ImportReceipt> {
  return importContext(store, key, { ...request, ...inputOrigin() })
}

interface Exchange {
  readonly user?: UserMessage
  readonly replies: Exclude<Message, UserMessage>[]
}

function exchangesOf(messages: readonly Message[]): Exchange[] {
  const exchanges: Exchange[] = []
  for (const message of messages) {
    if (message.role === 'user') exchanges.push({ user: message, replies: [] })
    else if (exchanges.length === 0) exchanges.push({ replies: [message] })
    else exchanges.at(-1)?.replies.push(message)
  }
  return exchanges
}

function entriesOf(
  message: Exclude<Message, UserMessage>,
): { readonly type: string; readonly data: JsonObject }[] {
  if (message.role === 'assistant')
    return [
      {
        type: 'model.end',
        data: {
          content: message.content,
          finish: 'stop',
          ...(message.model === undefined ? {} : { model: message.model }),
        },
      },
    ]
  return message.content.map(({ callId, status, output }) => ({
    type: 'tool.end',
    data: { callId, status, output },
  }))
}

/** The newest that fit: a reply that asked for calls goes with their results. */
export async function newest(messages: readonly Message[], query: MessageQuery): Promise<readonly Message[]> {
  const { maxMessages = Number.POSITIVE_INFINITY, maxTokens = Number.POSITIVE_INFINITY } = query
  const counter = Number.isFinite(maxTokens) ? await tokenCounter() : estimatedTokens
  let start = messages.length
  let tokens = 0
  let count = 0
  for (const round of roundsOf(messages).toReversed()) {
    tokens += counter.messages(round)
    count += round.reduce((sum, message) => sum + (message.role === 'tool' ? message.content.length : 1), 0)
    if (tokens > maxTokens || (count > maxMessages && start < messages.length)) break
    start -= round.length
  }
  return messages.slice(start)
}

function roundsOf(messages: readonly Message[]): Message[][] {
  const rounds: Message[][] = []
  for (const message of messages) {
    if (message.role === 'tool') rounds.at(-1)?.push(message)
    else rounds.push([message])
  }
  return rounds
}
