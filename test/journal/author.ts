/**
 * Writes random histories to a real store, as drivers and senders would: claims, appends, crashes, takeovers. Keeps the
 * whole log of every branch, pruned entries included, so that tests can compare.
 */
import {
  fold,
  forkContext,
  messageCount,
  positionOf,
  pruneContext,
  trimPoint,
} from '../../src/journal/index.ts'
import {
  type AssistantPart,
  type ContextKey,
  type Entry,
  HoldfastError,
  type InboxType,
  type JsonObject,
  LOCAL_OWNER,
  type NewEntry,
  type NewInboxEntry,
  NO_USAGE,
  type SettledStatus,
} from '../../src/protocol/index.ts'
import type { AppendRequest, Store } from '../../src/store/index.ts'
import type { ManualClock } from '../../src/testing/index.ts'
import type { Move } from './histories.ts'
import {
  FUTURE,
  isParked,
  newReference,
  observe,
  type ReferenceState,
  referenceOf,
  roundIsOpen,
} from './reference-state.ts'

export interface StoreFixture {
  readonly store: Store
  readonly clock: ManualClock
  readonly dead: Set<string>
}

/** One conversation: its log from the beginning, the entry at position n at index n - 1. */
export interface Branch {
  readonly key: ContextKey
  readonly log: Entry[]
  reference: ReferenceState
  driver: string | undefined
  readonly parent?: Branch
  /** The fork point; 0 if it is no fork. */
  readonly forkedAt: number
}

const LEASE_MS = 1000
const LONG = ' and more'.repeat(20)
const BIG = 'big '.repeat(17_000)
let serial = 0

export class Author {
  readonly fixture: StoreFixture
  readonly branches: Branch[]
  branch: Branch
  /** Number of turns with tools whose results stay whole; without it, all. With it, results are long. */
  resultTurns: number | undefined
  #count = 0

  constructor(fixture: StoreFixture) {
    serial += 1
    this.fixture = fixture
    const key = { ...LOCAL_OWNER, contextId: `history-${serial}` }
    this.branch = { key, log: [], reference: newReference(), driver: undefined, forkedAt: 0 }
    this.branches = [this.branch]
  }

  get log(): readonly Entry[] {
    return this.branch.log
  }

  /** Writes all moves; calls `afterEach` after every one. */
  async write(moves: readonly Move[], afterEach?: () => Promise<void>): Promise<this> {
    for (const move of moves) {
      const write = writers[move.do] as (author: Author, move: Move) => Promise<void>
      await write(this, move)
      await afterEach?.()
    }
    return this
  }

  /** A number for a unique name or text. */
  next(): number {
    this.#count += 1
    return this.#count
  }

  text(what: string, big = false): string {
    return `${what} ${this.next()}${big ? ` ${BIG}` : ''}`
  }

  get turn(): number {
    return this.branch.reference.open ? this.branch.reference.turn : 0
  }

  async append(part: Omit<AppendRequest, 'key' | 'id' | 'since'>): Promise<void> {
    const { key, log } = this.branch
    await this.fixture.store.append({ key, id: `append-${this.next()}`, since: log.length, ...part })
    await this.catchUp()
  }

  async catchUp(): Promise<void> {
    const { key, log, reference } = this.branch
    for (const entry of await this.fixture.store.read(key, { from: log.length + 1 })) {
      if (entry.seq !== log.length + 1) throw new Error(`entry ${entry.seq} follows ${log.length}`)
      log.push(entry)
      observe(reference, entry)
    }
  }

  async post(type: InboxType, data: JsonObject): Promise<string> {
    const entry = this.letter(type, data)
    await this.append({ inbox: [entry] })
    return entry.key
  }

  letter(type: InboxType, data: JsonObject): NewInboxEntry {
    return { type, key: `key-${this.next()}`, data }
  }

  newClaim(): { driver: string; leaseMs: number } {
    this.branch.driver = `driver-${this.next()}`
    return { driver: this.branch.driver, leaseMs: LEASE_MS }
  }

  /** Appends driver entries, by the current driver or by one that takes over. */
  async drive(...entries: readonly NewEntry[]): Promise<void> {
    if (this.branch.driver === undefined || !this.branch.reference.owned)
      await this.append({ claim: this.newClaim() })
    await this.append({ epoch: this.branch.reference.epoch, entries })
  }

  entry(type: string, data: JsonObject, more: Partial<NewEntry> = {}): NewEntry {
    return { type, turn: this.turn, data, ...more }
  }

