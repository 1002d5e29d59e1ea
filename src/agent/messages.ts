/** Reading what was said, by number of messages or by tokens, without splitting a round (R11). */
import { processIdentity, systemIds } from '../base/index.ts'
import type { Driver } from '../drive/index.ts'
import {
  heldOver,
  type ImportReceipt,
  type ImportRequest,
  importContext,
  loadSession,
  readNewest,
  readWindow,
  type Session,
  transcript,
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
  type UserMessage,
} from '../protocol/index.ts'
import { persist, type Store } from '../store/index.ts'
import { inputOrigin } from '../tool/index.ts'
import { tokenBudget } from '../turn/index.ts'
import type { AgentSetup } from './config.ts'
import { parseInput } from './turn-options.ts'

export interface MessageQuery {
  /** How many messages at most: fewer only where a round would be split. `Infinity` for all. */
  readonly maxMessages?: number
  /** Counted by a tokenizer if one is installed, else estimated. */
  readonly maxTokens?: number
}

/** A conversation as it stands at `session`. */
export interface MessageSource {
  readonly store: Pick<Store, 'read' | 'lookup'>
  readonly key: ContextKey
  readonly session: Session
}

export async function storedMessages(store: Store, key: ContextKey): Promise<MessageSource> {
  return { store, key, session: await loadSession(store, key) }
}

/** The newest messages that fit the query, oldest first. Reads no more of the journal than about twice what it gives. */
export async function newestMessages(
  source: MessageSource,
  query: MessageQuery,
): Promise<readonly Message[]> {
  const { store, key, session } = source
  const { maxMessages = Number.POSITIVE_INFINITY, maxTokens } = query
  const total = session.window.messages
  let reach = maxTokens === undefined ? maxMessages : Math.min(maxMessages, FIRST_REACH)
  // A message with several results counts once here and several times in the window: one read may reach too short.
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

/** Before anything is read: the caller is still on the stack. */
export function checkQuery(place: 'getMessages()' | 'getRecent()', query: MessageQuery): void {
  checkOptions(query, { place, ...QUERY })
}

/** What an agent is asked for: the newest that fit, those included that are not saved yet; the window without a query. */
export async function readMessages(
  { journal, isRunning }: Driver,
  { maxMessages, maxTokens }: Pick<AgentSetup, 'maxMessages' | 'maxTokens'>,
  query: MessageQuery,
): Promise<readonly Message[]> {
  const { store, key, hasUnsaved, session } = journal
  const isWindow = query.maxMessages === undefined && query.maxTokens === undefined
  if (isWindow && (hasUnsaved || isRunning)) return journal.messages()
  if (hasUnsaved)
    return newestMessages({ store: heldOver(journal.windowEntries, store), key, session }, query)
  const stored = await storedMessages(store, key)
  if (!isWindow) return newestMessages(stored, query)
  const view = { maxMessages, ...(await tokenBudget(maxTokens)), session: stored.session }
  return transcript(await readWindow(store, key, view))
}

/**
 * Adds what was said elsewhere: one finished turn for each message of a user, with what was replied to it. Results
 * without their call are left out, and calls without a result read as not run (R9).
 */
export async function appendMessages(
  store: Store,
  key: ContextKey,
  messages: readonly AppendedMessage[],
): Promise<void> {
  // All or nothing: each exchange is an append of its own.
  const exchanges = exchangesOf(messages.map(checkedMessage))
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

/** A message, or an assistant's with its text as it is. */
export type AppendedMessage = Message | { readonly role: 'assistant'; readonly content: string }

function checkedMessage(
  given: AppendedMessage,
  index: number,
  { length }: readonly AppendedMessage[],
): Message {
  const { role, content } = (given ?? {}) as Partial<AppendedMessage>
  const isText = role === 'assistant' && typeof content === 'string'
  const message = (isText ? { ...given, content: [{ type: 'text', text: content }] } : given) as Message
  if (shapeProblem('import', { key: '-', messages: [message] }) !== undefined)
    throw invalidOption(`Message ${index + 1} of ${length}`, `${WRONG_MESSAGE}. Nothing was stored`)
  if (message.role === 'user') parseInput(message.content)
  return message
}

const WRONG_MESSAGE =
  "must have the role 'user' or 'assistant' and a text or a list of parts, or the role 'tool' and a list of results"

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
          ...defined({ model: message.model }),
        },
      },
    ]
  return message.content.map(({ callId, status, output }) => ({
    type: 'tool.end',
    data: { callId, status, output },
  }))
}

/** Where the newest that fit begin: a reply that asked for calls goes with their results. */
async function newestStart(messages: readonly Message[], query: MessageQuery): Promise<number> {
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
