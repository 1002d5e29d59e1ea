/**
 * Makes the fixtures of the current formats: a journal with every entry type, its session, and a SQLite file that holds
 * it with forks, a base, a blob and a tombstone. It never overwrites a file of a released format, because only the old one
 * proves that old files stay readable.
 */
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import {
  fold,
  forkContext,
  loadSession,
  positionOf,
  SESSION_FORMAT,
  transcript,
} from '../src/journal/index.ts'
import type { ContextKey, Entry, JsonObject, NewEntry, NewInboxEntry } from '../src/protocol/index.ts'
import type { AppendRequest, Store } from '../src/store/index.ts'
import { sqliteStore } from '../src/store/sqlite/index.ts'
import { ManualClock } from '../src/testing/index.ts'

const VERSION = 1
const FOLDER = 'test/fixtures'
/**
 * An open round with people talking, a model call that died, the end of a turn, late news, the end of the next; a round
 * that is parked, found by the next turn, gone on with, and closed when that ends; an open round where the fork begins,
 * and the last entry.
 */
const POSITIONS = [16, 22, 28, 30, 44, 58, 62, 64, 69, 77, 89]
const owner = { tenant: 'acme', actor: 'ada' }
const garden: ContextKey = { ...owner, contextId: 'garden' }
const branch: ContextKey = { ...owner, contextId: 'garden-fork' }
const leaf: ContextKey = { ...owner, contextId: 'garden-fork-2' }
const MODEL = 'test/gardener'
const usage = { inputTokens: 120, outputTokens: 30, cachedTokens: 100, costUsd: 0.002 }

/** Writes one conversation, an append at a time, a second apart. */
class Pen {
  readonly store: Store
  readonly clock: ManualClock
  key: ContextKey
  turn = 0
  #appends = 0

  constructor(store: Store, clock: ManualClock, key: ContextKey) {
    this.store = store
    this.clock = clock
    this.key = key
  }

  async append(part: Omit<AppendRequest, 'key' | 'id' | 'since'>): Promise<void> {
    this.#appends += 1
    this.clock.advance(1000)
    const since = (await this.store.head(this.key))?.seq ?? 0
    await this.store.append({
      key: this.key,
      id: `append-${this.key.contextId}-${this.#appends}`,
      since,
      ...part,
    })
  }

  post(type: NewInboxEntry['type'], key: string, data: JsonObject): Promise<void> {
    return this.append({ inbox: [{ type, key, data }] })
  }

  /** A new driver takes over, as after a crash: the lease of the one before has lapsed by then. */
  claim(driver: string): Promise<void> {
    this.clock.advance(60_000)
    return this.append({ claim: { driver, leaseMs: 30_000 } })
  }

  async drive(...entries: readonly (readonly [string, JsonObject, Partial<NewEntry>?])[]): Promise<void> {
    const epoch = (await this.store.head(this.key))?.epoch ?? 0
    const made = entries.map(([type, data, more]) => ({ type, turn: this.turn, data, ...more }))
    await this.append({ epoch, entries: made })
  }

  async begin(driver: string, takes: readonly string[], more: JsonObject = {}): Promise<void> {
    await this.claim(driver)
    this.turn = ((await this.store.head(this.key))?.turn ?? 0) + 1
    const data = {
      principal: { ...owner, scopes: ['garden:write'] },
      limits: { iterations: 10 },
      metadata: { channel: 'cli' },
      ...more,
    }
    await this.drive(['turn.start', data, { takes }])
  }

  async end(outcome: string, more: JsonObject = {}): Promise<void> {
    await this.drive(['turn.end', { outcome, usage, durationMs: 4200, ...more }])
    this.turn = 0
  }
}

const thinking = (iteration: number, more: JsonObject = {}) =>
  ['model.start', { model: MODEL, iteration, ...more }] as const
const saying = (text: string) =>
  ['model.end', { content: [{ type: 'text', text }], finish: 'stop', model: MODEL, usage }] as const
const asking = (...content: readonly JsonObject[]) =>
  ['model.end', { content, finish: 'tool-calls', model: MODEL, usage }] as const
