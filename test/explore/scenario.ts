/**
 * What an exploration is made of: a scenario sets up a world of processes, and everything a process does to that world
 * goes through its port, where the explorer decides what happens next. These are the words; `stage.ts` plays one
 * schedule, `explore.ts` plays them all. Nothing here knows stores, agents or conversations.
 */
import type { Clock } from '../../src/base/index.ts'

export interface Scenario {
  readonly name: string
  readonly faults?: Faults
  /** A fresh world, the same one every time: ids count, the clock stands, nothing is random. */
  readonly setup: (stage: Stage) => World | Promise<World>
}

/** How often each fault may happen on one path. 0 if not given. */
export interface Faults {
  /** A process dies: before its operation, or after it was done and before it hears of it. */
  readonly crash?: number
  /** An operation fails and its caller cannot know whether it was done; both are tried. */
  readonly ambiguous?: number
  /** As `ambiguous`, but the operation is still on its way and may be done at any later moment, or never. */
  readonly stray?: number
  /** An operation is done, but its answer arrives later. */
  readonly unheard?: number
}

export interface World {
  readonly processes: readonly Process[]
  /** What may happen around the processes, such as time passing. */
  readonly moves?: readonly Move[]
  /** What processes can read without an operation. */
  readonly clock?: Clock
  /** Everything that is shared or durable, as text. Two moments with the same text must have the same future. */
  readonly state: () => string | Promise<string>
  readonly died?: (process: string) => void
  /** Looks at each new state; reports with `Stage.violate`. */
  readonly check?: () => void | Promise<void>
  /** Looks at the end of each path, when all processes have ended or died. May use the world up. */
  readonly finish?: () => void | Promise<void>
  readonly close?: () => void | Promise<void>
}

export interface Process {
  readonly name: string
  /** Runs at once up to its first operation. Whatever it waits for must be an operation of its port. */
  readonly run: (port: Port) => Promise<unknown>
}

export interface Move {
  readonly label: string
  readonly times: number
  readonly run: () => void
}

/** A process's only way to the world. */
export interface Port {
  readonly process: string
  /** A scheduling point: waits until the explorer lets the operation happen, or fail. Several may wait at once. */
  point<T>(operation: Operation<T>): Promise<T>
}

export interface Operation<T> {
  /** One line of a schedule. Must be the same on every run. */
  readonly label: string
  readonly perform: () => T | Promise<T>
  /** It changes nothing but what the process knows, so being done unheard is the same as not being done. */
  readonly reads?: true
  /** Nothing else happens between this and the next operation of the process. */
  readonly joined?: boolean
  /** What the caller gets when its fate is unknown. Without it the operation is never ambiguous. */
  readonly ambiguous?: () => Error
  /** Nobody survives this one. The death is not counted as a fault. */
  readonly deadly?: true
  /** The answer in a few words, for people who read a schedule. */
  readonly tell?: (answer: T) => string
}

/** What a world may ask of the explorer while it is being played. */
export interface Stage {
  /** A known beginning is being repeated: checks that only look may be left out. */
  readonly replaying: boolean
  /** This must not happen. Checks of a single step belong into the operation that makes it. */
  violate(rule: string, message: string): void
  status(process: string): ProcessStatus
}

export type ProcessStatus = 'running' | 'ended' | 'dead'

export interface Violation {
  readonly rule: string
  readonly message: string
  /** The steps that lead there; `replay` takes them. */
  readonly schedule: readonly string[]
}

export interface Report {
  readonly scenario: string
  readonly states: number
  readonly transitions: number
  /** Schedules played to their end. */
  readonly paths: number
  /** Schedules cut because they came to a state seen before. */
  readonly pruned: number
  readonly longest: number
  /** False when a cap was met: then the absence of violations proves nothing about the rest. */
  readonly exhaustive: boolean
  readonly violations: readonly Violation[]
  readonly seconds: number
}
