/** Reads and appends messages of a conversation, by number or by tokens, without splitting a round (R11). */
import { processIdentity, systemIds } from '../base/index.ts'
import type { Driver } from '../drive/index.ts'
import {
  checkIdle,
  type ImportReceipt,
  type ImportRequest,
  importContext,
  loadSession,
  readNewest,
  readWindow,
  type Session,
  transcript,
  withUnsaved,
} from '../journal/index.ts'
import { tokenCounter } from '../model/index.ts'
import {
  type ContextKey,
  checkOptions,
  defined,
  type EntryData,
  invalidOption,
  type JsonObject,
  type Message,
  NO_USAGE,
  type OptionSet,
  programsContent,
  shapeProblem,
  shown,
  type UserMessage,
} from '../protocol/index.ts'
import { persist, type Store } from '../store/index.ts'
import { inputOrigin } from '../tool/index.ts'
import { tokenBudget } from '../turn/index.ts'
import type { AgentSetup } from './config.ts'
import { parseInput } from './turn-options.ts'

export interface MessageQuery {
  /** The most messages; fewer only where a round would be split. `Infinity` for all. */
  readonly maxMessages?: number
  /** Counted by a tokenizer if one is installed, else estimated. */
  readonly maxTokens?: number
}

/** A conversation at the position of `session`. */
export interface MessageSource {
  readonly store: Pick<Store, 'read' | 'lookup'>
  readonly key: ContextKey
  readonly session: Session
}

export async function storedMessages(store: Store, key: ContextKey): Promise<MessageSource> {
  return { store, key, session: await loadSession(store, key) }
}

/** The newest messages that match the query, oldest first. Reads at most about twice as many entries as it returns. */
export async function newestMessages(
  source: MessageSource,
  query: MessageQuery,
): Promise<readonly Message[]> {
  const { store, key, session } = source
  const { maxTokens } = query
  const maxMessages = Math.floor(query.maxMessages ?? Number.POSITIVE_INFINITY)
  const total = session.window.messages
  let reach = maxTokens === undefined ? maxMessages : Math.min(maxMessages, FIRST_REACH)
  // A message with several results counts once here and several times in the window, so one read may be too short.
  for (; ; reach *= 2) {
    const messages = transcript(await readNewest(store, key, { session, messages: reach }))
    const start = await newestStart(messages, query)
    if (start > 0 || reach >= total || messages.length === maxMessages) return messages.slice(start)
  }
}

const FIRST_REACH = 50

const QUERY: Omit<OptionSet<MessageQuery>, 'place'> = {
  options: { maxMessages: { least: 1 }, maxTokens: { least: 0 } },
  foreign: { limit: 'maxMessages', last: 'maxMessages', max: 'maxMessages' },
}

/** Checks synchronously, while the caller is still on the stack. */
export function checkQuery(place: 'getMessages()' | 'getRecent()', query: MessageQuery): void {
  checkOptions(query, { place, ...QUERY })
}

/** The newest messages that match, unsaved ones included; the window without a query. */
export async function readMessages(
  { journal, isRunning }: Driver,
  { maxMessages, maxTokens }: Pick<AgentSetup, 'maxMessages' | 'maxTokens'>,
  query: MessageQuery,
): Promise<readonly Message[]> {
  const { store, key, hasUnsaved, session } = journal
  const isWindow = query.maxMessages === undefined && query.maxTokens === undefined
  if (isWindow && (hasUnsaved || isRunning)) return journal.messages()
  if (hasUnsaved)
    return newestMessages({ store: withUnsaved(journal.windowEntries, store), key, session }, query)
  const stored = await storedMessages(store, key)
  if (!isWindow) return newestMessages(stored, query)
  const view = { maxMessages, ...(await tokenBudget(maxTokens)), session: stored.session }
  return transcript(await readWindow(store, key, view))
}

/**
 * Appends messages from elsewhere: one finished turn per user message, with its replies. Results without their call are
 * dropped; calls without a result read as not run (R9).
 */
export async function appendMessages(
  store: Store,
  key: ContextKey,
  messages: readonly AppendedMessage[],
): Promise<void> {
  if (!Array.isArray(messages))
    throw invalidOption('append()', `takes a list of messages, not ${shown(messages)}`)
  // All messages are checked before the first append: each exchange is an append of its own.
  const exchanges = exchangesOf(messages.map(checkedMessage))
  const session = await loadSession(store, key)
  checkIdle(key, session, 'append')
  let { turn, seq: since } = session
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

/** A message; an assistant's content may be a plain text. */
export type AppendedMessage = Message | { readonly role: 'assistant'; readonly content: string }

function checkedMessage(
  appended: AppendedMessage,
  index: number,
  { length }: readonly AppendedMessage[],
): Message {
  const { role, content } = (appended ?? {}) as Partial<AppendedMessage>
  const isText = role === 'assistant' && typeof content === 'string'
  const message = (isText ? { ...appended, content: [{ type: 'text', text: content }] } : appended) as Message
  if (shapeProblem('import', { key: '-', messages: [message] }) !== undefined)
    throw invalidOption(`Message ${index + 1} of ${length}`, `${WRONG_MESSAGE}. Nothing was stored`)
  if (message.role === 'user') parseInput(message.content)
  return message
}

const WRONG_MESSAGE =
  "must have the role 'user' or 'assistant' and a text or a list of parts, or the role 'tool' and a list of results"

/** A program's message stays a program's, and a message appended by the code of a call is never the person's. */
function inputOf({ content, by }: UserMessage): EntryData['input'] {
  return { message: by === undefined ? content : programsContent(content), ...inputOrigin() }
}

/** `importContext` with the caller's origin: messages imported by the code of a call are never the person's. */
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
          ...defined({ model: message.model }),
        },
      },
    ]
  return message.content.map(({ callId, status, output }) => ({
    type: 'tool.end',
    data: { callId, status, output },
  }))
}

/** The start of the newest messages that fit; a reply stays together with the results of its calls. */
export async function newestStart(messages: readonly Message[], query: MessageQuery): Promise<number> {
  const { maxMessages = Number.POSITIVE_INFINITY, maxTokens = Number.POSITIVE_INFINITY } = query
  const counter = Number.isFinite(maxTokens) ? await tokenCounter() : undefined
  let start = messages.length
  let tokens = 0
  for (const round of roundsOf(messages).toReversed()) {
    tokens += counter?.messages(round) ?? 0
    const count = messages.length - start + round.length
    if (tokens > maxTokens || (count > maxMessages && start < messages.length)) break
    start -= round.length
  }
  return start
}

function roundsOf(messages: readonly Message[]): Message[][] {
  const rounds: Message[][] = []
  for (const message of messages) {
    if (message.role === 'tool') rounds.at(-1)?.push(message)
    else rounds.push([message])
  }
  return rounds
}
