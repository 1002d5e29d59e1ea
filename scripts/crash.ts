/**
 * `npm run crash`: kills processes that run conversations, at every point of the matrix and then at random moments, lets
 * others finish the conversations, and checks from outside that no entry was lost and no effect repeated. Any fault makes
 * the command fail.
 */
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { CONVERSATIONS } from '../test/crash/conversations.ts'
import { Nest } from '../test/crash/lane.ts'
import { killEverywhere, playWhole, type Wholes } from '../test/crash/matrix.ts'
import { soak } from '../test/crash/soak.ts'
import { Tally, tableOf } from '../test/crash/table.ts'
import { pointsOf } from '../test/crash/trial.ts'
import { Random } from '../test/reflex/random.ts'
import { interruptible, Progress } from './progress.ts'
import { helpIfAsked, UsageError } from './usage.ts'

interface Wanted {
  readonly only: string
  readonly soak: number
  readonly pairs: number
  readonly seed: number
  readonly json: boolean
}

helpIfAsked(`Usage: npm run crash -- [options]

  --only NAME   conversations whose names contain it
  --soak N      so many kills at random moments (default 300)
  --pairs N     so many cases in which the second process is killed, too (default 200)
  --seed S      draws what an earlier run has drawn
  --json        for machines
  --help

Examples:
  npm run crash                                 everything, about ten minutes
  npm run crash -- --only approval --soak 0     the matrix of some conversations`)

function wanted(): Wanted {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', default: '' },
      soak: { type: 'string', default: '300' },
      pairs: { type: 'string', default: '200' },
      seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
      json: { type: 'boolean', default: false },
    },
  })
  const count = (name: 'soak' | 'pairs' | 'seed') => {
    const value = Number(values[name])
    if (!Number.isSafeInteger(value) || value < 0) throw new UsageError(`--${name} must be a whole number.`)
    return value
  }
  return {
    only: values.only,
    soak: count('soak'),
    pairs: count('pairs'),
    seed: count('seed'),
    json: values.json,
  }
}

/** The findings so far, printed at the end and after Ctrl-C. */
class Results {
  readonly matrix: Tally = new Tally()
  readonly soak: Tally = new Tally()
  readonly #started = performance.now()
  kills = 0
  /** Turns that a kill cut off. */
  hits = 0
  /** Kills that hit no open turn. */
  idle = 0

  get seconds(): number {
    return Math.round((performance.now() - this.#started) / 1000)
  }

  get wrongs(): readonly string[] {
    return [...this.matrix.wrongs, ...this.soak.wrongs]
  }
}

interface Run extends Wanted {
  readonly nest: Nest
  readonly lanes: number
  readonly wholes: Wholes
  readonly results: Results
}

async function matrix({ nest, lanes, wholes, pairs: count, seed, results }: Run): Promise<void> {
  const singles = [...wholes.values()].reduce((sum, whole) => sum + pointsOf(whole).length, 0)
  const progress = new Progress(singles + count, 'cases')
  await killEverywhere({
    nest,
    lanes,
    wholes,
    pairs: { count, random: new Random(seed) },
    onFound: (found, wantedKills) => {
      results.matrix.add(found, wantedKills)
      progress.add(1, `${results.wrongs.length} wrong`)
    },
  })
  progress.end()
}

async function soaking({ nest, lanes, wholes, soak: wantedKills, seed, results }: Run): Promise<void> {
  const progress = new Progress(wantedKills, 'kills')
  await soak({
    nest,
    lanes,
    wholes,
    kills: wantedKills,
    seed,
    onKill: (hit) => {
      results.kills += 1
      results.hits += hit
      if (hit === 0) results.idle += 1
      progress.add(1, `${results.hits} turns cut off, ${results.wrongs.length} wrong`)
    },
    onFound: (found) => results.soak.add(found),
  })
  progress.end()
}

async function main(): Promise<void> {
  const asked = wanted()
  const names = CONVERSATIONS.map(({ name }) => name).filter((name) => name.includes(asked.only))
  if (names.length === 0) throw new UsageError(`No conversation is called ${asked.only}.`)
  const results = new Results()
  const print = (): void => {
    if (asked.json) console.log(JSON.stringify(asJson(asked, results)))
    else show(asked, results)
  }
  await interruptible(async () => {
    const nest = await Nest.build()
    try {
      const progress = new Progress(names.length, 'conversations played undisturbed')
      const wholes = await playWhole(names, nest, () => progress.add(1))
      progress.end()
      const run = { ...asked, nest, lanes: Math.min(2, availableParallelism()), wholes, results }
      await matrix(run)
      await soaking(run)
    } finally {
      nest.remove()
    }
  }, print)
  print()
  if (results.wrongs.length > 0) process.exitCode = 1
}

function asJson({ seed }: Wanted, results: Results): object {
  const { matrix: found, soak: soaked, kills, hits, idle, seconds } = results
  const part = ({ rows, total, wrongs }: Tally) => ({ rows: [...rows.values()], total, wrongs })
  return { seed, seconds, matrix: part(found), soak: { kills, hits, idle, ...part(soaked) } }
}

function show({ seed }: Wanted, results: Results): void {
  const { matrix: found, soak: soaked, kills, hits, idle, wrongs, seconds } = results
  console.log(tableOf(found))
  const { points, pairs } = found.total
  console.log(`\n${points} distinct points, ${pairs} distinct pairs of them\n`)
  if (kills > 0) {
    console.log(tableOf(soaked, 'killed'))
    console.log(`\n${kills} random kills, ${hits} turns cut off, ${idle} kills that met no open turn`)
  }
  for (const wrong of wrongs.slice(0, 50)) console.log(wrong)
  console.log(`seed ${seed}, ${seconds} s, wrong: ${wrongs.length}`)
}

await main()
