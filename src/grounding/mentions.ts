/**
 * What a text of a person speaks of: ids as whole tokens, and labels as whole words. What it may be used for is decided
 * elsewhere.
 */
import { foldedText, normalLabel } from '../protocol/index.ts'
import { isTypoOf, wordsOf } from './normal.ts'

/**
 * Whether an id stands in a text by itself: "12" is not in "120", nor in "12.5" or "12/05", and a price or a share is no
 * id. Letters count as written. What is said of another kind of thing is said of that: "project 6" is no task 6.
 */
export function saysId(
  text: string,
  id: string,
  isOtherNoun: (word: string) => boolean = () => false,
): boolean {
  if (id === '') return false
  const isNumber = /^\d+$/.test(id)
  for (let at = text.indexOf(id); at >= 0; at = text.indexOf(id, at + 1)) {
    const before = text.slice(Math.max(0, at - 3), at)
    const after = text.slice(at + id.length, at + id.length + 4)
    if (JOINED_BEFORE.test(before) || JOINED_AFTER.test(after)) continue
    if (isNumber && (AMOUNT_BEFORE.test(before) || AMOUNT_AFTER.test(after))) continue
    const noun = NOUN_BEFORE.exec(foldedText(text.slice(Math.max(0, at - LONGEST_NOUN), at)))?.[1]
    if (noun !== undefined && isOtherNoun(noun)) continue
    return true
  }
  return false
}

/** Where in a list of words a label stands, as `[from, to)`. A label of one or two letters needs its noun before it. */
export function labelPlaces(
  words: readonly string[],
  label: string,
  isNoun: (word: string) => boolean,
): readonly Stretch[] {
  const wanted = wordsOf(label)
  if (wanted.length === 0) return []
  const joined = wanted.join('')
  const isShort = joined.length < 3 || /^\p{N}+$/u.test(joined)
  return words.flatMap((_, from) => {
    if (!wanted.every((word, at) => words[from + at] === word)) return []
    if (isShort && wanted.length !== words.length && !isNoun(words[from - 1] ?? '')) return []
    return [{ from, to: from + wanted.length }]
  })
}

/** Where in a list of words something stands that is probably a label with typos. */
export function typoPlaces(words: readonly string[], label: string): readonly Stretch[] {
  const normal = normalLabel(label)
  const length = normal.split(' ').length
  return words.flatMap((_, from) => {
    const to = from + length
    return to <= words.length && isTypoOf(words.slice(from, to).join(' '), normal) ? [{ from, to }] : []
  })
}

export interface Stretch {
  readonly from: number
  readonly to: number
}

/** Stretches of words that have this one in them and are longer, as texts. */
export function widerThan(words: readonly string[], { from, to }: Stretch): readonly string[] {
  const wider: string[] = []
  for (let start = Math.max(0, from - MOST_MORE); start <= from; start++)
    for (let end = to; end <= Math.min(words.length, to + MOST_MORE); end++)
      if (end - start > to - from && end - start <= to - from + MOST_MORE)
        wider.push(words.slice(start, end).join(' '))
  return wider
}

/** How many words longer the label of another thing may be. */
const MOST_MORE = 4

/** "project", "project no.", "project (id: ": what comes before it is a blank or a sign. */
const NOUN_BEFORE = /(\p{L}+)[\s"'(:#]+(?:(?:no|nr|n|numero|number|id|uuid)[\s.:#°"'(]*)*$/u
const LONGEST_NOUN = 40

const JOINED_BEFORE = /[\p{L}\p{N}_-]$|[\p{L}\p{N}][.@]$/u
const JOINED_AFTER = /^[\p{L}\p{N}_-]|^[.@][\p{L}\p{N}]/u
const AMOUNT_BEFORE = /[$€£¥]\s?$|\d[.,:/]$/u
const AMOUNT_AFTER = /^\s?[$€£¥%‰°]|^[.,:/]\d/u
