/**
 * What must hold of a conversation that many processes had, seen from outside: from its journal, from the log of effects
 * and from what was answered. Nobody who took part is asked.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { listStuck } from '../../src/agent/index.ts'
import { type Entry, type EntryData, LOCAL_OWNER } from '../../src/protocol/index.ts'
import { type Head, headFrom, sameHead } from '../../src/store/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { checkSqlite } from '../../src/store/sqlite/repair/index.ts'
import { problemsOf } from '../recovery/checks.ts'
import type { Answer, CrowdReport } from './crowd.ts'
import { type Line, memberAgent, TOOLS } from './member.ts'

export interface Verdict {
  readonly counts: Readonly<Record<string, number>>
  /** What is wrong; nothing if all is well. */
  readonly problems: readonly string[]
}

const MOST_ENTRIES = 100_000
const KEY = { ...LOCAL_OWNER, contextId: 'many' }

export async function judge(folder: string, report: CrowdReport): Promise<Verdict> {
  const path = join(folder, 'store.db')
  await takeWhatIsLeft(folder, path)
  const store = sqliteStore(path)
  const entries = await store.read(KEY, { limit: MOST_ENTRIES })
  const effects = linesOf(join(folder, 'effects.log'))
  const stuck = await listStuck(store, { olderThanMs: 0 })
  const head = await store.head(KEY)
  await store.close()
  const { problems: damage } = await checkSqlite(path)
  const problems = [
    ...report.unanswered.map((key) => `${key} was never answered`),
    ...orderProblems(entries),
    ...problemsOf({ many: entries }, effects),
    ...inputProblems(entries, report.answers),
    ...lateProblems(entries),
    ...stuck.map(({ why }) => `it is stuck: ${why}`),
    ...headProblems(head, entries),
    ...damage.map((problem) => `the file: ${JSON.stringify(problem)}`),
  ]
  return { counts: countsOf(entries, effects), problems }
}

/** A last process comes by, as an engine would: results that came in after the last turn are taken. */
async function takeWhatIsLeft(folder: string, path: string): Promise<void> {
  const log = join(folder, 'effects.log')
  const { agent, close } = memberAgent({ name: 'last', path, log, leaseMs: 5000 })
  for (let drive = await agent.drive(); drive.state === 'again'; drive = await agent.drive());
  await agent.shutdown()
  await close()
}

function linesOf(log: string): Line[] {
  const text = readFileSync(log, 'utf8').trimEnd()
  return text.split('\n').map((line) => JSON.parse(line) as Line)
}

function of<T extends keyof EntryData>(
  entries: readonly Entry[],
  type: T,
): (Entry & { data: EntryData[T] })[] {
  return entries.filter((entry) => entry.type === type) as (Entry & { data: EntryData[T] })[]
}

/** One order of all that was said: positions without gaps, one turn after the other, one epoch after the other. */
export function* orderProblems(entries: readonly Entry[]): Generator<string> {
  const gap = entries.find(({ seq }, index) => seq !== index + 1)
  if (gap !== undefined) yield `there is a gap before ${gap.seq}`
  const back = entries.find(({ at }, index) => at < (entries[index - 1]?.at ?? 0))
  if (back !== undefined) yield `time went back at ${back.seq}`
  const epochs = of(entries, 'claim').map(({ data }) => data.epoch)
  if (epochs.some((epoch, index) => epoch !== index + 1)) yield `epochs are not 1 to ${epochs.length}`
  let open = 0
  for (const { seq, type, turn } of entries) {
    if (type === 'turn.start' && open !== 0) yield `turn ${turn} began at ${seq} inside of turn ${open}`
    if (type === 'turn.start') open = turn
    if (type === 'turn.end') open = 0
    if (SPOKEN.has(type) && turn !== open) yield `${type} at ${seq} is of turn ${turn}, and ${open} was open`
  }
}

const SPOKEN: ReadonlySet<string> = new Set(['model.start', 'model.end', 'tool.start', 'tool.end'])

