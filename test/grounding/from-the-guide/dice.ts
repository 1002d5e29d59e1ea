/** Seeded randomness for generated conversations: the same seed gives the same case. */
export class Dice {
  #state: number

  constructor(seed: number) {
    this.#state = (seed * 2_654_435_761) >>> 0
    for (let at = 0; at < 4; at++) this.#next()
  }

  /** From 0 to `below` - 1. */
  int(below: number): number {
    return Math.floor(this.#next() * below)
  }

  between(least: number, most: number): number {
    return least + this.int(most - least + 1)
  }

  chance(probability: number): boolean {
    return this.#next() < probability
  }

  pick<T>(list: readonly T[]): T {
    const picked = list[this.int(list.length)]
    if (picked === undefined) throw new Error('Nothing to pick from.')
    return picked
  }

  shuffle<T>(list: readonly T[]): T[] {
    const mixed = [...list]
    for (let at = mixed.length - 1; at > 0; at--) {
      const other = this.int(at + 1)
      const kept = mixed[at] as T
      mixed[at] = mixed[other] as T
      mixed[other] = kept
    }
    return mixed
  }

  text(letters: string, length: number): string {
    let text = ''
    for (let at = 0; at < length; at++) text += letters[this.int(letters.length)]
    return text
  }

  /** Mulberry32. */
  #next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = this.#state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
