/** Finds statements of different documents that give different values for what a question asks for. Pure. */
import { type AskedPart, answers, demanded, shareCovered } from './asked-part.ts'
import { isNegative } from './citations.ts'
import { PRONOUN, type Statement } from './statements.ts'
import { coveredStems } from './synonyms.ts'
import {
  datesIn,
  hasKind,
  isSameDate,
  namesIn,
  type Quantity,
  quantitiesIn,
  timesIn,
  unitOf,
  yearsIn,
} from './values.ts'
import { contentStems, foldText, isFigure, sharedStems } from './words.ts'

export interface Conflict {
  readonly first: Statement
  readonly second: Statement
}

const MOST_CONFLICTS = 3
/** The least part of the demanded words that each sentence has itself, without the text around it. */
const SAYS_PART = 0.5
/** The same if one of the sentences lacks a word of the part. */
const LIKE = 0.5
/** The least part of the shorter sentence that both must have, if no kind of value is asked for. */
const SAME_SUBJECT = 0.6
const SAME_STATEMENT = 0.75

/**
 * Both statements answer the same part, in two documents, and nothing in them tells their subjects apart. `sides`: for each
 * part the best statement of each document.
 */
export function conflictsIn(
  sides: readonly (readonly Statement[])[],
  parts: readonly AskedPart[],
): readonly Conflict[] {
  const found = parts.flatMap((part, number) => {
    const said = (sides[number] ?? [])
      .map((statement) => sideOf(statement, part))
      .filter((side) => saysPart(side, part))
    return said.flatMap((first, at) =>
      said
        .slice(at + 1)
        .flatMap((second) =>
          isStatedBy(first, second, part) && isConflict(first, second, part) ? [{ first, second }] : [],
        ),
    )
  })
  return found.slice(0, MOST_CONFLICTS)
}

/** A clause with its sentence. */
interface Side extends Statement {
  /** The words before the clause explain its pronouns. */
  readonly clause: string
  readonly clauseStems: readonly string[]
}

const CLAUSE =
  /;\s+|,\s+(?=(?:and|but|which|of which|who|whose|because|whatever|as|so|when|where|while|at|on|in|with|together|not|from|for|et|mais|qui|car|où|dont)(?!\p{L}))/iu

/** The clause of a statement that gives the value, with most of the words of the part. */
function sideOf(statement: Statement, part: AskedPart): Side {
  const clauses = statement.sentence.split(CLAUSE).map((clause) => {
    const clauseStems = contentStems(clause)
    const words = coveredStems(demanded(part), clauseStems).length
    return {
      clause,
      clauseStems,
      value: words + (hasKind(clause, part.kind, statement.head) ? WITH_VALUE : 0),
    }
  })
  const [best, next] = clauses.toSorted((a, b) => b.value - a.value)
  const isOnlyName = part.kind === 'person' && (next === undefined || next.value < WITH_VALUE)
  if (isOnlyName) return { ...statement, clause: statement.sentence, clauseStems: statement.stems }
  return { ...statement, clause: best?.clause ?? '', clauseStems: best?.clauseStems ?? [] }
}

/** More than the words of any question. */
const WITH_VALUE = 100

/** Names may be in the text around it; the other words are in the clause, or a pronoun stands for them. */
function saysPart(side: Side, part: AskedPart): boolean {
  const { names } = part
  const others = demanded(part).filter((stem) => !names.includes(stem))
  const wanted = others.length === 0 ? part.about : others
  const given = PRONOUN.test(side.clause) ? [...side.near, ...side.clauseStems] : side.clauseStems
  return (
    (names.length === 0 || shareCovered(names, side.window) > SAYS_PART) &&
    (wanted.length === 0 || shareCovered(wanted, given) > SAYS_PART)
  )
}

/** One of two statements has all that the part demands; the other one may lack a word if its clause is much like it. */
function isStatedBy(first: Side, second: Side, part: AskedPart): boolean {
  const hasVerb = ({ window }: Side): boolean =>
    coveredStems(part.predicates, window).length === part.predicates.length
  const isAlike = [first, second].every(hasVerb) || sharedPart(first, second) > SAME_SUBJECT
  if (!answers(first, part) || !isAlike) return false
  return answers(second, part) || sharedPart(first, second) >= LIKE
}

function isConflict(a: Side, b: Side, part: AskedPart): boolean {
  if (!isSameScope(a, b, part)) return false
  const { kind } = part
  if (isDateKind(kind)) return areOtherDates(a.clause, b.clause)
  if (kind === 'time') return areOtherTimes(a.clause, b.clause)
  if (kind === 'person' || (kind === 'name' && [a, b].every(isNaming))) return areOtherNames(a, b, part)
  if (hasOtherQuantity(a, b, part))
    return (kind !== 'any' && kind !== 'quantity') || sharedPart(a, b) >= SAME_SUBJECT
  // A single word does not say enough about what is denied.
  if (demanded(part).length < 2) return false
  return sharedPart(a, b) >= SAME_STATEMENT && isNegative(a.clause) !== isNegative(b.clause)
}

function isDateKind(kind: AskedPart['kind']): boolean {
  return kind === 'date' || kind === 'year' || kind === 'deadline'
}

