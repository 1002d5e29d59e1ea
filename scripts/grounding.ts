/**
 * `npm run grounding`: generated calls through the judge of ids, against a truth that is known before the call is made.
 */
import { tryChain } from '../test/grounding/chains.ts'
import { callCosts, costRatio } from '../test/grounding/cost.ts'
import { type GuideTrial, tryFromGuide } from '../test/grounding/from-the-guide/from-the-guide.ts'
import { tryGuarded } from '../test/grounding/guarded-trial.ts'
import { tryPart } from '../test/grounding/parts.ts'
import { type JudgedSlot, tally, tryCall } from '../test/grounding/trial.ts'
import { Progress } from './progress.ts'
import { helpIfAsked, UsageError } from './usage.ts'

helpIfAsked(`Usage: npm run grounding -- [CALLS] [SEED] [options]

Generated calls through the judge of ids, CALLS (100000) from SEED (1).

  --stories     prints the faults
  --cost        measures instead what a decision costs, with 100 and with 10,000 known ids
  --help

Example:
  npm run grounding -- 100000 1`)

const given = process.argv.slice(2).filter((word) => !word.startsWith('--'))
const [calls = 100_000, seed = 1] = given.map(Number)
if (!Number.isSafeInteger(calls) || calls < 1 || !Number.isSafeInteger(seed)) {
  throw new UsageError('Give the number of calls and a seed, such as: npm run grounding -- 100000 1')
}

if (process.argv.includes('--cost')) await printCost()
else await printCounts()

async function printCounts(): Promise<void> {
  const started = performance.now()
  const judged: JudgedSlot[] = []
  const ends = { executed: 0, asked: 0, refused: 0 }
  const advice = { given: 0, wrong: [] as string[] }
  const progress = new Progress(calls, 'calls')
  for (let at = 0; at < calls; at++) {
    const { end, slots, advised, misled } = await tryCall(seed * 1_000_000 + at)
    ends[end]++
    advice.given += advised
    advice.wrong.push(...misled)
    judged.push(...slots, ...(at % 4 === 0 ? [await tryPart(seed * 1_000_000 + at)] : []))
    progress.add(1)
  }
  progress.end()
  const seconds = ((performance.now() - started) / 1000).toFixed(1)
  console.log(`${calls} calls with ${judged.length} ids, seed ${seed}, ${seconds} s`)
  console.log(`executed ${ends.executed}, asked about ${ends.asked}, refused ${ends.refused}`)
  console.log(
    `refusals that name an id to use: ${advice.given}, not like what was written: ${advice.wrong.length}\n`,
  )
  if (process.argv.includes('--stories')) for (const story of advice.wrong) console.log(`[advice] ${story}\n`)
  if (advice.wrong.length > 0) process.exitCode = 1
  printTable('what the model wrote', judged)
  await printGuarded()
}

/** The whole guard: conversions, fields without marks, conversations below others. */
async function printGuarded(): Promise<void> {
  const started = performance.now()
  const judged: JudgedSlot[] = []
  const progress = new Progress(calls, 'calls through schemas')
  for (let at = 0; at < calls; at++) {
    judged.push(await tryGuarded(seed * 1_000_000 + at))
    progress.add(1)
  }
  progress.end()
  console.log(`\n${calls} calls through schemas, ${((performance.now() - started) / 1000).toFixed(1)} s\n`)
  printTable('where the id was', judged)
  await printChains()
}

/** Real agents and graphs below each other, one for every hundred calls. */
async function printChains(): Promise<void> {
  const chains = Math.ceil(calls / 100)
  const wrong: string[] = []
  let known = 0
  const progress = new Progress(chains, 'chains')
  for (let at = 0; at < chains; at++) {
    progress.add(1, `${wrong.length} wrong`)
    const result = await tryChain(seed * 1_000_000 + at)
    if (result.wanted.length > 0) known++
    if (result.wanted.join() !== result.got.join()) wrong.push(JSON.stringify({ at, ...result }))
  }
  progress.end()
  console.log(
    `\n${chains} chains of agents and graphs, ${known} with an id that the top knows: ${wrong.length} wrong`,
  )
  for (const story of wrong) console.log(story)
  if (wrong.length > 0) process.exitCode = 1
  await printFromGuide()
}

