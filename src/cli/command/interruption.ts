/** Signals to a running turn: SIGINT cancels it, SIGTERM pauses or leaves it. */
import type { Agent, Turn } from 'holdfast'
import { EXIT } from '../exit-code.ts'

/** The grace time of running effects. */
const GRACE_MS = 10_000

export type Parking = 'paused' | 'left'

/**
 * Pauses the turn between two effects, so that any process can resume it. `left`: the grace time ended first; the turn
 * stays open, and the next process resumes it.
 */
export async function park(agent: Pick<Agent, 'pause'>, graceMs: number = GRACE_MS): Promise<Parking> {
  const over = Promise.withResolvers<Parking>()
  const timer = setTimeout(() => over.resolve('left'), graceMs)
  const paused = agent.pause().then(
    (): Parking => 'paused',
    (): Parking => 'left',
  )
  const result = await Promise.race([paused, over.promise])
  clearTimeout(timer)
  return result
}

export interface Interrupted {
  readonly signal: 'SIGTERM' | 'SIGHUP'
  readonly parking: Parking
}

export interface Watch {
  /** Resolves when a signal has ended the process's work and the turn is parked; never otherwise. */
  readonly parked: Promise<Interrupted>
  stop(): void
}

/**
 * Ends the process at SIGTERM and SIGHUP, after `leave`, until the returned function is called. The journal has
 * everything: the next process resumes from it.
 */
export function endAtSignals(leave: (exitCode: number) => void = () => {}): () => void {
  const end = (signal: 'SIGTERM' | 'SIGHUP') => {
    const exitCode = signal === 'SIGTERM' ? EXIT.terminated : EXIT.hungUp
    leave(exitCode)
    process.exit(exitCode)
  }
  process.once('SIGTERM', end).once('SIGHUP', end)
  return () => void process.off('SIGTERM', end).off('SIGHUP', end)
}

/** Directs signals to this turn. A second Ctrl-C ends the process at once. */
export function watchSignals(agent: Agent, turn: Turn): Watch {
  const { promise, resolve } = Promise.withResolvers<Interrupted>()
  let isCancelled = false
  const cancel = () => {
    if (isCancelled) process.exit(EXIT.cancelled)
    isCancelled = true
    turn.cancel('Ctrl-C').catch(() => {})
  }
  const end = (signal: 'SIGTERM' | 'SIGHUP') =>
    void park(agent).then((parking) => resolve({ signal, parking }))
  process.on('SIGINT', cancel).once('SIGTERM', end).once('SIGHUP', end)
  return {
    parked: promise,
    stop: () => void process.off('SIGINT', cancel).off('SIGTERM', end).off('SIGHUP', end),
  }
}
