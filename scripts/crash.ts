/**
 * `npm run crash`: kills processes that play conversations, at every point of the matrix and then at random moments, lets
 * others bring the conversations to their ends, and checks from outside that nothing was lost and nothing was done twice.
 * Anything that is wrong makes the command fail.
 *
 * `--only NAME`: conversations whose names contain it. `--soak N`: so many kills at random, 2000 unless said otherwise.
 * `--pairs N`: so many cases in which the second process is killed, too. `--seed S`: draws what an earlier run has drawn.
 * `--json`: for machines.
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

interface Wanted {
  readonly only: string
  readonly soak: number
  readonly pairs: number
  readonly seed: number
  readonly json: boolean
}

const HELP = `Usage: npm run crash -- [options]

  --only NAME   conversations whose names contain it
  --soak N      so many kills at random moments (default 2000)
  --pairs N     so many cases in which the second process is killed, too (default 200)
  --seed S      draws what an earlier run has drawn
  --json        for machines
  --help

Examples:
  npm run crash                                 everything, about ten minutes
  npm run crash -- --only approval --soak 0     the matrix of some conversations`

function wanted(): Wanted {
  const { values } = parseArgs({
    options: {
      help: { type: 'boolean', default: false },
      only: { type: 'string', default: '' },
      soak: { type: 'string', default: '2000' },
      pairs: { type: 'string', default: '200' },
      seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
      json: { type: 'boolean', default: false },
    },
  })
  if (values.help) {
    console.log(HELP)
    process.exit(0)
  }
  const count = (name: 'soak' | 'pairs' | 'seed') => {
    const value = Number(values[name])
    if (!Number.isSafeInteger(value) || value < 0) throw new Error(`--${name} must be a whole number.`)
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

/** On a terminal, where one is; one line that is written over. */
function progress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001B[K${text}`)
}

interface Run extends Wanted {
  readonly nest: Nest
  readonly lanes: number
  readonly wholes: Wholes
}

async function matrix({ nest, lanes, wholes, pairs: count, seed }: Run): Promise<Tally> {
  const tally = new Tally()
  const singles = [...wholes.values()].reduce((sum, whole) => sum + pointsOf(whole).length, 0)
  let done = 0
  await killEverywhere({
    nest,
    lanes,
    wholes,
    pairs: { count, random: new Random(seed) },
    onFound: (found, wantedKills) => {
      tally.add(found, wantedKills)
      progress(`${++done} of ${singles + count} cases, ${tally.wrongs.length} wrong`)
    },
  })
  progress('')
  return tally
}

interface Soaked {
  readonly tally: Tally
  readonly kills: number
  readonly hits: number
  /** Kills that hit no open turn. */
  readonly idle: number
}

async function soaking({ nest, lanes, wholes, soak: wantedKills, seed }: Run): Promise<Soaked> {
  const tally = new Tally()
  let [kills, hits, idle] = [0, 0, 0]
  await soak({
    nest,
    lanes,
    wholes,
    kills: wantedKills,
    seed,
    onKill: (hit) => {
      kills += 1
      hits += hit
      if (hit === 0) idle += 1
      progress(`${kills} of ${wantedKills} kills, ${hits} turns cut off, ${tally.wrongs.length} wrong`)
    },
    onFound: (found) => tally.add(found),
  })
  progress('')
  return { tally, kills, hits, idle }
}

async function main(): Promise<void> {
  const started = performance.now()
  const asked = wanted()
  const names = CONVERSATIONS.map(({ name }) => name).filter((name) => name.includes(asked.only))
  if (names.length === 0) throw new Error(`No conversation is called ${asked.only}.`)
  const nest = await Nest.build()
  try {
    const lanes = Math.min(2, availableParallelism())
    const run = { ...asked, nest, lanes, wholes: await playWhole(names, nest) }
    const found = await matrix(run)
    const soaked = await soaking(run)
    const seconds = Math.round((performance.now() - started) / 1000)
    if (asked.json) console.log(JSON.stringify(asJson(asked, { found, soaked, seconds })))
    else show(asked, { found, soaked, seconds })
    if (found.wrongs.length + soaked.tally.wrongs.length > 0) process.exitCode = 1
  } finally {
    nest.remove()
  }
}

interface Results {
  readonly found: Tally
  readonly soaked: Soaked
  readonly seconds: number
}

function asJson({ seed }: Wanted, { found, soaked, seconds }: Results): object {
  const { tally, ...counts } = soaked
  return {
    seed,
    seconds,
    matrix: { rows: [...found.rows.values()], total: found.total, wrongs: found.wrongs },
    soak: { ...counts, rows: [...tally.rows.values()], total: tally.total, wrongs: tally.wrongs },
  }
}

function show({ seed }: Wanted, { found, soaked, seconds }: Results): void {
  console.log(tableOf(found))
  const { points, pairs } = found.total
  console.log(`\n${points} distinct points, ${pairs} distinct pairs of them\n`)
  if (soaked.kills > 0) {
    console.log(tableOf(soaked.tally, 'killed'))
    const { kills, hits, idle } = soaked
    console.log(`\n${kills} random kills, ${hits} turns cut off, ${idle} kills that met no open turn`)
  }
  for (const wrong of [...found.wrongs, ...soaked.tally.wrongs].slice(0, 50)) console.log(wrong)
  const wrongs = found.wrongs.length + soaked.tally.wrongs.length
  console.log(`seed ${seed}, ${seconds} s, wrong: ${wrongs}`)
}

await main()