/** Whole conversations that are generated from the guide alone, one for every five calls. */
async function printFromGuide(): Promise<void> {
  const cases = Math.ceil(calls / 5)
  const trials: GuideTrial[] = []
  let wrong = 0
  const progress = new Progress(cases, 'conversations from the guide')
  for (let at = 0; at < cases; at++) {
    const { story, ...trial } = await tryFromGuide(seed * 1_000_000 + at)
    const right = trial.got === trial.wanted
    if (!right) wrong++
    trials.push(right && !trial.misled ? trial : { ...trial, story: `[${at}, ${trial.way}] ${story}` })
    progress.add(1, `${wrong} wrong`)
  }
  progress.end()
  const near = trials.filter(({ advised }) => advised !== undefined)
  const advised = near.filter((trial) => trial.advised)
  const misled = near.filter((trial) => trial.misled)
  const count = (wanted: string, got: string): number =>
    trials.filter((trial) => trial.wanted === wanted && trial.got.startsWith(got)).length
  console.log(
    `\n${cases} conversations from the guide, ${new Set(trials.map(({ way }) => way)).size} ways: ${wrong} wrong`,
  )
  console.log(
    `to run ${count('run', '')}, to refuse ${count('refuse', '')}, to ask about ${count('ask', '')}`,
  )
  console.log(`executed and must not be: ${count('refuse', 'run') + count('ask', 'run')}`)
  console.log(
    `good and refused: ${count('run', 'refuse')}, asked amiss: ${count('run', 'ask') + count('refuse', 'ask')}`,
  )
  console.log(`near ids ${near.length}, with an id to use ${advised.length}, of these wrong ${misled.length}`)
  for (const { story, wanted, got } of trials)
    if (story && (got !== wanted || process.argv.includes('--stories')))
      console.log(`[${wanted}, got ${got}] ${story}\n`)
  if (wrong > 0 || misled.length * 100 > advised.length) process.exitCode = 1
}

function printTable(title: string, judged: readonly JudgedSlot[]): void {
  const heads = ['ids', 'allowed', 'to ask', 'not allowed but executed', 'allowed but refused', 'asked amiss']
  const widths = [9, 9, 9, 26, 21, 13]
  const line = (cells: readonly (string | number)[]): string =>
    cells.map((cell, at) => String(cell).padStart(widths[at] ?? 9)).join('')
  console.log(`${title.padEnd(40)}${line(heads)}`)
  const rows = tally(judged)
  for (const { way, count, allowed, toAsk, leaked, blocked, misasked } of rows)
    console.log(`${way.padEnd(40)}${line([count, allowed, toAsk, leaked, blocked, misasked])}`)
  if (process.argv.includes('--stories'))
    for (const { wanted, got, story } of judged) if (story) console.log(`\n[${wanted}, got ${got}] ${story}`)
  if (rows.some(({ leaked, blocked, misasked }) => leaked + blocked + misasked > 0)) process.exitCode = 1
}

async function printCost(): Promise<void> {
  for (const { what, few, many, ratio } of await costRatio())
    console.log(
      `${what.padEnd(22)} 100 known: ${few.toFixed(1)} µs   10,000 known: ${many.toFixed(1)} µs   ratio ${ratio.toFixed(2)}`,
    )
  const progress = (text: string): boolean => process.stderr.write(`\r${text.padEnd(30)}`)
  const costs = await callCosts(25, progress)
  process.stderr.write('\r')
  for (const { store, open, guarded, ratio } of costs)
    console.log(
      `a call, ${store}, 500 things shown: no guard ${open.toFixed(0)} µs   guarded ${guarded.toFixed(0)} µs   ratio ${ratio.toFixed(2)}`,
    )
}
