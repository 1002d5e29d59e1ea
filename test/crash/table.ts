/** What was found, counted for each conversation, and as a table. */
import type { Found } from './trial.ts'
import type { Wrongs } from './verdict.ts'

export interface Row {
  readonly name: string
  /** Kills that were tried at a point of their own, and hit it. */
  points: number
  /** The same for two kills, one after the other. */
  pairs: number
  /** Points that were not reached this time, so that nobody was killed. */
  missed: number
  lost: number
  second: number
  illegal: number
  open: number
  other: number
  unknown: number
  /** Lines of records that a kill cut off. */
  torn: number
  seconds: number
}

const COUNTED = ['lost', 'second', 'illegal', 'open', 'other'] as const satisfies readonly (keyof Wrongs)[]

/** Everything that was found so far. */
export class Tally {
  readonly rows: Map<string, Row> = new Map()
  /** What is wrong, in words. */
  readonly wrongs: string[] = []

  add({ conversation, killed, verdict, torn, seconds }: Found, wanted = 1): void {
    const row = this.#row(conversation)
    if (killed === 0 || killed < wanted) row.missed += 1
    else if (wanted > 1) row.pairs += 1
    else row.points += 1
    for (const name of COUNTED) {
      row[name] += verdict.wrongs[name].length
      this.wrongs.push(...verdict.wrongs[name].map((what) => `${name}: ${conversation}: ${what}`))
    }
    row.unknown += verdict.unknown
    row.torn += torn
    row.seconds += seconds
  }

  get total(): Row {
    return [...this.rows.values()].reduce((sum, row) => together(sum, row), emptyRow('all together'))
  }

  #row(name: string): Row {
    const row = this.rows.get(name) ?? emptyRow(name)
    this.rows.set(name, row)
    return row
  }
}

function emptyRow(name: string): Row {
  const zero = {
    points: 0,
    pairs: 0,
    missed: 0,
    lost: 0,
    second: 0,
    illegal: 0,
    open: 0,
    other: 0,
    unknown: 0,
    torn: 0,
  }
  return { name, ...zero, seconds: 0 }
}

function together(a: Row, b: Row): Row {
  const sum = { ...a }
  for (const { field } of COLUMNS) sum[field] += b[field]
  return sum
}

const COLUMNS = [
  { field: 'points', heading: 'points' },
  { field: 'pairs', heading: 'pairs' },
  { field: 'missed', heading: 'not reached' },
  { field: 'lost', heading: 'lost' },
  { field: 'second', heading: 'second effects' },
  { field: 'illegal', heading: 'illegal' },
  { field: 'open', heading: 'without outcome' },
  { field: 'other', heading: 'other' },
  { field: 'unknown', heading: 'unknown (allowed)' },
  { field: 'torn', heading: 'torn records (allowed)' },
  { field: 'seconds', heading: 'seconds' },
] as const satisfies readonly { readonly field: keyof Row; readonly heading: string }[]

/** @param points what a kill was aimed at */
export function tableOf(tally: Tally, points = 'points'): string {
  const rows = [...tally.rows.values(), tally.total]
  const widest = Math.max(...rows.map(({ name }) => name.length))
  const line = (name: string, cells: readonly string[]) =>
    name.padEnd(widest) +
    cells.map((cell, at) => `  ${cell.padStart(COLUMNS[at]?.heading.length ?? 0)}`).join('')
  return [
    line(
      'conversation',
      COLUMNS.map(({ heading }) => (heading === 'points' ? points : heading)),
    ),
    ...rows.map((row) =>
      line(
        row.name,
        COLUMNS.map(({ field }) => (field === 'seconds' ? row.seconds.toFixed(1) : String(row[field]))),
      ),
    ),
  ].join('\n')
}