  crash(): void {
    if (this.branch.driver !== undefined) this.fixture.dead.add(this.branch.driver)
    this.branch.driver = undefined
  }

  async ensureTurn(takes = 1): Promise<void> {
    if (!this.branch.reference.open) await begin(this, takes, false)
  }

  settlement(callId: string, status: SettledStatus, big = false): NewEntry {
    const usage = { inputTokens: 7, outputTokens: 2, cachedTokens: 0, costUsd: 0.05, estimated: true }
    const text = this.text('result', big) + (this.resultTurns === undefined ? '' : LONG)
    const seen = this.resultTurns === undefined ? {} : { seen: [{ entity: 'thing', id: `t-${this.next()}` }] }
    const said = { callId, status, output: { said: text }, ...(status === 'ok' ? seen : {}) }
    return this.entry('tool.end', this.next() % 3 === 0 ? { ...said, usage } : said)
  }

  /** Trims as an agent does when a turn starts. */
  trim(): JsonObject {
    if (this.resultTurns === undefined) return {}
    const { from, trimmedUpTo } = fold(this.log).window
    const point = trimPoint(this.log.slice(from - 1), { turns: this.resultTurns, trimmedUpTo })
    return point === undefined ? {} : { trimmedUpTo: point }
  }
}

/** Starts a turn with the pending inputs, or with a new one. */
async function begin(author: Author, takes: number, together: boolean): Promise<void> {
  const { reference } = author.branch
  const waiting = reference.pending.filter(({ type }) => type === 'input').slice(0, takes)
  const fresh =
    waiting.length === 0 && takes > 0 ? [author.letter('input', { message: author.text('input') })] : []
  const keys = [...waiting, ...fresh].map(({ key }) => key)
  const data: JsonObject = {
    principal: { ...LOCAL_OWNER },
    limits: { iterations: 10 },
    ...author.trim(),
    ...(author.next() % 4 === 0 ? { credentials: true } : {}),
  }
  const start = { type: 'turn.start', turn: reference.turn + 1, data, takes: keys }
  const owned = author.branch.driver !== undefined && reference.owned
  if (together && !owned) {
    await author.append({ inbox: fresh, claim: author.newClaim(), entries: [start] })
    return
  }
  if (fresh.length > 0) await author.append({ inbox: fresh })
  await author.drive(start)
}

async function startModel(author: Author): Promise<void> {
  const { reference } = author.branch
  if (reference.thinking && author.branch.driver !== undefined) return
  await author.drive(author.entry('model.start', { model: 'test/model', iteration: reference.iteration + 1 }))
}

function contentOf(author: Author, move: Extract<Move, { do: 'reply' }>): AssistantPart[] {
  const calls = Array.from({ length: move.calls }, (): AssistantPart => {
    const n = author.next()
    return {
      type: 'tool-call',
      callId: `call-${n}`,
      providerId: `p${n}`,
      tool: `tool-${n % 3}`,
      ...(n % 5 === 0
        ? { args: `{"n": ${n}`, malformed: 'it ends too early' }
        : { args: move.big ? { n, text: BIG } : { n } }),
    }
  })
  const thought: AssistantPart = {
    type: 'reasoning',
    text: author.text('thought'),
    provider: { signature: 's' },
  }
  const said: AssistantPart = { type: 'text', text: author.text('reply', move.big) }
  return [...(move.calls % 2 === 1 ? [thought] : []), ...(move.text ? [said] : []), ...calls]
}

/** The possible end of a call in this state: only a started one can succeed, only a requested one be refused. */
function possible(state: string, status: SettledStatus): SettledStatus {
  if (state === 'started') return status === 'rejected' ? 'error' : status === 'not-run' ? 'unknown' : status
  return status === 'ok' ? 'rejected' : status === 'unknown' ? 'not-run' : status
}

async function prune(author: Author, upTo: number): Promise<void> {
  const { key, log } = author.branch
  if (upTo < 1) return
  const session = fold(log.slice(0, upTo))
  try {
    await author.fixture.store.prune({ key, upTo, position: positionOf(session), session })
  } catch (error) {
    if (HoldfastError.is(error, 'in-use')) await prune(author, (error.details['needed'] as number) - 1)
    else if (!HoldfastError.is(error, 'not-found')) throw error
  }
}

