/** Deterministic ids: a counter. */
import type { Ids } from '../base/index.ts'

export class CountingIds implements Ids {
  readonly #counts = new Map<string, number>()

  next(prefix: string): string {
    const count = (this.#counts.get(prefix) ?? 0) + 1
    this.#counts.set(prefix, count)
    return `${prefix}_${count}`
  }
}
