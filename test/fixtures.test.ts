/**
 * Files that earlier versions wrote, read by this one.
 *
 * NEVER regenerate an old fixture to make a test pass: it stands for the files that people have. If a format changes,
 * add a fixture for the new one (scripts/make-fixture.ts refuses to overwrite) and keep this version reading the old.
 */
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fold, loadSession, readWindow, type Session, transcript } from '../src/journal/index.ts'
import type { Entry, EntryType, Message } from '../src/protocol/index.ts'
import { type SqliteStore, sqliteStore } from '../src/store/sqlite/index.ts'

const owner = { tenant: 'acme', actor: 'ada' }
const garden = { ...owner, contextId: 'garden' }
const branch = { ...owner, contextId: 'garden-fork' }

const log = fixture('journal-v1.jsonl')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as Entry)
const sessions = JSON.parse(fixture('journal-v1.session.json')) as Record<string, Session>
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
  ...(['warning', 'turn.end', 'compact', 'clear', 'fork', 'base'] as const),
]

describe('the journal of format 1', () => {
  it('holds every type, each of format 1, without gaps', () => {
    const types = new Set(log.map(({ type }) => type))
    expect([...types].sort()).toEqual([...TYPES_V1, 'x.future'].sort())
    expect(log.every(({ v, seq }, index) => v === 1 && seq === index + 1)).toBe(true)
  })

  it.each(Object.keys(sessions))(
    'folds to the session that it was, after entry %s, byte for byte',
    (position) => {
      expect(JSON.stringify(fold(log.slice(0, Number(position))))).toBe(JSON.stringify(sessions[position]))
    },
  )

  it.each(Object.keys(transcripts))('reads as it did, after entry %s', (position) => {
    expect(transcript(log.slice(0, Number(position)))).toEqual(transcripts[position])
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
    expect((await store.read(garden)).slice(0, 49)).toEqual(log.slice(0, 49))
    expect(JSON.stringify(await loadSession(store, garden, 49))).toBe(JSON.stringify(sessions['49']))
    expect(await store.head(garden)).toMatchObject({
      seq: 55,
      turn: 3,
      status: 'idle',
      outcome: 'stop',
      epoch: 6,
      pending: 1,
      base: 0,
    })
    expect(await store.inbox(garden)).toMatchObject([
      { seq: 55, key: 'in-5', data: { message: 'Nobody has taken this yet.' } },
    ])
  })

  it('holds the fork, pruned, with a session that is what it was', async () => {
    expect(await store.read(branch)).toEqual(log.slice(54))
    expect(await store.base(branch)).toEqual(log.at(-1))
    expect(JSON.stringify(await loadSession(store, branch))).toBe(JSON.stringify(sessions['61']))
    expect(await store.head(branch)).toEqual({
      key: branch,
      seq: 61,
      at: 1_767_226_135_000,
      turn: 4,
      status: 'idle',
      outcome: 'stop',
      epoch: 8,
      claims: 0,
      pending: 0,
      base: 54,
      parent: { contextId: 'garden', kind: 'fork', at: 49 },
      createdAt: 1_767_226_004_000,
      activeAt: 1_767_226_131_000,
    })
  })

  it('prompts with what is left', async () => {
    const window = async (key: typeof garden) =>
      transcript(await readWindow(store, key, { session: await loadSession(store, key) }))
    expect(await window(branch)).toEqual(transcripts['61']?.slice(-2))
    expect((await window(garden)).slice(0, 3)).toEqual(transcripts['49']?.slice(0, 3))
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
    for (const key of [garden, branch])
      expect(await store.rebuild(key)).toEqual({ repaired: false, head: await store.head(key) })
    expect(await store.lookup(garden, { index: 'outcome' })).toMatchObject([
      { seq: 26, value: { outcome: 'stop' } },
      { seq: 41, value: { outcome: 'cancelled' } },
      { seq: 54, value: { outcome: 'stop' } },
    ])
    expect((await store.read(garden, { turn: 2 })).map(({ seq }) => seq)).toEqual([
      31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41,
    ])
  })

  it('can be gone on with', async () => {
    const { seq = 0 } = (await store.head(garden)) ?? {}
    const start = { type: 'turn.start', turn: 4, data: { principal: { ...owner } }, takes: ['in-5'] }
    const receipt = await store.append({
      key: garden,
      id: 'on',
      since: seq,
      claim: { driver: 'd', leaseMs: 1000 },
      entries: [start],
    })
    expect(receipt).toMatchObject({ first: 56, last: 57, epoch: 7 })
    expect(await loadSession(store, garden)).toMatchObject({ seq: 57, turn: 4, totals: { turns: 4 } })
  })
})

function fixture(name: string): string {
  return readFileSync(join('test/fixtures', name), 'utf8')
}