const call = (callId: string, tool: string, args: JsonObject) => ({
  type: 'tool-call',
  callId,
  providerId: `toolu_${callId}`,
  tool,
  args,
})
const starting = (callId: string, tool: string, args: JsonObject) =>
  [
    'tool.start',
    {
      callId,
      tool,
      args,
      idempotencyKey: `key-${callId}`,
      argsKey: `${tool} ${JSON.stringify(args)}`,
      replay: 'never',
    },
  ] as const
const settling = (callId: string, status: string, output: JsonObject | string) =>
  ['tool.end', { callId, status, output }] as const
/** Two changes of one artifact: its only chunk, and that there are no more. */
const reporting = (callId: string, content: string) => {
  const what = { artifactId: 'soil-report', kind: 'file', version: 1, name: 'soil.md', callId }
  const after = { chunks: 1, totalBytes: content.length }
  const first = { ...what, op: 'write', chunk: 1, content, bytes: content.length, mediaType: 'text/markdown' }
  return [
    ['artifact', { ...first, ...after, complete: false }],
    ['artifact', { ...what, op: 'complete', chunk: 2, bytes: 0, ...after, complete: true }],
  ] as const
}

/** A turn with credentials, an approval, steering, two crashes, an unknown outcome and a model that fails once. */
async function firstTurn(pen: Pen): Promise<void> {
  await pen.post('input', 'in-1', {
    message: 'Water bed 3, please.',
    principal: owner,
    metadata: { channel: 'cli' },
    credentials: true,
  })
  await pen.begin('driver-1', ['in-1'], { credentials: true })
  await pen.drive(['phase', { name: 'afterUserInput', changes: { greeting: true } }], thinking(1))
  const thought = { type: 'reasoning', text: 'Check the soil, then water.', provider: { signature: 'sig' } }
  const calls = [call('call-1', 'soil', { bed: 3 }), call('call-2', 'water', { bed: 3, litres: 5 })]
  await pen.drive(asking(thought, { type: 'text', text: 'Let me see.' }, ...calls))
  await pen.drive([
    'request.start',
    {
      requestId: 'req-1',
      kind: 'approval',
      prompt: 'Water bed 3 with 5 litres?',
      from: 'approval',
      callId: 'call-2',
      schema: { type: 'boolean' },
      options: [true, false],
      about: { tool: 'water', args: { bed: 3, litres: 5 } },
      expiresAt: 1_767_312_000_000,
    },
  ])
  await pen.drive(['release', { reason: 'waiting for approval', wakeAt: 1_767_312_000_000, pause: true }])
  await pen.post('answer', 'an-1', { requestId: 'req-1', value: true, principal: owner, credentials: true })
  await pen.claim('driver-2')
  await pen.drive(
    ['request.end', { requestId: 'req-1', how: 'answered', value: true }, { takes: ['an-1'] }],
    starting('call-1', 'soil', { bed: 3 }),
    starting('call-2', 'water', { bed: 3, litres: 4 }),
  )
  await pen.post('input', 'in-2', {
    message: [
      { type: 'text', text: 'Not too much.' },
      { type: 'file', mediaType: 'text/plain', name: 'plan.txt', data: 'YmVkIDM=' },
    ],
    steer: true,
  })
  await pen.drive(
    ['take', { as: 'message' }, { takes: ['in-2'] }],
    ['note', { text: 'It will rain tomorrow.', from: 'weather' }],
  )
  await pen.drive([
    'tool.end',
    { callId: 'call-1', status: 'ok', output: { moisture: 0.2 }, display: 'The soil is dry.' },
  ])
  await endOfFirstTurn(pen)
}

async function endOfFirstTurn(pen: Pen): Promise<void> {
  await pen.claim('driver-3')
  await pen.drive(settling('call-2', 'unknown', 'Started; its outcome is unknown.'))
  await pen.post('late-result', 'late-1', { callId: 'call-2', status: 'ok', output: { litres: 4 } })
  await pen.drive(thinking(2))
  await pen.claim('driver-4')
  await pen.drive(thinking(2))
  await pen.drive(
    ['model.end', { content: [], finish: 'error', error: { code: 'overloaded' } }],
    ['warning', { code: 'model-retry', message: 'The model was overloaded; trying again.' }],
    thinking(2, { attempt: 2 }),
  )
  await pen.drive(saying('Bed 3 was dry. I tried to water it and do not know whether it worked.'))
  await pen.end('stop')
}

