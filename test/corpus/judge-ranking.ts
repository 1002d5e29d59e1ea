/** Measures of rankings: recall and nDCG at 5, with binary relevance. Knows no corpus. */

export interface JudgedQuestion {
  /** Whether each result answers the question, best first. */
  readonly relevant: readonly boolean[]
  /** `found` or `missed` for each of its answers. A question without answers must find nothing. */
  readonly answers: readonly string[]
}

export interface Judged {
  /** The share of answers that are among the results, over all answerable questions. */
  readonly recall: number
  readonly ndcg: number
  readonly answerable: number
  readonly unanswerable: number
  /** Unanswerable questions without a result. */
  readonly refused: number
}

export function judgeRanking(questions: readonly JudgedQuestion[]): Judged {
  const answerable = questions.filter(({ answers }) => answers.length > 0)
  const others = questions.filter(({ answers }) => answers.length === 0)
  const recalls = answerable.map(
    ({ answers }) => answers.filter((answer) => answer === 'found').length / answers.length,
  )
  return {
    recall: mean(recalls),
    ndcg: mean(answerable.map(ndcgOf)),
    answerable: answerable.length,
    unanswerable: others.length,
    refused: others.filter(({ relevant }) => relevant.length === 0).length,
  }
}

/** The first result of each answer gains; the ideal order has one result for each answer at its top. */
function ndcgOf({ relevant, answers }: JudgedQuestion): number {
  const hits = relevant.flatMap((isHit, at) => (isHit ? [gainAt(at)] : [])).slice(0, answers.length)
  const ideal = answers.map((_, at) => gainAt(at))
  return sum(hits) / sum(ideal)
}

function gainAt(at: number): number {
  return 1 / Math.log2(at + 2)
}

function mean(numbers: readonly number[]): number {
  return numbers.length === 0 ? 0 : sum(numbers) / numbers.length
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