/** Each thing said is in the journal once, and what its sender heard is what the turn that took it came to. */
function* inputProblems(entries: readonly Entry[], answers: readonly Answer[]): Generator<string> {
  const outcomes = new Map(of(entries, 'turn.end').map(({ turn, data }) => [turn, data.outcome]))
  const takenBy = new Map(entries.flatMap(({ takes = [], turn }) => takes.map((seq) => [seq, turn] as const)))
  const inputs = new Map<string, Entry>()
  for (const input of of(entries, 'input')) {
    if (inputs.has(input.key ?? '')) yield `${input.key} is in the journal twice`
    inputs.set(input.key ?? '', input)
  }
  if (inputs.size !== answers.length) yield `${answers.length} answers to ${inputs.size} inputs`
  for (const { key, turn, reason } of answers) {
    const taken = takenBy.get(inputs.get(key)?.seq ?? 0)
    if (taken !== turn) yield `${key} was answered by turn ${turn} and taken by ${taken}`
    else if (outcomes.get(turn) !== reason)
      yield `${key}: heard ${reason}, turn ${turn} ${outcomes.get(turn)}`
  }
}

/** R6: the head row is what the journal says, and nobody holds it. */
export function* headProblems(head: Head | undefined, entries: readonly Entry[]): Generator<string> {
  const rebuilt = head && headFrom(head, undefined, entries)
  if (head === undefined || rebuilt === undefined) yield 'there is no head row'
  else if (!sameHead(head, rebuilt)) yield 'the head row is not what the journal says'
  if (head?.lease !== undefined) yield `${head.lease.driver} still holds it`
}

/** What came late is taken, is about a call that was started, and is told if that call was settled as unknown. */
function* lateProblems(entries: readonly Entry[]): Generator<string> {
  const takers = new Map(entries.flatMap((entry) => (entry.takes ?? []).map((seq) => [seq, entry] as const)))
  const started = new Set(of(entries, 'tool.start').map(({ data }) => data.callId))
  const ends = of(entries, 'tool.end').map(({ data }) => data)
  const unknown = new Set(ends.flatMap(({ callId, status }) => (status === 'unknown' ? [callId] : [])))
  for (const { seq, data } of of(entries, 'late-result')) {
    const taker = takers.get(seq)
    if (taker === undefined) yield `the late result at ${seq} was never taken`
    if (!started.has(data.callId)) yield `the late result at ${seq} is of a call that was never started`
    if (taker?.type === 'take' && unknown.has(data.callId))
      yield `nobody was told of the late result at ${seq}`
  }
}

function countsOf(entries: readonly Entry[], effects: readonly Line[]): Record<string, number> {
  const isNever = ({ tool }: Line) => TOOLS[tool]?.replay === 'never'
  const runs = Map.groupBy(effects, ({ callId }) => callId)
  const often = [...runs.values()].filter(({ length }) => length > 1)
  const ends = of(entries, 'tool.end').map(({ data }) => data.status)
  const turns = Object.entries(
    Object.groupBy(of(entries, 'turn.end'), ({ data }) => data.outcome) as Record<string, Entry[]>,
  )
  const latest = of(entries, 'late-result').map(({ seq }) => seq)
  const uses = entries.filter(({ takes = [] }) => takes.some((seq) => latest.includes(seq)))
  return {
    entries: entries.length,
    inputs: of(entries, 'input').length,
    turns: of(entries, 'turn.start').length,
    ...Object.fromEntries(
      turns.map(([outcome, ended]) => [`turns that ended with ${outcome}`, ended.length]),
    ),
    claims: of(entries, 'claim').length,
    'processes that did an effect': new Set(effects.map(({ process }) => process)).size,
    'calls of `never` tools that ran': new Set(effects.filter(isNever).map(({ callId }) => callId)).size,
    'of these more than once': often.filter(([line]) => line !== undefined && isNever(line)).length,
    'calls of `safe` tools that ran more than once': often.filter(([line]) => line && !isNever(line)).length,
    'calls settled as ok': ends.filter((status) => status === 'ok').length,
    'calls settled as unknown': ends.filter((status) => status === 'unknown').length,
    'late results': latest.length,
    'of these settled the call': uses.filter(({ type }) => type === 'tool.end').length,
    'of these told afterwards': uses.filter(({ type }) => type === 'tool.late').length,
    'of these not needed any more': uses.filter(({ type }) => type === 'take').length,
  }
}