function isNaming({ sentence }: Statement): boolean {
  return /\b(?:called|named|name|known as|appel|nomm)/iu.test(sentence)
}

/** The part of the shorter clause's words, without figures, that both have. */
function sharedPart(a: Side, b: Side): number {
  const [one, other] = [a, b].map(({ clauseStems }) => clauseStems.filter((stem) => !isFigure(stem)))
  const shorter = Math.min(one?.length ?? 0, other?.length ?? 0)
  return shorter === 0 ? 0 : sharedStems(one ?? [], other ?? []).length / shorter
}

/**
 * False if the statements are about different years: by the years in them, or by the titles of a series, such as two
 * surveys of the same place.
 */
function isSameScope(a: Statement, b: Statement, { kind }: AskedPart): boolean {
  if (isDateKind(kind)) return true
  const isSeries = titleOf(a) === titleOf(b)
  const [one, other] = [a, b].map(({ sentence, item }) => {
    const years = yearsIn(sentence)
    return years.length > 0 || !isSeries ? years : yearsIn(item.title)
  })
  if (one === undefined || other === undefined || one.length === 0 || other.length === 0) return true
  return one.some((year) => other.includes(year))
}

/** Without figures and months. */
function titleOf({ item }: Statement): string {
  const dated = datesIn(item.title).length > 0
  const stems = contentStems(item.title).filter((stem) => !isFigure(stem))
  return stems.filter((stem) => !dated || datesIn(stem).length === 0).join(' ')
}

function areOtherDates(a: string, b: string): boolean {
  const [one, other] = [datesIn(a), datesIn(b)]
  if (one.length > 0 && other.length > 0)
    return !one.some((date) => other.some((each) => isSameDate(date, each)))
  const isDuration = ({ unit }: Quantity): boolean => unit === 'duration'
  if (one.length + other.length > 0) return false
  const [first, second] = [quantitiesIn(a).filter(isDuration), quantitiesIn(b).filter(isDuration)]
  if (first.length > 0 && second.length > 0) return areOther(first, second)
  return areOtherTimes(a, b)
}

function areOtherTimes(a: string, b: string): boolean {
  const [one, other] = [timesIn(a), timesIn(b)]
  return one.length > 0 && other.length > 0 && !one.some((time) => other.includes(time))
}

/** Names that the question has tell nothing. */
function areOtherNames(a: Side, b: Side, { text }: AskedPart): boolean {
  const asked = foldText(text)
  const [one, other] = [a, b].map(({ clause }) =>
    namesIn(clause)
      .map(foldText)
      .filter((name) => !asked.includes(name)),
  )
  if (one === undefined || other === undefined || one.length === 0 || other.length === 0) return false
  return !one.some((name) => other.some((each) => each.includes(name) || name.includes(each)))
}

function hasOtherQuantity(a: Side, b: Side, part: AskedPart): boolean {
  const [one, other] = [quantitiesIn(a.clause), quantitiesIn(b.clause)]
  const units = new Set(one.map(({ unit }) => unit).filter((unit) => isAskedUnit(unit, part)))
  return [...units].some((unit) => {
    const of = (all: readonly Quantity[]): readonly Quantity[] => all.filter((each) => each.unit === unit)
    return of(other).length > 0 && areOther(of(one), of(other))
  })
}

const DIMENSION = 'dimension '

/** Another value of another unit is no answer. */
function isAskedUnit(unit: string, { kind, focus }: AskedPart): boolean {
  if (kind.startsWith(DIMENSION)) return kind.slice(DIMENSION.length).split(' ').includes(unit)
  if (kind === 'money') return unit === 'money'
  if (kind === 'interval') return unit === 'duration'
  return kind === 'count' && focus !== undefined ? sharedStems([unitOf(focus)], [unit]).length > 0 : true
}

const EQUAL = 1e-6

function areOther(a: readonly Quantity[], b: readonly Quantity[]): boolean {
  return !a.some(({ value }) => b.some((other) => Math.abs(other.value - value) <= EQUAL * Math.abs(value)))
}

/** The statement of the newer document and its date, if titles or file names date both documents. */
export function newerOf({
  first,
  second,
}: Conflict): { readonly statement: Statement; readonly date: string } | undefined {
  const [one, other] = [dateOf(first), dateOf(second)]
  const length = Math.min(one.length, other.length)
  if (length === 0 || one.slice(0, length) === other.slice(0, length)) return undefined
  return one > other ? { statement: first, date: one } : { statement: second, date: other }
}

/** `2023-03-09`, or less of it; empty if nothing dates the document. */
function dateOf({ item: { title, source } }: Statement): string {
  const inName = /(?<!\d)(?:19|20)\d\d(?:-\d\d(?:-\d\d)?)?(?!\d)/.exec(
    source.split(/[\\/]/).at(-1) ?? '',
  )?.[0]
  const dates = datesIn(title).flatMap(({ year, month, day }) =>
    year === undefined
      ? []
      : [[year, month, day].flatMap((part) => (part === undefined ? [] : [two(part)])).join('-')],
  )
  return (
    [...dates, ...(inName === undefined ? [] : [inName])].toSorted((a, b) => b.length - a.length)[0] ?? ''
  )
}

function two(part: number): string {
  return String(part).padStart(2, '0')
}
