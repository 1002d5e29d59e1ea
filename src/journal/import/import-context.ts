/**
 * A foreign history into a journal: entries that windows and compaction may cut between, because none of them begins or
 * ends inside of a round (R11). All of an import is one append (R5).
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
import { saidIn } from '../message-count.ts'
import type { Session } from '../session.ts'
import type { ImportFormat } from './foreign.ts'
import { type Imported, type ImportOptions, importMessages } from './import-messages.ts'

export interface ImportRequest extends ImportOptions {
  readonly history: unknown
  /** If the conversation is new: the one that it belongs to (R17). */
  readonly parent?: string
  /** The call that imports, if one does: then no message is the person's. */
  readonly origin?: InputOrigin
}

export interface ImportReceipt {
  /** How many messages were added. */
  readonly messages: number
  readonly repairs: readonly Repair[]
  readonly format: ImportFormat
  /** What the system said before anybody else. It was not added. */
  readonly system?: string
  /** The conversation has these very messages from an earlier import, so nothing was added. */
  readonly repeated: boolean
}

/** How often to look again when others write. */
const MOST_ATTEMPTS = 10
/** An exchange that says more is kept in several entries. */
const MOST_IN_ENTRY = 10
/** How many repairs are kept with the messages; whoever imports gets all of them. */
const MOST_REPAIRS = 100

/**
 * Adds a history, at the end, as if it had been said here; the same one is added only once, unless the conversation was
 * cleared since. Rejects with `invalid-option` for what `importMessages` cannot read, with `in-use` while a turn is open
 * or waits for an answer, and with `owned` if somebody is just beginning one.
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

/** Adds messages that were read before. */
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
  const told = { repairs, format, ...defined({ system }) }
  for (let attempt = 1; ; attempt++) {
    const session = await loadSession(store, key)
    checkIdle(key, session)
    const repeated = session.imports?.includes(entries[0]?.data.key ?? '') ?? false
    if (repeated || entries.length === 0) return { messages: 0, ...told, repeated }
    try {
      await persist(store, {
        key,
        id: systemIds.next('append'),
        since: session.seq,
        claim: { driver: `${processIdentity()}#import`, leaseMs: 10_000 },
        entries: [...entries, { type: 'release', turn: 0, data: { reason: 'imported' } }],
        ...defined({ parent }),
      })
      return { messages: imported.messages.length, ...told, repeated }
    } catch (error) {
      if (!HoldfastError.is(error, 'moved') || attempt >= MOST_ATTEMPTS) throw error
    }
  }
}

function checkIdle(key: ContextKey, { open, parked, turn }: Session): void {
  if (open === undefined && parked === undefined) return
  const state = open === undefined ? 'waits for an answer' : 'is open'
  const remedy = open === undefined ? 'Answer it, or clear the conversation' : 'Let it end, or cancel it'
  throw new HoldfastError('in-use', {
    message: `Turn ${turn} of ${keyText(key)} ${state}. ${remedy}, before you import messages. Nothing was imported.`,
    retry: 'later',
    details: { contextId: key.contextId, turn },
  })
}

export type ImportEntry = NewEntry & { readonly data: ImportData }

/** The entries of an import, one for each exchange. `origin`: the call whose code imports them. */
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

/** Ids that no other import into the same conversation has (R10). */
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

/** What a user said and everything up to what a user says next. */
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

/** An exchange as it is, or cut between its rounds. A window that begins in the middle of it then shows its first piece, too. */
function piecesOf(exchange: readonly Message[]): readonly Piece[] {
  if (saidIn(exchange) <= MOST_IN_ENTRY) return [{ messages: exchange }]
  const [asked, ...rest] = exchange
  const pieces: Message[][] = [asked === undefined ? [] : [asked], []]
  for (const message of rest) {
    const last = pieces.at(-1) ?? []
    const isFull = message.role !== 'tool' && saidIn(last) >= MOST_IN_ENTRY
    if (isFull) pieces.push([message])
    else last.push(message)
  }
  return pieces.map((messages, index) => (index === 0 ? { messages } : { messages, continues: index }))
}
