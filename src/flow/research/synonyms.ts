/** Words that say the same, by their stems. Pure. */
import { SYNONYMS } from '../../corpus/synonyms.ts'
import { isFigure, sharedStems, stemOf } from './words.ts'

const groups = new Map<string, Set<string>>()
for (const group of SYNONYMS) {
  const stems = group.map((word) => stemOf(word))
  for (const stem of stems) groups.set(stem, new Set([...(groups.get(stem) ?? []), ...stems]))
}

/** The stems that say the same as `stem`, itself included. */
function sameAs(stem: string): readonly string[] {
  return isFigure(stem) ? [stem] : [...(groups.get(stem) ?? []), stem]
}

/** The stems of `wanted` that `given` has, in this or another word for the same. */
export function coveredStems(wanted: readonly string[], given: readonly string[]): readonly string[] {
  return wanted.filter((stem) => sharedStems(sameAs(stem), given).length > 0)
}
