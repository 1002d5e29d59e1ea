/** From text to words that can be compared: accents folded, names in any style taken apart, endings taken off. */

/** A word of a text, in small letters and without accents. */
export interface Piece {
  readonly word: string
  readonly start: number
  readonly end: number
  /** Whether it has a capital that no beginning of a sentence explains. */
  readonly isName: boolean
}

const LONGEST_WORD = 64
const PLAIN = /^[a-z0-9]+$/
const CAMEL = /(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u
/** Scripts that put no blanks between words. */
export const UNSPACED: RegExp = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u

export function foldText(text: string): string {
  return text
    .normalize('NFKD')
    .replaceAll(/\p{M}+/gu, '')
    .toLowerCase()
    .replaceAll('ß', 'ss')
    .replaceAll('œ', 'oe')
}

/** The words of a text, in order. `camelCase`, `snake_case` and `kebab-case` are several words. */
export function tokenise(text: string): Piece[] {
  const tokens: Piece[] = []
  const isShouted = !/\p{Ll}/u.test(text.slice(0, 200))
  const add = (word: string, start: number, end: number): void => {
    const isCapital = !isShouted && /^\p{Lu}/u.test(text.slice(start, start + 2))
    const isName =
      isCapital && !/(?:^|[.!?\n])[^\p{L}\p{N},;:]*$/u.test(text.slice(Math.max(0, start - 4), start))
    if (word !== '') tokens.push({ word, start, end, isName })
  }
  for (const { 0: run, index } of text.matchAll(/[\p{L}\p{M}\p{N}]+/gu)) {
    if (run.length > LONGEST_WORD) continue
    if (PLAIN.test(run)) add(run, index, index + run.length)
    else for (const [at, part] of partsOf(run)) add(foldText(part), index + at, index + at + part.length)
  }
  return tokens
}

export function stemsOf(text: string): string[] {
  return tokenise(text).map(({ word }) => stemOf(word))
}

function partsOf(run: string): [number, string][] {
  if (UNSPACED.test(run) && run.length > 2)
    return Array.from({ length: run.length - 1 }, (_, at) => [at, run.slice(at, at + 2)])
  let at = 0
  return run.split(CAMEL).map((part) => {
    at += part.length
    return [at - part.length, part]
  })
}

/** Forms that have no ending to take off. */
const IRREGULAR: Readonly<Record<string, string>> = {
  people: 'person',
  children: 'child',
  men: 'man',
  women: 'woman',
  mice: 'mouse',
  indices: 'index',
  criteria: 'criterion',
  sent: 'send',
  bought: 'buy',
}

/** The word without its ending. It need not be a word, only the same for all forms of one. */
export function stemOf(form: string): string {
  if (form === 'done') return form
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
