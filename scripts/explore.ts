/**
 * `npm run explore`: ownership (R1 to R7) under every schedule of a scope, on the memory store and on SQLite, and
 * the broken variants with the rule that catches each; once with the reference driver and once with the real one, for
 * which the states hold, too (S1 to S7), and every transition between them has to be taken. Two searches run in parallel.
 * The default scope has a search of every kind; `--all` adds the long ones. `--reference` and `--real` leave out the other
 * driver; words as arguments keep only the scenarios whose names contain them all, long ones included.
 */
import { fork } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { explore, replay } from '../test/explore/explore.ts'
import { type Report } from '../test/explore/scenario.ts'
import { driveReal } from '../test/ownership/real-driver.ts'
import {
  BROKEN,
  BROKEN_REAL,
  FULL,
  FULL_REAL,
  FULL_SQLITE,
  FULL_SQLITE_REAL,
  isLong,
  type Variant,
} from '../test/ownership/scopes.ts'
import { ALL_TRANSITIONS } from '../test/ownership/state-rules.ts'
import { type Bench, memoryBench, type Setting, scenarioOf, sqliteBench } from '../test/ownership/world.ts'
import { interruptible, Progress } from './progress.ts'
import { helpIfAsked } from './usage.ts'

const HELP = `Usage: npm run explore -- [options] [WORD…]

Every schedule of ownership, on the memory store and on SQLite, and broken drivers that must be caught.

  --all         the long searches, too: about an hour more
  --reference   the reference driver only
  --real        the real driver only
  WORD          only scenarios whose names contain all of these words, long ones included
  --help

Examples:
  npm run explore                               every kind of scenario, within ten minutes on two cores
  npm run explore -- --all                      everything
  npm run explore -- --real                     the driver that agents use
  npm run explore -- --real heartbeats cancel   two words: some of its scenarios`

interface Job {
  readonly driver: 'reference' | 'real'
  readonly kind: 'memory' | 'sqlite' | 'broken'
  readonly index: number
}

interface Result {
  readonly report: Report
  /** The first violation as it happened. */
  readonly lines: readonly string[]
  readonly coverage: ReadonlyMap<string, number>
  /** Transitions of the driver's table. */
  readonly taken: ReadonlyMap<string, number>
}

interface Scope {
  readonly memory: readonly Setting[]
  readonly sqlite: readonly Setting[]
  readonly broken: readonly Variant[]
}

const scopes: Readonly<Record<Job['driver'], Scope>> = {
  reference: { memory: FULL, sqlite: FULL_SQLITE, broken: BROKEN },
  real: { memory: FULL_REAL, sqlite: FULL_SQLITE_REAL, broken: BROKEN_REAL },
}

function settingsOf(driver: Job['driver'], kind: Job['kind']): readonly Setting[] {
  const scope = scopes[driver]
  return kind === 'broken' ? scope.broken.map(({ setting }) => setting) : scope[kind]
}

async function work({ driver, kind, index }: Job): Promise<Result> {
  // Refusals are results here, by the thousand; their stacks are not read.
  Error.stackTraceLimit = 0
  const bench: Bench = kind === 'sqlite' ? sqliteBench() : memoryBench()
  const coverage = new Map<string, number>()
  const taken = new Map<string, number>()
  const drive = driver === 'real' ? { drive: driveReal } : {}
  const scenario = scenarioOf(settingsOf(driver, kind)[index] as Setting, {
    bench,
    coverage,
    taken,
    ...drive,
  })
  const report = await explore(scenario, { order: kind === 'broken' ? 'breadth' : 'depth' })
  const schedule = report.violations[0]?.schedule
  const lines = schedule === undefined ? [] : (await replay(scenario, schedule)).lines
  await bench.close()
  return { report, lines, coverage, taken }
}

