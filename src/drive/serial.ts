/** Runs work one after the other, in the order of the calls. Without work under way, it starts in the same tick. */
export class Serial {
  #last: Promise<unknown> | undefined

  get isIdle(): boolean {
    return this.#last === undefined
  }

  run<T>(work: () => Promise<T>): Promise<T> {
    const running = this.#last === undefined ? work() : this.#last.then(work, work)
    this.#last = running
    const forget = (): void => {
      if (this.#last === running) this.#last = undefined
    }
    running.then(forget, forget)
    return running
  }
}
