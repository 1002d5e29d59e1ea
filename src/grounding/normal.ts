/** Texts as they sound rather than as they are written, and whether one is another with typos. What they name is not known here. */
import { normalLabel } from '../protocol/index.ts'

/** The words of a text, in their normal form. */
export function wordsOf(text: string): readonly string[] {
  const normal = normalLabel(text)
  return normal === '' ? [] : normal.split(' ')
}

/**
 * Whether one of these is probably the other with typos. Word by word, because a short word that differs is another
 * word (est, ouest), and digits never count as typos (phase 1, phase 2). Both are in normal form.
 */
export function isTypoOf(given: string, label: string): boolean {
  if (given === label) return false
  const theirs = label.split(' ')
  const words = given.split(' ')
  if (words.length !== theirs.length) return false
  let edits = 0
  for (const [at, word] of words.entries()) {
    const steps = wordDistance(word, theirs[at] ?? '')
    if (steps === undefined) return false
    edits += steps
  }
  return edits <= MOST_EDITS
}

/** How many letters must be added, removed, replaced or swapped with their neighbour; `most` + 1 if more than that. */
export function editDistance(a: string, b: string, most: number): number {
  if (Math.abs(a.length - b.length) > most) return most + 1
  let before: number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      let steps = Math.min((row[j - 1] ?? 0) + (same ? 0 : 1), (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1)
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      if (swapped) steps = Math.min(steps, (before[j - 2] ?? 0) + 1)
      next.push(steps)
    }
    if (Math.min(...next) > most) return most + 1
    before = row
    row = next
  }
  return row[b.length] ?? 0
}

const MOST_EDITS = 2

/** Undefined if they are too different to be one word. */
function wordDistance(a: string, b: string): number | undefined {
  if (a === b) return 0
  if (/\p{N}/u.test(a) || /\p{N}/u.test(b)) return undefined
  const length = Math.min(a.length, b.length)
  const most = length < 5 ? 0 : length < 9 ? 1 : 2
  if (most === 0) return undefined
  const steps = editDistance(a, b, most)
  return steps > most ? undefined : steps
}
