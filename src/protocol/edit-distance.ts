/** Edit distance of two texts, for tolerance of typos. */

/**
 * Counts insertions, removals, replacements and swaps of neighbours; returns `most` + 1 beyond `most`. Compares at most
 * `most` letters to both sides, so a small `most` is cheap for texts of any length.
 */
export function editDistance(a: string, b: string, most: number): number {
  const over = most + 1
  if (Math.abs(a.length - b.length) > most) return over
  if (a === b) return 0
  let older: number[] = []
  let row: number[] = []
  for (let j = 0; j <= Math.min(most, b.length); j++) row.push(j)
  for (let i = 1; i <= a.length; i++) {
    const from = Math.max(1, i - most)
    const next: number[] = []
    next[from - 1] = from === 1 ? Math.min(i, over) : over
    let least = next[from - 1] ?? over
    for (let j = from; j <= Math.min(b.length, i + most); j++) {
      const isSame = a[i - 1] === b[j - 1]
      let steps = Math.min(
        (row[j - 1] ?? over) + (isSame ? 0 : 1),
        (row[j] ?? over) + 1,
        (next[j - 1] ?? over) + 1,
      )
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        steps = Math.min(steps, (older[j - 2] ?? over) + 1)
      next[j] = Math.min(steps, over)
      least = Math.min(least, steps)
    }
    if (least > most) return over
    older = row
    row = next
  }
  return row[b.length] ?? over
}
