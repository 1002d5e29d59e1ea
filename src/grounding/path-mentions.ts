/** Decides whether an id inside of a path or an address in a person's text is meant. */
import { foldedText } from '../protocol/index.ts'

/** The place `[from, to)` in a text or a list. */
export interface Span {
  readonly from: number
  readonly to: number
}

export interface PathRules {
  readonly isOwnNoun: (word: string) => boolean
  /** True if a text fits the pattern of the same entity. */
  readonly isId: (text: string) => boolean
}

/**
 * A judge of the spans of one text. The end of a URL is its subject. In any other path the other parts must be ids too, as in
 * `ord_5/ord_6`, or a noun of the entity, as in `orders/ord_5`. Each path is read once, however many spans are in it.
 */
export function pathJudge(text: string, rules: PathRules): (span: Span) => boolean {
  let known: TextPath | undefined
  return (span) => {
    const isKnown = known !== undefined && span.from >= known.from && span.to <= known.to
    const path = known !== undefined && isKnown ? known : pathAround(text, span, rules)
    // A span of several words is no part of one path.
    if (!PATH_END.test(text.slice(span.from, span.to))) known = path
    const isInPath = path.separators.from < span.from || path.separators.to > span.to
    return !isInPath || isMeantIn(text, { path, span, rules })
  }
}

/** A stretch of a text without blanks, brackets and quotes. */
interface TextPath extends Span {
  /** From the first separator to the last one; empty at the end of the text if there is none. */
  readonly separators: Span
  /** From the first to the last part that is neither an id nor the noun. */
  readonly strange: Span | undefined
}

const PATH_END = /[\s"'<>()[\]{},;|]/u
const SEPARATOR = /[\\/]/
/** A longer part is no id and no noun. */
const LONGEST_PART = 2000

function pathAround(text: string, span: Span, rules: PathRules): TextPath {
  let { from, to } = span
  while (from > 0 && !PATH_END.test(text.charAt(from - 1))) from -= 1
  while (to < text.length && !PATH_END.test(text.charAt(to))) to += 1
  const parts = text.slice(from, to).split(SEPARATOR)
  let strange: Span | undefined
  let end = from - 1
  for (const part of parts) {
    const start = end + 1
    end = start + part.length
    if (!isGood(part, rules)) strange = { from: strange?.from ?? start, to: end }
  }
  const [first = '', last = ''] = [parts[0], parts.at(-1)]
  const separators =
    parts.length > 1 ? { from: from + first.length, to: to - last.length } : { from: text.length, to: 0 }
  return { from, to, separators, strange }
}

function isGood(part: string, { isId, isOwnNoun }: PathRules): boolean {
  if (part.length > LONGEST_PART) return false
  const bare = part.replace(/[.!?:…]+$/u, '')
  return bare === '' || isId(bare) || isOwnNoun(foldedText(bare))
}

/** A scheme or a host with a dot, up to the first slash of its path. */
const ADDRESS = /^(?:[a-z][a-z0-9+.-]*:\/\/[^/]*|[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+(?::\d+)?)(?:\/|$)/iu
/** A slash, a query, a fragment, the end of a sentence. */
const ADDRESS_END = /^\/?(?:[?#].*|[.!?:…]*)$/u

interface SpanInPath {
  readonly path: TextPath
  readonly span: Span
  readonly rules: PathRules
}

function isMeantIn(text: string, { path, span, rules }: SpanInPath): boolean {
  const start = text.slice(path.from, Math.min(span.from, path.from + LONGEST_PART))
  if (ADDRESS.test(start))
    return text.charAt(span.from - 1) === '/' && ADDRESS_END.test(text.slice(span.to, path.to))
  const { strange } = path
  if (strange === undefined) return true
  // The part around the span is judged without it.
  let { from, to } = span
  const [first, last] = [Math.max(path.from, from - LONGEST_PART), Math.min(path.to, to + LONGEST_PART)]
  while (from > first && !SEPARATOR.test(text.charAt(from - 1))) from -= 1
  while (to < last && !SEPARATOR.test(text.charAt(to))) to += 1
  if (strange.from < from || strange.to > to) return false
  return [text.slice(from, span.from), text.slice(span.to, to)].every((piece) => isGood(piece, rules))
}
