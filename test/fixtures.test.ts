/**
 * Files that earlier versions wrote, read by this one.
 *
 * NEVER regenerate an old fixture to make a test pass: it stands for the files that people have. If a format changes,
 * add a fixture for the new one (scripts/make-fixture.ts refuses to overwrite) and keep this version reading the old.
 * Sessions are derived, and thrown away when the fold has changed its mind: only those of the newest format are here.
 */
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fold, loadSession, readWindow, type Session, transcript } from '../src/journal/index.ts'
import type { Entry, EntryType, Message, UserMessage } from '../src/protocol/index.ts'
import { newHead } from '../src/store/head.ts'
import { headFrom } from '../src/store/history.ts'
import { type SqliteStore, sqliteStore } from '../src/store/sqlite/index.ts'

const owner = { tenant: 'acme', actor: 'ada' }
const garden = { ...owner, contextId: 'garden' }
const branch = { ...owner, contextId: 'garden-fork' }
const leaf = { ...owner, contextId: 'garden-fork-2' }

const log = fixture('journal-v1.jsonl')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as Entry)
const sessions = JSON.parse(fixture('journal-v1.session-12.json')) as Record<string, Session>
const transcripts = JSON.parse(fixture('journal-v1.transcript.json')) as Record<string, Message[]>

/** Every type of format 1. This list is closed: a type that comes later has a fixture of its own. */
const TYPES_V1: readonly EntryType[] = [
  ...([
    'input',
    'answer',
    'cancel',
    'late-result',
    'claim',
    'release',
    'turn.start',
    'take',
    'note',
    'phase',
  ] as const),
  ...([
    'model.start',
    'model.end',
    'tool.start',
    'tool.end',
    'tool.late',
    'request.start',
    'request.end',
  ] as const),
  ...(['warning', 'turn.end', 'artifact', 'state', 'compact', 'clear', 'fork', 'base'] as const),
]

/** Who speaks as the user is read out of the entries since then; the fixtures are older than that. */
function readAsThen(entries: readonly Entry[]): readonly Message[] {
  return transcript(entries).map((message) => {
    const { by: _, ...said } = message as UserMessage
    return said
  })
}

describe('the journal of format 1', () => {
  it('holds every type, each of format 1, without gaps', () => {
    const types = new Set(log.map(({ type }) => type))
    expect([...types].sort()).toEqual([...TYPES_V1, 'x.future'].sort())
    expect(log.every(({ v, seq }, index) => v === 1 && seq === index + 1)).toBe(true)
  })

  it.each(Object.keys(sessions))(
    'folds to the session that it was, after entry %s, field for field',
    (position) => {
      expect(fold(log.slice(0, Number(position)))).toStrictEqual(sessions[position])
    },
  )

  it.each(Object.keys(transcripts))('reads as it did, after entry %s', (position) => {
    expect(readAsThen(log.slice(0, Number(position)))).toEqual(transcripts[position])
  })

  const [settled, asking, started] = [
    { callId: 'call-4', tool: 'soil', state: 'settled', args: { bed: 2 } },
    { callId: 'call-5', tool: 'fertilise', state: 'requested', args: { bed: 2 } },
    { callId: 'call-6', tool: 'order', state: 'started', args: { item: 'compost' } },
  ].map((call) => ({
    ...call,
    replay: 'never',
    idempotencyKey: `key-${call.callId}`,
    argsKey: `${call.tool} ${JSON.stringify(call.args)}`,
  }))
  const asked = { requestId: 'req-2', kind: 'choice', callId: 'call-5', name: 'with', from: 'fertilise' }
  const waiting = { calls: [settled, asking, started], requests: [{ ...asked, seq: 56 }] }

  it('has the answer with the call that it was for, in a turn that needs credentials', () => {
    const answer = { requestId: 'req-1', from: 'approval', how: 'answered', value: true }
    expect(sessions['16']?.open).toMatchObject({
      credentials: true,
      calls: [{ callId: 'call-1' }, { callId: 'call-2', state: 'started', answers: [answer] }],
    })
  })

  it('takes back the iteration of the model call that died, and knows a failure and what is in doubt', () => {
    const doubt = [{ callId: 'call-2', argsKey: 'water {"bed":3,"litres":4}' }]
    expect(sessions['22']).toMatchObject({
      open: { iteration: 1, thinking: false, failures: 1 },
      unknown: doubt,
    })
    expect(sessions['28']).toMatchObject({ unknown: doubt, totals: { modelCalls: 4, toolCalls: 2 } })
  })

  it('tells what came late, and then has no doubt', () => {
    expect(sessions['30']).not.toHaveProperty('unknown')
    expect(transcripts['30']?.slice(0, -1)).toEqual(transcripts['28'])
    expect(transcripts['30']?.map(brief).at(-1)).toBe(
      '[The call call-2, whose outcome was unknown, has come to an end (ok): {"litres":4}]',
    )
  })

  it('remembers where it was cleared, and its state from then on', () => {
    expect(sessions['30']).not.toHaveProperty('cleared')
    for (const position of [44, 58, 69, 77, 89])
      expect(sessions[String(position)]).toMatchObject({
        cleared: 31,
        metadata: { title: 'The garden', labels: ['beds'] },
      })
  })

  it('parks what turn 3 waits for, and turn 4 finds it', () => {
    const [parked, found, done] = [58, 62, 69].map((position) => sessions[String(position)])
    const given = { limits: { iterations: 10 }, metadata: { channel: 'cli' } }
    expect(parked?.parked).toEqual({ ...waiting, ...given })
    expect(parked).toMatchObject({ turn: 3, outcome: 'input-required' })
    expect(parked).not.toHaveProperty('open')
    expect(found).toMatchObject({ turn: 4, open: { turn: 4, startSeq: 62, toolCalls: 0, ...waiting } })
    expect(found).not.toHaveProperty('parked')
    expect(done).toMatchObject({ turn: 4, outcome: 'stop', totals: { turns: 4, toolCalls: 5 } })
    expect([done?.open, done?.parked]).toEqual([undefined, undefined])
  })

  it('starts the call that asked again, with its answer, and adds what it used', () => {
    const answers = [
      { requestId: 'req-2', name: 'with', from: 'fertilise', how: 'answered', value: ['compost'] },
    ]
    expect(sessions['64']?.open).toMatchObject({
      calls: [settled, { ...asking, state: 'started', answers }, started],
      requests: [],
      toolCalls: 0,
    })
    const [before, after] = [sessions['64']?.totals.usage, sessions['69']?.totals.usage]
    expect([before?.inputTokens, before?.estimated]).toEqual([480, undefined])
    expect([after?.inputTokens, after?.estimated]).toEqual([720, true])
  })

  it('keeps the round of turn 3 open until turn 4 has settled it', () => {
    const said = (position: number): string[] => (transcripts[String(position)] ?? []).map(brief)
    const round = 'I will need your word. call-4? call-5? call-6?'
    const before = ['Ada asked about bed 4, and nothing was done.', 'Fertilise bed 2.', round]
    expect(said(58)).toEqual([...before, 'call-4: ok', 'The shop closes at six.'])
    expect(said(62)).toEqual([...before, 'call-4: ok', 'The shop closes at six.', 'Bed 1 as well.'])
    expect(said(69)).toEqual([
      ...before,
      'call-4: ok, call-5: ok, call-6: error',
      'The shop closes at six.',
      'Bed 1 as well.',
      'Bed 2 is done. For bed 1 there is no compost left.',
    ])
  })
})