async function fork(author: Author, at: number): Promise<Branch | undefined> {
  const parent = author.branch
  const contextId = `${parent.key.contextId}-${author.next()}`
  try {
    await forkContext(author.fixture.store, parent.key, { contextId, at })
  } catch (error) {
    if (HoldfastError.is(error, 'pruned')) return undefined
    throw error
  }
  const log = parent.log.slice(0, at)
  const key = { ...parent.key, contextId }
  const branch: Branch = { key, log, reference: referenceOf(log), driver: undefined, parent, forkedAt: at }
  author.branches.push(branch)
  author.branch = branch
  await author.catchUp()
  return branch
}

const writers: { [K in Move['do']]: (author: Author, move: Extract<Move, { do: K }>) => Promise<void> } = {
  async say(author, { big }) {
    await author.post('input', { message: author.text('input', big) })
  },
  async begin(author, { takes, together }) {
    if (!author.branch.reference.open) await begin(author, takes, together)
  },
  async think(author) {
    if (roundIsOpen(author.branch.reference)) return
    await author.ensureTurn()
    await startModel(author)
  },
  async reply(author, move) {
    if (roundIsOpen(author.branch.reference) && !move.over) return
    await author.ensureTurn()
    await startModel(author)
    const usage = { inputTokens: 10, outputTokens: 3, cachedTokens: 1, costUsd: 0.1 }
    const model = author.next() % 4 === 0 ? {} : { model: 'test/model' }
    await author.drive(
      author.entry('model.end', { content: contentOf(author, move), finish: 'stop', usage, ...model }),
    )
  },
  async fail(author) {
    if (roundIsOpen(author.branch.reference)) return
    await author.ensureTurn()
    await startModel(author)
    await author.drive(
      author.entry('model.end', { content: [], finish: 'error', error: { code: 'overloaded' } }),
    )
  },
  async start(author, { from, count }) {
    const ready = author.branch.reference.calls.filter(
      ({ state, malformed }) => state === 'requested' && !malformed,
    )
    if (ready.length === 0) return
    await author.ensureTurn()
    const chosen = ready.slice(from % ready.length).slice(0, count)
    const entries = chosen.map(({ callId, tool }) =>
      author.entry('tool.start', {
        callId,
        tool,
        args: { edited: author.next() },
        idempotencyKey: `key of ${callId}`,
        replay: author.next() % 2 === 0 ? 'safe' : 'never',
        ...(author.next() % 4 === 0 ? {} : { argsKey: `args of ${tool}` }),
      }),
    )
    await author.drive(...entries)
  },
  async settle(author, { which, status, big }) {
    const unsettled = author.branch.reference.calls.filter(({ state }) => state !== 'settled')
    const call = unsettled[which % unsettled.length]
    if (call === undefined) return
    await author.ensureTurn()
    await author.drive(author.settlement(call.callId, possible(call.state, status), big))
  },
  async ask(author, { about, expires }) {
    await author.ensureTurn()
    const unsettled = author.branch.reference.calls.filter(({ state }) => state !== 'settled')
    const { callId, tool } = unsettled[about] ?? unsettled[0] ?? {}
    const requestId = `request-${author.next()}`
    const expiresAt = expires ? author.fixture.clock.now() + 1000 : undefined
    const from = author.next() % 2 === 0 ? 'approval' : tool
    const data = { requestId, kind: 'approval', prompt: 'May I?', from, callId, expiresAt }
    const named = author.next() % 3 === 0 ? data : { ...data, name: `name-${author.next()}` }
    await author.drive(author.entry('request.start', JSON.parse(JSON.stringify(named)) as JsonObject))
  },
  async resolve(author, { which, how }) {
    const { requests } = author.branch.reference
    const { requestId } = requests[which % requests.length] ?? {}
    if (requestId === undefined) return
    const value = { said: author.text('answer') }
    const takes = how === 'answered' ? [await author.post('answer', { requestId, value })] : []
    await author.ensureTurn(0)
    const told = how === 'answered' ? { requestId, how, value } : { requestId, how }
    await author.drive(author.entry('request.end', told, { takes }))
  },
  async steer(author, { as, fresh }) {
    await author.ensureTurn()
    const { pending } = author.branch.reference
    if (fresh || pending.length === 0) await author.post('input', { message: author.text('steer') })
    const first = author.branch.reference.pending[0]
    if (first === undefined) return
    const data = { as: first.type === 'input' ? as : 'nothing' }
    await author.drive(author.entry('take', data, { takes: [first.key] }))
  },
  async note(author) {
    await author.ensureTurn()
    await author.drive(author.entry('note', { text: author.text('note'), from: 'hook' }))
  },
  async phase(author, { name }) {
    await author.ensureTurn()
    await author.drive(author.entry('phase', { name, changes: { n: author.next() } }))
  },
  async warn(author) {
    await author.drive(author.entry('warning', { code: 'odd', message: author.text('warning') }))
  },
  async skippable(author, { known }) {
    const more = { optional: true, v: known ? FUTURE : 1 } as const
    await author.drive(author.entry(known ? 'model.end' : 'x.future', { n: author.next() }, more))
  },
  async end(author, { outcome, tidy, wake }) {
    const { reference } = author.branch
    if (!reference.open) return
    const unsettled = reference.calls.filter(({ state }) => state !== 'settled')
    const last = unsettled.map(({ callId, state }) => author.settlement(callId, possible(state, 'unknown')))
    const wakeAt = wake ? { wakeAt: author.fixture.clock.now() + 5000 } : {}
    const end = author.entry('turn.end', { outcome, usage: NO_USAGE, durationMs: 1, ...wakeAt })
    await author.drive(...(tidy ? last : []), end)
  },
  async cancel(author) {
    const { reference } = author.branch
    if (!reference.open && !isParked(reference)) return
    const key = await author.post('cancel', { turn: reference.turn })
    await author.ensureTurn(0)
    const take = author.entry('take', { as: 'nothing' }, { takes: [key] })
    const end = author.entry('turn.end', { outcome: 'cancelled', usage: NO_USAGE, durationMs: 1 })
    await author.drive(take, end)
  },
  async crash(author) {
    author.crash()
  },
  async poison(author, { times }) {
    for (let i = 0; i < times; i++) {
      author.crash()
      await author.append({ claim: author.newClaim() })
    }
    author.crash()
  },
  async release(author, { pause, wake }) {
    const data = {
      reason: 'test',
      ...(pause ? { pause } : {}),
      ...(wake ? { wakeAt: author.fixture.clock.now() + 5000 } : {}),
    }
    await author.drive(author.entry('release', data))
  },
  async late(author, { which, status }) {
    const { unknown } = author.branch.reference
    const callId = unknown[which % unknown.length]
    if (callId === undefined) return
    const said = author.text('late')
    const data = { callId, status, output: which % 2 === 0 ? said : { said } }
    const key = await author.post('late-result', data)
    await author.drive(author.entry('tool.late', data, { takes: [key] }))
  },
  async make(author) {
    const { calls } = author.branch.reference
    const callId = calls.find(({ state }) => state === 'started')?.callId
    const n = author.next()
    const data = {
      ...{ artifactId: `artifact-${n % 3}`, kind: 'file', op: 'write', version: n, chunk: 1 },
      ...{ content: author.text('artifact'), bytes: 12, chunks: 1, totalBytes: 12, complete: n % 2 === 0 },
      ...(callId === undefined ? {} : { callId }),
    }
    await author.drive(author.entry('artifact', data))
  },
  async remember(author) {
    await author.drive(author.entry('state', { metadata: { title: author.text('title') } }))
  },
  async record(author) {
    const { driver, reference } = author.branch
    if (driver !== undefined && reference.owned) return
    const entries = [
      author.entry('state', { metadata: { title: author.text('title') } }),
      author.entry('release', { reason: 'recorded' }),
    ]
    await author.append({ claim: author.newClaim(), entries })
  },
  async compact(author, { back, summary }) {
    const { reference, log } = author.branch
    if (reference.thinking) return
    const upTo = Math.max(reference.from - 1, log.length - back)
    const kept = log.slice(upTo).reduce((sum, entry) => sum + messageCount(entry), 0)
    const data = { upTo, kept, ...(summary ? { summary: author.text('summary') } : {}) }
    await author.drive(author.entry('compact', { ...data, receipt: { by: 'test' } }))
  },
  async clear(author) {
    if (!author.branch.reference.thinking) await author.drive(author.entry('clear', {}))
  },
  async prune(author, { back, byTurns }) {
    const { branch, fixture } = author
    if (byTurns) await pruneContext(fixture.store, branch.key, { keepTurns: 1 + (back % 4) })
    else await prune(author, branch.log.length - back)
    await author.catchUp()
  },
  async fork(author, { back, stay }) {
    const parent = author.branch
    if (parent.log.length === 0) return
    await fork(author, Math.max(1, parent.log.length - back))
    if (stay) author.branch = parent
  },
  async switch(author, { which }) {
    author.branch = author.branches[which % author.branches.length] ?? author.branch
  },
  async pass(author, { ms }) {
    const { clock } = author.fixture
    if (ms >= 0) clock.advance(ms)
    else clock.set(clock.now() + ms)
  },
}
