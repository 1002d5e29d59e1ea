/** The stop of a driver, when it was requested: signals for its loop, and the release of its turn. */
import { SHUTDOWN_RELEASE } from '../journal/index.ts'
import type { EntryData } from '../protocol/index.ts'

export class DriverStop {
  #how: 'pause' | 'release' | undefined
  #stopping = new AbortController()
  #release: AbortController | undefined

  get how(): 'pause' | 'release' | undefined {
    return this.#how
  }

  /** The entry that releases the open turn; undefined: no stop. */
  get release(): EntryData['release'] | undefined {
    if (this.#how === 'pause') return { reason: 'pause', pause: true }
    return this.#how && { reason: SHUTDOWN_RELEASE }
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

  /** The controller of a new loop, which this stop aborts instead of the one before. */
  newRelease(): AbortController {
    this.#release = new AbortController()
    return this.#release
  }
}
