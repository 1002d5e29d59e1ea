/**
 * Finds what in a text has the form of a value: quoted text, numbers, dates, addresses, ids. It does not know what any
 * of them is for. Its work grows with the length of the text and not faster.
 */
import { numberWord } from './grammar.ts'

/** A `literal` is written as no word is: a path, a version, a telephone number. */
export type SpanKind = 'quoted' | 'literal' | 'url' | 'email' | 'uuid' | 'datetime' | 'date' | 'id' | 'number'

export interface Span {
  readonly kind: SpanKind
  readonly value: string | number
  /** As it was written. */
  readonly raw: string
  readonly start: number
  readonly end: number
}

const QUOTED = [
  /"([^"\n]{1,2000})"/gu,
  /“([^”\n]{1,2000})”/gu,
  /„([^“”\n]{1,2000})[“”]/gu,
  /«\s?([^»\n]{1,2000}?)\s?»/gu,
  /`([^`\n]{1,2000})`/gu,
  /(?<![\p{L}\p{N}])'([^'\n]{1,500})'(?![\p{L}\p{N}])/gu,
  /「([^」\n]{1,2000})」/gu,
]

const FORMS: readonly (readonly [SpanKind, RegExp])[] = [
  ['url', /^https?:\/\/[^\s<>"]+$/i],
  ['email', /^[\w.+-]+@[\w-]+(?:\.[\w-]+)+$/u],
  ['uuid', /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i],
  ['datetime', /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?$/i],
  ['date', /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$/],
  ['number', /^[+-]?\d{1,15}(?:\.\d{1,10})?$/],
  ['id', /^(?=[\w-]*\d)(?=[\w-]*[a-z])[a-z\d]+(?:[-_][a-z\d]+)*$/i],
  ['literal', /^\d+(?:[-.]\d+)+$/],
  [
    'literal',
    /^(?!and\/or$|\p{L}\.\p{L}$)(?=.*[./\\#@])(?:[~.]{0,2}[\\/])?[\p{L}\p{N}_@~-]+(?:[./\\#@]+[\p{L}\p{N}_@-]+)*[\\/]?$/u,
  ],
]

/** A comma belongs to a chunk only inside a number such as 1,000. */
const CHUNK = /(?:\d{1,3}(?:,\d{3})+(?![\d,])|[^\s,;=()[\]{}<>])+/gu
const ORDINAL = /^\d+(?:st|nd|rd|th|er|[eè]re|i?[eè]me|e)$/i
const LONGEST_CHUNK = 200
/** Of those that are spelled out. */
const LONGEST_NUMBER = 6
const MOST_SPANS = 500

/** The values of a text, in order, none inside another. */
export function findSpans(text: string): Span[] {
  const quoted = findQuoted(text)
  const spans: Span[] = [...quoted]
  let from = 0
  for (const { start, end } of [...quoted, { start: text.length, end: text.length }]) {
    if (spans.length >= MOST_SPANS) break
    findForms(text.slice(from, start), from, spans)
    from = end
  }
  return spans.sort((a, b) => a.start - b.start)
}

function findQuoted(text: string): Span[] {
  const found: Span[] = []
  for (const form of QUOTED) {
    for (const match of text.matchAll(form)) {
      const value = match[1] ?? ''
      if (found.length >= MOST_SPANS) break
      if (value.trim() !== '') {
        found.push({
          kind: 'quoted',
          value,
          raw: value,
          start: match.index,
          end: match.index + match[0].length,
        })
      }
    }
  }
  found.sort((a, b) => a.start - b.start || b.end - a.end)
  let end = 0
  return found.filter((span) => {
    const free = span.start >= end
    if (free) end = span.end
    return free
  })
}

function findForms(text: string, offset: number, spans: Span[]): void {
  for (const chunk of text.matchAll(CHUNK)) {
    if (spans.length >= MOST_SPANS) return
    if (chunk[0].length > LONGEST_CHUNK) continue
    const span = formOf(chunk[0], offset + chunk.index)
    if (span) spans.push(span)
  }
}

/** A value, alone or with signs around it, or behind `name:`. */
function formOf(chunk: string, at: number): Span | undefined {
  let start = 0
  let end = chunk.length
  while (start < end && /["'“„#$€£(]/.test(chunk[start] as string)) start++
  while (end > start && /[.,:;!?"'”)%$€£]/.test(chunk[end - 1] as string)) end--
  const core = chunk.slice(start, end)
  const colon = core.indexOf(':')
  const whole = classify(core)
  if (whole) return { ...whole, start: at + start, end: at + end }
  if (colon <= 0) return undefined
  const behind = classify(core.slice(colon + 1))
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
