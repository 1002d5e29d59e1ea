/**
 * One open SQLite file: prepared statements, reads that retry on a lock, and group commit (R5).
 *
 * Writes that arrive together share one transaction and so one sync to disk. G1: a refused write undoes no other. G2:
 * no result, good or bad, is reported before the commit, because the basis of a refusal may itself not become durable.
 * G3: waiting for another process's lock never blocks the event loop for more than a few milliseconds. G4: with `FULL`,
 * no commit is reported that went into files which were removed or replaced. G5: no commit is written, and no log
 * deleted, without the write lock that other processes see; for a commit, a look of the last millisecond suffices.
 */

import type { StatementSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { HoldfastError } from '../../protocol/index.ts'
import { FileIdentity } from './file-identity.ts'
import { DatabaseSync } from './node-sqlite.ts'
import { openFile } from './open.ts'
import { checkSchema, inspectFile, MIGRATIONS, migrate } from './schema.ts'
import { Busy, isBusy, translate } from './sqlite-errors.ts'

export interface DatabaseOptions {
  readonly synchronous: 'FULL' | 'NORMAL'
  readonly readOnly: boolean
  readonly busyMs: number
  readonly maxBytes: number | undefined
}

export type Cell = null | number | string | Uint8Array

interface Job {
  /** End of the wait for another process's lock. */
  readonly deadline: number
  readonly run: () => unknown
  readonly resolve: (value: never) => void
  readonly reject: (error: unknown) => void
}

/**
 * Pages of the log from which on it is written back. Turns change the same pages repeatedly: the longer the log, the
 * fewer are copied twice, and the more an opening reads. While the log grows, the sync of a commit also stores its size.
 */
const LOG_PAGES = { FULL: 4000, NORMAL: 8000 } as const

const OPEN_WAIT_MS = 5000
const STEP_WAIT_MS = 4
const LARGEST_BATCH = 1000
const LOOK_EVERY_MS = 50
const LOOK_AT_LOCK_EVERY_MS = 1
/** The longest time that a lone writer may block the event loop. */
const LONGEST_RUN_MS = 1

export class Database {
  readonly path: string
  readonly #options: DatabaseOptions
  readonly #db: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()
  readonly #identity: FileIdentity
  #lookedAt = 0
  #lookedAtLockAt = 0
  #queue: Job[] = []
  #writes = 0
  #transaction = 0
  /** The next batch needs a savepoint for each of its jobs. */
  #withSavepoints = false
  #lastBatch = 0
  /** Time of the last yield to timers and sockets before a batch. */
  #yieldedAt = Number.NEGATIVE_INFINITY
  #flushing: Promise<void> | undefined
  #closing = false
  #undone = 0

  constructor(path: string, options: DatabaseOptions) {
    this.path = path
    this.#options = options
    this.#db = openFile(path, { ...options, waitMs: Math.min(OPEN_WAIT_MS, options.busyMs) })
    try {
      this.#prepare()
      this.#identity = new FileIdentity(path)
    } catch (error) {
      this.#db.close()
      throw translate(error, path)
    }
  }

  /** Grows with every rollback of a write: caches of it are then invalid. */
  get undone(): number {
    return this.#undone
  }

  /** Grows with every change by this process, rolled back or not. */
  get writes(): number {
    return this.#writes
  }

  /** The number of the write transaction that runs, or ran last. */
  get transaction(): number {
    return this.#transaction
  }

  get readOnly(): boolean {
    return this.#options.readOnly
  }

  /** The first row as an array of values, or undefined. */
  get(sql: string, ...values: Cell[]): Cell[] | undefined {
    return this.#statement(sql).get(...values) as Cell[] | undefined
  }

  all(sql: string, ...values: Cell[]): Cell[][] {
    return this.#statement(sql).all(...values) as unknown as Cell[][]
  }

  iterate(sql: string, ...values: Cell[]): Iterable<Cell[]> {
    return this.#statement(sql).iterate(...values) as unknown as Iterable<Cell[]>
  }

  /** Executes a statement; returns the number of changed rows. */
  run(sql: string, ...values: Cell[]): number {
    this.#writes += 1
    return this.#statement(sql).run(...values).changes as number
  }

  /** Inserts a row; returns its id. */
  insert(sql: string, ...values: Cell[]): number {
    this.#writes += 1
    return this.#statement(sql).run(...values).lastInsertRowid as number
  }

  /** Runs a function that only reads, on one consistent snapshot. */
  async read<T>(run: () => T): Promise<T> {
    this.#checkOpen()
    return this.#retryBusy(() => this.#readNow(run))
  }

  /**
   * Runs a function inside the next transaction; reports its error after the commit, its changes rolled back. The
   * function may run more than once, so it must have no effects outside of the database, and must write with `run` and
   * `insert` only.
   */
  write<T>(run: () => T): Promise<T> {
    this.#checkOpen()
    if (this.readOnly) {
      throw new HoldfastError('store-read-only', {
        message: `${this.path} was opened with readOnly; open it without to write.`,
      })
    }
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const deadline = performance.now() + this.#options.busyMs
    this.#queue.push({ deadline, run, resolve: resolve, reject })
    this.#flushing ??= this.#flushSoon()
    return promise
  }

  /** Rewrites the whole file, which clears the unused parts of its pages. Blocks for about 10 ms per MB. */
  async rewrite(): Promise<void> {
    while (this.#flushing !== undefined) await this.#flushing
    this.#checkOpen()
    await this.#retryBusy(() => {
      this.#checkLock()
      this.#db.exec('VACUUM')
    })
  }

  /** Throws if this was closed, or if its path leads to another file than the one that is open. */
  checkFile(): void {
    this.#checkOpen()
    try {
      if (!this.readOnly && !this.#isInPlace()) throw this.#replaced('Nothing was copied')
    } catch (error) {
      throw translate(error, this.path)
    }
  }

  /** Checkpoints the write-ahead log and truncates it, once no other process reads from it. */
  async emptyLog(): Promise<void> {
    this.#checkOpen()
    await this.#retryBusy(() => {
      this.#checkLock()
      const [busy] = this.get('PRAGMA wal_checkpoint(TRUNCATE)') ?? []
      if (busy !== 0) throw new Busy()
    })
  }

  get size(): number {
    const [pages, pageSize] = ['page_count', 'page_size'].map((name) => this.get(`PRAGMA ${name}`)?.[0])
    return Number(pages) * Number(pageSize)
  }

  async close(): Promise<void> {
    this.#closing = true
    while (this.#flushing !== undefined) await this.#flushing
    if (this.#db.isOpen) {
      const keeper = this.#identity.isLogForeign() ? keepLog(this.#identity.path) : undefined
      this.#db.close()
      keeper?.close()
      this.#identity.close()
    }
    this.#statements.clear()
  }

  /** Waits for the write lock in small steps; everything queued meanwhile becomes one transaction. */
  async #flushSoon(): Promise<void> {
    do {
      // Collects appends of the same tick.
      await Promise.resolve()
      if (!this.#isAlone()) await this.#gather()
      for (let attempt = 1; !this.#flush(); attempt++) await sleep(backoff(attempt))
    } while (this.#queue.length > 0)
    this.#flushing = undefined
  }

  /** A lone writer has no other to wait for, and skips the event loop for a moment. */
  #isAlone(): boolean {
    if (this.#queue.length !== 1 || this.#lastBatch !== 1) return false
    return performance.now() - this.#yieldedAt < LONGEST_RUN_MS
  }

  /**
   * Collects a batch. When an immediate runs, all writers that the last commit resumed have had a chance to append
   * again, and timers and sockets theirs.
   */
  #gather(): Promise<void> {
    return new Promise((resolve) => {
      setImmediate(() => {
        this.#yieldedAt = performance.now()
        resolve()
      })
    })
  }

  /** One transaction of the queued jobs. False if another process has the lock, and jobs are left to wait for it. */
  #flush(): boolean {
    const failure = this.#begin()
    const isLocked = failure !== undefined && isBusy(failure)
    const jobs = this.#queue.splice(0, isLocked ? this.#countLate() : LARGEST_BATCH)
    if (!isLocked) this.#lastBatch = jobs.length
    const settled = failure === undefined ? this.#commit(jobs) : this.#fail(jobs, failure)
    for (const settle of settled) settle()
    return !isLocked || this.#queue.length === 0
  }

  /** The jobs whose wait for a lock is over: the first of the queue, up to the last of them. */
  #countLate(): number {
    const now = performance.now()
    return this.#queue.findLastIndex(({ deadline }) => deadline < now) + 1
  }

  #begin(): unknown {
    try {
      this.#rollback()
      this.#statement('BEGIN IMMEDIATE').run()
      this.#transaction += 1
      if (performance.now() - this.#lookedAt < LOOK_EVERY_MS || this.#isInPlace()) return undefined
      this.#rollback()
      return this.#replaced('Nothing was written')
    } catch (error) {
      return error
    }
  }

  #commit(jobs: readonly Job[]): (() => void)[] {
    try {
      const settled = this.#withSavepoints ? jobs.map((job) => this.#runSaved(job)) : this.#runTogether(jobs)
      this.#withSavepoints = settled === undefined
      if (settled !== undefined) {
        if (performance.now() - this.#lookedAtLockAt >= LOOK_AT_LOCK_EVERY_MS) this.#checkLock()
        this.#statement('COMMIT').run()
        const failure = this.#options.synchronous === 'NORMAL' ? undefined : this.#checkCommitted()
        return failure === undefined ? settled : this.#fail(jobs, failure)
      }
      this.#undone += 1
      this.#rollback()
      this.#queue.unshift(...jobs)
      return []
    } catch (error) {
      this.#undone += 1
      this.#rollback()
      return this.#fail(jobs, error)
    }
  }

  /**
   * Runs a batch without savepoints, which make every job copy the pages that it changes: refusals nearly always
   * precede changes. Undefined if one did not; then the batch is rolled back and repeated with savepoints.
   */
  #runTogether(jobs: readonly Job[]): (() => void)[] | undefined {
    const settled: (() => void)[] = []
    for (const { run, resolve, reject } of jobs) {
      const before = this.#writes
      try {
        const value = run()
        settled.push(() => resolve(value as never))
      } catch (error) {
        // SQLite rolls back by itself on a full disk or a broken file: the whole batch has failed.
        if (!this.#db.isTransaction) throw error
        if (this.#writes > before) return undefined
        settled.push(() => reject(translate(error, this.path)))
      }
    }
    return settled
  }

  #fail(jobs: readonly Job[], error: unknown): (() => void)[] {
    const reason = translate(error, this.path)
    return jobs.map((job) => () => job.reject(reason))
  }

  /** A failed rollback is repeated before the next transaction; until then nothing of it is visible. */
  #rollback(): void {
    try {
      if (this.#db.isTransaction) this.#statement('ROLLBACK').run()
    } catch {
      // The original error is more informative.
    }
  }

  async #retryBusy<T>(run: () => T): Promise<T> {
    const deadline = performance.now() + this.#options.busyMs
    for (let attempt = 1; ; attempt++) {
      try {
        return run()
      } catch (error) {
        if (!isBusy(error) || performance.now() > deadline) throw translate(error, this.path)
      }
      await sleep(backoff(attempt))
    }
  }

  #readNow<T>(run: () => T): T {
    this.#rollback()
    this.#statement('BEGIN').run()
    try {
      return run()
    } finally {
      this.#rollback()
    }
  }

  #runSaved({ run, resolve, reject }: Job): () => void {
    this.#statement('SAVEPOINT job').run()
    try {
      const value = run()
      this.#statement('RELEASE job').run()
      return () => resolve(value as never)
    } catch (error) {
      if (!this.#db.isTransaction) throw error
      this.#undone += 1
      this.#statement('ROLLBACK TO job').run()
      this.#statement('RELEASE job').run()
      return () => reject(translate(error, this.path))
    }
  }

  #prepare(): void {
    const db = this.#db
    const { version, empty } = inspectFile(db, this.path)
    if (!this.readOnly) {
      this.#switchToLog()
      db.exec(`PRAGMA synchronous = ${this.#options.synchronous}`)
      // Overwrites freed space, so that erased data is gone from the file.
      db.exec('PRAGMA secure_delete = ON')
      db.exec('PRAGMA journal_size_limit = 67108864')
      db.exec(`PRAGMA wal_autocheckpoint = ${LOG_PAGES[this.#options.synchronous]}`)
      if (version < MIGRATIONS.length) migrate(db, this.path)
      this.#limitSize()
    } else if (empty) {
      throw new HoldfastError('not-found', {
        message: `${this.path} is empty; open it without readOnly to begin.`,
      })
    } else if (version < MIGRATIONS.length) {
      throw new HoldfastError('store-read-only', {
        message: `${this.path} has file format ${version}. Open it once without readOnly to migrate it to format ${MIGRATIONS.length}.`,
      })
    }
    checkSchema(db, this.path)
    db.exec('PRAGMA cache_size = -16384')
    db.exec('PRAGMA trusted_schema = OFF')
    db.exec(`PRAGMA busy_timeout = ${STEP_WAIT_MS}`)
  }

  /** SQLite does not wait for locks here, and several processes may be creating the file at once. */
  #switchToLog(): void {
    const deadline = performance.now() + Math.min(OPEN_WAIT_MS, this.#options.busyMs)
    for (;;) {
      try {
        this.#db.exec('PRAGMA journal_mode = WAL')
        return
      } catch (error) {
        if (!isBusy(error) || performance.now() > deadline) throw error
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, STEP_WAIT_MS)
      }
    }
  }

  #limitSize(): void {
    if (this.#options.maxBytes === undefined) return
    const pageSize = Number(this.get('PRAGMA page_size')?.[0])
    this.#db.exec(`PRAGMA max_page_count = ${Math.max(1, Math.floor(this.#options.maxBytes / pageSize))}`)
  }

  #isInPlace(): boolean {
    this.#lookedAt = Number.NEGATIVE_INFINITY
    if (!this.#identity.isInPlace()) return false
    this.#lookedAt = performance.now()
    this.#lookedAtLockAt = this.#lookedAt
    return true
  }

  /** The reason why the last commit must not be reported, if any. */
  #checkCommitted(): HoldfastError | undefined {
    try {
      return this.#isInPlace() ? undefined : this.#replaced('What was just written is lost with the old file')
    } catch (cause) {
      return new HoldfastError('ambiguous', {
        message: `${this.path} cannot be looked at any more (${(cause as Error).message}). The write may or may not be stored; repeat the call with the same id once its folder is accessible.`,
        retry: 'later',
        details: { path: this.path },
        cause,
      })
    }
  }

  #checkLock(): void {
    if (!this.#identity.isLockShared()) throw this.#replaced('Nothing was written')
    this.#lookedAtLockAt = performance.now()
  }

  #replaced(consequence: string): HoldfastError {
    return new HoldfastError('store-failed', {
      message: `${this.path}, its log or its shared memory was removed or replaced while this store had it open. ${consequence}. Close this store; look for the old file before you open the path again.`,
      details: { path: this.path },
    })
  }

  #statement(sql: string): StatementSync {
    const known = this.#statements.get(sql)
    if (known !== undefined) return known
    const statement = this.#db.prepare(sql)
    statement.setReturnArrays(true)
    this.#statements.set(sql, statement)
    return statement
  }

  #checkOpen(): void {
    if (this.#db.isOpen && !this.#closing) return
    throw new HoldfastError('store-closed', {
      message: `The store on ${this.path} was closed; open it again.`,
    })
  }
}

/** A connection that may only read is not the last to close: SQLite then leaves the log where it is. */
function keepLog(path: string): DatabaseSync {
  const keeper = new DatabaseSync(path, { readOnly: true })
  try {
    keeper.exec('SELECT 1 FROM sqlite_schema')
  } catch {
    // A store whose files cannot be read must still close.
  }
  return keeper
}

function backoff(attempt: number): number {
  return Math.random() * Math.min(20, 1 + attempt)
}
