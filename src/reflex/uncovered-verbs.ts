/** The verbs of a message that tools do not have. */
import { LOOKING, QUIET } from './lexicon.ts'
import { isTold } from './mood.ts'
import { isAsked, isContent, type Request, shares } from './request.ts'
import { isAlike, type Profile } from './tools.ts'

/** Where a verb asks for something that none of the tools does, before what they do is said. */
export function uncoveredVerbs(
  request: Request,
  profiles: readonly Profile[],
  verbAt: ReadonlySet<number> = new Set(),
): number[] {
  const first = Math.min(...verbAt, Number.POSITIVE_INFINITY)
  return request.tokens.flatMap((token, at) => {
    if ((token.verbs.length === 0 && !isAfterWish(request, at)) || QUIET.has(token.stem) || at > first)
      return []
    if (!isContent(request, at) || !isAsked(request, at) || isTold(request, at)) return []
    const isCovered = profiles.some(
      (profile) =>
        isAlike(profile, token) ||
        (profile.looks && token.verbs.some((family) => LOOKING.has(family))) ||
        profile.name.some(({ keys }) => shares(keys, token.keys)) ||
        token.verbs.some((family) => profile.settings.has(family)),
    )
    return isCovered ? [] : [at]
  })
}

/** `we have to …`, `I want to …`: the next word is the verb, whichever it is. */
function isAfterWish({ tokens }: Request, at: number): boolean {
  const [wish, to] = tokens.slice(Math.max(0, at - 2), at)
  return to?.word === 'to' && /^(?:have|need|want|like|wish|got)$/.test(wish?.word ?? '')
}
