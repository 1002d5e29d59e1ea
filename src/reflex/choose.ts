/** Which tool a text asks for: one, several between which it does not decide, or none. */
import { fillArguments } from './fill.ts'
import type { Things } from './knowledge.ts'
import { isKnownVerb, isLikely, isSure, type Match, matchTools, type Profile } from './match.ts'
import { isContent, type Request, readRequest } from './request.ts'
import type { Row } from './results.ts'
import { mentioned } from './results.ts'
import { isPointing } from './things.ts'
import { stemOf } from './words.ts'

export type Choice =
  | { readonly kind: 'one'; readonly match: Match }
  | { readonly kind: 'several'; readonly profiles: readonly Profile[] }
  | { readonly kind: 'none' }

const CLOSE = 0.12
const MOST_OFFERED = 4

export function chooseTool(text: string, profiles: readonly Profile[], things: Things): Choice {
  const request = readRequest(text, things.lexicon)
  const all = matchTools(profiles, request, contextOf(request, things, profiles))
  const best = all[0]?.score ?? 0
  const rated = all
    .filter((match) => isLikely(match) && !match.otherVerb && match.score >= 0.5 * best)
    .slice(0, 8)
    .map((match) => rate(match, request, things))
    .filter(({ match, nothingLeft }) => isOffered(match, nothingLeft, all))
    .sort((a, b) => b.total - a.total)
  const [first] = rated
  if (first === undefined) return { kind: 'none' }
  const close = rated.filter(({ total }) => total >= first.total - CLOSE)
  const alone = standsAlone(
    first.match,
    rated.map(({ match }) => match),
  )
  const serious = first.sure ? close.filter(({ sure }) => sure) : close
  const clear = serious.length === 1 && (first.sure || alone)
  if (clear && !isDiluted(request, first.match) && !isDenied(request, first.match)) {
    return { kind: 'one', match: first.match }
  }
  return { kind: 'several', profiles: serious.slice(0, MOST_OFFERED).map(({ match }) => match.profile) }
}

/** What it does was said, and nothing else comes near. */
function standsAlone(first: Match, all: readonly Match[]): boolean {
  return (
    first.directVerb &&
    first.score >= 0.35 &&
    all.every((match) => match === first || match.score < 0.6 * first.score)
  )
}

/** `do not …`, `should I …`, `if …`: a wish that is denied, doubted or tied to something is not to be acted on. */
function isDenied({ tokens, sentenceOf }: Request, { profile, verbAt }: Match): boolean {
  return [...verbAt].some((at) => {
    const [last, second] = [tokens[at - 1]?.word ?? '', tokens[at - 2]?.word]
    if (NOT.test(last) || (last === 't' && second === 'don')) return true
    const first = sentenceOf.indexOf(sentenceOf[at] ?? 0)
    const opening = tokens.slice(first, first + 2).map(({ word }) => word)
    return !profile.looks && DOUBT.test(opening.join(' '))
  })
}

const NOT = /^(?:not|never|dont)$/
const DOUBT =
  /^(?:if|unless|why|how|when|did|was|were|has|had|what|should (?:i|we)|can i|may i|must i|do i)\b/

/** A well-known verb alone is enough only if nothing else was said, or if just one tool changes something that way. */
function isOffered(match: Match, nothingLeft: boolean, all: readonly Match[]): boolean {
  if (match.nounSaid || match.ownVerb) return true
  const only = !match.profile.looks && all.every((other) => other === match || !other.verbSaid)
  return match.directVerb && (nothingLeft || only)
}

interface Rated {
  readonly match: Match
  readonly total: number
  readonly sure: boolean
  /** Whether every word of the request is explained. */
  readonly nothingLeft: boolean
}

/** Better if it has a place for what was said, worse if it needs what was not. */
function rate(match: Match, request: Request, things: Things): Rated {
  const filled = fillArguments({ match, request, things })
  const nothingLeft = filled.rest === ''
  const unexplained = !nothingLeft && (filled.things.length === 0 || filled.mention === '') ? 1 : 0
  const unfounded = filled.things.filter(({ rows }) => rows.length === 0 && filled.mention === '').length
  const agrees = match.formFits ? 0 : 1
  const better = 0.12 * filled.used + 0.12 * filled.known
  const worse =
    0.12 * filled.gaps.length + 0.15 * unexplained + 0.15 * unfounded + 0.15 * filled.guessed + 0.12 * agrees
  // A verb that nobody knows may be among the words that are left.
  const sure = isSure(match) && (match.plainVerb || nothingLeft)
  return { match, total: match.score + better - worse, sure, nothingLeft }
}

/** In a long text a few words that happen to fit say little. */
function isDiluted(request: Request, { tokens }: Match): boolean {
  let content = 0
  for (let at = 0; at < request.tokens.length; at++) if (isContent(request, at)) content++
  return content > 60 && tokens.size < content / 20
}

/** What kind of thing is being talked about, if the request points at one or says its name. */
function contextOf(
  request: Request,
  { rows, focus, seen, marked }: Things,
  profiles: readonly Profile[],
): Set<string> {
  const words = request.tokens.map(({ word }) => word)
  const stems = request.tokens.map(({ stem }) => stem)
  const said = mentioned(rows, stems, NOTHING)
    .filter(({ whole }) => whole)
    .map(({ row }) => row)
  const pointed = isPointing(words) ? [focus ?? seen.at(-1)] : []
  const spoken = said.length > 0 ? said : pointed.filter((row): row is Row => row !== undefined)
  const context = new Set<string>()
  for (const row of spoken) {
    const verbs = profiles.find(({ tool }) => tool.name === row.tool)?.verbs ?? []
    for (const noun of row.nouns) if (!verbs.includes(noun) && !isKnownVerb(noun)) context.add(noun)
  }
  const labelled = [...marked.rows].filter(
    ([, shown]) => mentioned(shown, stems, NOTHING).filter(({ whole }) => whole).length > 0,
  )
  for (const [entity] of labelled) context.add(stemOf(marked.entities[entity]?.one[0] ?? entity))
  return context
}

const NOTHING: ReadonlySet<string> = new Set()
