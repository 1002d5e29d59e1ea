/**
 * Which tool a text asks for: words of the request against words of the tools, words that many tools share counting
 * little. Every candidate carries its evidence; where that is thin or two are near, nothing is chosen.
 */
import { type Filled, fillArguments } from './fill.ts'
import { groupsOf, isAsked, isContent, isInValue, type Request, readRequest } from './request.ts'
import type { Row } from './rows.ts'
import { nounsOf, referredTo, type Things, takesRow } from './things.ts'
import { isAlike, isCompletion, type Profile, WEIGHT } from './tools.ts'
import { ASKING, LIGHT, MANY_SAID, PARTICLES, QUALIFIERS, STOP } from './vocabulary.ts'
import { stemOf, type Token } from './words.ts'

/** The evidence for a tool. */
export interface Match {
  readonly profile: Profile
  readonly score: number
  /** How much of the name the request has said, from 0 to 1. */
  readonly coverage: number
  /** Whether what the tool does was said; by more than a word such as `all`; in its own words; in words only it uses. */
  readonly verbSaid: boolean
  readonly plainVerb: boolean
  readonly directVerb: boolean
  readonly ownVerb: boolean
  readonly nounSaid: boolean
  /** Whether the noun was said in the form that the name has, or not at all. */
  readonly formFits: boolean
  /** Whether another verb was said that the tool is not for. */
  readonly isOther: boolean
  readonly verbAt: ReadonlySet<number>
  /** The tokens of the request that spoke for it. */
  readonly tokens: ReadonlySet<number>
}

export type Choice =
  | { readonly kind: 'one'; readonly match: Match }
  | { readonly kind: 'several'; readonly profiles: readonly Profile[] }
  /** It says not to do it. */
  | { readonly kind: 'denied' }
  | { readonly kind: 'none' }

/** Totals nearer than this are the same. */
const CLOSE = 0.12
const MOST_OFFERED = 4
const TOGETHER = 0.15
const FARTHEST = 3
/** The penalty for a part of the name that the message lacks. */
const PENALTY = { verb: 0.2, noun: 0.3 }
const MOST_PLACES = 20

const qualifierStems = new Set([...QUALIFIERS].map(stemOf))
const manySaidStems = new Set([...MANY_SAID].map(stemOf))
const lightStems = new Set([...LIGHT].map(stemOf))

export function chooseTool(text: string, profiles: readonly Profile[], things: Things): Choice {
  const request = readRequest(text, things.lexicon)
  const referred = referredTo({ request }, things)
  const fitting = profiles.filter((profile) => mayTake(profile, referred, { request, things }))
  const all = matchTools(fitting, request, contextOf(referred, profiles, things))
  const best = all[0]?.score ?? 0
  const rated = all
    .filter(
      (match) =>
        isLikely(match) &&
        !match.isOther &&
        !isAboutOther(match, fitting, request) &&
        match.score >= 0.5 * best,
    )
    .slice(0, 8)
    .map((match) => rate(match, all, { request, things }))
    .filter((each) => isOffered(each, all))
    .sort((a, b) => b.total - a.total)
  const [first] = rated
  if (first === undefined) return { kind: 'none' }
  const close = rated.filter(({ total }) => total >= first.total - CLOSE)
  const serious = first.sure ? close.filter(({ sure }) => sure) : close
  const isClear = serious.length === 1 && (first.sure || standsAlone(first.match, rated))
  if (isClear && isDenied(request, first.match)) return { kind: 'denied' }
  if (isClear && !isDiluted(request, first.match) && !isDoubted(request, first.match))
    return { kind: 'one', match: first.match }
  return { kind: 'several', profiles: serious.slice(0, MOST_OFFERED).map(({ match }) => match.profile) }
}

/** Of a tool whose noun was not said: whether the noun of another one was. */
function isAboutOther({ profile, nounSaid }: Match, profiles: readonly Profile[], request: Request): boolean {
  if (nounSaid || profile.looks) return false
  const others = profiles.flatMap(({ nouns }) => nouns).filter((noun) => !profile.weights.has(noun))
  return request.tokens.some(({ stem }, at) => others.includes(stem) && isContent(request, at))
}

