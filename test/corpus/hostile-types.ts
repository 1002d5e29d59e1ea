/** A hostile document, and the things that it tries to reach. */

export interface HostileWorld {
  /** An address of this machine that counts connections. */
  readonly url: string
  /** A file that no document may bring into the corpus. */
  readonly secretFile: string
}

export interface HostileDocument {
  /** Its name, with the ending of its format. */
  readonly source: string
  readonly bytes: () => string | Uint8Array
  /** The accepted outcomes: codes of skipped documents, or `read`. None: any. */
  readonly codes: readonly string[]
  /** Ended by the limit of time, or by a lot of memory: not in the tests. */
  readonly isSlow?: true
}
