/** Words of a question that the passages spell otherwise. Pure. */
import { editDistance } from '../../protocol/index.ts'
import type { AskedPart } from './asked-part.ts'
import { type Evidence, evidenceStems } from './evidence.ts'
import { coveredStems } from './synonyms.ts'
import { isFigure } from './words.ts'

/** Shorter words have too many neighbours. */
const LEAST_LETTERS = 5

/**
 * The part with each misspelt word read as the word of the evidence that is one letter away, or has two letters swapped, if
 * there is exactly one such word. Names, codes and figures stay as they are.
 */
export function spelledAs(part: AskedPart, evidence: readonly Evidence[]): AskedPart {
  const given = [...new Set(evidence.flatMap(evidenceStems))]
  const read = new Map(
    [...part.required, ...part.predicates]
      .filter((stem) => (part.texts.get(stem) ?? stem).length >= LEAST_LETTERS && !isFigure(stem))
      .filter((stem) => coveredStems([stem], given).length === 0)
      .flatMap((stem) => neighbourOf(stem, given)),
  )
  if (read.size === 0) return part
  const corrected = (stem: string): string => read.get(stem) ?? stem
  return {
    ...part,
    required: part.required.map(corrected),
    predicates: part.predicates.map(corrected),
    focus: part.focus === undefined ? undefined : corrected(part.focus),
    texts: new Map([...part.texts].map(([stem, text]) => [corrected(stem), text])),
  }
}

function neighbourOf(stem: string, given: readonly string[]): readonly (readonly [string, string])[] {
  const near = given.filter((other) => other[0] === stem[0] && editDistance(stem, other, 1) === 1)
  return near.length === 1 ? [[stem, near[0] ?? stem]] : []
}
