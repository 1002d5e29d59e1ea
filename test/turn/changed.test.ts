/**
 * Changes between a crash and the restart (R21): tools that are gone, renamed, take other arguments or have another
 * `replay`; and a journal that a newer version has written to.
 */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { Agent } from '../../src/agent/agent.ts'
import { ENTRY_KINDS, type EntryData, type NewEntry } from '../../src/protocol/index.ts'
import type { Store } from '../../src/store/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { ScriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool, type Tool } from '../../src/tool/index.ts'
import { calls, entryLines, journal, KEY, probe, said, sqlitePath } from './kit.ts'

/** The former driver is known to be dead. */
const dead = { liveness: () => 'dead' as const }
const STORES: readonly (readonly [string, () => Store])[] = [
  ['memory', () => memoryStore(dead)],
  ['sqlite', () => sqliteStore(sqlitePath(), { ...dead, synchronous: 'NORMAL' })],
]

/** The process died in `first`: that call is started, and `second` is requested and waits for it. */
async function crashed(store: Store, different: Parameters<typeof probe>[2] = {}): Promise<void> {
  const tools = [probe('first', undefined, { exclusive: true, ...different }), probe('second')]
  const model = new ScriptedModel([calls(['first', { n: 1 }], ['second', { n: 2 }])])
  const turn = new Agent({ contextId: 'talk', store, model, tools }).executeTurn('Go', { manual: true })
  for (let next = ''; next !== 'tools'; ) ({ next } = await turn.step())
}

/** The next process, with its own tools. */
async function restarted(store: Store, tools: readonly Tool[]): Promise<EntryData['tool.end'][]> {
  const agent = new Agent({ contextId: 'talk', store, model: new ScriptedModel(['I see.']), tools })
  await agent.start()
  expect(await agent.turn?.outcome).toMatchObject({ turn: 1, reason: 'stop', text: 'I see.' })
  await said(store)
  const ends = (await store.read(KEY)).filter(({ type }) => type === 'tool.end')
  return ends.map(({ data }) => data as EntryData['tool.end'])
}

const UNKNOWN = { status: 'unknown', output: expect.stringContaining('whether it happened is unknown') }

describe.each(STORES)('a tool that was changed between crash and restart, on %s', (_, open) => {
  it('if it is gone, settles what was started as unknown and what was requested as an error that says so', async () => {
    const store = open()
    await crashed(store)
    expect(await restarted(store, [probe('third')])).toMatchObject([
      UNKNOWN,
      { status: 'rejected', output: { code: 'unknown-tool', error: expect.stringContaining('second') } },
    ])
  })

  it('if it is gone, is unknown even if it was safe', async () => {
    const store = open()
    await crashed(store, { replay: 'safe' })
    const [first] = await restarted(store, [probe('second')])
    expect(first).toMatchObject(UNKNOWN)
  })

  it('if it is called otherwise, is not run under its new name', async () => {
    const store = open()
    await crashed(store)
    const [first, second] = [probe('first-v2'), probe('second-v2')]
    expect(await restarted(store, [first, second])).toMatchObject([
      UNKNOWN,
      { status: 'rejected', output: { code: 'unknown-tool', error: expect.stringContaining('second-v2') } },
    ])
    expect([first.ran, second.ran]).toEqual([[], []])
  })

  it('if it wants other arguments, is not run with those that were stored', async () => {
    const store = open()
    await crashed(store, { replay: 'safe' })
    const ran: string[] = []
    const strict = (name: string) =>
      defineTool({
        name,
        description: `does ${name}`,
        input: z.object({ place: z.string() }),
        replay: 'safe',
        run: () => void ran.push(name),
      })
    expect(await restarted(store, [strict('first'), strict('second')])).toMatchObject([
      UNKNOWN,
      {
        status: 'rejected',
        output: { code: 'invalid-arguments', error: expect.stringContaining('place') },
      },
    ])
    expect(ran).toEqual([])
  })

  it.each([
    ['never', 'never', 'unknown'],
    ['never', 'safe', 'unknown'],
    ['safe', 'never', 'unknown'],
    ['safe', 'safe', 'ok'],
  ] as const)('if it was %s and is %s, ends as %s: the stricter counts', async (was, is, status) => {
    const store = open()
    await crashed(store, { replay: was })
    const first = probe('first', undefined, { replay: is })
    const ends = await restarted(store, [first, probe('second')])
    expect(ends.map((end) => end.status)).toEqual([status, 'ok'])
    expect(first.ran).toHaveLength(status === 'ok' ? 1 : 0)
  })

  it('if it has learned to tell whether it happened, is asked, whatever it was', async () => {
    const store = open()
    await crashed(store)
    const first = probe('first', undefined, { verify: () => ({ happened: true, output: { n: 1 } }) })
    expect(await restarted(store, [first, probe('second')])).toMatchObject([
      { status: 'ok', output: { n: 1 } },
      { status: 'ok' },
    ])
    expect(first.ran).toEqual([])
  })
})

