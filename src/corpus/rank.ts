/** Scores and orders of passages. Pure: an index finds the candidates and counts the words. */
import { HoldfastError } from '../protocol/index.ts'
import type { FoundPassage } from './port.ts'

/** Orders found passages anew, for example by a cross-encoder. */
export interface Reranker {
  /** A score from 0 to 1 for each passage, in their order. */
  rerank(
    query: string,
    passages: readonly FoundPassage[],
    options: { readonly signal?: AbortSignal },
  ): Promise<readonly number[]>
}

/** The default for `minScore`. Low: a long question has many words that its passage need not have, and misspelt ones. */
export const MIN_SCORE = 0.15

/** The part of a score that bm25 decides between passages with the same words. */
const BM25_SHARE = 0.2

/** A corpus with fewer passages says little about how rare a word is. */
const SMALLEST_SAMPLE = 100

export interface LexicalCandidate {
  readonly id: number
  /** Positive, higher is better. */
  readonly bm25: number
}

export interface TermHits {
  /** The number of passages with the term. */
  readonly count: number
  /** The candidates among them. */
  readonly hits: ReadonlySet<number>
}

export interface Ranked {
  readonly id: number
  readonly score: number
}

/**
 * The share of the question that a passage holds, each term weighted by its rarity in the corpus, so that a term that is
 * nowhere counts most. 1: it has every term, and no passage is better by bm25. 0: it has none.
 */
export function lexicalScores(
  candidates: readonly LexicalCandidate[],
  terms: readonly TermHits[],
  passages: number,
): readonly Ranked[] {
  const sample = Math.max(passages, SMALLEST_SAMPLE)
  const weights = terms.map(({ count }) => Math.log(1 + (sample - count + 0.5) / (count + 0.5)))
  const total = sum(weights)
  const best = Math.max(...candidates.map(({ bm25 }) => bm25))
  return candidates
    .map(({ id, bm25 }) => {
      const held = sum(weights.filter((_, at) => terms[at]?.hits.has(id)))
      const relative = best > 0 ? bm25 / best : 1
      return { id, score: (held / total) * (1 - BM25_SHARE + BM25_SHARE * relative) }
    })
    .toSorted(byScore)
}

/** The constant of reciprocal rank fusion in its paper (Cormack and others, 2009). */
const RANK_OFFSET = 60

/** Orders by the sum of reciprocal ranks. The score is the better one of the two. */
export function fuse(...rankings: readonly (readonly Ranked[])[]): readonly Ranked[] {
  const fused = new Map<number, { rank: number; score: number }>()
  for (const ranking of rankings)
    for (const [at, { id, score }] of ranking.entries()) {
      const { rank, score: other } = fused.get(id) ?? { rank: 0, score: 0 }
      fused.set(id, { rank: rank + 1 / (RANK_OFFSET + at + 1), score: Math.max(score, other) })
    }
  return [...fused]
    .toSorted(([a, one], [b, other]) => other.rank - one.rank || other.score - one.score || a - b)
    .map(([id, { score }]) => ({ id, score }))
}

export function byScore(one: Ranked, other: Ranked): number {
  return other.score - one.score || one.id - other.id
}

/** Applies the scores of a reranker, best first. */
export function reranked(
  passages: readonly FoundPassage[],
  scores: readonly number[],
): readonly FoundPassage[] {
  if (!areScores(scores, passages.length))
    throw new HoldfastError('option-failed', {
      message: `The reranker must return ${passages.length} scores from 0 to 1, one for each passage.`,
      details: { option: 'reranker' },
    })
  return passages
    .map((passage, at) => ({ ...passage, score: scores[at] ?? 0 }))
    .toSorted((one, other) => other.score - one.score)
}

/** A reranker of a user may return anything. */
function areScores(given: unknown, count: number): boolean {
  if (!Array.isArray(given) || given.length !== count) return false
  return given.every((score: unknown) => typeof score === 'number' && score >= 0 && score <= 1)
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
