/**
 * An agent whose store gives trouble at any of its appends: the turn ends with one outcome or goes on at the next start,
 * what was acknowledged is there, and nothing is done twice.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { Agent, type TurnOutcome } from '../../src/agent/index.ts'
import { LOCAL_OWNER } from '../../src/protocol/index.ts'
import type { Store } from '../../src/store/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { type Fault, faultyStore, ScriptedModel } from '../../src/testing/index.ts'
import { defineTool } from '../../src/tool/index.ts'
import { problemsOf } from '../recovery/checks.ts'
import { eagerTimer } from '../recovery/mortal.ts'
import type { Effect } from '../recovery/world.ts'

const KEY = { ...LOCAL_OWNER, contextId: 'talk' }
const APPENDS = 4

/** An agent that pays once, and remembers it here. */
function payer(store: Store, effects: Effect[]): Agent {
  const pay = defineTool({
    name: 'pay',
    description: 'pays',
    input: z.object({}),
    run: (_, { callId, idempotencyKey: key }) => {
      effects.push({ process: '', tool: 'pay', callId, key })
      return 'paid'
    },
  })
  const model = new ScriptedModel(({ prompt }) =>
    prompt.at(-1)?.role === 'tool' ? 'Done.' : { calls: [{ tool: 'pay' }] },
  )
  return new Agent({ contextId: 'talk', store, model, tools: [pay], timer: eagerTimer })
}

/** The outcome under trouble, and what is left when somebody without trouble comes by. */
async function survive(
  plan: readonly Fault[],
): Promise<{ first: TurnOutcome; types: string[]; paid: number }> {
  // Whoever has failed here counts as gone for the one who comes after.
  const store = memoryStore({ liveness: () => 'dead' })
  const effects: Effect[] = []
  const troubled = payer(faultyStore(store, plan), effects)
  const told: string[] = []
  const turn = troubled.executeTurn('pay', { key: 'pay' })
  turn.subscribe(({ type }) => void told.push(type))
  const first = await turn.outcome
  const after = payer(store, effects)
  await after.start()
  await after.turn?.outcome
  while ((await after.drive()).state === 'again');
  const entries = await store.read(KEY)
  expect([...problemsOf({ talk: entries }, effects)]).toEqual([])
  const said = entries.filter(({ type, key }) => type === 'input' && key === 'pay').length
  expect(said).toBeGreaterThanOrEqual(told.filter((type) => type === 'input').length)
  return { first, types: entries.map(({ type }) => type), paid: effects.length }
}

const everywhere = Array.from({ length: APPENDS }, (_, index) => index + 1)

describe('an agent survives a store that', () => {
  it.each(everywhere)(
    'does not say whether append %i was written: it asks again, and is none the wiser',
    async (at) => {
      for (const when of ['before', 'after'] as const) {
        const { first, types, paid } = await survive([{ at, how: 'fail', when }])
        expect([first.reason, paid]).toEqual(['stop', 1])
        expect(types.filter((type) => type === 'turn.end')).toHaveLength(1)
      }
    },
  )

  it.each(everywhere)('is busy or full at append %i for a moment: nobody notices', async (at) => {
    for (const code of ['store-busy', 'store-full'] as const) {
      const { first, paid } = await survive([{ at, how: 'refuse', code }])
      expect([first.reason, paid]).toEqual(['stop', 1])
    }
  })

  it.each(everywhere)(
    'refuses append %i and all that follow: another one brings the turn to its end',
    async (at) => {
      for (const code of ['store-full', 'store-failed'] as const) {
        const { first, types, paid } = await survive([{ at: (_, n) => n >= at, how: 'refuse', code }])
        expect([first.reason, first.error?.code]).toEqual(['failed', code])
        // Refused from the first append on, nothing was ever said.
        expect(types.filter((type) => type === 'turn.end')).toHaveLength(at === 1 ? 0 : 1)
        expect(paid).toBe(at === 1 ? 0 : 1)
      }
    },
  )

  it('stalls: the turn goes on where it stood when the store does', async () => {
    const { promise: until, resolve } = Promise.withResolvers<void>()
    const effects: Effect[] = []
    const store = memoryStore()
    const agent = payer(faultyStore(store, [{ at: 2, how: 'stall', when: 'after', until }]), effects)
    const turn = agent.executeTurn('pay')
    while ((await store.read(KEY)).every(({ type }) => type !== 'tool.start')) await new Promise(setImmediate)
    await new Promise((soon) => setTimeout(soon, 20))
    // Its intent is durable, and it does not know it yet.
    expect(effects).toEqual([])
    resolve()
    expect(await turn.outcome).toMatchObject({ reason: 'stop' })
    expect(effects).toHaveLength(1)
  })
})

describe('a disk that is really full', () => {
  let folder = ''

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'holdfast-full-'))
  })

  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  it('fails the turn, loses nothing of it, and lets it go on once there is room', async () => {
    const path = join(folder, 'store.db')
    const small = sqliteStore(path, { synchronous: 'NORMAL', maxBytes: 300 * 1024 })
    const effects: Effect[] = []
    const talker = payer(small, effects)
    const outcomes: TurnOutcome[] = []
    while (outcomes.at(-1)?.reason !== 'failed')
      outcomes.push(await talker.executeTurn(`${outcomes.length} ${'m'.repeat(30_000)}`).outcome)
    expect(outcomes.length).toBeGreaterThan(2)
    expect(outcomes.at(-1)?.error?.code).toBe('store-full')
    await small.close()

    const large = sqliteStore(path, { synchronous: 'NORMAL' })
    const after = payer(large, effects)
    await after.start()
    await after.turn?.outcome
    expect(await after.executeTurn('and now?').outcome).toMatchObject({ reason: 'stop' })
    const entries = await large.read(KEY)
    expect([...problemsOf({ talk: entries }, effects)]).toEqual([])
    const said = entries.filter(({ type }) => type === 'input').length
    expect([outcomes.length, outcomes.length + 1]).toContain(said)
    await large.close()
  })
})
