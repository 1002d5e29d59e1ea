/** Finds the name that a caller probably meant. */
import { editDistance } from './edit-distance.ts'

/** The most similar of `names`, if any is similar; ignores case and punctuation. */
export function nearestName(name: unknown, names: readonly string[]): string | undefined {
  // Models have used numbers as tool names.
  if (typeof name !== 'string') return undefined
  const target = simplified(name)
  const ranked = names
    .flatMap((each) => {
      const known = simplified(each)
      const most = Math.max(known.length < 4 ? 1 : 2, Math.floor(known.length / 3))
      const steps = editDistance(target, known, most)
      return steps > most ? [] : [{ each, steps }]
    })
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
