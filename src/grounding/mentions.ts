/** Finds mentions in a person's text: ids as whole tokens, and labels as whole words. */
import { foldedText, normalLabel } from '../protocol/index.ts'
import { type PathRules, pathJudge, type Span } from './path-mentions.ts'
import { isTypoOf, wordsOf } from './text-normalize.ts'

export interface WritingRules extends PathRules {
  /** Normalizes the spellings of an id. */
  readonly normal?: (id: string) => string
  /** A noun of another entity that could have this id. */
  readonly isOtherNoun: (word: string, id: string) => boolean
  /** For old messages: a number of up to four digits counts only after its noun or a sign, since it may be an amount. */
  readonly isLongAgo?: boolean
}

/**
 * An id as the person wrote it, or undefined. It must be a whole token: "12" is not in "120", nor in "12.5" or "12/05", and
 * a price or a percentage is no id. A noun of another entity claims it: "project 6" is no task 6. Inside of a path or a URL
 * it counts only at the end. It may have another spelling with the same normal form, and lack its leading # if a letter
 * follows or its noun precedes it.
 */
export function writtenAs(text: string, id: string, rules: WritingRules): string | undefined {
  const isMeantInPath = pathJudge(text, rules)
  const isMeant = (place: Span): boolean => {
    const written = text.slice(place.from, place.to)
    const noun = nounBefore(text, place)
    if (noun !== undefined && rules.isOtherNoun(noun, id)) return false
    if (!isMeantInPath(place)) return false
    const isOpen = !rules.isLongAgo || !/^\d{1,4}$/.test(written)
    return isOpen || isSigned(text, place) || (noun !== undefined && rules.isOwnNoun(noun))
  }
  if (standsIn(text, id, isMeant)) return id
  const bare = id.startsWith('#') ? id.slice(1) : ''
  const isBareMeant = (place: Span): boolean =>
    isMeant(place) && (/\p{L}/u.test(bare) || rules.isOwnNoun(nounBefore(text, place) ?? ''))
  if (bare !== '' && standsIn(text, bare, isBareMeant)) return bare
  const form = rules.normal?.(id)
  if (rules.normal === undefined || form === undefined) return undefined
  const place = formSpans(text, form, rules.normal).find((each) => isAlone(text, each) && isMeant(each))
  return place && text.slice(place.from, place.to)
}

/** All whole tokens of a text that fit a pattern, each once. */
export function matchesIn(text: string, pattern: RegExp | undefined): readonly string[] {
  if (pattern === undefined) return []
  // The entity's pattern is anchored, and its author may have done so, too.
  const inner = pattern.source
    .replace(/^\^\(\?:([\s\S]*)\)\$$/, '$1')
    .replace(ANCHOR, (part) => (part === '^' || part === '$' ? '' : part))
  const found = new Set<string>()
  for (const { 0: match, index } of text
    .slice(0, LONGEST_TEXT)
    .matchAll(new RegExp(`${NOT_JOINED}(?:${inner})`, `${pattern.flags}g`)))
    if (match !== '' && isAlone(text, { from: index, to: index + match.length })) found.add(match)
  return [...found]
}

/** Where a whole token may begin: a pattern is not tried at each letter of a long word. */
const NOT_JOINED = String.raw`(?<![0-9A-Za-z_@\-])`

