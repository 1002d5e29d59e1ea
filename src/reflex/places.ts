/** Places in a list of things of one kind that a request names: `project 2`, `the second one`, `tasks 1 and 3`. */
import type { EntityWords } from '../model/grounding-context.ts'
import type { Claims } from './claims.ts'
import { BEFORE_NAMES, ordinalOf, STOP } from './grammar.ts'
import { stemOf } from './words.ts'

export interface Place {
  /** From 0 on; -1 is the last. */
  readonly place: number
  /** Its word is explained. */
  readonly take: () => void
}

const MOST = 999
const FILLERS = new Set(['number', 'no', 'nr', 'n', 'the'])
const LINKS = new Set(['and', 'or', 'the'])

/** Each once, in order. A number that nothing ties to such a thing is no place. */
export function placesOf(
  claims: Claims,
  entity: string,
  entities: Readonly<Record<string, EntityWords>>,
): readonly Place[] {
  const stems = (words: EntityWords | undefined): readonly string[] =>
    [...(words?.one ?? []), ...(words?.many ?? [])].map(stemOf)
  const own = new Set(stems(entities[entity]))
  const others = new Set(Object.values(entities).flatMap(stems))
  const kindOf = (at: number): 'own' | 'other' | undefined => {
    const stem = claims.request.tokens[at]?.stem ?? ''
    return own.has(stem) ? 'own' : others.has(stem) ? 'other' : undefined
  }
  const found = new Map<number, Place>()
  let last = -2
  for (let at = 0; at < claims.request.tokens.length; at++) {
    const place = claims.isFree(at) ? placeAt(claims, at) : undefined
    if (place === undefined) continue
    const isListed = last >= 0 && isLinked(claims, last, at)
    const isNamed = place.isNumber
      ? isNumbered(claims, at, kindOf)
      : kindBehind(claims, at, kindOf) !== 'other'
    if (!isListed && !isNamed) continue
    last = at
    if (!found.has(place.place)) found.set(place.place, { place: place.place, take: takerOf(claims, at) })
  }
  return [...found.values()]
}

type KindOf = (at: number) => 'own' | 'other' | undefined

function placeAt(claims: Claims, at: number): { place: number; isNumber: boolean } | undefined {
  const span = claims.request.spanOf[at]
  const word = claims.request.tokens[at]?.word ?? ''
  if (span === undefined) {
    const place = ordinalOf(word)
    return place === undefined ? undefined : { place, isNumber: false }
  }
  const number = span.kind === 'number' && /^\d+$/.test(span.raw) ? Number(span.value) : 0
  return number >= 1 && number <= MOST ? { place: number - 1, isNumber: true } : undefined
}

function takerOf(claims: Claims, at: number): () => void {
  return () => {
    const span = claims.request.spanOf[at]
    if (span) claims.takeSpan(span)
    claims.takeTokens(at, at + 1)
  }
}

/** `project 2`, `project number 2`, `for 2`, `2` right behind what is to be done, or nothing but `2`. */
function isNumbered(claims: Claims, at: number, kindOf: KindOf): boolean {
  const { tokens } = claims.request
  let before = at - 1
  while (before >= 0 && FILLERS.has(tokens[before]?.word ?? '')) before--
  const kind = before < 0 ? undefined : kindOf(before)
  if (kind !== undefined) return kind === 'own'
  const next = tokens[at + 1]
  const counts = next !== undefined && !STOP.has(next.word) && claims.request.spanOf[at + 1] === undefined
  if (counts || /^\s*[%€$£]/.test(claims.gapBefore(at + 1)) || /[€$£]\s*$/.test(claims.gapBefore(at)))
    return false
  const isAlone = tokens.every(({ word }, place) => STOP.has(word) || placeAt(claims, place) !== undefined)
  return isAlone || BEFORE_NAMES.has(tokens[at - 1]?.word ?? '') || claims.followsTool(at)
}

/** What kind of thing an ordinal counts: the first noun behind it. */
function kindBehind(claims: Claims, at: number, kindOf: KindOf): 'own' | 'other' | undefined {
  const { tokens } = claims.request
  for (let next = at + 1; next < tokens.length; next++) {
    const kind = kindOf(next)
    if (kind !== undefined) return kind
    const word = tokens[next]?.word ?? ''
    const isPart = LINKS.has(word) || ordinalOf(word) !== undefined
    if (!isPart) return undefined
  }
  return undefined
}

/** `1, 2 and 3`: nothing between two places but what joins them. */
function isLinked(claims: Claims, from: number, to: number): boolean {
  const between = claims.request.tokens.slice(from + 1, to)
  const isJoined = between.length > 0 || claims.gapBefore(to).includes(',')
  return isJoined && between.every(({ word }) => LINKS.has(word)) && between.length <= 2
}
