/** One run of the work on new storage, and its measurements. */
import { copyFileSync, existsSync, rmSync, statSync } from 'node:fs'
import { checkState, type Engine, type StorageOptions, THREAD, type Work } from './work.ts'

export interface Figures {
  /** µs of one step: around the tenth, up to the last, and on the average of all. */
  readonly early: number
  readonly late: number
  readonly mean: number
  /** On disk, when it is closed; only of a run without one before it. */
  readonly bytes?: number
  /** ms to open what was left, and to have its state: after the last step, and cut off in the middle of it. */
  readonly loadEnded?: number
  readonly loadCutOff?: number
}

export interface Trial {
  readonly engine: Engine
  readonly place: StorageOptions
  readonly work: Work
  readonly steps: number
  /** Is a step on disk before the next one begins? Only then is it known what is left of a run that was cut off. */
  readonly isCareful: boolean
}

/** So many steps are timed together. */
const STRETCH = 10
/** So many are taken before, in a conversation of their own: a new file and cold code make the first ones slow. */
const WARM_UP = 100

export async function play(trial: Trial, isWarm: boolean): Promise<Figures> {
  const { engine, place, work, steps } = trial
  const stamps: number[] = []
  const seat = engine.open(place)
  if (isWarm) await seat.run({ work, steps: WARM_UP, begins: () => {}, thread: 'before' })
  const begins = (step: number) => {
    stamps[step] = performance.now()
    if (step === steps && trial.isCareful && place.path !== undefined) copyDatabase(place.path)
  }
  checkState(await seat.run({ work, steps, begins, thread: THREAD }), steps, engine.name)
  await seat.close()
  const micros = (from: number, to: number) =>
    (1000 * ((stamps[to] ?? Number.NaN) - (stamps[from] ?? Number.NaN))) / (to - from)
  return {
    early: micros(5, 5 + STRETCH),
    late: micros(steps - STRETCH, steps),
    mean: micros(1, steps),
    ...(place.path === undefined ? {} : await left(trial, place.path, isWarm)),
  }
}

async function left(trial: Trial, path: string, isWarm: boolean): Promise<Partial<Figures>> {
  const bytes = isWarm ? undefined : sizeOf(path)
  const loadEnded = await loadTime(trial, path, trial.steps)
  const loadCutOff = trial.isCareful ? await loadTime(trial, copyOf(path), trial.steps - 1) : undefined
  for (const file of [path, copyOf(path)]) removeDatabase(file)
  return {
    loadEnded,
    ...(bytes === undefined ? {} : { bytes }),
    ...(loadCutOff === undefined ? {} : { loadCutOff }),
  }
}

/** With new objects, in this process. */
async function loadTime({ engine, place, work }: Trial, path: string, steps: number): Promise<number> {
  const start = performance.now()
  const seat = engine.open({ ...place, path })
  const state = await seat.load(work)
  const took = performance.now() - start
  checkState(state, steps, engine.name)
  await seat.close()
  return took
}

const copyOf = (path: string): string => path.replace(/\.db$/, '-cut.db')

/** As a kill would leave it: nobody has a chance to tidy up. */
function copyDatabase(path: string): void {
  for (const end of ['', '-wal']) if (existsSync(path + end)) copyFileSync(path + end, copyOf(path) + end)
}

function removeDatabase(path: string): void {
  for (const end of ['', '-wal', '-shm']) rmSync(path + end, { force: true })
}

function sizeOf(path: string): number {
  return ['', '-wal'].reduce((sum, end) => sum + (existsSync(path + end) ? statSync(path + end).size : 0), 0)
}