describe('the SQLite file of format 1', () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-fixture-'))
  const path = join(folder, 'store.db')
  let store: SqliteStore

  beforeAll(() => {
    copyFileSync(join('test/fixtures', 'store-v1.db'), path)
    store = sqliteStore(path)
  })

  afterAll(async () => {
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  })

  it('is one file', () => {
    for (const extra of ['-wal', '-shm']) expect(existsSync(`test/fixtures/store-v1.db${extra}`)).toBe(false)
  })

  it('holds the parent, entry by entry, up to where it was forked', async () => {
    expect((await store.read(garden)).slice(0, 77)).toEqual(log.slice(0, 77))
    expect(await loadSession(store, garden, 77)).toStrictEqual(sessions['77'])
    expect(await store.head(garden)).toMatchObject({
      seq: 83,
      turn: 5,
      status: 'idle',
      outcome: 'stop',
      epoch: 9,
      pending: 1,
      base: 0,
    })
    expect(await store.inbox(garden)).toMatchObject([
      { seq: 83, key: 'in-7', data: { message: 'Nobody has taken this yet.' } },
    ])
  })

  it('holds the fork, pruned, with a session that is what it was', async () => {
    expect(await store.read(branch)).toEqual(log.slice(82))
    expect(await store.base(branch)).toEqual(log.at(-1))
    expect(log.at(-1)?.data).toMatchObject({ upTo: 82, kept: 81 })
    expect(await loadSession(store, branch)).toStrictEqual(sessions['89'])
    expect(await store.head(branch)).toEqual({
      key: branch,
      seq: 89,
      at: 1_767_226_337_000,
      turn: 6,
      status: 'idle',
      outcome: 'stop',
      epoch: 11,
      claims: 0,
      pending: 0,
      base: 82,
      parent: { contextId: 'garden', kind: 'fork', at: 77 },
      createdAt: 1_767_226_205_000,
      activeAt: 1_767_226_332_000,
    })
  })

  it('holds a fork of the fork, whole, because it was made before the pruning', async () => {
    const entries = await store.read(leaf)
    expect(entries.slice(0, 81)).toEqual(log.slice(0, 81))
    expect(entries.slice(81)).toMatchObject([{ seq: 82, type: 'fork', data: { at: 81 } }])
    expect(await loadSession(store, leaf)).toEqual(fold(entries))
  })

  it('prompts with what is left', async () => {
    const window = async (key: typeof garden) =>
      readAsThen(await readWindow(store, key, { session: await loadSession(store, key) }))
    expect(await window(branch)).toEqual(transcripts['89']?.slice(-2))
    expect(await window(leaf)).toEqual(transcripts['89']?.slice(0, -2))
    expect((await window(garden)).slice(0, 9)).toEqual(transcripts['77']?.slice(0, 9))
  })

  it('gives large texts back from its blobs', async () => {
    const [entry] = await store.read({ ...owner, contextId: 'large' })
    expect(entry?.data['message']).toBe('Compost. '.repeat(10_000))
  })

  it('remembers what was erased, and nothing of it', async () => {
    const erased = { ...owner, contextId: 'erased' }
    expect(await store.head(erased)).toMatchObject({ status: 'erased', seq: 1 })
    expect(await store.read(erased)).toEqual([])
    const inbox = [{ type: 'input', key: 'k', data: { message: 'again' } }] as const
    await expect(store.append({ key: erased, id: 'a', since: 0, inbox })).rejects.toMatchObject({
      code: 'erased',
    })
    expect(readFileSync(path).includes('Forget this.')).toBe(false)
  })

  it('has heads and indexes that need no repair', async () => {
    for (const key of [garden, branch, leaf])
      expect(await store.rebuild(key)).toEqual({ repaired: false, head: await store.head(key) })
    expect(await store.lookup(garden, { index: 'outcome' })).toMatchObject([
      { seq: 28, value: { outcome: 'stop' } },
      { seq: 44, value: { outcome: 'cancelled' } },
      { seq: 58, value: { outcome: 'input-required' } },
      { seq: 69, value: { outcome: 'stop' } },
      { seq: 82, value: { outcome: 'stop' } },
    ])
    expect((await store.read(garden, { turn: 2 })).map(({ seq }) => seq)).toEqual([
      34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44,
    ])
  })

  it('leads to the artifact, also from a fork that was pruned', async () => {
    for (const key of [garden, branch, leaf])
      expect(await store.lookup(key, { index: 'artifact' })).toMatchObject([
        { key: 'a:soil-report', seq: 54, value: { version: 1, chunks: 1, bytes: 23, complete: true } },
        { key: 'c:soil-report:00000001:00000001', seq: 53, value: { op: 'write', bytes: 23 } },
        { key: 'c:soil-report:00000001:00000002', seq: 54, value: { op: 'complete', bytes: 0 } },
      ])
  })

  it('can be gone on with', async () => {
    const { seq = 0 } = (await store.head(garden)) ?? {}
    const start = { type: 'turn.start', turn: 6, data: { principal: { ...owner } }, takes: ['in-7'] }
    const receipt = await store.append({
      key: garden,
      id: 'on',
      since: seq,
      claim: { driver: 'd', leaseMs: 1000 },
      entries: [start],
    })
    expect(receipt).toMatchObject({ first: 84, last: 85, epoch: 10 })
    expect(await loadSession(store, garden)).toMatchObject({ seq: 85, turn: 6, totals: { turns: 6 } })
  })
})

