/**
 * The connection to the file of a corpus. It is replaced when another file is at the path, and one that reads the file as
 * immutable also when the file has changed.
 */
import type { DatabaseSync } from './node-sqlite.ts'
import { fileIdentity, fileState, type OpenedCorpus, type OpenOptions, openCorpus } from './open-corpus.ts'

export interface CorpusFileOptions extends OpenOptions {
  /** Called with each new connection. */
  readonly onOpen: (db: DatabaseSync) => void
}

export class CorpusFile {
  readonly #path: string
  readonly #options: CorpusFileOptions
  #opened: OpenedCorpus
  /** Of the file that is open: SQLite goes on with a file that has lost its name. */
  #identity: string | undefined

  constructor(path: string, options: CorpusFileOptions) {
    this.#path = path
    this.#options = options
    this.#opened = this.#open()
  }

  /** Runs `work` again if an immutable file has changed meanwhile: it may have read parts of two states. */
  use<T>(work: (db: DatabaseSync) => T): T {
    for (;;) {
      this.#renew()
      const { db, state } = this.#opened
      if (state === undefined) return work(db)
      const read = resultOf(() => work(db))
      if (fileState(this.#path) === state) return read()
    }
  }

  close(): void {
    this.#opened.db.close()
  }

  /** Opened before the other is closed, so that a file that cannot be opened leaves the old one in use. */
  #renew(): void {
    const { db, state } = this.#opened
    const identity = fileIdentity(this.#path)
    const isSame = identity === undefined || identity === this.#identity
    if (isSame && (state === undefined || fileState(this.#path) === state)) return
    this.#opened = this.#open()
    db.close()
  }

  #open(): OpenedCorpus {
    const opened = openCorpus(this.#path, this.#options)
    this.#identity = fileIdentity(this.#path)
    this.#options.onOpen(opened.db)
    return opened
  }
}

/** A function that returns the result of `work`, or throws its error. */
function resultOf<T>(work: () => T): () => T {
  try {
    const result = work()
    return () => result
  } catch (error) {
    return () => {
      throw error
    }
  }
}
