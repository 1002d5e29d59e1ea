/** The word that somebody probably meant. */
import { nearestName } from 'holdfast'

/** A sentence to add to a message, or nothing. */
export function didYouMean(word: string, words: readonly string[]): string {
  const meant = nearestName(word, words)
  return meant === undefined ? '' : ` Did you mean ${meant}?`
}
