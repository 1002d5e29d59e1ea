/** The request to stop a driver, as signals for its loop. */

export class StopRequest {
  #how: 'pause' | 'release' | undefined
  #stopping = new AbortController()
  /** Of the newest loop. */
  #releasing = new AbortController()

  get how(): 'pause' | 'release' | undefined {
    return this.#how
  }

  /** Undefined: no stop. */
  set(how: 'pause' | 'release' | undefined): void {
    this.#how = how
    if (how === undefined) this.#stopping = new AbortController()
    else this.#stopping.abort()
    if (how === 'release') this.#releasing.abort()
  }

  /** The signals for a new loop. */
  signals(): { readonly stopping: AbortSignal; readonly releasing: AbortSignal } {
    this.#releasing = new AbortController()
    return { stopping: this.#stopping.signal, releasing: this.#releasing.signal }
  }
}
