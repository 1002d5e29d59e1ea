/**
 * Values: what in a text has the form of one (quoted text, numbers, dates, addresses, ids, arithmetic), and whether it
 * fits a parameter. Its work grows with the length of the text and not faster.
 */
import { numberWord } from './lexicon.ts'

/** A `literal` is written as no word is: a path, a version, a telephone number. */
export type SpanKind =
  | 'quoted'
  | 'literal'
  | 'url'
  | 'email'
  | 'uuid'
  | 'datetime'
  | 'date'
  | 'id'
  | 'number'
  | 'expression'

export interface Span {
  readonly kind: SpanKind
  readonly value: string | number
  /** As it was written; arithmetic in signs. */
  readonly raw: string
  readonly start: number
  readonly end: number
}

/** No sign that opens is inside, so that a text of such signs is not read to its end from each of them. */
const QUOTED = [
  /"([^"\n]{1,2000})"/gu,
  /“([^“”\n]{1,2000})”/gu,
  /„([^„“”\n]{1,2000})[“”]/gu,
  /«\s?([^«»\n]{1,2000}?)\s?»/gu,
  /`([^`\n]{1,2000})`/gu,
  /(?<![\p{L}\p{N}])['‘]([^'‘’\n]{1,500})['’](?![\p{L}\p{N}])/gu,
  /「([^「」\n]{1,2000})」/gu,
]

const FORMS: readonly (readonly [SpanKind, RegExp])[] = [
  ['url', /^https?:\/\/[^\s<>"]+$/i],
  ['email', /^[\w.+-]+@[\w-]+(?:\.[\w-]+)+$/u],
  ['uuid', /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i],
  ['datetime', /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?$/i],
  ['date', /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$/],
  ['number', /^[+-]?\d{1,15}(?:\.\d{1,10})?$/],
  ['id', /^(?=[\w-]*\d)(?=[\w-]*[a-z])[a-z\d]+(?:[-_][a-z\d]+)*$/i],
  ['literal', /^\d+(?:[-.:/]\d+)+$/],
  [
    'literal',
    /^(?!and\/or$|\p{L}\.\p{L}$)(?=.*[./\\#@])(?:[~.]{0,2}[\\/])?[\p{L}\p{N}_@~-]+(?:[./\\#@]+[\p{L}\p{N}_@-]+)*[\\/]?$/u,
  ],
]

const OPERATORS: readonly (readonly [RegExp, string])[] = [
  [/\b(?:plus)\b/gi, '+'],
  [/\b(?:minus|moins)\b/gi, '-'],
  [/\b(?:times|fois|multiplied by|multipli[eé]e? par)\b|(?<=\d\s?)x(?=\s?\d)/gi, '*'],
  [/\b(?:divided by|over|divis[eé]e? par|sur)\b/gi, '/'],
  [/\b(?:to the power of|puissance)\b/gi, '^'],
]
const WORD_OPERATOR =
  'plus|minus|moins|times|fois|multiplied by|multipli[eé]e? par|divided by|over|divis[eé]e? par|sur|to the power of|puissance|x'
const OPERAND = String.raw`\({0,20}[-−]?\d{1,15}(?:[.,]\d{1,10})?\){0,20}`
const ARITHMETIC = new RegExp(
  String.raw`(?<![\w.\-/:@])${OPERAND}(?:\s*(?:[-+*/^%×÷−]|\*\*|\b(?:${WORD_OPERATOR})\b)\s*${OPERAND}){1,50}(?![\w@]|[-/:.]\d)`,
  'giu',
)
/** Signs that dates, ranges, versions and telephone numbers share with arithmetic, and nothing else. */
const NOT_ARITHMETIC = /^\d+(?:[-/]\d+)+$/

/** Words of somebody who wants a sum. */
const SUMS = /\bmaths?\b|\bcalc|\br[eé]sult|combien|how much|what(?:'s|’s|s| is)\b|\bsolve|\bcomput|=\s*$/i

/** A comma belongs to a chunk only inside a number such as 1,000. */
const CHUNK = /(?:\d{1,3}(?:,\d{3})+(?![\d,])|[^\s,;=()[\]{}<>])+/gu
const ORDINAL = /^\d+(?:st|nd|rd|th|er|[eè]re|i?[eè]me|e)$/i
const LONGEST_CHUNK = 200
const LONGEST_NUMBER = 9
const MOST_SPANS = 500

/** The values of a text, in order, none inside another. */
export function findSpans(text: string): Span[] {
  const fixed = withoutOverlaps([...findQuoted(text), ...findSpoken(text), ...findArithmetic(text)])
  const spans: Span[] = [...fixed]
  let from = 0
  for (const { start, end } of [...fixed, { start: text.length, end: text.length }]) {
    if (spans.length >= MOST_SPANS) break
    for (const chunk of text.slice(from, start).matchAll(CHUNK)) {
      if (spans.length >= MOST_SPANS || chunk[0].length > LONGEST_CHUNK) continue
      const span = formOf(chunk[0], from + chunk.index)
      if (span) spans.push(span)
    }
    from = end
  }
  return spans.sort((a, b) => a.start - b.start)
}

function findQuoted(text: string): Span[] {
  return QUOTED.flatMap((form) =>
    [...text.matchAll(form)].slice(0, MOST_SPANS).flatMap((match): Span[] => {
      const value = match[1] ?? ''
      const [start, end] = [match.index, match.index + match[0].length]
      return value.trim() === '' ? [] : [{ kind: 'quoted', value, raw: value, start, end }]
    }),
  )
}

/** Numbers in words between signs or words of arithmetic, as digits in as many places. */
function withDigits(text: string): string {
  if (text.length > 500 || !new RegExp(`\\b(?:${WORD_OPERATOR})\\b|[-+*/×]`, 'i').test(text)) return text
  return text.replaceAll(/[a-z]{3,9}/gi, (word) => {
    const value = numberWord(word.toLowerCase())
    return value === undefined ? word : String(value).padEnd(word.length)
  })
}

/** `add 17 and 25`, `multiply 6 by 9`: the verb, what joins the operands, the sign, and whether they change places. */
const SPOKEN: readonly (readonly [RegExp, string, boolean])[] = [
  [
    /\b(?:add|sum(?: of)?|additionne[rz]?|ajoute[rz]?)\s+(N)\s+(?:and|to|et|[aà])\s+(N)(?![\w.,]*\d)/i,
    '+',
    false,
  ],
  [/\b(?:multiply|multiplie[rz]?)\s+(N)\s+(?:by|and|par)\s+(N)/i, '*', false],
  [/\b(?:divide|divise[rz]?)\s+(N)\s+(?:by|par)\s+(N)/i, '/', false],
  [/\b(?:subtract|take)\s+(N)\s+from\s+(N)/i, '-', true],
].map(([form, sign, isSwapped]) => [
  new RegExp((form as RegExp).source.replaceAll('N', String.raw`-?\d+(?:[.,]\d+)?`), 'i'),
  sign as string,
  isSwapped as boolean,
])

function findSpoken(text: string): Span[] {
  return SPOKEN.flatMap(([form, sign, isSwapped]): Span[] => {
    const match = form.exec(text.slice(0, 500))
    if (match === null) return []
    const [whole, a = '', b = ''] = match
    const raw = isSwapped ? `${b} ${sign} ${a}` : `${a} ${sign} ${b}`
    return [{ kind: 'expression', value: raw, raw, start: match.index, end: match.index + whole.length }]
  })
}

function findArithmetic(source: string): Span[] {
  const text = withDigits(source)
  return [...text.matchAll(ARITHMETIC)].slice(0, MOST_SPANS).flatMap((match): Span[] => {
    const [whole] = match
    const isAlone = source.trim() === whole.trim()
    if (NOT_ARITHMETIC.test(whole) && !(/^\d+[-/]\d+$/.test(whole) && (isAlone || SUMS.test(source))))
      return []
    const raw = OPERATORS.reduce((signs, [words, sign]) => signs.replaceAll(words, sign), whole)
      .replaceAll(/(?<=\d),(?=\d{1,2}(?!\d))/g, '.')
      .replaceAll(/\s+/g, ' ')
      .trim()
    return [{ kind: 'expression', value: raw, raw, start: match.index, end: match.index + whole.length }]
  })
}

function withoutOverlaps(spans: readonly Span[]): Span[] {
  let end = 0
  return spans
    .toSorted((a, b) => a.start - b.start || b.end - a.end)
    .filter((span) => {
      const free = span.start >= end
      if (free) end = span.end
      return free
    })
}

/** A value, alone or with signs around it, or behind `name:`. */
function formOf(chunk: string, at: number): Span | undefined {
  let start = 0
  let end = chunk.length
  while (start < end && /["'“„#$€£(]/.test(chunk[start] as string)) start++
  while (end > start && /[.,:;!?"'”)%$€£]/.test(chunk[end - 1] as string)) end--
  if (/\d['’]s$/.test(chunk.slice(start, end))) end -= 2
  const core = chunk.slice(start, end)
  const whole = classify(core)
  if (whole) return { ...whole, start: at + start, end: at + end }
  const colon = core.indexOf(':')
  const behind = colon > 0 ? classify(core.slice(colon + 1)) : undefined
  return behind && { ...behind, start: at + start + colon + 1, end: at + end }
}

function classify(core: string): Pick<Span, 'kind' | 'value' | 'raw'> | undefined {
  if (core === '' || ORDINAL.test(core)) return undefined
  const spelled = core.length <= LONGEST_NUMBER ? numberWord(core.toLowerCase()) : undefined
  if (spelled !== undefined) return { kind: 'number', value: spelled, raw: core }
  const plain = /^[+-]?\d{1,3}(?:,\d{3})+/.test(core) ? core.replaceAll(',', '') : core
  const kind = FORMS.find(([, form]) => form.test(plain))?.[0]
  if (kind === undefined) return undefined
  return { kind, value: kind === 'number' ? Number(plain) : core, raw: core }
}
