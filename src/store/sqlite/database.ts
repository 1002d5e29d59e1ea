/**
 * One open SQLite file: prepared statements, reads that wait politely for a lock, and group commit (R5).
 *
 * Writes that arrive together share one transaction and so one sync to disk. G1: each runs under its own savepoint, so
 * one that is refused takes nothing else with it. G2: nobody hears anything, good or bad, before the commit, because
 * what a refusal was based on may itself not become durable. G3: waiting for another process's lock never blocks the
 * event loop for more than a few milliseconds.
 */

import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { HoldfastError } from '../../protocol/index.ts'
import { inspectFile, MIGRATIONS, migrate } from './schema.ts'
import { isBusy, translate } from './trouble.ts'

export interface DatabaseOptions {
  readonly synchronous: 'FULL' | 'NORMAL'
  readonly readOnly: boolean
  /** How long to wait for other processes before giving up. */
  readonly busyMs: number
  /** Upper limit for the size of the file, if any. */
  readonly maxBytes: number | undefined
}

type Value = null | number | string | Uint8Array

interface Job {
  readonly run: () => unknown
  readonly resolve: (value: never) => void
  readonly reject: (error: unknown) => void
}

const OPEN_WAIT_MS = 5000
const STEP_WAIT_MS = 4
const LARGEST_BATCH = 1000

export class Database {
  readonly path: string
  readonly #options: DatabaseOptions
  readonly #db: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()
  #queue: Job[] = []
  #flushing: Promise<void> | undefined

  constructor(path: string, options: DatabaseOptions) {
    this.path = path
    this.#options = options
    try {
      this.#db = new DatabaseSync(path, { timeout: OPEN_WAIT_MS, readOnly: options.readOnly })
    } catch (error) {
      throw translate(error, path)
    }
    try {
      this.#prepare()
    } catch (error) {
      this.#db.close()
      throw translate(error, path)
    }
  }

  get raw(): DatabaseSync {
    return this.#db
  }

  get readOnly(): boolean {
    return this.#options.readOnly
  }

  /** The first row as an array of values, or undefined. */
  get(sql: string, ...values: Value[]): Value[] | undefined {
    return this.#statement(sql).get(...values) as Value[] | undefined
  }

  all(sql: string, ...values: Value[]): Value[][] {
    return this.#statement(sql).all(...values) as unknown as Value[][]
  }

  iterate(sql: string, ...values: Value[]): Iterable<Value[]> {
    return this.#statement(sql).iterate(...values) as unknown as Iterable<Value[]>
  }

  run(sql: string, ...values: Value[]): number {
    return Number(this.#statement(sql).run(...values).changes)
  }

  /** Runs a function that only reads. */
  async read<T>(run: () => T): Promise<T> {
    this.#checkOpen()
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

  /** Runs a function inside the next transaction; what it throws is reported after the commit, its changes undone. */
  write<T>(run: () => T): Promise<T> {
    this.#checkOpen()
    if (this.readOnly) {
      throw new HoldfastError('store-read-only', {
        message: `${this.path} was opened with readOnly; open it without to write.`,
      })
    }
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    this.#queue.push({ run, resolve: resolve, reject })
    this.#flushing ??= this.#flushSoon()
    return promise
  }

  async close(): Promise<void> {
    while (this.#flushing !== undefined) await this.#flushing
    if (this.#db.isOpen) this.#db.close()
    this.#statements.clear()
  }

  async #flushSoon(): Promise<void> {
    // By the time an immediate runs, everything that the last commit set free has had its turn to append again.
    await new Promise((resolve) => setImmediate(resolve))
    while (this.#queue.length > 0) await this.#flush()
    this.#flushing = undefined
  }

  async #flush(): Promise<void> {
    const failure = await this.#begin()
    const jobs = this.#queue.splice(0, LARGEST_BATCH)
    if (failure !== undefined) {
      for (const { reject } of jobs) reject(failure.error)
      return
    }
    const settled = this.#commit(jobs)
    for (const settle of settled) settle()
  }

  /** Takes the write lock, waiting for other processes in small steps. */
  async #begin(): Promise<{ error: unknown } | undefined> {
    const deadline = performance.now() + this.#options.busyMs
    for (let attempt = 1; ; attempt++) {
      try {
        this.#statement('BEGIN IMMEDIATE').run()
        return undefined
      } catch (error) {
        if (!isBusy(error) || performance.now() > deadline) return { error: translate(error, this.path) }
      }
      await sleep(backoff(attempt))
    }
  }

  #commit(jobs: readonly Job[]): (() => void)[] {
    try {
      const settled =
        jobs.length === 1 ? jobs.map((job) => this.#runAlone(job)) : jobs.map((job) => this.#runSaved(job))
      if (this.#db.isTransaction) this.#statement('COMMIT').run()
      return settled
    } catch (error) {
      if (this.#db.isTransaction) this.#statement('ROLLBACK').run()
      const reason = translate(error, this.path)
      return jobs.map(
        ({ reject }) =>
          () =>
            reject(reason),
      )
    }
  }

  /** The transaction is its own savepoint when there is nobody to share it with. */
  #runAlone({ run, resolve, reject }: Job): () => void {
    try {
      const value = run()
      return () => resolve(value as never)
    } catch (error) {
      if (this.#db.isTransaction) this.#statement('ROLLBACK').run()
      return () => reject(translate(error, this.path))
    }
  }

  #runSaved({ run, resolve, reject }: Job): () => void {
    this.#statement('SAVEPOINT job').run()
    try {
      const value = run()
      this.#statement('RELEASE job').run()
      return () => resolve(value as never)
    } catch (error) {
      // A full disk or a broken file rolls everything back by itself: then the whole batch has failed.
      if (!this.#db.isTransaction) throw error
      this.#statement('ROLLBACK TO job').run()
      this.#statement('RELEASE job').run()
      return () => reject(translate(error, this.path))
    }
  }

  #prepare(): void {
    const db = this.#db
    const { version, empty } = inspectFile(db, this.path)
    if (!this.readOnly) {
      db.exec('PRAGMA journal_mode = WAL')
      db.exec(`PRAGMA synchronous = ${this.#options.synchronous}`)
      // Erased means erased: freed space is overwritten.
      db.exec('PRAGMA secure_delete = ON')
      db.exec('PRAGMA journal_size_limit = 67108864')
      if (version < MIGRATIONS.length) migrate(db, this.path)
      this.#limitSize()
    } else if (empty) {
      throw new HoldfastError('not-found', {
        message: `${this.path} is empty; open it without readOnly to begin.`,
      })
    } else if (version < MIGRATIONS.length) {
      throw new HoldfastError('store-read-only', {
        message: `${this.path} has file format ${version} and must be opened for writing once to become format ${MIGRATIONS.length}.`,
      })
    }
    db.exec('PRAGMA cache_size = -16384')
    db.exec('PRAGMA trusted_schema = OFF')
    db.exec(`PRAGMA busy_timeout = ${STEP_WAIT_MS}`)
  }

  #limitSize(): void {
    if (this.#options.maxBytes === undefined) return
    const pageSize = Number(this.get('PRAGMA page_size')?.[0])
    this.#db.exec(`PRAGMA max_page_count = ${Math.max(1, Math.floor(this.#options.maxBytes / pageSize))}`)
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
    if (this.#db.isOpen) return
    throw new HoldfastError('store-closed', {
      message: `The store on ${this.path} was closed; open it again.`,
    })
  }
}

function backoff(attempt: number): number {
  return Math.random() * Math.min(20, 1 + attempt)
}
