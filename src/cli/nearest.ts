/** Suggests the nearest known word for a mistyped one. */
import { nearestName } from 'holdfast/operate'

/** A sentence to add to a message, or an empty text. */
export function didYouMean(word: string, words: readonly string[]): string {
  const meant = nearestName(word, words)
  return meant === undefined ? '' : ` Did you mean ${meant}?`
}