/** A thing that the message points at must be one that the tool takes, unless the tool names its own kind in it. */
function mayTake(
  profile: Profile,
  rows: readonly Row[],
  { request, things }: { request: Request; things: Things },
): boolean {
  const ids = profile.tool.params.filter(({ isId }) => isId)
  if (rows.length === 0 || ids.length === 0) return true
  return ids.some((param) => {
    const nouns = nounsOf(param, profile, things)
    const isNamed = nouns.some((noun) => request.places.has(noun))
    return isNamed || rows.some((row) => takesRow(param, nouns, row) || row.entity === undefined)
  })
}

/** The nouns of what is being talked about, for requests that do not say them again. */
function contextOf(rows: readonly Row[], profiles: readonly Profile[], things: Things): Set<string> {
  const context = new Set<string>()
  for (const { entity, nouns, tool } of rows) {
    if (entity !== undefined) context.add(stemOf(things.entities[entity]?.one[0] ?? entity))
    const verbs = profiles.find((profile) => profile.tool.name === tool)?.verbs ?? []
    if (entity === undefined)
      for (const noun of nouns) if (!verbs.includes(noun) && groupsOf(noun).length === 0) context.add(noun)
  }
  return context
}

/** Every tool that the request speaks of at all, best first. */
export function matchTools(
  profiles: readonly Profile[],
  request: Request,
  context: ReadonlySet<string> = new Set(),
): Match[] {
  const rarity = rarityOf(profiles)
  const said = saidBy(request, profiles)
  for (const stem of context)
    if (!said.some((each) => each.stem === stem)) said.push({ stem, forms: new Set(), at: [], content: true })
  return profiles
    .map((profile) => matchOne(profile, { said, rarity, request }))
    .filter(({ score, tokens }) => score > 0 && tokens.size > 0)
    .sort((a, b) => b.score - a.score)
}

/** One tool by itself; it may have nothing to do with the request. */
export function matchOf(profile: Profile, request: Request): Pick<Match, 'profile' | 'tokens'> {
  return matchTools([profile], request)[0] ?? { profile, tokens: new Set() }
}

/** How much a stem tells tools apart, from above 0 to 1. A stem in names counts only names, a verb all that are like it. */
function rarityOf(profiles: readonly Profile[]): (stem: string) => number {
  const count = (has: (profile: Profile) => boolean): number => profiles.filter(has).length
  const known = new Map<string, number>()
  const most = Math.log(1 + profiles.length)
  return (stem) => {
    const found = known.get(stem)
    if (found !== undefined) return found
    const number =
      count((profile) => groupsOf(stem).length > 0 && isAlike(profile, stem)) ||
      count(({ name }) => name.includes(stem)) ||
      count(({ weights }) => weights.has(stem)) ||
      1
    const rarity = Math.log(1 + profiles.length / number) / most
    known.set(stem, rarity)
    return rarity
  }
}

interface Said {
  readonly stem: string
  /** Every form in which it was said. */
  readonly forms: Set<string>
  readonly at: number[]
  /** Whether it carries meaning, or only may stand for a verb. */
  readonly content: boolean
}

function saidBy(request: Request, profiles: readonly Profile[]): Said[] {
  const particles = new Set(profiles.flatMap(({ forms }) => [...forms].filter((form) => PARTICLES.has(form))))
  const said = new Map<string, Said>()
  for (const [at, { stem, word }] of request.tokens.entries()) {
    if (isInValue(request, at) || isIdle(request, at)) continue
    const content = isContent(request, at) || particles.has(word)
    if (!content && !(ASKING.has(word) ? asks(request, at) : groupsOf(stem).length > 0)) continue
    const known = said.get(stem) ?? { stem, forms: new Set([word]), at: [], content }
    said.set(stem, known)
    known.forms.add(word)
    if (known.at.length < MOST_PLACES) known.at.push(at)
    const { particle } = request.tokens[at] as Token
    if (particle)
      said.set(stemOf(particle), {
        stem: stemOf(particle),
        forms: new Set([particle]),
        at: [at],
        content: true,
      })
  }
  const isSum = request.spans.some(({ kind }) => kind === 'expression')
  if (isSum && !said.has(SUM))
    said.set(SUM, { stem: SUM, forms: new Set(), at: [spanAt(request)], content: true })
  return [...said.values()]
}