describe('the journal with claims of format 2', () => {
  const claims = fixture('claim-v2.jsonl')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Entry)
  const headAfter = (seq: number) => headFrom(newHead(garden, 0), undefined, claims.slice(0, seq))

  it('tells claims that drive from those that only record', () => {
    const found = claims.filter(({ type }) => type === 'claim')
    expect(found.map(({ seq, v, data: { drives } }) => [seq, v, drives])).toEqual([
      [2, 2, undefined],
      [6, 2, false],
      [9, 2, undefined],
      [13, 2, false],
    ])
  })

  it('stays paused after a claim that records, and keeps its time and its attempts', () => {
    const { lease: _, ...paused } = headAfter(5) ?? {}
    expect(paused).toMatchObject({ status: 'paused', claims: 0, wakeAt: Date.UTC(2026, 10, 2) })
    expect(headAfter(8)).toEqual({ ...paused, seq: 8, at: claims[7]?.at, epoch: 2 })
    for (const seq of [5, 8]) {
      const session = fold(claims.slice(0, seq))
      expect(session).toMatchObject({ closed: 'paused', claims: 0, open: { thinking: true, iteration: 1 } })
    }
  })

  it('goes on with a claim that drives, once', () => {
    expect(headAfter(9)).toMatchObject({ status: 'running', claims: 1, epoch: 3 })
    const session = fold(claims.slice(0, 9))
    expect(session).toMatchObject({ claims: 1, open: { thinking: false, iteration: 0 } })
    expect(session).not.toHaveProperty('closed')
  })

  it('ends like any other', () => {
    expect(headAfter(claims.length)).toMatchObject({ seq: 15, status: 'idle', claims: 0, epoch: 4, turn: 1 })
    expect(fold(claims)).toMatchObject({ seq: 15, epoch: 4, cleared: 14, totals: { modelCalls: 2 } })
    expect(transcript(claims)).toEqual([])
  })
})

/** A message in a line: its texts, its calls with a question mark, its results with how they ended. */
function brief({ role, content }: Message): string {
  if (role === 'tool') return content.map(({ callId, status }) => `${callId}: ${status}`).join(', ')
  if (typeof content === 'string') return content
  return content
    .map((part) => ('callId' in part ? `${part.callId}?` : 'text' in part ? part.text : ''))
    .join(' ')
}

function fixture(name: string): string {
  return readFileSync(join('test/fixtures', name), 'utf8')
}
