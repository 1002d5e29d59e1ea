/** Finds sentences of different documents that say different things about the same. Pure. */
import { isNegative } from './citations.ts'
import type { Evidence } from './evidence.ts'
import { contentStems, isFigure, sentencesOf, sharedStems, shareOf } from './words.ts'

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
  readonly figures: readonly string[]
}

const MOST_CONFLICTS = 3
/** The least part of the question, and of the shorter sentence, that must be shared. */
const ABOUT_QUESTION = 0.6
const SAME_SUBJECT = 0.6
const SAME_STATEMENT = 0.75

/**
 * Other figures for nearly the same words, or the same words with and without a negation. `queries`: the stems of the
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
  const title = contentStems(item.title)
  return sentencesOf(item.text).flatMap((sentence) => {
    const stems = contentStems(sentence)
    const isAbout = queries.some((query) => shareOf(query, [...stems, ...title]) >= ABOUT_QUESTION)
    if (!isAbout) return []
    const words = stems.filter((stem) => !isFigure(stem))
    return words.length < 2 ? [] : [{ item, sentence, words, figures: stems.filter(isFigure) }]
  })
}

function isConflict(a: ReadStatement, b: ReadStatement): boolean {
  const shorter = Math.min(a.words.length, b.words.length)
  const same = sharedStems(a.words, b.words).length / shorter
  const areOtherFigures =
    a.figures.length > 0 && b.figures.length > 0 && sharedStems(a.figures, b.figures).length === 0
  if (areOtherFigures) return same >= SAME_SUBJECT
  return same >= SAME_STATEMENT && isNegative(a.sentence) !== isNegative(b.sentence)
}
