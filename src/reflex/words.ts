/**
 * From text to words that can be compared: accents folded, names in any style taken apart, endings taken off. It knows
 * no vocabulary; that is in `grammar.ts`.
 */

export interface Token {
  /** Small letters, no accents. */
  readonly word: string
  readonly stem: string
  /** The stem as it was said, if another word stands for it here. */
  readonly said?: string
  /** Where it stands in the text. */
  readonly start: number
  readonly end: number
}

/** Longer runs of letters are no words. */
const LONGEST_WORD = 64

export function foldText(text: string): string {
  return text
    .normalize('NFKD')
    .replaceAll(/\p{M}+/gu, '')
    .toLowerCase()
    .replaceAll('ß', 'ss')
}

/** The words of a text, in order. `camelCase`, `snake_case` and `kebab-case` are several words. */
export function tokenise(text: string): Token[] {
  const tokens: Token[] = []
  for (const run of text.matchAll(/[\p{L}\p{M}\p{N}]+/gu)) {
    if (run[0].length > LONGEST_WORD) continue
    if (PLAIN.test(run[0])) {
      tokens.push({ word: run[0], stem: stemOf(run[0]), start: run.index, end: run.index + run[0].length })
      continue
    }
    for (const [at, part] of partsOf(run[0])) {
      const word = foldText(part)
      if (word === '') continue
      const start = run.index + at
      tokens.push({ word, stem: stemOf(word), start, end: start + part.length })
    }
  }
  return tokens
}

export function stemsOf(text: string): string[] {
  return tokenise(text).map(({ stem }) => stem)
}

/** Nothing to fold and nothing to take apart. */
const PLAIN = /^[a-z0-9]+$/
const CAMEL = /(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u
/** Scripts that put no blanks between words. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u

function partsOf(run: string): [number, string][] {
  if (UNSPACED.test(run)) return pairsOf(run)
  let at = 0
  return run.split(CAMEL).map((part) => {
    const place: [number, string] = [at, part]
    at += part.length
    return place
  })
}

/** Pairs of letters stand for the words that nobody marked. */
function pairsOf(run: string): [number, string][] {
  if (run.length <= 2) return [[0, run]]
  return Array.from({ length: run.length - 1 }, (_, at) => [at, run.slice(at, at + 2)])
}

/** Plurals that have no ending to take off. */
const IRREGULAR: Readonly<Record<string, string>> = {
  people: 'person',
  children: 'child',
  men: 'man',
  women: 'woman',
  mice: 'mouse',
  indices: 'index',
  criteria: 'criterion',
}

/** The word without its ending. It need not be a word, only the same for all forms of one. */
export function stemOf(form: string): string {
  const word = Object.hasOwn(IRREGULAR, form) ? (IRREGULAR[form] as string) : form
  if (word.length < 4 || !/^[a-z]+$/.test(word)) return word.length === 3 ? undouble(word) : word
  let stem = word
  if (stem.endsWith('s') && !stem.endsWith('ss')) stem = stem.slice(0, -1)
  for (const ending of ['ing', 'ed']) {
    const rest = stem.slice(0, -ending.length)
    if (stem.endsWith(ending) && rest.length >= 3 && /[aeiouy]/.test(rest)) {
      stem = rest
      break
    }
  }
  if (stem.length > 3 && stem.endsWith('e')) stem = stem.slice(0, -1)
  if (stem.endsWith('ie') || stem.endsWith('y')) stem = stem.replace(/(?:ie|y)$/, 'i')
  return undouble(stem)
}

function undouble(stem: string): string {
  return /([^aeiou])\1$/.test(stem) ? stem.slice(0, -1) : stem
}