it('a call that waits for approval is refused when its tool is gone by the time of the answer', async () => {
  const store = memoryStore()
  const config = { contextId: 'talk', store }
  const model = new ScriptedModel([calls('first')])
  const asker = new Agent({ ...config, model, tools: [probe('first', undefined, { approve: 'always' })] })
  const { requests } = await asker.executeTurn('Go').outcome
  const next = new Agent({ ...config, model: new ScriptedModel(['I see.']), tools: [] })
  const answered = next.answer({ [requests[0]?.requestId ?? '']: true })
  expect(await answered.outcome).toMatchObject({ turn: 2, reason: 'stop', text: 'I see.' })
  const [end] = (await store.read(KEY)).filter(({ type }) => type === 'tool.end')
  expect(end?.data).toMatchObject({ status: 'rejected', output: { code: 'unknown-tool' } })
  await said(store)
})

/** A newer version took over the turn, appended this, and died. */
async function newer(store: Store, entry: Omit<NewEntry, 'turn'>): Promise<void> {
  const { seq = 0 } = (await store.head(KEY)) ?? {}
  const claim = { driver: 'newer', leaseMs: 1 }
  await store.append({ key: KEY, id: 'newer', since: seq, claim, entries: [{ turn: 1, ...entry }] })
}

const MUST: readonly (readonly [string, Omit<NewEntry, 'turn'>])[] = [
  ['a newer format of a known type', { type: 'note', v: 2, data: { words: ['Mind the step.'] } }],
  ['a type that nobody knows', { type: 'x.future', v: 1, data: { of: 'which nobody knows' } }],
]

describe.each(STORES)('an open turn that a newer version wrote to, on %s', (_, open) => {
  it.each(MUST)('in %s, is declined and left as it is, however often it is tried', async (_what, entry) => {
    const store = open()
    await crashed(store)
    await newer(store, entry)
    const before = JSON.stringify([await store.read(KEY), await store.head(KEY), await store.inbox(KEY)])
    const [first, second] = [probe('first'), probe('second')]
    for (let times = 0; times < 8; times++) {
      const model = new ScriptedModel([])
      const next = () => new Agent({ contextId: 'talk', store, model, tools: [first, second] })
      const turn = next().executeTurn('And this')
      const error = {
        code: 'entry-not-understood',
        message: expect.stringMatching(/does not understand.*left untouched; upgrade/),
      }
      expect(await turn.outcome).toMatchObject({ turn: 0, reason: 'failed', error })
      expect(await entryLines(turn)).toEqual([])
      await expect(next().start()).rejects.toMatchObject({ code: 'entry-not-understood' })
      await expect(next().drive()).rejects.toMatchObject({ code: 'entry-not-understood' })
      expect(model.calls).toEqual([])
    }
    expect([first.ran, second.ran]).toEqual([[], []])
    expect(JSON.stringify([await store.read(KEY), await store.head(KEY), await store.inbox(KEY)])).toBe(
      before,
    )
  })

  it('goes on in a process that understands it', async () => {
    const store = open()
    await crashed(store)
    await newer(store, { type: 'note', v: 2, data: { text: 'Mind the step.', from: 'somebody' } })
    const note = ENTRY_KINDS.get('note') as { v: number }
    note.v = 2
    try {
      const ends = await restarted(store, [probe('first'), probe('second')])
      expect(ends.map(({ status }) => status)).toEqual(['unknown', 'ok'])
      expect((await journal(store)).at(-1)).toMatch(/turn\.end stop$/)
    } finally {
      note.v = 1
    }
  })

  it('in what may be skipped, goes on without it', async () => {
    const store = open()
    await crashed(store)
    await newer(store, { type: 'x.future', v: 1, data: { of: 'no weight' }, optional: true })
    await store.append({
      key: KEY,
      id: 'again',
      since: (await store.head(KEY))?.seq ?? 0,
      claim: { driver: 'newer', leaseMs: 1 },
      entries: [{ turn: 1, type: 'note', v: 9, data: { words: [] }, optional: true }],
    })
    const ends = await restarted(store, [probe('first'), probe('second')])
    expect(ends.map(({ status }) => status)).toEqual(['unknown', 'ok'])
    expect((await said(store)).map((line) => line.split(' ')[0])).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
    ])
  })
})
