/** The things that a message points at: by a whole label, by a place in the list shown last, or by a pronoun. */
import { ordinalOf, PRONOUNS, STOP } from './lexicon.ts'
import type { Request } from './request.ts'
import { latestOf, mentioned, type Row } from './rows.ts'
import { FILLERS, isPlaceNumber, latestList, type Things } from './things.ts'

/** The one thing that a request points at, whatever it is: by its whole label, by a place, or by a pronoun. */
export function referredTo(
  { request: { tokens, spanOf } }: { readonly request: Request },
  things: Things,
): readonly Row[] {
  const rows = latestOf(things.seen).filter(({ id }) => id !== undefined)
  const whole = mentioned(rows, tokens).filter((mention) => mention.whole)
  if (whole.length > 0) return whole.map(({ row }) => row)
  const latest = latestList(things)
  const listed = things.seen.filter(({ list, id }) => list === latest && id !== undefined)
  const places = tokens.flatMap(({ word }, at) => (spanOf[at] === undefined ? (ordinalOf(word) ?? []) : []))
  if (places.length > 0) return places.flatMap((place) => listed.at(place) ?? [])
  const numbers = [...tokens.keys()].filter((at) => isPlaceNumber(spanOf[at]))
  const rest = tokens.filter(
    ({ word, stem }, at) => !numbers.includes(at) && !STOP.has(word) && !FILLERS.has(stem),
  )
  const isCounted = numbers.length > 0 && numbers.every((at) => FILLERS.has(tokens[at - 1]?.word ?? ''))
  if (numbers.length > 0 && (rest.length <= 1 || isCounted))
    return numbers.flatMap((at) => listed[Number(spanOf[at]?.value) - 1] ?? [])
  const isMany = tokens.some(({ word }) => /^(?:ones|those|these|them)$/.test(word))
  const points = tokens.some(({ word }) => PRONOUNS.has(word))
  const described = points ? mentioned(listed, tokens) : []
  if (described.length === 1) return described.map(({ row }) => row)
  if (isMany && listed.length > 0) return listed
  return points ? [things.focus ?? things.seen.at(-1)].flatMap((row) => row ?? []) : []
}