/** The first groups of verbs only look. */
const LOOKING_GROUPS = 3
const SUM = stemOf('calculate')

/** Arithmetic asks for a calculation without saying so. */
function spanAt({ spanOf }: Request): number {
  return spanOf.findIndex((span) => span?.kind === 'expression')
}

/** `which …s`, `what is`; but not `…, which is …`. */
function asks(request: Request, at: number): boolean {
  const next = request.tokens[at + 1]?.word ?? ''
  const { sentenceOf } = request
  const isRelative = sentenceOf.some(
    (each, place) => place < at && each === sentenceOf[at] && isContent(request, place),
  )
  const isNear = (isRelative ? [1] : [1, 2, 3]).some((step) => isContent(request, at + step))
  return (
    isNear || (/^(?:what|where|who)$/.test(request.tokens[at]?.word ?? '') && /^(?:is|are|s|the)$/.test(next))
  )
}

/** `should get cleaned` gets nothing. */
function isIdle({ tokens }: Request, at: number): boolean {
  return /^gets?$/.test(tokens[at]?.word ?? '') && /..ed$/.test(tokens[at + 1]?.word ?? '')
}

interface Matching {
  readonly said: readonly Said[]
  readonly rarity: (stem: string) => number
  readonly request: Request
}

function matchOne(profile: Profile, { said, rarity, request }: Matching): Match {
  const { verbs, nouns, weights, settings, forms: named } = profile
  const isLooking = said.some(({ stem }) => groupsOf(stem).some((group) => group < LOOKING_GROUPS))
  const found = said.flatMap(({ stem, forms, at, content }) => {
    const isSetting = !isLooking && settings.some((each) => each === stem || isCompletion(stem))
    const isAskedFor =
      profile.looks || groupsOf(stem).length === 0 || at.some((place) => isAsked(request, place))
    const isVerb = (verbs.includes(stem) && isAskedFor) || isSetting
    const isOwnNoun = !isVerb && nouns.includes(stem)
    const isSaid = qualifierStems.has(stem) || at.some((place) => isAsked(request, place))
    const alike = !isVerb && !isOwnNoun && isSaid && isAlike(profile, stem)
    const direct = content ? (weights.get(stem) ?? (isSetting ? WEIGHT.choice : 0)) : 0
    const weight = Math.max(direct, alike ? (content ? WEIGHT.synonym : WEIGHT.synonym / 2) : 0)
    if (weight === 0) return []
    const gain = weight * rarity(stem) * (at.length === 0 ? WEIGHT.context : 1)
    return [{ stem, forms, at, weight, gain, isVerb, alike, isSaidNoun: at.length > 0 && isOwnNoun }]
  })
  const doing = found.filter(({ isVerb, alike }) => isVerb || alike)
  // Saying one thing in two ways does not make it twice as likely.
  const verbGain = Math.max(0, ...doing.map(({ gain }) => gain))
  const verbSaid = verbGain > 0
  const verbAt = new Set(doing.flatMap(({ at }) => at))
  const open = nouns.filter((stem) => !found.some((each) => each.stem === stem))
  let score = found.filter((each) => !doing.includes(each)).reduce((sum, { gain }) => sum + gain, 0)
  const nounAt = found.filter(({ isSaidNoun }) => isSaidNoun).flatMap(({ at }) => at)
  if ([...verbAt].some((verb) => nounAt.some((noun) => noun > verb && noun - verb <= FARTHEST)))
    score += TOGETHER
  if (profile.lists && said.some(({ stem }) => manySaidStems.has(stem))) score += TOGETHER
  score += verbSaid ? verbGain : -PENALTY.verb * rarity(verbs[0] ?? '')
  for (const stem of open) score -= PENALTY.noun * rarity(stem)
  const marks = found.filter(
    ({ weight, isVerb, alike, stem }) =>
      weight >= WEIGHT.description || isVerb || alike || weights.get(stem) === WEIGHT.param,
  )
  return {
    profile,
    score,
    coverage: (Number(verbSaid) + nouns.length - open.length) / (1 + nouns.length),
    verbSaid,
    plainVerb: doing.some(({ stem }) => !qualifierStems.has(stem) || ASKING.has(stem)),
    directVerb: doing.some(({ isVerb }) => isVerb),
    ownVerb: doing.some(({ isVerb, stem }) => isVerb && groupsOf(stem).length === 0),
    nounSaid: nouns.length === 0 || open.length < nouns.length,
    formFits: found.every(
      ({ isSaidNoun, forms }) => !isSaidNoun || [...forms].some((form) => named.has(form)),
    ),
    isOther: uncoveredVerbs(request, [profile], verbAt).length > 0,
    verbAt,
    tokens: new Set(marks.flatMap(({ at }) => at)),
  }
}

