/**
 * The little words and values by which a message says more than a call would do: they deny, count, narrow, compare, tie
 * an order to something, or put it off. Content words that are left over are counted by `Claims`.
 */
import type { Claims } from './claims.ts'
import { FROM, ordinalOf, PRONOUNS, QUANTITY, TO, TYING, WEIGHTY } from './lexicon.ts'
import { isContent } from './request.ts'
import { isLabel } from './schema.ts'

/** The first of them that nothing has explained; empty if there is none. A tool that looks leaves most of them out. */
export function limitOf(claims: Claims, verbAt: ReadonlySet<number>): string {
  const isLimit = claims.profile.looks ? compares : limits(claims, verbAt)
  const at = claims.request.tokens.findIndex((_, place) => isLimit(claims, place))
  return at < 0 ? '' : claims.textOf(at, at + 1)
}

type IsLimit = (claims: Claims, at: number) => boolean

/** For a tool that changes something. Beside the clause of the order, only what ties it to something counts. */
function limits({ request, profile: { tool } }: Claims, verbAt: ReadonlySet<number>): IsLimit {
  const { tokens, clauseOf, spanOf } = request
  const order = new Set([...verbAt].map((at) => clauseOf[at]))
  const takesOne = tool.params.some((param) => param.required && (param.isId || isLabel(param)))
  const takesNone = tool.params.length === 0 && !tokens.some(({ word }) => QUANTITY.has(word))
  const opens = (at: number): boolean => !tokens.slice(0, at).some((_, before) => isContent(request, before))
  return (claims, at) => {
    const { word = '' } = tokens[at] ?? {}
    // `the first two`
    if (takesOne && ordinalOf(word) !== undefined && spanOf[at + 1]?.kind === 'number') return true
    if (compares(claims, at)) return true
    if (!claims.isFree(at) || verbAt.has(at)) return false
    const next = tokens[at + 1]
    if (TYING.has(word)) return claims.isFree(at + 1) && !POLITE.has(next?.word ?? '')
    if (order.size > 0 && !order.has(clauseOf[at]))
      return (
        word === 'not' && clauseOf[at] !== clauseOf[at - 1] && next?.verbs.length === 0 && next.word !== 'of'
      )
    if (PRONOUNS.has(word)) return takesNone && at === tokens.length - 1
    return (takesOne && QUANTITY.has(word)) || (WEIGHTY.has(word) && !(word === 'no' && opens(at)))
  }
}

/** `after 2026-03-02`, for a tool that does not say which end of something it takes. */
function compares({ request: { tokens, spanOf }, profile: { tool } }: Claims, at: number): boolean {
  const { word = '' } = tokens[at] ?? {}
  const kind = spanOf[at + 1]?.kind
  const cues = COMPARING.has(word) ? (FROM.has(word) ? FROM : TO) : undefined
  if (cues === undefined || (kind !== 'date' && kind !== 'number')) return false
  return !tool.params.some(({ about, stems }) => [...about, ...stems].some((each) => cues.has(each)))
}

/** `if you could`, `if that is not too much trouble`. */
const POLITE = new Set('you that possible necessary'.split(' '))
const COMPARING = new Set('after since over above before below under until till between'.split(' '))
