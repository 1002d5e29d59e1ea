/** The confidence in an answer, from its evidence alone: scores, agreement and coverage. The ADR states the formula. */
import { type Evidence, evidenceStems, round } from './evidence.ts'
import type { CheckedClaim } from './findings.ts'
import { shareOf } from './words.ts'

/** Answers below it have a note. */
export const LOW_CONFIDENCE = 0.5

const WEIGHTS = { coverage: 0.45, relevance: 0.3, agreement: 0.25 }
/** By the number of documents that are cited. */
const AGREEMENT = [0, 0.6, 0.85, 1]
/** Factors. Sources that contradict each other agree in nothing. */
const IN_CONFLICT = 0.6
const AFTER_ASSUMPTION = 0.6
/** Of quoted sentences: no model has judged whether they answer the question. */
const EXTRACTIVE = 0.8

export interface Grounds {
  /** The stems of the question's content words. */
  readonly question: readonly string[]
  readonly claims: readonly CheckedClaim[]
  readonly cited: readonly Evidence[]
  readonly hasConflicts: boolean
  readonly hasAssumption: boolean
  readonly isExtractive: boolean
}

/** From 0 to 1. Without a cited source: 0. */
export function confidenceOf({ question, claims, cited, ...grounds }: Grounds): number {
  if (cited.length === 0 || claims.length === 0) return 0
  const support = claims.filter(({ verdict }) => verdict === 'supported').length / claims.length
  const given = cited.flatMap(evidenceStems)
  const coverage = shareOf(question, given)
  const relevance = cited.reduce((sum, { score }) => sum + Math.min(1, Math.max(0, score)), 0) / cited.length
  const documents = new Set(cited.map(({ documentId }) => documentId)).size
  const agreement = grounds.hasConflicts ? 0 : (AGREEMENT[Math.min(documents, 3)] ?? 0)
  const weighted = WEIGHTS.coverage * coverage + WEIGHTS.relevance * relevance + WEIGHTS.agreement * agreement
  const doubt =
    (grounds.hasConflicts ? IN_CONFLICT : 1) *
    (grounds.hasAssumption ? AFTER_ASSUMPTION : 1) *
    (grounds.isExtractive ? EXTRACTIVE : 1)
  return round(support * weighted * doubt)
}