/** The anchors at the ends of alternatives; escapes and classes are met, too, and stay. */
const ANCHOR = /\\[^]|\[(?:\\[^]|[^\]\\])*\]|(?<=^|\||\((?:\?:)?)\^|(?<!\(\?[=!])\$(?=$|\||\))/g
const LONGEST_TEXT = 20_000

function standsIn(text: string, id: string, isMeant: (place: Span) => boolean): boolean {
  if (id === '') return false
  for (let at = text.indexOf(id); at >= 0; at = text.indexOf(id, at + 1)) {
    const place = { from: at, to: at + id.length }
    if (isAlone(text, place) && isMeant(place)) return true
  }
  return false
}

function isAlone(text: string, { from, to }: Span): boolean {
  const before = text.slice(Math.max(0, from - 3), from)
  const after = text.slice(to, to + 4)
  if (JOINED_BEFORE.test(before) || JOINED_AFTER.test(after)) return false
  const isNumber = /^\d+$/.test(text.slice(from, to))
  return !isNumber || !(AMOUNT_BEFORE.test(before) || AMOUNT_AFTER.test(after))
}

function nounBefore(text: string, { from }: Span): string | undefined {
  return NOUN_BEFORE.exec(foldedText(text.slice(Math.max(0, from - LONGEST_NOUN), from)))?.[1]
}

function isSigned(text: string, { from }: Span): boolean {
  return SIGN_BEFORE.test(foldedText(text.slice(Math.max(0, from - 12), from)))
}

/** Spans of up to four words with this normal form. */
function formSpans(text: string, form: string, normal: (id: string) => string): readonly Span[] {
  const digits = form.match(/\d+/g)?.toSorted((a, b) => b.length - a.length)[0] ?? ''
  if (form === '' || !hasDigits(text, digits)) return []
  const words = [...text.slice(0, LONGEST_TEXT).matchAll(/#?[\p{L}\p{N}\p{M}_-]+/gu)].map(
    ({ 0: word, index }) => ({
      from: index,
      to: index + word.length,
    }),
  )
  return words.flatMap(({ from }, first) => {
    const places: Span[] = []
    for (let last = first; last < Math.min(words.length, first + MOST_JOINED); last++) {
      const to = words[last]?.to ?? from
      if (last > first && (words[last]?.from ?? 0) - (words[last - 1]?.to ?? 0) > WIDEST_GAP) break
      const span = text.slice(from, to)
      if (hasDigits(span, digits) && normal(span) === form) places.push({ from, to })
    }
    return places
  })
}

/** A cheap test that excludes most texts without visiting each word. */
function hasDigits(text: string, digits: string): boolean {
  return text.replace(/[^\p{L}\p{N}]/gu, '').includes(digits)
}

const MOST_JOINED = 4
const WIDEST_GAP = 2

/** The spans `[from, to)` of a label in a list of words. A label of one or two letters needs its noun before it. */
export function labelSpans(
  words: readonly string[],
  label: string,
  isNoun: (word: string) => boolean,
): readonly Span[] {
  const labelWords = wordsOf(label)
  if (labelWords.length === 0) return []
  const joined = labelWords.join('')
  const isShort = joined.length < 3 || /^\p{N}+$/u.test(joined)
  return words.flatMap((_, from) => {
    if (!labelWords.every((word, at) => words[from + at] === word)) return []
    if (isShort && labelWords.length !== words.length && !isNoun(words[from - 1] ?? '')) return []
    return [{ from, to: from + labelWords.length }]
  })
}

/** The spans that are probably a label with typos. */
export function typoSpans(words: readonly string[], label: string): readonly Span[] {
  const normal = normalLabel(label)
  const length = normal.split(' ').length
  return words.flatMap((_, from) => {
    const to = from + length
    return to <= words.length && isTypoOf(words.slice(from, to).join(' '), normal) ? [{ from, to }] : []
  })
}

/** The texts of longer spans that contain this one. */
export function widerThan(words: readonly string[], { from, to }: Span): readonly string[] {
  const wider: string[] = []
  for (let start = Math.max(0, from - MOST_MORE); start <= from; start++)
    for (let end = to; end <= Math.min(words.length, to + MOST_MORE); end++)
      if (end - start > to - from && end - start <= to - from + MOST_MORE)
        wider.push(words.slice(start, end).join(' '))
  return wider
}

/** How many words longer another thing's label may be. */
const MOST_MORE = 4

/** "project", "project no.", "project (id: ": followed by a blank or a sign. */
const NOUN_BEFORE = /(\p{L}+)[\s"'(:#]+(?:(?:no|nr|n|numero|number|id|uuid)[\s.:#°"'(]*)*$/u
const LONGEST_NOUN = 40
const SIGN_BEFORE = /(?:#|(?:^|[^\p{L}])(?:no|nr|n|numero|number|id|uuid))[\s.:#°"'(]*$/u

const JOINED_BEFORE = /[\p{L}\p{N}_@-]$|[\p{L}\p{N}]\.$/u
const JOINED_AFTER = /^[\p{L}\p{N}_-]|^[.@][\p{L}\p{N}]/u
const AMOUNT_BEFORE = /[$€£¥]\s?$|\d[.,:/]$|\+$/u
const AMOUNT_AFTER = /^\s?[$€£¥%‰°]|^[.,:/]\d/u
