/** The request to stop a driver, as signals for its loop. */

export class StopRequest {
  #how: 'pause' | 'release' | undefined
  #stopping = new AbortController()
  #release: AbortController | undefined

  get how(): 'pause' | 'release' | undefined {
    return this.#how
  }

  /** Undefined: no stop. */
  set(how: 'pause' | 'release' | undefined): void {
    this.#how = how
    if (how === undefined) this.#stopping = new AbortController()
    else this.#stopping.abort()
    if (how === 'release') this.#release?.abort()
  }

  /** Aborts when the driver is to stop, however. */
  get stopping(): AbortSignal {
    return this.#stopping.signal
  }

  /** The controller of a new loop, which this request aborts instead of the one before. */
  newRelease(): AbortController {
    this.#release = new AbortController()
    return this.#release
  }
}
