/** Names in what people write down. */
import { HoldfastError, quote } from '../protocol/index.ts'
import { nearestName } from './nearest-name.ts'

/** A name that nobody knows is a name that somebody meant otherwise. */
export function checkName(what: string, name: string, known: readonly string[]): void {
  if (known.includes(name)) return
  const meant = nearestName(name, known)
  const advice = meant === undefined ? `Known are ${known.join(', ')}.` : `Did you mean ${meant}?`
  throw new HoldfastError('invalid-option', {
    message: `${what} has no ${quote(name)}. ${advice}`,
    details: { option: name },
  })
}
