/**
 * Keeps internal ids out of texts for people. A known id is replaced by its label, and removed where it only follows the
 * label: `Champigny (ID: abc-123)`.
 */
import type { Sighting } from '../protocol/index.ts'

export interface OutputFilterOptions {
  /** The replacement of an id. Default: its label, or else its entity in brackets. */
  readonly replace?: (sighting: Sighting) => string
}

export interface OutputFilter {
  readonly text: (text: string) => string
  /** For a text in pieces. Holds back at most the longest id with its surroundings. */
  readonly stream: () => StreamFilter
}

export interface StreamFilter {
  /** The text that can be shown now. */
  readonly push: (piece: string) => string
  /** The held text, at the end of the stream. */
  readonly end: () => string
}

/**
 * Matches ids as whole words: `12` is not in `120`. An id that is an everyday word or number matches only after `ID` or
 * `#`, because texts mention 12 windows.
 */
export function outputFilter(sightings: Iterable<Sighting>, options: OutputFilterOptions = {}): OutputFilter {
  const known = new KnownIds(sightings)
  const replace = options.replace ?? (({ label, entity }: Sighting): string => label ?? `[${entity}]`)
  return {
    text: (text) => new Pass(known, replace).run(text, true),
    stream: () => {
      const pass = new Pass(known, replace)
      return { push: (piece) => pass.run(piece, false), end: () => pass.run('', true) }
    },
  }
}

class KnownIds {
  readonly #byId = new Map<string, Sighting>()
  readonly #sorted: readonly string[]
  readonly #lengths: readonly number[]

  constructor(sightings: Iterable<Sighting>) {
    for (const sighting of sightings) if (sighting.id !== '') this.#byId.set(sighting.id, sighting)
    this.#sorted = [...this.#byId.keys()].toSorted()
    this.#lengths = [...new Set(this.#sorted.map((id) => id.length))].toSorted((a, b) => b - a)
  }

  /** The length of the longest id. */
  get longest(): number {
    return this.#lengths[0] ?? 0
  }

  /** The longest id at a position, as a whole word. */
  at(text: string, from: number): Sighting | undefined {
    for (const length of this.#lengths) {
      const found = this.#byId.get(text.slice(from, from + length))
      if (found !== undefined && !WORD.test(text.charAt(from + length))) return found
    }
    return undefined
  }

  /** True if an id begins with this text. */
  hasPrefix(text: string): boolean {
    let low = 0
    let high = this.#sorted.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#sorted[middle] ?? '') < text) low = middle + 1
      else high = middle
    }
    return this.#sorted[low]?.startsWith(text) ?? false
  }
}

const WORD = /[\p{L}\p{N}_-]/u
const OPENING = /^\s{0,3}[([]\s{0,3}/
const NAMING = /^(?:identifiant|uuid|id)s?\s{0,2}[:=#]?\s{0,3}|^#\s?/i
const CLOSING = /^\s{0,3}[)\]]/
const NAMED = /(?:(?:^|[^\p{L}\p{N}_-])(?:identifiant|uuid|id)s?\s{0,2}[:=#]?\s{0,3}|#\s?)$/iu
const NAMES: readonly string[] = ['identifiants', 'uuids', 'ids']
/** The longest lookback, for `identifiant : `. */
const LOOKED_BACK = 24
/** An opening bracket, a name and the blanks around an id. */
const LONGEST_AROUND = 40

class Pass {
  readonly #known: KnownIds
  /** The characters that a decision depends on: a long piece is not read to its end for each of its brackets. */
  readonly #most: number
  readonly #replace: (sighting: Sighting) => string
  #held = ''
  /** The last characters read. */
  #before = ''

  constructor(known: KnownIds, replace: (sighting: Sighting) => string) {
    this.#known = known
    this.#most = known.longest + LONGEST_AROUND
    this.#replace = replace
  }

  run(piece: string, isEnd: boolean): string {
    const text = this.#held + piece
    let out = ''
    let at = 0
    while (at < text.length) {
      if (!isEnd && this.#isOpen(text, at)) break
      const step = this.#step(text, at)
      out += step.out
      at += step.length
      this.#before = (this.#before + text.slice(at - step.length, at)).slice(-LOOKED_BACK)
    }
    this.#held = text.slice(at)
    return out
  }

  /** True if the next piece may change the decision here. */
  #isOpen(text: string, at: number): boolean {
    const rest = text.slice(at, at + this.#most)
    if (/^\s{1,3}$/.test(rest)) return true
    const opening = OPENING.exec(rest)?.[0]
    if (opening !== undefined) {
      const inside = rest.slice(opening.length)
      if (NAMES.some((name) => name.startsWith(inside.toLowerCase()))) return true
      return [inside, inside.slice(NAMING.exec(inside)?.[0].length ?? 0)].some((id) => {
        const bare = id.replace(/\s{1,3}$/, '')
        return this.#known.hasPrefix(id) || this.#known.at(bare, 0)?.id === bare
      })
    }
    return this.#startsWord() && this.#known.hasPrefix(rest)
  }

  #step(text: string, at: number): { readonly out: string; readonly length: number } {
    const beside = this.#beside(text, at)
    if (beside > 0) return { out: '', length: beside }
    const found = this.#startsWord() ? this.#known.at(text, at) : undefined
    if (found !== undefined && (!isPlain(found.id) || NAMED.test(this.#before)))
      return { out: this.#replace(found), length: found.id.length }
    return { out: text.charAt(at), length: 1 }
  }

  /** The length of an id in brackets, with the blanks before them; 0 if there is none. */
  #beside(text: string, at: number): number {
    const rest = text.slice(at, at + LOOKED_BACK)
    const opening = OPENING.exec(rest)?.[0]
    if (opening === undefined) return 0
    const inside = at + opening.length
    const naming = NAMING.exec(rest.slice(opening.length))?.[0] ?? ''
    // An id may begin like a name of ids: `id-5`.
    const start = this.#known.at(text, inside + naming.length) === undefined ? inside : inside + naming.length
    const found = this.#known.at(text, start)
    if (found === undefined || (isPlain(found.id) && start === inside)) return 0
    const end = start + found.id.length
    const closing = CLOSING.exec(text.slice(end, end + 4))?.[0]
    return closing === undefined ? 0 : end + closing.length - at
  }

  #startsWord(): boolean {
    return !WORD.test(this.#before.slice(-1))
  }
}

/** True if the id could be an everyday word or number. */
function isPlain(id: string): boolean {
  return /^\p{L}+$/u.test(id) || /^\d{1,5}$/.test(id)
}
