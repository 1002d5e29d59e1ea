/**
 * Imports a foreign history into a journal as entries that windows and compaction may cut between, because none begins
 * or ends inside a round (R11). An import is one append (R5).
 */
import { createHash } from 'node:crypto'
import { processIdentity, systemIds } from '../../base/index.ts'
import {
  type ContextKey,
  checkOptions,
  defined,
  HoldfastError,
  type ImportData,
  type InputOrigin,
  keyText,
  type Message,
  type NewEntry,
  type OptionSet,
  type Repair,
} from '../../protocol/index.ts'
import { persist, type Store } from '../../store/index.ts'
import { loadSession } from '../load.ts'
import { countMessages } from '../message-count.ts'
import type { Session } from '../session.ts'
import type { ImportFormat } from './foreign.ts'
import { type Imported, type ImportOptions, importMessages } from './import-messages.ts'

export interface ImportRequest extends ImportOptions {
  readonly history: unknown
  /** For a new conversation: its parent (R17). */
  readonly parent?: string
  /** The importing call, if any: then no message is the person's. */
  readonly origin?: InputOrigin
}

export interface ImportReceipt {
  readonly messages: number
  readonly repairs: readonly Repair[]
  readonly format: ImportFormat
  /** The leading system prompt, which was not added. */
  readonly system?: string
  /** An earlier import added these very messages; this one added nothing. */
  readonly repeated: boolean
}

/** Attempts under concurrent writes. */
const MOST_ATTEMPTS = 10
/** A longer exchange is split into several entries. */
const MOST_IN_ENTRY = 10
/** Repairs stored with the messages; the caller gets all of them. */
const MOST_REPAIRS = 100

/**
 * Appends a history to the conversation; the same one only once, unless the conversation was cleared since. Rejects
 * with `invalid-option` for a history that `importMessages` cannot read, with `in-use` while a turn is open or waits
 * for an answer, and with `owned` if one is just beginning.
 */
export async function importContext(
  store: Store,
  key: ContextKey,
  request: ImportRequest,
): Promise<ImportReceipt> {
  checkOptions(request, REQUEST)
  const { history, parent, origin, ...options } = request
  const imported = importMessages(history, options)
  return addImported(store, key, {
    imported,
    ...defined({ parent, origin }),
  })
}

const REQUEST: OptionSet<ImportRequest> = {
  place: 'importContext()',
  options: { history: null, format: null, model: null, parent: 'a text', origin: 'an object' },
  foreign: { messages: 'history' },
}

/** Appends messages that `importMessages` returned. */
export async function addImported(
  store: Store,
  key: ContextKey,
  {
    imported,
    parent,
    origin,
  }: Omit<ImportRequest, 'history' | keyof ImportOptions> & { readonly imported: Imported },
): Promise<ImportReceipt> {
  const { repairs, format, system } = imported
  const entries = importEntries(imported, origin)
  const report = { repairs, format, ...defined({ system }) }
  for (let attempt = 1; ; attempt++) {
    const session = await loadSession(store, key)
    checkIdle(key, session, 'import')
    const repeated = session.imports?.includes(entries[0]?.data.key ?? '') ?? false
    if (repeated || entries.length === 0) return { messages: 0, ...report, repeated }
    try {
      await persist(store, {
        key,
        id: systemIds.next('append'),
        since: session.seq,
        claim: { driver: `${processIdentity()}#import`, leaseMs: 10_000 },
        entries: [...entries, { type: 'release', turn: 0, data: { reason: 'imported' } }],
        ...defined({ parent }),
      })
      return { messages: imported.messages.length, ...report, repeated }
    } catch (error) {
      if (!HoldfastError.is(error, 'moved') || attempt >= MOST_ATTEMPTS) throw error
    }
  }
}

/** Throws `in-use` while a turn is open or waits: messages from elsewhere would end it without an outcome. */
export function checkIdle(key: ContextKey, { open, parked, turn }: Session, verb: 'import' | 'append'): void {
  if (open === undefined && parked === undefined) return
  const state = open === undefined ? 'waits for an answer' : 'is open'
  const remedy = open === undefined ? 'Answer it, or clear the conversation' : 'Let it end, or cancel it'
  throw new HoldfastError('in-use', {
    message: `Turn ${turn} of ${keyText(key)} ${state}. ${remedy}, before you ${verb} messages. Nothing was ${verb}ed.`,
    retry: 'later',
    details: { contextId: key.contextId, turn },
  })
}

export type ImportEntry = NewEntry & { readonly data: ImportData }

/** The entries of an import, one for each exchange. `origin`: the importing call. */
export function importEntries(
  { messages, repairs, format }: Imported,
  origin?: InputOrigin,
): readonly ImportEntry[] {
  const key = createHash('sha256').update(JSON.stringify(messages)).digest('hex').slice(0, 32)
  const repaired =
    repairs.length === 0 ? {} : { repaired: repairs.length, repairs: repairs.slice(0, MOST_REPAIRS) }
  return exchangesIn(withIds(messages, key))
    .flatMap(piecesOf)
    .map((piece, index) => {
      const posted = origin === undefined ? {} : { origin }
      const data = { ...piece, source: format, key, ...posted, ...(index === 0 ? repaired : {}) }
      return { type: 'import', turn: 0, data }
    })
}

/** Gives calls ids that are unique among the imports of a conversation (R10). */
function withIds(messages: readonly Message[], key: string): readonly Message[] {
  const ids = new Map<string, string>()
  const idOf = (callId: string) => ids.get(callId) ?? callId
  return messages.map((message): Message => {
    if (message.role === 'user') return message
    if (message.role === 'tool')
      return { ...message, content: message.content.map((part) => ({ ...part, callId: idOf(part.callId) })) }
    const content = message.content.map((part) => {
      if (part.type !== 'tool-call') return part
      ids.set(part.callId, `import-${key.slice(0, 12)}-${ids.size + 1}`)
      return { ...part, callId: idOf(part.callId) }
    })
    return { ...message, content }
  })
}

/** A user message and everything up to the next one. */
function exchangesIn(messages: readonly Message[]): readonly (readonly Message[])[] {
  const exchanges: Message[][] = []
  for (const message of messages) {
    const last = exchanges.at(-1)
    if (message.role === 'user' || last === undefined) exchanges.push([message])
    else last.push(message)
  }
  return exchanges
}

type Piece = Pick<ImportData, 'messages' | 'continues'>

/** An exchange as it is, or cut between its rounds. A window that begins in the middle also shows its first piece. */
function piecesOf(exchange: readonly Message[]): readonly Piece[] {
  if (countMessages(exchange) <= MOST_IN_ENTRY) return [{ messages: exchange }]
  const [opening, ...rest] = exchange
  const pieces: Message[][] = [opening === undefined ? [] : [opening], []]
  for (const message of rest) {
    const last = pieces.at(-1) ?? []
    const isFull = message.role !== 'tool' && countMessages(last) >= MOST_IN_ENTRY
    if (isFull) pieces.push([message])
    else last.push(message)
  }
  return pieces.map((messages, index) => (index === 0 ? { messages } : { messages, continues: index }))
}
