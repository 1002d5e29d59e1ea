/**
 * The state of a conversation that an author needs to continue legally. Independent of the fold on purpose, so that the
 * two can disagree and a test can detect it.
 */
import type {
  Entry,
  EntryData,
  EntryType,
  JsonObject,
  OutcomeReason,
  Usage,
} from '../../src/protocol/index.ts'

/** A format of no existing version. */
export const FUTURE = 99

export interface ReferenceState {
  turn: number
  /** A turn is open; a model call is running. */
  open: boolean
  thinking: boolean
  iteration: number
  epoch: number
  owned: boolean
  /** Claims since the last progress (R7). */
  claims: number
  /** Calls of the last reply, while they may be settled; the round is open while one is not. */
  calls: ReferenceCall[]
  /** Calls settled as unknown that may still get a late result. */
  unknown: string[]
  /** Those of them whose repetition can be recognised. */
  doubtful: { readonly callId: string; readonly argsKey: string; repeated?: true }[]
  requests: { readonly requestId: string; readonly callId: string | undefined; readonly name: string }[]
  /** Of the open turn: tokens, started calls, failed calls in a row. */
  tokens: number
  toolCalls: number
  failures: number
  totalTokens: number
  totalToolCalls: number
  cleared: number | undefined
  metadata: JsonObject | undefined
  pending: { readonly key: string; readonly type: string; readonly seq: number }[]
  /** Prompts show nothing below this. */
  from: number
}

export interface ReferenceCall {
  readonly callId: string
  readonly tool: string
  readonly malformed: boolean
  state: 'requested' | 'started' | 'settled'
  starts: number
  argsKey: string | undefined
  /** Each as `name: how`. */
  answers: string[]
}

export function newReference(): ReferenceState {
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

export function referenceOf(entries: Iterable<Entry>): ReferenceState {
  const reference = newReference()
  for (const entry of entries) observe(reference, entry)
  return reference
}

export function isParked({ open, calls, requests }: ReferenceState): boolean {
  return !open && calls.length + requests.length > 0
}

export function roundIsOpen(reference: ReferenceState): boolean {
  return reference.calls.some(({ state }) => state !== 'settled')
}

export function observe(reference: ReferenceState, entry: Entry): void {
  reference.pending = reference.pending.filter(({ seq }) => !entry.takes?.includes(seq))
  if (entry.key !== undefined) reference.pending.push({ key: entry.key, type: entry.type, seq: entry.seq })
  if (RESULTS.has(entry.type) || (entry.type === 'release' && entry.data['pause'])) reference.claims = 0
  if (entry.v !== FUTURE) watchers[entry.type as EntryType]?.(reference, entry as never)
}

/** Entries that prove progress. */
const RESULTS: ReadonlySet<string> = new Set([
  ...['turn.start', 'turn.end', 'model.end', 'tool.end', 'request.start', 'request.end'],
  ...['compact', 'clear', 'fork'],
])
const WAITING: readonly OutcomeReason[] = ['input-required', 'auth-required']

type Watched<T extends EntryType> = Entry & { readonly data: EntryData[T] }

const watchers: { [T in EntryType]?: (reference: ReferenceState, entry: Watched<T>) => void } = {
  claim(reference, { data }) {
    reference.epoch = data.epoch
    reference.owned = true
    if (data.drives === false) return
    reference.claims += 1
    if (reference.thinking) reference.iteration -= 1
    reference.thinking = false
  },
  release(reference) {
    reference.owned = false
  },
  'turn.start'(reference, { turn }) {
    Object.assign(reference, { turn, open: true, iteration: 0, tokens: 0, toolCalls: 0, failures: 0 })
  },
  'model.start'(reference, { data }) {
    reference.thinking = true
    reference.iteration = data.iteration
  },
  'model.end'(reference, { data }) {
    reference.thinking = false
    const asked = data.content.filter((part) => part.type === 'tool-call')
    reference.calls = asked.map(({ callId, tool, malformed }) => ({
      callId,
      tool,
      malformed: malformed !== undefined,
      state: 'requested',
      starts: 0,
      argsKey: undefined,
      answers: [],
    }))
    spend(reference, data.usage)
  },
  'tool.start'(reference, { data }) {
    for (const call of reference.calls.filter(({ callId }) => callId === data.callId)) {
      if (call.starts === 0) {
        reference.toolCalls += 1
        reference.totalToolCalls += 1
      }
      call.starts += 1
      call.state = 'started'
      call.argsKey = data.argsKey ?? call.argsKey
    }
  },
  'tool.end'(reference, { data }) {
    for (const call of reference.calls.filter(({ callId }) => callId === data.callId)) {
      const { callId, argsKey } = call
      call.state = 'settled'
      reference.failures = data.status === 'ok' ? 0 : reference.failures + 1
      spend(reference, data.usage)
      if (argsKey === undefined) continue
      if (data.status === 'unknown') reference.doubtful.push({ callId, argsKey })
      else for (const other of reference.doubtful) if (other.argsKey === argsKey) other.repeated = true
    }
    if (!roundIsOpen(reference)) reference.calls = []
    if (data.status === 'unknown') reference.unknown.push(data.callId)
  },
  'tool.late'(reference, { data }) {
    reference.unknown = reference.unknown.filter((callId) => callId !== data.callId)
    reference.doubtful = reference.doubtful.filter(({ callId }) => callId !== data.callId)
  },
  'request.start'(reference, { data }) {
    for (const call of reference.calls)
      if (call.callId === data.callId && call.state === 'started') call.state = 'requested'
    reference.requests.push({ requestId: data.requestId, callId: data.callId, name: data.name ?? '' })
  },
  'request.end'(reference, { data }) {
    const asked = reference.requests.find(({ requestId }) => requestId === data.requestId)
    reference.requests = reference.requests.filter((request) => request !== asked)
    for (const call of reference.calls)
      if (call.callId === asked?.callId) call.answers.push(`${asked.name}: ${data.how}`)
  },
  'turn.end'(reference, { data }) {
    Object.assign(reference, { open: false, owned: false, thinking: false })
    if (!WAITING.includes(data.outcome)) Object.assign(reference, { calls: [], requests: [] })
  },
  compact(reference, { data }) {
    reference.from = data.upTo + 1
  },
  clear(reference, { seq }) {
    if (isParked(reference)) Object.assign(reference, { calls: [], requests: [] })
    reference.from = seq + 1
    reference.cleared = seq
  },
  state(reference, { data }) {
    reference.metadata = data.metadata
  },
  fork(reference) {
    Object.assign(reference, { owned: false, thinking: false, calls: [], requests: [], pending: [] })
  },
}

function spend(reference: ReferenceState, usage: Usage | undefined): void {
  reference.tokens += usage?.inputTokens ?? 0
  reference.totalTokens += usage?.inputTokens ?? 0
}
