/** Texts in comparable or printable form: words without accents and case, typos, and one plain line of a prompt. */
import { editDistance, normalLabel } from '../protocol/index.ts'

/** The words of a text, in normal form. */
export function wordsOf(text: string): readonly string[] {
  const normal = normalLabel(text)
  return normal === '' ? [] : normal.split(' ')
}

/**
 * True if one text is probably the other with typos. Word by word, because a short word that differs is another word (est,
 * ouest), and digits never count as typos (phase 1, phase 2). Both are in normal form.
 */
export function isTypoOf(given: string, label: string): boolean {
  if (given === label) return false
  const labelWords = label.split(' ')
  const words = given.split(' ')
  if (words.length !== labelWords.length) return false
  let edits = 0
  for (const [at, word] of words.entries()) {
    const steps = wordDistance(word, labelWords[at] ?? '')
    if (steps === undefined) return false
    edits += steps
  }
  return edits <= MOST_EDITS
}

const MOST_EDITS = 2
/** A shorter word that differs is another word. */
export const SHORTEST_TYPO = 5

/** True if a word equals another, or probably is that with typos. */
export function isLikeWord(given: string, word: string): boolean {
  return wordDistance(given, word) !== undefined
}

/** Undefined if they are too different to be one word. */
function wordDistance(a: string, b: string): number | undefined {
  if (a === b) return 0
  const length = Math.min(a.length, b.length)
  const most = length < SHORTEST_TYPO ? 0 : length < 9 ? 1 : 2
  if (most === 0 || Math.abs(a.length - b.length) > most) return undefined
  if (/\p{N}/u.test(a) || /\p{N}/u.test(b)) return undefined
  const steps = editDistance(a, b, most)
  return steps > most ? undefined : steps
}

export function plainLine(text: string, most: number): string {
  const line = text
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .replace(/[\p{Cf}]/gu, '')
    .trim()
  return line.length > most ? `${line.slice(0, most - 1).toWellFormed()}…` : line
}