/** Late news, a clear, a state, a call that cannot be read, a compaction, a cancel, an entry of a version to come. */
async function secondTurn(pen: Pen): Promise<void> {
  await pen.claim('driver-5')
  await pen.drive(
    ['tool.late', { callId: 'call-2', status: 'ok', output: { litres: 4 } }, { takes: ['late-1'] }],
    ['clear', { reason: 'a new day' }],
    ['state', { metadata: { title: 'The garden', labels: ['beds'] } }],
    ['release', { reason: 'done' }],
  )
  await pen.post('input', 'in-3', { message: 'And bed 4?' })
  await pen.begin('driver-6', ['in-3'])
  await pen.drive(thinking(1))
  await pen.drive(
    asking({ ...call('call-3', 'water', {}), args: '{"bed": 4', malformed: 'The JSON ends too early.' }),
    settling('call-3', 'rejected', 'The arguments are no JSON.'),
  )
  const { seq } = (await pen.store.head(pen.key)) ?? { seq: 0 }
  await pen.drive(
    [
      'compact',
      {
        upTo: seq,
        kept: 0,
        summary: 'Ada asked about bed 4, and nothing was done.',
        receipt: { messages: 3 },
      },
    ],
    ['x.future', { from: 'a later version' }, { optional: true }],
  )
  await pen.post('cancel', 'cancel-1', { turn: 2, reason: 'never mind' })
  await pen.drive(['take', { as: 'nothing', reason: 'cancelled' }, { takes: ['cancel-1'] }])
  await pen.end('cancelled')
}

/**
 * A turn that ends to wait: one call settled, one started, one that was started and asked. The next one settles what is
 * left, and starts the one that asked again.
 */
async function waitingTurns(pen: Pen): Promise<void> {
  await pen.post('input', 'in-4', { message: 'Fertilise bed 2.' })
  await pen.begin('driver-7', ['in-4'])
  await pen.drive(thinking(1))
  await pen.drive(
    asking(
      { type: 'text', text: 'I will need your word.' },
      call('call-4', 'soil', { bed: 2 }),
      call('call-5', 'fertilise', { bed: 2 }),
      call('call-6', 'order', { item: 'compost' }),
    ),
  )
  await pen.drive(
    starting('call-4', 'soil', { bed: 2 }),
    starting('call-5', 'fertilise', { bed: 2 }),
    starting('call-6', 'order', { item: 'compost' }),
  )
  const request = {
    requestId: 'req-2',
    kind: 'choice',
    prompt: 'With what?',
    from: 'fertilise',
    callId: 'call-5',
    name: 'with',
    options: ['compost', 'manure'],
    multiple: true,
  }
  await pen.drive(
    ...reporting('call-4', 'Bed 2: nitrogen is low.'),
    settling('call-4', 'ok', { nitrogen: 'low' }),
    ['request.start', request],
  )
  await pen.drive(['note', { text: 'The shop closes at six.', from: 'shop' }])
  await pen.end('input-required', { wakeAt: 1_767_312_000_000 })
  await pen.post('input', 'in-5', { message: 'Bed 1 as well.' })
  const value = ['compost']
  await pen.post('answer', 'an-2', { requestId: 'req-2', value, principal: owner })
  await pen.begin('driver-8', ['in-5'])
  await pen.drive(
    ['request.end', { requestId: 'req-2', how: 'answered', value }, { takes: ['an-2'] }],
    starting('call-5', 'fertilise', { bed: 2 }),
  )
  await pen.drive(settling('call-6', 'error', 'The shop is closed.'))
  const used = { ...usage, costUsd: 0.001, estimated: true }
  await pen.drive(['tool.end', { callId: 'call-5', status: 'ok', output: { grams: 50 }, usage: used }])
  await pen.drive(thinking(1))
  await pen.drive(saying('Bed 2 is done. For bed 1 there is no compost left.'))
  await pen.end('stop')
}

