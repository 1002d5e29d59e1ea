/**
 * What an author must know of a conversation to go on legally. It is kept apart from the fold on purpose, so that the
 * two can disagree and a test can notice.
 */
import type { Entry, EntryData, EntryType } from '../../src/protocol/index.ts'

export interface Ledger {
  turn: number
  /** Is a turn open, a model call under way? */
  open: boolean
  thinking: boolean
  iteration: number
  epoch: number
  owned: boolean
  /** The calls of the last reply of this turn; the round is open while one is not settled. */
  calls: { readonly callId: string; readonly tool: string; state: 'requested' | 'started' | 'settled' }[]
  /** Calls that were settled as unknown and may still hear from their tool. */
  unknown: string[]
  requests: string[]
  pending: { readonly key: string; readonly type: string; readonly seq: number }[]
  /** Positions after which no round was open, from the start of the window on. */
  boundaries: number[]
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
    calls: [],
    unknown: [],
    requests: [],
    pending: [],
    boundaries: [0],
    from: 1,
  }
}

export function ledgerOf(entries: Iterable<Entry>): Ledger {
  const ledger = newLedger()
  for (const entry of entries) observe(ledger, entry)
  return ledger
}

export function roundIsOpen(ledger: Ledger): boolean {
  return ledger.calls.some(({ state }) => state !== 'settled')
}

export function observe(ledger: Ledger, entry: Entry): void {
  ledger.pending = ledger.pending.filter(({ seq }) => !entry.takes?.includes(seq))
  if (entry.key !== undefined) ledger.pending.push({ key: entry.key, type: entry.type, seq: entry.seq })
  if (entry.v === 1) watchers[entry.type as EntryType]?.(ledger, entry as never)
  if (!roundIsOpen(ledger)) ledger.boundaries.push(entry.seq)
}

type Watched<T extends EntryType> = Entry & { readonly data: EntryData[T] }

const watchers: { [T in EntryType]?: (ledger: Ledger, entry: Watched<T>) => void } = {
  claim(ledger, { data }) {
    ledger.epoch = data.epoch
    ledger.owned = true
    ledger.thinking = false
  },
  release(ledger) {
    ledger.owned = false
  },
  'turn.start'(ledger, { turn }) {
    Object.assign(ledger, { turn, open: true, iteration: 0, calls: [], requests: [] })
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
  'turn.end'(ledger) {
    Object.assign(ledger, { open: false, owned: false, thinking: false, calls: [], requests: [] })
  },
  compact(ledger, { data }) {
    restrict(ledger, data.upTo)
  },
  clear(ledger, { seq }) {
    restrict(ledger, seq)
  },
  fork(ledger) {
    Object.assign(ledger, { owned: false, thinking: false, calls: [], requests: [], pending: [] })
  },
  base(ledger, { data }) {
    ledger.boundaries = ledger.boundaries.filter((seq) => seq >= data.upTo)
  },
}

function restrict(ledger: Ledger, upTo: number): void {
  ledger.from = upTo + 1
  ledger.boundaries = ledger.boundaries.filter((seq) => seq >= upTo)
}