async function main(given: readonly string[]): Promise<void> {
  const started = performance.now()
  const words = given.filter((word) => !word.startsWith('--'))
  const jobs = (['reference', 'real'] as const).flatMap((driver) =>
    (['memory', 'sqlite', 'broken'] as const).flatMap((kind) =>
      settingsOf(driver, kind).map((setting, index) => ({
        ...{ driver, kind, index, name: setting.name },
        isLong: kind !== 'broken' && isLong(setting),
      })),
    ),
  )
  const other = given.includes('--real') ? 'reference' : given.includes('--reference') ? 'real' : undefined
  const withLong = given.includes('--all') || words.length > 0
  const chosen = jobs.filter(
    (job) =>
      job.driver !== other && (withLong || !job.isLong) && words.every((word) => job.name.includes(word)),
  )
  if (chosen.length === 0) {
    console.error(`No scenario's name contains ${words.join(' and ')}. Run npm run explore -- --help.`)
    process.exitCode = 2
    return
  }
  const results: Result[] = []
  let printed = 0
  let trouble = 0
  const progress = new Progress(chosen.length, 'searches')
  console.log(`${'driver'.padEnd(10)}${'store'.padEnd(7)} ${'scenario'.padEnd(64)} ${HEADINGS}`)
  const onResult = (result: Result, index: number): void => {
    results[index] = result
    progress.clear()
    // In the order of the list, not of completion.
    for (let next = results[printed]; next !== undefined; next = results[++printed])
      trouble += print(chosen[printed] as Job, next)
    progress.add(1, `trouble: ${trouble}`)
  }
  await interruptible(
    () => runAll(chosen, onResult),
    () => console.log(`${printed} of ${chosen.length} searches, trouble: ${trouble}`),
  )
  progress.end()
  const sound = results.filter((_, index) => chosen[index]?.kind !== 'broken')
  const seen = sum(sound.map(({ coverage }) => coverage))
  const counts = [...seen].map(([what, count]) => `${what} ${count}`)
  console.log(`\nseen: ${counts.sort().join(' · ')}`)
  if (other !== 'real') {
    const missed = printTransitions(sum(sound.map(({ taken }) => taken)))
    if (words.length === 0) trouble += missed
  }
  const seconds = ((performance.now() - started) / 1000).toFixed(0)
  console.log(`${chosen.length} searches, ${seconds} s, trouble: ${trouble}`)
  if (trouble > 0) process.exitCode = 1
}

function sum(counts: readonly ReadonlyMap<string, number>[]): ReadonlyMap<string, number> {
  const all = new Map<string, number>()
  for (const [what, count] of counts.flatMap((map) => [...map])) all.set(what, (all.get(what) ?? 0) + count)
  return all
}

/** Returns the number of transitions never taken. */
function printTransitions(taken: ReadonlyMap<string, number>): number {
  console.log('\ntransitions of the real driver')
  for (const transition of ALL_TRANSITIONS)
    console.log(`  ${transition.padEnd(24)}${`${taken.get(transition) ?? 'NEVER'}`.padStart(10)}`)
  return ALL_TRANSITIONS.filter((transition) => !taken.has(transition)).length
}

/** Each worker takes the next job after the last. */
async function runAll(jobs: readonly Job[], done: (result: Result, index: number) => void): Promise<void> {
  const waiting = [...jobs.entries()]
  const run = async (): Promise<void> => {
    const worker = fork(import.meta.filename, [], { serialization: 'advanced' })
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const { promise, resolve, reject } = Promise.withResolvers<Result>()
      const died = (code: number) => reject(new Error(`A worker died with code ${code}.`))
      worker.once('message', resolve).once('exit', died).send(next[1])
      done(await promise, next[0])
      worker.off('exit', died)
    }
    worker.disconnect()
  }
  await Promise.all(Array.from({ length: Math.min(2, availableParallelism()) }, run))
}

function print(job: Job, result: Result): number {
  return job.kind === 'broken' ? printVariant(job, result) : printScenario(job, result)
}

const COLUMNS = ['states', 'steps', 'paths', 'pruned', 'longest'] as const
const HEADINGS = [...COLUMNS.map((name) => name.padStart(8)), '  exhaustive  violations  seconds'].join('')

function printScenario({ driver, kind }: Job, { report, lines }: Result): number {
  const { states, transitions, paths, pruned, longest, exhaustive, violations, seconds } = report
  const numbers = [states, transitions, paths, pruned, longest]
    .map((count) => `${count}`.padStart(8))
    .join('')
  const end = `${(exhaustive ? 'yes' : 'NO').padStart(12)}${`${violations.length}`.padStart(12)}${seconds.toFixed(1).padStart(9)}`
  console.log(`${driver.padEnd(10)}${kind.padEnd(7)} ${report.scenario.padEnd(64)} ${numbers}${end}`)
  for (const { rule, message } of violations) console.log(`        ${rule}: ${message}`)
  for (const line of lines) console.log(`          ${line}`)
  return violations.length > 0 || !exhaustive ? 1 : 0
}

function printVariant({ driver, index }: Job, { report, lines }: Result): number {
  const { rule, sign = rule, setting } = scopes[driver].broken[index] as Variant
  const found = report.violations[0]
  const caught = found?.rule === sign
  const named = sign === rule ? rule : `${rule}, as ${sign},`
  const how =
    found === undefined
      ? 'not caught'
      : `${caught ? named : found.rule} after ${lines.length} steps: ${found.message}`
  console.log(`${driver.padEnd(10)}broken  ${setting.name.padEnd(64)} ${caught ? '' : 'WRONG: '}${how}`)
  return caught ? 0 : 1
}

if (process.send === undefined) {
  helpIfAsked(HELP)
  await main(process.argv.slice(2))
} else process.on('message', (job: Job) => void work(job).then((result) => process.send?.(result)))
