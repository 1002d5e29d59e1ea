/**
 * `npm run grounding`: generated calls through the judge of ids, against a truth that is known before the call is made.
 * The first argument is the number of calls (100000), the second the seed (1). `--stories` prints what was not right.
 * `--cost` tells instead how long a decision takes with 100 and with 10,000 known ids, and what a guarded call costs beside
 * one without a guard.
 */
import { callCosts, costRatio } from '../test/grounding/cost.ts'
import { tryPart } from '../test/grounding/parts.ts'
import { type JudgedSlot, tally, tryCall } from '../test/grounding/trial.ts'

const given = process.argv.slice(2).filter((word) => !word.startsWith('--'))
const [calls = 100_000, seed = 1] = given.map(Number)
if (!Number.isSafeInteger(calls) || calls < 1 || !Number.isSafeInteger(seed)) {
  throw new Error('Give the number of calls and a seed, such as: npm run grounding -- 100000 1')
}

if (process.argv.includes('--cost')) await printCost()
else await printCounts()

async function printCounts(): Promise<void> {
  const started = performance.now()
  const judged: JudgedSlot[] = []
  const ends = { executed: 0, asked: 0, refused: 0 }
  const advice = { given: 0, wrong: [] as string[] }
  for (let at = 0; at < calls; at++) {
    const { end, slots, advised, misled } = await tryCall(seed * 1_000_000 + at)
    ends[end]++
    advice.given += advised
    advice.wrong.push(...misled)
    judged.push(...slots, ...(at % 4 === 0 ? [await tryPart(seed * 1_000_000 + at)] : []))
    if (at % 5000 === 4999) process.stderr.write(`\r${at + 1} of ${calls}`)
  }
  process.stderr.write('\r')
  const seconds = ((performance.now() - started) / 1000).toFixed(1)
  console.log(`${calls} calls with ${judged.length} ids, seed ${seed}, ${seconds} s`)
  console.log(`executed ${ends.executed}, asked about ${ends.asked}, refused ${ends.refused}`)
  console.log(
    `refusals that name an id to use: ${advice.given}, not like what was written: ${advice.wrong.length}\n`,
  )
  const heads = ['ids', 'allowed', 'to ask', 'not allowed but executed', 'allowed but refused', 'asked amiss']
  const widths = [9, 9, 9, 26, 21, 13]
  const line = (cells: readonly (string | number)[]): string =>
    cells.map((cell, at) => String(cell).padStart(widths[at] ?? 9)).join('')
  console.log(`${'what the model wrote'.padEnd(26)}${line(heads)}`)
  const rows = tally(judged)
  for (const { way, count, allowed, toAsk, leaked, blocked, misasked } of rows)
    console.log(`${way.padEnd(26)}${line([count, allowed, toAsk, leaked, blocked, misasked])}`)
  if (process.argv.includes('--stories'))
    for (const { wanted, got, story } of judged) if (story) console.log(`\n[${wanted}, got ${got}] ${story}`)
  if (process.argv.includes('--stories')) for (const story of advice.wrong) console.log(`\n[advice] ${story}`)
  const isWrong = rows.some(({ leaked, blocked, misasked }) => leaked + blocked + misasked > 0)
  if (isWrong || advice.wrong.length > 0) process.exitCode = 1
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