/** A round that is open when it is forked: one call settled, one started, one requested. */
async function lastTurn(pen: Pen): Promise<number> {
  await pen.post('input', 'in-6', { message: 'Which beds are there?' })
  await pen.begin('driver-9', ['in-6'])
  await pen.drive(thinking(1))
  await pen.drive(
    asking(
      call('call-7', 'beds', {}),
      call('call-8', 'soil', { bed: 1 }),
      call('call-9', 'soil', { bed: 2 }),
    ),
  )
  await pen.drive(starting('call-7', 'beds', {}), starting('call-8', 'soil', { bed: 1 }))
  await pen.drive(settling('call-7', 'ok', { beds: [1, 2, 3] }))
  const { seq } = (await pen.store.head(pen.key)) ?? { seq: 0 }
  await pen.drive(
    settling('call-8', 'error', 'The sensor is broken.'),
    settling('call-9', 'not-run', 'Not run.'),
  )
  await pen.drive(thinking(2))
  await pen.drive(saying('Beds 1, 2 and 3.'))
  await pen.end('stop')
  await pen.post('input', 'in-7', { message: 'Nobody has taken this yet.' })
  return seq
}

async function forkAndPrune(pen: Pen, at: number): Promise<Entry[]> {
  pen.clock.advance(1000)
  await forkContext(pen.store, garden, { contextId: branch.contextId, at })
  const fork = new Pen(pen.store, pen.clock, branch)
  fork.turn = 5
  await fork.claim('driver-10')
  await fork.drive(thinking(2))
  await fork.drive(saying('I know of beds 1, 2 and 3.'))
  await fork.end('input-required', { wakeAt: 1_767_400_000_000 })
  await fork.post('input', 'in-8', { message: 'Thank you.' })
  await fork.begin('driver-11', ['in-8'])
  await fork.drive(thinking(1))
  await fork.drive(saying('You are welcome.'))
  await fork.end('stop')
  const log = await pen.store.read(branch)
  const upTo = (log.find(({ key }) => key === 'in-8')?.seq ?? 0) - 1
  const session = await loadSession(pen.store, branch, upTo)
  pen.clock.advance(1000)
  // The fork still reads almost all pruned entries.
  await forkContext(pen.store, branch, { contextId: leaf.contextId, at: upTo - 1 })
  pen.clock.advance(1000)
  await pen.store.prune({ key: branch, upTo, position: positionOf(session), session })
  return [...log, ...(await pen.store.read(branch, { from: log.length + 1 }))]
}

async function othersIn(store: Store, clock: ManualClock): Promise<void> {
  const large = new Pen(store, clock, { ...owner, contextId: 'large' })
  await large.post('input', 'in-1', { message: 'Compost. '.repeat(10_000) })
  const gone = new Pen(store, clock, { ...owner, contextId: 'erased' })
  await gone.post('input', 'in-1', { message: 'Forget this.' })
  clock.advance(1000)
  await store.erase(gone.key)
}

/** One file without a log beside it, and no larger than it must be. */
function toSingleFile(path: string): void {
  const db = new DatabaseSync(path)
  db.exec('PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE; VACUUM')
  db.close()
}

const files = {
  db: `store-v${VERSION}.db`,
  journal: `journal-v${VERSION}.jsonl`,
  session: `journal-v${VERSION}.session-${SESSION_FORMAT}.json`,
  transcript: `journal-v${VERSION}.transcript.json`,
}
for (const file of Object.values(files))
  if (existsSync(`${FOLDER}/${file}`))
    throw new Error(`${FOLDER}/${file} exists. Old fixtures are never made again; make one for a new format.`)

const clock = new ManualClock(Date.UTC(2026, 0, 1))
const path = `${FOLDER}/${files.db}`
const store = sqliteStore(path, { clock, liveness: () => 'unknown' })
const pen = new Pen(store, clock, garden)
await firstTurn(pen)
await secondTurn(pen)
await waitingTurns(pen)
const log = await forkAndPrune(pen, await lastTurn(pen))
await othersIn(store, clock)
await store.close()
toSingleFile(path)
for (const extra of ['-wal', '-shm']) rmSync(`${path}${extra}`, { force: true })
writeFileSync(`${FOLDER}/${files.journal}`, log.map((entry) => `${JSON.stringify(entry)}\n`).join(''))
writeFileSync(
  `${FOLDER}/${files.session}`,
  textAt((position) => fold(log.slice(0, position))),
)
writeFileSync(
  `${FOLDER}/${files.transcript}`,
  textAt((position) => transcript(log.slice(0, position))),
)

function textAt(result: (position: number) => unknown): string {
  const results = POSITIONS.map((position) => [position, result(position)])
  return `${JSON.stringify(Object.fromEntries(results), undefined, 2)}\n`
}