/** Where a verb asks for something that none of the tools does, before what they do is said. */
export function uncoveredVerbs(
  request: Request,
  profiles: readonly Profile[],
  verbAt: ReadonlySet<number> = new Set(),
): number[] {
  const first = Math.min(...verbAt, Number.POSITIVE_INFINITY)
  return request.tokens.flatMap(({ stem }, at) => {
    const isVerb = groupsOf(stem).length > 0 && !lightStems.has(stem) && !qualifierStems.has(stem)
    if (!isVerb || at > first || !isContent(request, at) || !isAsked(request, at)) return []
    return profiles.some(
      (profile) =>
        profile.name.includes(stem) ||
        isAlike(profile, stem) ||
        profile.verbs.includes(stem) ||
        (profile.settings.length > 0 && isCompletion(stem)),
    )
      ? []
      : [at]
  })
}

/** Enough to act on: for a tool that only looks half of its name, for others what it does and nearly all of its name. */
function isSure(match: Match): boolean {
  const { profile, coverage, score, verbSaid, nounSaid, directVerb, isOther } = match
  if (score < 0.3 || isOther || (profile.nouns.length === 0 && !directVerb)) return false
  return profile.looks ? nounSaid && coverage >= 0.5 : verbSaid && coverage >= 0.66
}

/** Whether it may be meant, so that asking is better than saying nothing. */
function isLikely({ coverage, score, tokens }: Match): boolean {
  return coverage >= 0.5 && score >= 0.15 && tokens.size > 0
}

/** The message names its action, and no other tool comes near. */
function standsAlone(first: Match, all: readonly Rated[]): boolean {
  return (
    first.directVerb &&
    first.score >= 0.35 &&
    all.every(({ match }) => match === first || match.score < 0.6 * first.score)
  )
}

const POLITE = new Set(['can', 'could', 'would', 'will', 'please', 'might'])
const NOT = /^(?:not|never|dont)$/
const DOUBT =
  /^(?:if|unless|why|how|when|did|was|were|has|had|what|should (?:i|we)|(?:can|may|must|do|could) i|have (?:you|i|we))\b/

/** `do not …`, `should not be …`. */
function isDenied({ tokens, clauseOf }: Request, { verbAt }: Match): boolean {
  return [...verbAt].some((at) =>
    [1, 2, 3].some((step) => {
      const words = tokens.slice(at - step, at).map(({ word }) => word)
      const isNot = NOT.test(words[0] ?? '') || (words[0] === 'don' && words[1] === 't')
      return isNot && clauseOf[at - step] === clauseOf[at] && words.every((word) => STOP.has(word))
    }),
  )
}

/** `was …ed`, `I …ed`, `I might …`, `nobody …`: told of, and not asked for. */
function isTold({ tokens, clauseOf }: Request, at: number): boolean {
  const first = clauseOf.indexOf(clauseOf[at] ?? 0)
  const before = tokens.slice(first, at).map(({ word }) => word)
  const isPast =
    (tokens[at]?.word ?? '').endsWith('ed') &&
    /^(?:i|we|you|he|she|they|have|has|had)$/.test(before.at(-1) ?? '')
  return TOLD.test(before.join(' ')) || (isPast && !isCompletion(tokens[at]?.stem ?? ''))
}

const TOLD =
  /\b(?:was(?! (?:wondering|hoping|thinking))|were|nobody|maybe|perhaps|probably)\b|(?:^|\b(?!you\b)\w+ )might\b/

