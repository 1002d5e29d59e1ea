/** The name that somebody probably meant. */

/** The one among `names` that is most like `name`, if any is like it; case and punctuation count for nothing. */
export function nearestName(name: unknown, names: readonly string[]): string | undefined {
  // Models have called tools by numbers.
  if (typeof name !== 'string') return undefined
  const wanted = simplified(name)
  const ranked = names
    .map((each) => ({ each, steps: distance(wanted, simplified(each)) }))
    .filter(({ each, steps }) => steps <= Math.max(2, Math.floor(simplified(each).length / 3)))
    .toSorted((a, b) => a.steps - b.steps)
  return ranked[0]?.each
}

const LONGEST = 64

function simplified(name: string): string {
  return name
    .slice(0, LONGEST * 2)
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '')
    .slice(0, LONGEST)
}

/** Levenshtein: how many letters must be added, removed or replaced. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const replace = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(replace, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[b.length] ?? 0
}
