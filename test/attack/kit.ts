/** What the attacks share: patience with what may never come, and a model that takes its time. */
import type { ScriptedStep } from '../../src/testing/scripted-model.ts'
import { PATIENCE_MS } from '../patience.ts'
import { type Bench, type BenchOptions, bench, gate, journal, until } from '../turn/kit.ts'

export function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

/** What comes of it, however slow the machine is; `never` for what hangs. */
export function soon<T>(promise: Promise<T>): Promise<T | 'never'> {
  const never = new Promise<'never'>((resolve) => setTimeout(resolve, PATIENCE_MS, 'never').unref())
  return Promise.race([promise, never])
}

export interface SlowBench extends Bench {
  readonly isAsked: () => Promise<void>
  /** Lets the model say what it has to say. */
  readonly answer: () => void
  /** The answer comes to somebody who is about to let go of the turn. */
  readonly pauseMeanwhile: () => Promise<void>
}

/** A model that says this first, but not before it may, and is done after it. */
export function slowBench(first: ScriptedStep, config: BenchOptions = {}): SlowBench {
  const held = gate()
  const made = bench({ script: [() => held.promise.then(() => first), 'Done'], ...config })
  const isAsked = () =>
    until('the model is asked', async () =>
      (await journal(made.store)).some((line) => line.includes('model.start')),
    )
  const pauseMeanwhile = async () => {
    await isAsked()
    const pausing = made.agent.pause()
    held.resolve()
    await pausing
  }
  return { ...made, isAsked, answer: () => held.resolve(), pauseMeanwhile }
}
