/**
 * `npm run explore`: ownership (R1 to R7) under every schedule of the full scope, on the memory store and on SQLite, and
 * the broken variants with the rule that catches each. Two searches run side by side. Words as arguments keep only the
 * scenarios whose names contain them all.
 */
import { fork } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { explore, type Report, replay } from '../src/testing/index.ts'
import { BROKEN, FULL, FULL_SQLITE } from '../test/ownership/scopes.ts'
import { type Bench, memoryBench, type Setting, scenarioOf, sqliteBench } from '../test/ownership/world.ts'

interface Job {
  readonly kind: 'memory' | 'sqlite' | 'broken'
  readonly index: number
}

interface Result {
  readonly report: Report
  /** The first violation as it happened. */
  readonly lines: readonly string[]
  readonly coverage: ReadonlyMap<string, number>
}

const settings: Readonly<Record<Job['kind'], readonly Setting[]>> = {
  memory: FULL,
  sqlite: FULL_SQLITE,
  broken: BROKEN.map(({ setting }) => setting),
}

async function work({ kind, index }: Job): Promise<Result> {
  // Refusals are answers here, by the thousand; nobody reads where they came from.
  Error.stackTraceLimit = 0
  const bench: Bench = kind === 'sqlite' ? sqliteBench() : memoryBench()
  const coverage = new Map<string, number>()
  const scenario = scenarioOf(settings[kind][index] as Setting, { bench, coverage })
  const report = await explore(scenario, { order: kind === 'broken' ? 'breadth' : 'depth' })
  const schedule = report.violations[0]?.schedule
  const lines = schedule === undefined ? [] : (await replay(scenario, schedule)).lines
  await bench.close()
  return { report, lines, coverage }
}

async function main(words: readonly string[]): Promise<void> {
  const started = performance.now()
  const jobs = (['memory', 'sqlite', 'broken'] as const).flatMap((kind) =>
    settings[kind].map((setting, index) => ({ kind, index, name: setting.name })),
  )
  const chosen = jobs.filter(({ name }) => words.every((word) => name.includes(word)))
  const results: Result[] = []
  let printed = 0
  let trouble = 0
  console.log(`${'store'.padEnd(7)} ${'scenario'.padEnd(64)} ${HEADINGS}`)
  await runAll(chosen, (result, index) => {
    results[index] = result
    // In the order of the list, whoever is ready first.
    for (let next = results[printed]; next !== undefined; next = results[++printed])
      trouble += print(chosen[printed] as Job, next)
  })
  const seen = new Map<string, number>()
  for (const [index, { coverage }] of results.entries())
    if (chosen[index]?.kind !== 'broken')
      for (const [what, count] of coverage) seen.set(what, (seen.get(what) ?? 0) + count)
  const counts = [...seen].map(([what, count]) => `${what} ${count}`)
  console.log(`\nseen: ${counts.sort().join(' · ')}`)
  const seconds = ((performance.now() - started) / 1000).toFixed(0)
  console.log(`${chosen.length} searches, ${seconds} s, trouble: ${trouble}`)
  if (trouble > 0) process.exitCode = 1
}

/** Each worker takes the next job when it is done with one. */
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
  return job.kind === 'broken' ? printVariant(job.index, result) : printScenario(job.kind, result)
}

const COLUMNS = ['states', 'steps', 'paths', 'pruned', 'longest'] as const
const HEADINGS = [...COLUMNS.map((name) => name.padStart(8)), '  exhaustive  violations  seconds'].join('')

function printScenario(store: string, { report, lines }: Result): number {
  const { states, transitions, paths, pruned, longest, exhaustive, violations, seconds } = report
  const numbers = [states, transitions, paths, pruned, longest]
    .map((count) => `${count}`.padStart(8))
    .join('')
  const end = `${(exhaustive ? 'yes' : 'NO').padStart(12)}${`${violations.length}`.padStart(12)}${seconds.toFixed(1).padStart(9)}`
  console.log(`${store.padEnd(7)} ${report.scenario.padEnd(64)} ${numbers}${end}`)
  for (const { rule, message } of violations) console.log(`        ${rule}: ${message}`)
  for (const line of lines) console.log(`          ${line}`)
  return violations.length > 0 || !exhaustive ? 1 : 0
}

function printVariant(index: number, { report, lines }: Result): number {
  const { rule, setting } = BROKEN[index] as (typeof BROKEN)[number]
  const found = report.violations[0]
  const caught = found?.rule === rule
  const how =
    found === undefined ? 'not caught' : `${found.rule} after ${lines.length} steps: ${found.message}`
  console.log(`broken  ${setting.name.padEnd(64)} ${caught ? '' : 'WRONG: '}${how}`)
  return caught ? 0 : 1
}

if (process.send === undefined) await main(process.argv.slice(2))
else process.on('message', (job: Job) => void work(job).then((result) => process.send?.(result)))
