/** The word that somebody probably meant. */

/** The one of `words` that takes the fewest changed letters, if that are few. */
function nearest(word: string, words: readonly string[]): string | undefined {
  const ranked = words
    .map((each) => ({ each, steps: distance(word.toLowerCase(), each.toLowerCase()) }))
    .filter(({ each, steps }) => steps <= Math.max(1, Math.floor(each.length / 3)))
    .toSorted((a, b) => a.steps - b.steps)
  return ranked[0]?.each
}

/** A sentence to add to a message, or nothing. */
export function didYouMean(word: string, words: readonly string[]): string {
  const meant = nearest(word, words)
  return meant === undefined ? '' : ` Did you mean ${meant}?`
}

const LONGEST = 40

/** Letters to add, remove, replace or swap with their neighbour. */
function distance(a: string, b: string): number {
  if (a.length > LONGEST) return LONGEST
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, index) => index)]
  const at = (i: number, j: number): number => rows[i]?.[j] ?? Number.POSITIVE_INFINITY
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    rows.push(row)
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      row.push(
        Math.min(
          at(i - 1, j) + 1,
          at(i, j - 1) + 1,
          at(i - 1, j - 1) + (same ? 0 : 1),
          swapped ? at(i - 2, j - 2) + 1 : Number.POSITIVE_INFINITY,
        ),
      )
    }
  }
  return at(a.length, b.length)
}