/** `should I …`, `if …`, `is it …ed?`: a wish that is doubted or tied to something is not to be acted on. */
function isDoubted(request: Request, { profile, verbAt }: Match): boolean {
  const { tokens, sentenceOf, text } = request
  return [...verbAt].some((at) => {
    const first = sentenceOf.indexOf(sentenceOf[at] ?? 0)
    const last = sentenceOf.lastIndexOf(sentenceOf[at] ?? 0)
    const words = tokens.slice(first, last + 1).map(({ word }) => word)
    const isQuestion =
      /^[^\p{L}\p{N}]*\?/u.test(text.slice(tokens[last]?.end)) && !words.some((word) => POLITE.has(word))
    const isLate = tokens.slice(first, at).some((_, step) => isContent(request, first + step))
    return (
      !profile.looks &&
      (isTold(request, at) || DOUBT.test(words.slice(0, 2).join(' ')) || (isQuestion && isLate))
    )
  })
}

/** A well-known verb alone is enough only if nothing else was said, a name, or if just one tool changes something that way. */
function isOffered({ match, isComplete, sure, isNaming }: Rated, all: readonly Match[]): boolean {
  if (sure || match.nounSaid || match.ownVerb) return true
  const only = !match.profile.looks && all.every((other) => other === match || !other.verbSaid)
  return match.directVerb && (isComplete || only || isNaming)
}

interface Rated {
  readonly match: Match
  readonly total: number
  readonly sure: boolean
  /** Whether every word of the request is explained. */
  readonly isComplete: boolean
  /** Whether all it lacks is a thing that was named. */
  readonly isNaming: boolean
}

/** Better if it has a place for what was said, worse if it needs what was not. */
function rate(
  match: Match,
  all: readonly Match[],
  { request, things }: { request: Request; things: Things },
): Rated {
  const filled: Filled = fillArguments({ match, request, things })
  const isComplete = filled.rest === ''
  const unexplained = !isComplete && (filled.things.length === 0 || filled.mention === '') ? 1 : 0
  const unfounded = filled.things.filter(({ rows }) => rows.length === 0 && filled.mention === '').length
  const better = 0.12 * (filled.used + filled.known)
  const worse =
    0.12 * filled.gaps.length +
    0.15 * (unexplained + unfounded + filled.guessed) +
    (match.formFits ? 0 : 0.12)
  const isFilled = isComplete && filled.gaps.length + filled.things.length === 0
  const isNaming = filled.isNamed && filled.things.length === 1
  // A verb that nobody knows may be among the words that are left.
  const sure =
    (isSure(match) &&
      (match.plainVerb ||
        isComplete ||
        (match.profile.looks && isNaming && filled.runs === 1 && isOneName(filled.rest)))) ||
    (isFilled && isOnlyLook(match, all))
  return { match, total: match.score + better - worse, sure, isComplete, isNaming }
}

/** `Mobile App`, `mobile app`; not `Mobile App renamed`. */
function isOneName(text: string): boolean {
  const words = text.split(/\s+/).filter((word) => word.length > 3 || !STOP.has(word.toLowerCase()))
  const isCapital = (word: string): boolean => /^[\p{Lu}\p{N}]/u.test(word)
  return (
    words.length < 4 &&
    (words.every(isCapital) || !words.some(isCapital)) &&
    words.every((word) => !STOP.has(word))
  )
}

/** Without its noun: the only tool that looks in that way, with everything explained by it. */
function isOnlyLook(match: Match, all: readonly Match[]): boolean {
  const { profile, plainVerb, isOther, tokens, verbAt } = match
  const others = all.filter((other) => other !== match && other.profile.looks && other.plainVerb)
  const isText = profile.tool.params.some(({ required, type }) => required && type === 'string')
  const isAbout = [...tokens].some((at) => !verbAt.has(at)) || isText
  return (
    profile.looks &&
    plainVerb &&
    !isOther &&
    isAbout &&
    others.every(({ score }) => score < match.score - CLOSE)
  )
}

/** In a long text a few words that happen to fit say little. */
function isDiluted(request: Request, { tokens }: Match): boolean {
  const content = request.tokens.filter((_, at) => isContent(request, at)).length
  return content > 60 && tokens.size < content / 20
}
