/** The types of a case's report. Cases fill them in; printing, JSON and the guard only read them. */
import { ratioOf, type Spread, spreadOf } from './measure.ts'

export interface Case {
  /** Its name for `--only`. */
  readonly name: string
  readonly title: string
  readonly measured: string
  readonly notMeasured: string
  readonly run: (lab: Lab) => Promise<readonly Row[]>
}

/** The environment of a case. */
export interface Lab {
  /** A short run keeps the ratios honest and the figures rough; it is what the guard uses. */
  readonly short: boolean
  /** How long one comparison may take. */
  readonly seconds: number
  /** A path for a new file, in a folder that goes away when the run ends. */
  readonly path: (name: string) => string
}

export interface Row {
  readonly what: string
  readonly unit: string
  /** The baseline, by name and figure. */
  readonly baseline?: Figure
  readonly subject: Figure
  readonly ratio?: Spread
  readonly budget?: Budget
  /** The same in every run on every machine, so the guard needs no margin. */
  readonly exact?: true
}

export interface Figure {
  readonly name: string
  readonly spread: Spread
}

/** The limit of the ratio. */
export type Budget = { readonly atMost: number } | { readonly atLeast: number }

interface Comparison {
  readonly what: string
  readonly unit: string
  readonly baseline: readonly [name: string, figures: readonly number[]]
  readonly subject: readonly [name: string, figures: readonly number[]]
  readonly budget?: Budget | undefined
}

export function compare({ what, unit, baseline, subject, budget }: Comparison): Row {
  return {
    what,
    unit,
    baseline: { name: baseline[0], spread: spreadOf(baseline[1]) },
    subject: { name: subject[0], spread: spreadOf(subject[1]) },
    ratio: ratioOf(subject[1], baseline[1]),
    ...(budget === undefined ? {} : { budget }),
  }
}

/** True if the ratio is within its budget, widened by a factor, or if there is no budget. */
export function isWithin({ ratio, budget }: Row, margin: number = 1): boolean {
  if (ratio === undefined || budget === undefined) return true
  return 'atMost' in budget ? ratio.median <= budget.atMost * margin : ratio.median >= budget.atLeast / margin
}

export function budgetText(budget: Budget, margin: number = 1): string {
  return 'atMost' in budget ? `<= ${plain(budget.atMost * margin)}x` : `>= ${plain(budget.atLeast / margin)}x`
}

function plain(value: number): string {
  return String(Math.round(value * 100) / 100)
}
