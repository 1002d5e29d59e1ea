/**
 * What an author must know of a conversation to go on legally. It is kept apart from the fold on purpose, so that the
 * two can disagree and a test can notice.
 */
import type {
  Entry,
  EntryData,
  EntryType,
  JsonObject,
  OutcomeReason,
  Usage,
} from '../../src/protocol/index.ts'

/** A format that no version of ours has. */
export const FUTURE = 99

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
  calls: LedgerCall[]
  /** Calls that were settled as unknown and may still hear from their tool. */
  unknown: string[]
  /** Those of them that a repetition can be recognised by. */
  doubtful: { readonly callId: string; readonly argsKey: string; repeated?: true }[]
  requests: { readonly requestId: string; readonly callId: string | undefined; readonly name: string }[]
  /** Of the open turn: tokens, calls that were started, calls in a row that did not end well. */
  tokens: number
  toolCalls: number
  failures: number
  totalTokens: number
  totalToolCalls: number
  cleared: number | undefined
  metadata: JsonObject | undefined
  pending: { readonly key: string; readonly type: string; readonly seq: number }[]
  /** Nothing below this is prompted again. */
  from: number
}

export interface LedgerCall {
  readonly callId: string
  readonly tool: string
  readonly malformed: boolean
  state: 'requested' | 'started' | 'settled'
  starts: number
  argsKey: string | undefined
  /** Each as `name: how`. */
  answers: string[]
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
    doubtful: [],
    requests: [],
    tokens: 0,
    toolCalls: 0,
    failures: 0,
    totalTokens: 0,
    totalToolCalls: 0,
    cleared: undefined,
    metadata: undefined,
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
  if (RESULTS.has(entry.type) || (entry.type === 'release' && entry.data['pause'])) ledger.claims = 0
  if (entry.v !== FUTURE) watchers[entry.type as EntryType]?.(ledger, entry as never)
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
    if (ledger.thinking) ledger.iteration -= 1
    ledger.thinking = false
  },
  release(ledger) {
    ledger.owned = false
  },
  'turn.start'(ledger, { turn }) {
    Object.assign(ledger, { turn, open: true, iteration: 0, tokens: 0, toolCalls: 0, failures: 0 })
  },
  'model.start'(ledger, { data }) {
    ledger.thinking = true
    ledger.iteration = data.iteration
  },
  'model.end'(ledger, { data }) {
    ledger.thinking = false
    const asked = data.content.filter((part) => part.type === 'tool-call')
    ledger.calls = asked.map(({ callId, tool, malformed }) => ({
      callId,
      tool,
      malformed: malformed !== undefined,
      state: 'requested',
      starts: 0,
      argsKey: undefined,
      answers: [],
    }))
    spend(ledger, data.usage)
  },
  'tool.start'(ledger, { data }) {
    for (const call of ledger.calls.filter(({ callId }) => callId === data.callId)) {
      if (call.starts === 0) {
        ledger.toolCalls += 1
        ledger.totalToolCalls += 1
      }
      call.starts += 1
      call.state = 'started'
      call.argsKey = data.argsKey ?? call.argsKey
    }
  },
  'tool.end'(ledger, { data }) {
    for (const call of ledger.calls.filter(({ callId }) => callId === data.callId)) {
      const { callId, argsKey } = call
      call.state = 'settled'
      ledger.failures = data.status === 'ok' ? 0 : ledger.failures + 1
      spend(ledger, data.usage)
      if (argsKey === undefined) continue
      if (data.status === 'unknown') ledger.doubtful.push({ callId, argsKey })
      else for (const other of ledger.doubtful) if (other.argsKey === argsKey) other.repeated = true
    }
    if (!roundIsOpen(ledger)) ledger.calls = []
    if (data.status === 'unknown') ledger.unknown.push(data.callId)
  },
  'tool.late'(ledger, { data }) {
    ledger.unknown = ledger.unknown.filter((callId) => callId !== data.callId)
    ledger.doubtful = ledger.doubtful.filter(({ callId }) => callId !== data.callId)
  },
  'request.start'(ledger, { data }) {
    for (const call of ledger.calls)
      if (call.callId === data.callId && call.state === 'started') call.state = 'requested'
    ledger.requests.push({ requestId: data.requestId, callId: data.callId, name: data.name ?? '' })
  },
  'request.end'(ledger, { data }) {
    const asked = ledger.requests.find(({ requestId }) => requestId === data.requestId)
    ledger.requests = ledger.requests.filter((request) => request !== asked)
    for (const call of ledger.calls)
      if (call.callId === asked?.callId) call.answers.push(`${asked.name}: ${data.how}`)
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
    ledger.cleared = seq
  },
  state(ledger, { data }) {
    ledger.metadata = data.metadata
  },
  fork(ledger) {
    Object.assign(ledger, { owned: false, thinking: false, calls: [], requests: [], pending: [] })
  },
}

function spend(ledger: Ledger, usage: Usage | undefined): void {
  ledger.tokens += usage?.inputTokens ?? 0
  ledger.totalTokens += usage?.inputTokens ?? 0
}
