/** Finds sentences of different documents that say different things about the same. Pure. */
import { isNegative } from './citations.ts'
import { type Evidence, evidenceStems } from './evidence.ts'
import { isHeading } from './extract.ts'
import {
  contentStems,
  foldText,
  isContentWord,
  isFigure,
  sentencesOf,
  sharedStems,
  shareOf,
  stemOf,
  tokensOf,
} from './words.ts'

export interface Conflict {
  readonly first: Statement
  readonly second: Statement
}

interface Statement {
  readonly item: Evidence
  readonly sentence: string
}

interface ReadStatement extends Statement {
  readonly words: readonly string[]
  /** It has the words of the question itself, without its passage. */
  readonly isDirect: boolean
  /** Its figures by their unit. */
  readonly quantities: ReadonlyMap<string, readonly string[]>
}

const MOST_CONFLICTS = 3
/** The least part of the question, and of the shorter sentence, that must be shared. */
const ABOUT_QUESTION = 0.6
/** The same of the sentence itself; the rest may be in its passage: `A reserve sensor for it was bought`. */
const SAYS_QUESTION = 0.4
const SAME_SUBJECT = 0.6
const SAME_STATEMENT = 0.75

/**
 * Other figures of one unit for nearly the same words, or the same words with and without a negation. `queries`: the stems of the
 * question and of its parts.
 */
export function conflictsIn(
  evidence: readonly Evidence[],
  queries: readonly (readonly string[])[],
): readonly Conflict[] {
  const statements = evidence.flatMap((item) => statementsOf(item, queries))
  const conflicts: Conflict[] = []
  for (const [at, first] of statements.entries())
    for (const second of statements.slice(at + 1)) {
      const isSameDocument = first.item.documentId === second.item.documentId
      if (isSameDocument || conflicts.length === MOST_CONFLICTS || !isConflict(first, second)) continue
      const isKnown = conflicts.some(
        (known) => known.first.item === first.item && known.second.item === second.item,
      )
      if (!isKnown) conflicts.push({ first, second })
    }
  return conflicts
}

function statementsOf(item: Evidence, queries: readonly (readonly string[])[]): readonly ReadStatement[] {
  const passage = evidenceStems(item)
  const about = queries.filter((query) => shareOf(query, passage) >= ABOUT_QUESTION)
  const title = contentStems(item.title)
  return sentencesOf(item.text).flatMap((sentence) => {
    const stems = contentStems(sentence)
    const share = Math.max(0, ...about.map((query) => shareOf(query, [...stems, ...title])))
    const words = stems.filter((stem) => !isFigure(stem))
    if (share < SAYS_QUESTION || words.length < 2 || isHeading(sentence, title)) return []
    const isDirect = share >= ABOUT_QUESTION
    return [{ item, sentence, words, isDirect, quantities: quantitiesIn(sentence) }]
  })
}

function isConflict(a: ReadStatement, b: ReadStatement): boolean {
  const shorter = Math.min(a.words.length, b.words.length)
  const same = sharedStems(a.words, b.words).length / shorter
  const areOtherFigures = [...a.quantities].some(([unit, figures]) => {
    const others = b.quantities.get(unit) ?? []
    return others.length > 0 && !figures.some((figure) => others.includes(figure))
  })
  if (areOtherFigures) return same >= SAME_SUBJECT
  if (!a.isDirect || !b.isDirect) return false
  return same >= SAME_STATEMENT && isNegative(a.sentence) !== isNegative(b.sentence)
}

const MONTHS: ReadonlySet<string> = new Set(
  'january february march april may june july august september october november december janvier fevrier mars avril mai juin juillet aout septembre octobre novembre decembre'.split(
    ' ',
  ),
)
const UNIT = /^ ?([%€$£‰]|°\s?\p{L}|\p{L}+[²³]?)/u
const YEAR = /^(?:1[5-9]|20)\d\d$/

/** Figures with the unit after them, and years. Days, times and figures without a unit, as in tables, are left out. */
function quantitiesIn(sentence: string): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>()
  for (const { word, text, start } of tokensOf(sentence)) {
    const [before, after] = [sentence.slice(0, start), sentence.slice(start + text.length)]
    const next = foldText(UNIT.exec(after)?.[1] ?? '')
    if (!isFigure(word) || MONTHS.has(next) || before.endsWith(':') || /^:\d/.test(after)) continue
    const isWord = /^\p{L}{2,}$/u.test(next)
    const named = isWord && !isContentWord(next) ? '' : isWord ? stemOf(next) : next
    const unit = named === '' && YEAR.test(text) ? 'year' : named
    if (unit !== '') found.set(unit, [...(found.get(unit) ?? []), word])
  }
  return found
}
