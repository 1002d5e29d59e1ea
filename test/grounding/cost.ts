/** How long one decision takes with few and with many known ids, in turns, so that a busy machine slows both. */
import { type Judging, judgeCall, MemoryFacts } from '../../src/grounding/index.ts'
import type { Json, Sighting } from '../../src/protocol/index.ts'
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

function judgingWith(count: number): Judging {
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

async function timed(judging: Judging, given: Json): Promise<number> {
  const call = { parameters: ONE_PROJECT, args: { projectId: given } }
  const started = performance.now()
  for (let at = 0; at < CALLS; at++) await judgeCall(call, judging)
  return ((performance.now() - started) * 1000) / CALLS
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}
