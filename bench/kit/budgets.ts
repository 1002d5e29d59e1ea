/**
 * The budgets of `npm run bench`: the upper or lower limit of each ratio. All of them are here, so that a change of a
 * promise is a change of this file.
 */
import type { Budget } from './result.ts'

type Sync = 'FULL' | 'NORMAL'

/**
 * The guard fails on a ratio that misses its budget by this factor, several times in a row: noise does not explain that.
 * It is wide because ratios with `FULL` differ between machines; why they do is not known.
 */
export const GUARD_MARGIN = 2.5

/** The most that `import 'holdfast'` may add to the start of a process, in milliseconds. */
export const IMPORT_MS = 60

/** The durable part of a turn, against rows that are written by hand. */
export const TURN: Readonly<Record<Sync, Budget>> = { FULL: { atMost: 2 }, NORMAL: { atMost: 5 } }

/** A whole turn of an agent, against a loop that is written by hand. */
export const AGENT: Readonly<Record<Sync | 'memory' | 'fifty', Budget>> = {
  FULL: { atMost: 2.3 },
  NORMAL: { atMost: 4.9 },
  memory: { atMost: 32 },
  fifty: { atMost: 2.6 },
}

/** The same at turn 10,000, against an early one. */
export const AGENT_LENGTH: Readonly<Record<'turn' | 'start', Budget>> = {
  turn: { atMost: 1.2 },
  start: { atMost: 5 },
}

/** A turn with logs, against a quiet one. */
export const LOGS: Readonly<Record<'on' | 'hooked' | 'off', Budget>> = {
  on: { atMost: 1.3 },
  hooked: { atMost: 1.3 },
  off: { atMost: 1.02 },
}

/** Appends a second of 100 conversations at once, against one. */
export const GROUP: Readonly<Record<Sync, Budget | undefined>> = { FULL: { atLeast: 5 }, NORMAL: undefined }

/** Appends at turn 10,000, against an early one. */
export const LENGTH: Budget = { atMost: 1.2 }

/** Loading a conversation of 10,000 turns, against one of 10. */
export const START: Budget = { atMost: 5 }

/** Bytes stored, against bytes said. */
export const BYTES: Budget = { atMost: 3 }

/** A message over A2A with NORMAL, streamed or not, against a sample that keeps its tasks in memory. */
export const A2A: Budget = { atMost: 2 }

/** A call that is guarded with 10,000 ids, against 100. */
export const GROUNDING: Budget = { atMost: 1.5 }

/**
 * Importing the package: against `IMPORT_MS`; for slower machines, in starts of bare Node, which took 24 to 30 ms where
 * the milliseconds were chosen; and against the AI SDK.
 */
export const IMPORT: Readonly<Record<'added' | 'starts' | 'peer', Budget>> = {
  added: { atMost: 1 },
  starts: { atMost: 2.5 },
  peer: { atMost: 1 },
}

/**
 * The tools on a repository of 10,000 files: each against the program that people use for it, and the peak memory of a
 * process that calls all of them, against one that only loads them. On a busy machine list_files took 3 to 47 times, and
 * definitions 0.8 to 3.5 times as long: they wait for many small reads.
 */
export const TOOLBOX: Readonly<Record<'list' | 'few' | 'many' | 'definitions' | 'memory', Budget>> = {
  list: { atMost: 60 },
  few: { atMost: 2.5 },
  many: { atMost: 6 },
  definitions: { atMost: 6 },
  memory: { atMost: 2.5 },
}

/**
 * The corpus against a plain FTS5 table. add() also cuts, hashes and stores the passages; search() counts each word for its
 * score. Measured on two busy cores: 0.4, 1.1, 1.5 and 1.0.
 */
export const CORPUS: Readonly<Record<'add' | 'size' | 'search' | 'memory', Budget>> = {
  add: { atLeast: 0.2 },
  size: { atMost: 1.5 },
  search: { atMost: 3 },
  memory: { atMost: 1.5 },
}
