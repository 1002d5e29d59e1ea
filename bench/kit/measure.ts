/**
 * Measures on a noisy machine: contestants alternate in short rounds, so that a slow moment slows them all, and the report
 * is the median of many rounds with its quartiles. It knows nothing of the work.
 */

export interface Spread {
  readonly median: number
  /** First and third quartile. */
  readonly low: number
  readonly high: number
  readonly rounds: number
}

/** One round of something, and what came out of it in whatever unit the caller reports. */
export type Contestant = () => number | Promise<number>

export interface Effort {
  readonly rounds: number
  /** Fewer rounds, but at least three, if they would take longer: a slow disk must not make a run endless. */
  readonly seconds: number
}

/** Each contestant's figure of every round. One round before them warms up and is thrown away. */
export async function interleave<Name extends string>(
  { rounds, seconds }: Effort,
  contestants: Readonly<Record<Name, Contestant>>,
): Promise<Record<Name, number[]>> {
  const deadline = performance.now() + seconds * 1000
  const names = Object.keys(contestants) as Name[]
  const figures = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<Name, number[]>
  for (let round = -1; round < rounds && (round < 3 || performance.now() < deadline); round++) {
    // The second finds other caches than the first, so they swap.
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const figure = await contestants[name]()
      if (round >= 0) figures[name].push(figure)
    }
  }
  return figures
}

export function spreadOf(figures: readonly number[]): Spread {
  const sorted = figures.toSorted((a, b) => a - b)
  return {
    median: quantile(sorted, 0.5),
    low: quantile(sorted, 0.25),
    high: quantile(sorted, 0.75),
    rounds: sorted.length,
  }
}

/** Round by round, so that a slow moment of the machine cancels out. */
export function ratioOf(figures: readonly number[], against: readonly number[]): Spread {
  return spreadOf(figures.map((figure, round) => figure / (against[round] ?? Number.NaN)))
}

export function quantile(sorted: readonly number[], share: number): number {
  const place = (sorted.length - 1) * share
  const [below = Number.NaN, above = below] = [sorted[Math.floor(place)], sorted[Math.ceil(place)]]
  return below + (above - below) * (place % 1)
}

/** Milliseconds that one run takes, over `times` runs in a row. */
export async function millisOf(times: number, run: (time: number) => unknown): Promise<number> {
  const start = performance.now()
  for (let time = 0; time < times; time++) await run(time)
  return (performance.now() - start) / times
}
