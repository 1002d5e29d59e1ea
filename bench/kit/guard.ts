/**
 * The guard of the budgets in CI. It fails on a ratio that misses its budget by `GUARD_MARGIN`, several times in a row,
 * which noise does not explain. Exact figures get no such margin.
 */
import { styleText } from 'node:util'
import { GUARD_MARGIN } from './budgets.ts'
import { budgetText, type Case, isWithin, type Lab, type Row } from './result.ts'
import { digits } from './table.ts'

const ATTEMPTS = 3

/** True if every budget holds. Prints its findings. */
export async function guard(cases: readonly Case[], lab: Lab): Promise<boolean> {
  const missed: string[] = []
  for (const item of cases) {
    let failed = await failures(item, lab)
    for (let attempt = 2; attempt <= ATTEMPTS && failed.length > 0; attempt++) {
      const again = await failures(item, lab)
      failed = failed.filter(({ what }) => again.some((row) => row.what === what))
    }
    missed.push(...failed.map((row) => `${item.name}: ${rowText(row)}`))
  }
  for (const line of missed)
    console.error(
      styleText('red', `Over budget in ${ATTEMPTS} attempts: ${line}`, { stream: process.stderr }),
    )
  return missed.length === 0
}

async function failures(item: Case, lab: Lab): Promise<Row[]> {
  const started = performance.now()
  const rows = (await item.run(lab)).filter(({ budget }) => budget !== undefined)
  const seconds = ((performance.now() - started) / 1000).toFixed(1)
  const failed = rows.filter((row) => !isWithin(row, marginOf(row)))
  for (const row of rows) {
    const mark = failed.includes(row) ? styleText('red', 'OVER') : styleText('green', 'ok  ')
    console.log(`${mark} ${item.name.padEnd(12)} ${rowText(row)}   ${styleText('dim', `${seconds} s`)}`)
  }
  return failed
}

function rowText(row: Row): string {
  const { what, ratio, budget } = row
  if (ratio === undefined || budget === undefined) return what
  const limits = `budget ${budgetText(budget)}, guarded at ${budgetText(budget, marginOf(row))}`
  return `${what}: ${digits(ratio.median)}x; ${limits}`
}

function marginOf({ exact }: Row): number {
  return exact === true ? 1 : GUARD_MARGIN
}
