/**
 * What an author must know of a conversation to go on legally. It is kept apart from the fold on purpose, so that the
 * two can disagree and a test can notice.
 */
import type { Entry, EntryData, EntryType, OutcomeReason } from '../../src/protocol/index.ts'

export interface Ledger {
  turn: number
  /** Is a turn open, a model call under way? */
  open: boolean
  thinking: boolean
  iteration: number
  epoch: number
  owned: boolean
  /** Claims since something came of one (R7). */
  claims: number
  /** The calls of the last reply, for as long as they may be settled; the round is open while one is not. */
  calls: { readonly callId: string; readonly tool: string; state: 'requested' | 'started' | 'settled' }[]
  /** Calls that were settled as unknown and may still hear from their tool. */
  unknown: string[]
  requests: string[]
  pending: { readonly key: string; readonly type: string; readonly seq: number }[]
  /** Nothing below this is prompted again. */
  from: number
}

export function newLedger(): Ledger {
  return {
    turn: 0,
    open: false,
    thinking: false,
    iteration: 0,
    epoch: 0,
    owned: false,
    claims: 0,
    calls: [],
    unknown: [],
    requests: [],
    pending: [],
    from: 1,
  }
}

export function ledgerOf(entries: Iterable<Entry>): Ledger {
  const ledger = newLedger()
  for (const entry of entries) observe(ledger, entry)
  return ledger
}

/** Is there something that a turn ended to wait for? */
export function isParked({ open, calls, requests }: Ledger): boolean {
  return !open && calls.length + requests.length > 0
}

export function roundIsOpen(ledger: Ledger): boolean {
  return ledger.calls.some(({ state }) => state !== 'settled')
}

export function observe(ledger: Ledger, entry: Entry): void {
  ledger.pending = ledger.pending.filter(({ seq }) => !entry.takes?.includes(seq))
  if (entry.key !== undefined) ledger.pending.push({ key: entry.key, type: entry.type, seq: entry.seq })
  if (RESULTS.has(entry.type)) ledger.claims = 0
  if (entry.v === 1) watchers[entry.type as EntryType]?.(ledger, entry as never)
}

/** What is left of the work of a driver that died. */
const RESULTS: ReadonlySet<string> = new Set([
  ...['turn.start', 'turn.end', 'model.end', 'tool.end', 'request.start', 'request.end'],
  ...['compact', 'clear', 'fork'],
])
const WAITING: readonly OutcomeReason[] = ['input-required', 'auth-required']

type Watched<T extends EntryType> = Entry & { readonly data: EntryData[T] }

const watchers: { [T in EntryType]?: (ledger: Ledger, entry: Watched<T>) => void } = {
  claim(ledger, { data }) {
    ledger.epoch = data.epoch
    ledger.claims += 1
    ledger.owned = true
    ledger.thinking = false
  },
  release(ledger) {
    ledger.owned = false
  },
  'turn.start'(ledger, { turn }) {
    Object.assign(ledger, { turn, open: true, iteration: 0 })
  },
  'model.start'(ledger, { data }) {
    ledger.thinking = true
    ledger.iteration = data.iteration
  },
  'model.end'(ledger, { data }) {
    ledger.thinking = false
    const asked = data.content.filter((part) => part.type === 'tool-call')
    ledger.calls = asked.map(({ callId, tool }) => ({ callId, tool, state: 'requested' }))
  },
  'tool.start'(ledger, { data }) {
    for (const call of ledger.calls) if (call.callId === data.callId) call.state = 'started'
  },
  'tool.end'(ledger, { data }) {
    for (const call of ledger.calls) if (call.callId === data.callId) call.state = 'settled'
    if (!roundIsOpen(ledger)) ledger.calls = []
    if (data.status === 'unknown') ledger.unknown.push(data.callId)
  },
  'tool.late'(ledger, { data }) {
    ledger.unknown = ledger.unknown.filter((callId) => callId !== data.callId)
  },
  'request.start'(ledger, { data }) {
    ledger.requests.push(data.requestId)
  },
  'request.end'(ledger, { data }) {
    ledger.requests = ledger.requests.filter((requestId) => requestId !== data.requestId)
  },
  'turn.end'(ledger, { data }) {
    Object.assign(ledger, { open: false, owned: false, thinking: false })
    if (!WAITING.includes(data.outcome)) Object.assign(ledger, { calls: [], requests: [] })
  },
  compact(ledger, { data }) {
    ledger.from = data.upTo + 1
  },
  clear(ledger, { seq }) {
    if (isParked(ledger)) Object.assign(ledger, { calls: [], requests: [] })
    ledger.from = seq + 1
  },
  fork(ledger) {
    Object.assign(ledger, { owned: false, thinking: false, calls: [], requests: [], pending: [] })
  },
}
