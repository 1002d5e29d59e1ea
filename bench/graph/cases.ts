/** The comparisons: a kind of work on a kind of storage, side by side or alone. */
import { setImmediate as breathe } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { spreadOf } from '../kit/measure.ts'
import { compare, type Row } from '../kit/result.ts'
import { type Figures, play, type Trial } from './play.ts'

/** The same in both, so that whatever slows the machine down slows them both. */
export interface Match {
  readonly title: string
  readonly ours: Trial
  readonly theirs?: Trial
  readonly rounds: number
  /** A path for a new file. */
  readonly path: (name: string) => string
}

type Name = keyof Figures
type Rounds = Readonly<Record<Name, readonly number[]>>

const MEGA = 1_000_000

export async function playMatch(match: Match): Promise<Row[]> {
  const { ours, theirs } = match
  const [own, other]: [Figures[], Figures[]] = [[], []]
  const collect = garbageCollector()
  const one = async (trial: Trial | undefined, figures: Figures[], round: number) => {
    if (trial === undefined) return
    await breathe()
    collect()
    figures.push(await play(fresh(match, trial), round >= 0))
  }
  // The first round is for the compiler, and for what is on disk.
  for (let round = -1; round < match.rounds; round++) {
    const turns = [() => one(theirs, other, round), () => one(ours, own, round)]
    // The second finds other caches than the first, so they swap.
    for (const turn of round % 2 === 0 ? turns : turns.toReversed()) await turn()
  }
  return theirs === undefined
    ? aloneRows(ours, roundsOf(own))
    : matchRows(ours, roundsOf(own), { trial: theirs, rounds: roundsOf(other) })
}

function fresh({ path }: Match, trial: Trial): Trial {
  return trial.place.path === undefined
    ? trial
    : { ...trial, place: { ...trial.place, path: path('graph.db') } }
}

function matchRows(ours: Trial, own: Rounds, { trial, rounds }: { trial: Trial; rounds: Rounds }): Row[] {
  const { steps } = ours
  const row = (what: string, unit: string, name: Name): Row[] =>
    own[name].length === 0 || rounds[name].length === 0
      ? []
      : [
          compare({
            what,
            unit,
            baseline: [trial.engine.name, rounds[name]],
            subject: [ours.engine.name, own[name]],
          }),
        ]
  return [
    ...row('a step around step 10', 'µs', 'early'),
    ...row(`a step up to step ${steps}`, 'µs', 'late'),
    ...row('a step, mean of all', 'µs', 'mean'),
    ...row(`stored after ${steps} steps`, 'MB', 'bytes'),
    ...row(`load after ${steps} steps`, 'ms', 'loadEnded'),
    ...row(`load, cut off in step ${steps}`, 'ms', 'loadCutOff'),
    growth(trial, rounds),
    growth(ours, own),
  ]
}

function aloneRows(ours: Trial, own: Rounds): Row[] {
  const { name } = ours.engine
  const steps = ours.steps.toLocaleString('en-US')
  const row = (what: string, unit: string, figures: readonly number[]): Row[] =>
    figures.length === 0 ? [] : [{ what, unit, subject: { name, spread: spreadOf(figures) } }]
  return [
    growth(ours, own),
    ...row('a step, mean of all', 'µs', own.mean),
    ...row(`stored after ${steps} steps`, 'MB', own.bytes),
    ...row(`load after ${steps} steps`, 'ms', own.loadEnded),
    ...row(`load, cut off in step ${steps}`, 'ms', own.loadCutOff),
  ]
}

/** Of one and the same run. */
function growth({ engine, steps }: Trial, { early, late }: Rounds): Row {
  return compare({
    what: `a step of ${engine.name}`,
    unit: 'µs',
    baseline: ['step 10', early],
    subject: [`step ${steps.toLocaleString('en-US')}`, late],
  })
}

function roundsOf(figures: readonly Figures[]): Rounds {
  const [cold, ...warm] = figures
  const all = (name: Name) => warm.flatMap((one) => (one[name] === undefined ? [] : [one[name]]))
  return {
    early: all('early'),
    late: all('late'),
    mean: all('mean'),
    bytes: cold?.bytes === undefined ? [] : [cold.bytes / MEGA],
    loadEnded: all('loadEnded'),
    loadCutOff: all('loadCutOff'),
  }
}

/** Garbage of one must not be collected in the time of the other. */
function garbageCollector(): () => void {
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc') as () => void
}
