/**
 * The time of one decision with few and with many known ids, and the cost of a guarded call beside an unguarded one. Both
 * of a pair are measured alternately, so that a busy machine slows both.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { Agent } from '../../src/agent/index.ts'
import { entity, type JudgeContext, judgeCall, MemoryFacts } from '../../src/grounding/index.ts'
import type { Json, Sighting } from '../../src/protocol/index.ts'
import type { Store } from '../../src/store/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { ScriptedModel } from '../../src/testing/index.ts'
import { defineTool } from '../../src/tool/index.ts'
import { entities, NOW, ONE_PROJECT } from './kit.ts'

export interface Cost {
  readonly what: string
  /** Microseconds. */
  readonly few: number
  readonly many: number
  readonly ratio: number
}

const ROUNDS = 15
const CALLS = 300

export async function costRatio(): Promise<readonly Cost[]> {
  const few = judgingWith(100)
  const many = judgingWith(10_000)
  const givens: readonly (readonly [string, Json])[] = [
    ['an id that was seen', idOf(50)],
    ['a label', 'Building 50'],
    ['a place', 'project 7'],
    ['an invented id', 'proj-champigny-456'],
  ]
  const costs: Cost[] = []
  for (const [what, given] of givens) {
    const times: { few: number[]; many: number[] } = { few: [], many: [] }
    for (let round = 0; round < ROUNDS; round++) {
      times.few.push(await timed(few, given))
      times.many.push(await timed(many, given))
    }
    const [a, b] = [median(times.few), median(times.many)]
    costs.push({ what, few: a, many: b, ratio: b / a })
  }
  return costs
}

function idOf(at: number): string {
  return `id-${String(at).padStart(6, '0')}`
}

function judgingWith(count: number): JudgeContext {
  const seen = Array.from(
    { length: count },
    (_, at): Sighting => ({ entity: 'project', id: idOf(at), label: `Building ${at}` }),
  )
  const batches = Array.from({ length: count / 10 }, (_, at) => ({
    at: NOW - 1000,
    seq: at,
    seen: seen.slice(at * 10, at * 10 + 10),
  }))
  return { entities, facts: new MemoryFacts({ batches, userText: 'Show it to me' }), now: NOW }
}

async function timed(judging: JudgeContext, given: Json): Promise<number> {
  const call = { parameters: ONE_PROJECT, args: { projectId: given } }
  const started = performance.now()
  for (let at = 0; at < CALLS; at++) await judgeCall(call, judging)
  return ((performance.now() - started) * 1000) / CALLS
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}

function quartile(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 4)] ?? Number.NaN
}

export interface CallCost {
  readonly store: string
  /** Processor time of one call with its model call, in microseconds. */
  readonly open: number
  readonly guarded: number
  readonly ratio: number
}

const SHOWN = 500
/** V8 keeps compiling for some thousand calls of each kind. */
const WARM_UP = 30
const CALLS_OF_A_TURN = 40

/** A call with an id, in a conversation with 500 sightings: the id is judged, or has no mark. */
export async function callCosts(
  rounds: number,
  progress: (text: string) => void,
): Promise<readonly CallCost[]> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-cost-'))
  let files = 0
  const stores: Readonly<Record<string, () => OpenStore>> = {
    memory: () => {
      const store = memoryStore()
      return () => store
    },
    sqlite: () => {
      const path = join(folder, `${files++}.db`)
      return () => sqliteStore(path)
    },
  }
  const costs: CallCost[] = []
  try {
    for (const [store, open] of Object.entries(stores)) {
      const times: { open: number[]; guarded: number[] } = { open: [], guarded: [] }
      for (let round = 0; round < WARM_UP + rounds; round++) {
        const pair = { open: await callCost(open(), false), guarded: await callCost(open(), true) }
        progress(`${store}: round ${round + 1} of ${WARM_UP + rounds}`)
        if (round < WARM_UP) continue
        times.open.push(pair.open)
        times.guarded.push(pair.guarded)
      }
      // The rest of the machine can only make it slower.
      const [a, b] = [quartile(times.open), quartile(times.guarded)]
      costs.push({ store, open: a, guarded: b, ratio: b / a })
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  return costs
}

/** The file is closed between two turns, so that the second turn does not pay for the first one's writes. */
type OpenStore = () => Store

async function callCost(open: OpenStore, isGuarded: boolean): Promise<number> {
  const thing = entity('thing', { pattern: /id-\d+/, scope: 'conversation' })
  const rows = Array.from({ length: SHOWN }, (_, at) => ({ id: idOf(at), name: `Building ${at}` }))
  const list = defineTool({
    name: 'list',
    description: 'Lists things.',
    input: z.object({}),
    run: () => rows,
    ...(isGuarded ? { returns: () => thing.rows(rows, { id: 'id', label: 'name' }) } : {}),
  })
  const id = z.string()
  const use = defineTool({
    name: 'use',
    description: 'Uses a thing.',
    input: z.object({ id: isGuarded ? id.meta(thing.id()) : id }),
    run: (input) => input.id,
  })
  const uses = Array.from({ length: CALLS_OF_A_TURN }, (_, at) => ({
    calls: [{ tool: 'use', args: { id: idOf(at * 7) } }],
  }))
  const model = new ScriptedModel([{ calls: [{ tool: 'list' }] }, 'Listed.', ...uses, 'Used.'])
  const agentOn = (store: Store): Agent =>
    new Agent({
      contextId: 'cost',
      store,
      model,
      tools: [list, use],
      limits: { iterations: 2 * CALLS_OF_A_TURN },
      ...(isGuarded ? { entities: [thing] } : {}),
    })
  const first = open()
  const lister = agentOn(first)
  await lister.input('List them')
  await lister.shutdown()
  const second = open()
  if (second !== first) await first.close()
  const user = agentOn(second)
  await user.start()
  const before = process.cpuUsage()
  const { reason } = await user.executeTurn('Use them').outcome
  const used = process.cpuUsage(before)
  await user.shutdown()
  await second.close()
  if (reason !== 'stop') throw new Error(`The turn ended with ${reason}.`)
  return (used.user + used.system) / CALLS_OF_A_TURN
}
