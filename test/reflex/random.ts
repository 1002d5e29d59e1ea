/** Chance that repeats itself, and words that mean nothing. */

export class Random {
  #state: number
  readonly #made = new Set<string>()

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  below(count: number): number {
    return Math.floor(this.next() * count)
  }

  between(low: number, high: number): number {
    return low + this.below(high - low + 1)
  }

  chance(share: number): boolean {
    return this.next() < share
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T
  }

  shuffle<T>(list: readonly T[]): T[] {
    const rest = [...list]
    return list.map(() => rest.splice(this.below(rest.length), 1)[0] as T)
  }

  /** A word that can be said and is in no dictionary, never the same twice. */
  word(): string {
    for (;;) {
      const middle = this.chance(0.4) ? this.pick(VOWELS) + this.pick(MIDDLES) : ''
      const made = this.pick(STARTS) + middle + this.pick(VOWELS) + this.pick(ENDS)
      if (this.#made.has(made.slice(0, 4)) || made.length < 5) continue
      this.#made.add(made.slice(0, 4))
      return made
    }
  }

  name(): string {
    const word = this.word()
    return word.charAt(0).toUpperCase() + word.slice(1)
  }
}

const STARTS =
  'bl br ch cr dr fl fr gl gr kl kr pl pr qu shl shr sk sl sm sn spl squ st str thr tr tw v vl w wr y z zh zw'.split(
    ' ',
  )
const VOWELS = ['a', 'e', 'i', 'o', 'u', 'oo', 'ee', 'ai']
const MIDDLES = 'b d f g k l m n p r t v z mb nd rk lv zz bb'.split(' ')
const ENDS = 'b d f g k l m n p r t v x z mp nk rb lk zk ft rn mble bbin ggle zzle'.split(' ')
