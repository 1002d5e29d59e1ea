/**
 * Which tool a text asks for: the evidence in its words for what a tool does and what it is about, less what the tool
 * would leave unexplained or still needs. Where the evidence is thin or two tools are near, nothing is chosen.
 */
import { type Filled, fillArguments } from './fill.ts'
import { ASKING, LIGHT, LOOKING, NAMELESS, STOP } from './lexicon.ts'
import {
  clauseBefore,
  isAsked,
  isContent,
  isInValue,
  type Request,
  readRequest,
  shares,
  type Token,
} from './request.ts'
import type { Row } from './rows.ts'
import { kindOf, referredTo, type Things, takesRow } from './things.ts'
import { isAlike, lookupsFor, type Profile, WEIGHT } from './tools.ts'

/** The evidence for a tool in the words alone. */
export interface Match {
  readonly profile: Profile
  /** How clearly what it does was said, and how much of what it is about, each from 0 to 1. */
  readonly verb: number
  readonly noun: number
  readonly score: number
  /** Where it was said what the tool does. */
  readonly verbAt: ReadonlySet<number>
  /** The tokens that speak for the tool. */
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
/** Verbs of looking that say nothing about what is looked at. */
const GENERIC = new Set(
  'get show list display see view give tell fetch open check look retriev load'.split(' '),
)
const MANY_SAID = new Set(['all', 'every', 'each', 'many'])
const MOST_OFFERED = 4
const MOST_RATED = 8
const MOST_PLACES = 20
const VERB = { same: 1, alike: 0.8, look: 0.7, asking: 0.7, cue: 0.7, light: 0.6, none: 0.5 }

export function chooseTool(text: string, profiles: readonly Profile[], things: Things): Choice {
  const request = readRequest(text, things.lexicon)
  const referred = referredTo({ request }, things)
  const fitting = profiles.filter((profile) => mayTake(profile, referred, { request, things }))
  const all = matchTools(fitting, request, contextOf(referred, profiles, things))
  const rated = all
    .filter((match) => isPossible(match, fitting, request))
    .slice(0, MOST_RATED)
    .map((match) => ({ match, filled: fillArguments({ match, request, things }) }))
    .filter(({ match, filled }) => match.noun > 0 || !isStuck(filled, match.profile, profiles))
    .map((each, _, left) =>
      rate(
        each,
        left.map(({ match }) => match),
        request,
      ),
    )
    .filter((each) => each.isOffered)
    .sort((a, b) => b.total - a.total)
  const [first] = rated
  if (first === undefined) return { kind: 'none' }
  const close = rated.filter(({ total }) => total >= first.total - CLOSE)
  const serious = first.isSure ? close.filter(({ isSure }) => isSure) : close
  const isClear = serious.length === 1 && first.isSure
  if (isClear && isDenied(request, first.match)) return { kind: 'denied' }
  if (isClear && !isDiluted(request, first.match) && !isDoubted(request, first.match))
    return { kind: 'one', match: first.match }
  return { kind: 'several', profiles: serious.slice(0, MOST_OFFERED).map(({ match }) => match.profile) }
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
    const kind = kindOf(param, profile, things)
    const isNamed = kind.some((key) => request.places.has(key))
    return isNamed || rows.some((row) => takesRow(param, kind, row) || row.entity === undefined)
  })
}

/** The nouns of the things that a message points at, for requests that do not say them again. */
function contextOf(rows: readonly Row[], profiles: readonly Profile[], things: Things): ReadonlySet<string> {
  const context = new Set<string>()
  for (const { entity, nouns, tool } of rows) {
    if (entity !== undefined) for (const key of things.words(entity)) context.add(key)
    const own = profiles.find((profile) => profile.tool.name === tool)?.nouns.flatMap(({ keys }) => keys)
    for (const noun of entity === undefined ? nouns : []) if (own?.includes(noun) ?? true) context.add(noun)
  }
  return context
}

/** Every tool that the request speaks of at all, best first. */
export function matchTools(
  profiles: readonly Profile[],
  request: Request,
  context: ReadonlySet<string> = new Set(),
): Match[] {
  return profiles
    .map((profile) => matchOf(profile, request, context))
    .filter(({ score, tokens }) => score > 0 && tokens.size > 0)
    .sort((a, b) => b.score - a.score)
}

/** One tool by itself; it may have nothing to do with the request. */
export function matchOf(profile: Profile, request: Request, context: ReadonlySet<string> = new Set()): Match {
  const { tokens: said } = request
  const verbs = new Map<number, number>()
  const tokens = new Set<number>()
  const nouns = new Set<string>()
  let about = 0
  let isDescribed = false
  for (const [at, token] of said.entries()) {
    if (isInValue(request, at)) continue
    const strength = verbStrength(profile, request, at)
    if (strength > 0 && verbs.size < MOST_PLACES) verbs.set(at, strength)
    if (!isContent(request, at)) continue
    const own = profile.nouns.filter(({ keys }) => shares(keys, token.keys))
    for (const { stem } of own) nouns.add(stem)
    const weight = Math.max(0, ...token.keys.map((key) => profile.weights.get(key) ?? 0))
    if (own.length === 0 && strength === 0 && weight >= WEIGHT.param) about += 0.1
    const isNoun = token.verbs.length === 0 || (token.keys.length > 1 && !isAsked(request, at))
    const isOwn = weight === WEIGHT.description || weight === WEIGHT.name
    if (isOwn && isNoun && !NAMELESS.has(token.word)) isDescribed = true
    if (own.length > 0 || weight >= WEIGHT.param) tokens.add(at)
  }
  const isSame = ({ verbs: own }: { readonly verbs: readonly string[] }): boolean =>
    [...verbs.keys()].some((at) => own.length > 0 && own[0] !== '!create' && own[0] === said[at]?.verbs[0])
  const shareOf = profile.nouns.map((noun) => {
    if (nouns.has(noun.stem) || isSame(noun)) return 1
    return noun.keys.some((key) => context.has(key)) ? 0.8 : 0
  })
  const isSum =
    request.spans.some(({ kind }) => kind === 'expression') &&
    profile.verbs.some((own) => own.verbs.includes('!compute'))
  if (isSum)
    for (const [at, span] of request.spanOf.entries())
      if (span?.kind === 'expression') verbs.set(at, VERB.same)
  const verb = Math.max(0, ...verbs.values())
  for (const at of verbs.keys()) tokens.add(at)
  const described = isDescribed && profile.looks ? 0.5 : 0
  const noun =
    shareOf.length === 0
      ? Number(verb >= VERB.alike)
      : shareOf.reduce<number>((sum, share) => sum + share, 0) / shareOf.length
  return {
    profile,
    verb,
    noun: Math.max(noun, described),
    score: verb + Math.max(noun, described) + Math.min(about, 0.3),
    verbAt: new Set(verbs.keys()),
    tokens,
  }
}

/** How clearly a token says what the tool does. */
function verbStrength(profile: Profile, request: Request, at: number): number {
  const token = request.tokens[at] as Token
  const { word, verbs } = token
  if (/^gets?$/.test(word) && /..ed$/.test(request.tokens[at + 1]?.word ?? '')) return 0
  const isSetting = verbs.some((family) => profile.settings.has(family))
  if (isSetting && !looksAround(request)) return VERB.alike
  const isSearch = profile.verbs.some((own) => own.verbs.includes('!search'))
  if (profile.looks && ASKING.has(word) && asks(request, at)) {
    if (profile.asks.has(word) || isAlike(profile, token)) return VERB.same
    if (!isSearch) return VERB.asking
    const isSaid = profile.nouns.some(({ keys }) => request.tokens.some((other) => shares(keys, other.keys)))
    return word === 'any' && !isSaid ? VERB.alike : 0
  }
  const isName =
    !token.isPlural &&
    profile.nouns.some(({ stem }) => stem === token.stem) &&
    isLeading(request, at) &&
    at + 1 < request.tokens.length
  if (
    isName &&
    verbs.length > 0 &&
    profile.verbs.some((own) => shares(own.verbs, ['!create', '!send', '!order']))
  )
    return VERB.alike
  if (profile.looks && !isSearch && verbs.includes('!search') && !STOP.has(word)) return VERB.light
  if (!isAlike(profile, token) || (STOP.has(word) && !verbs.some((family) => LOOKING.has(family)))) return 0
  if (STOP.has(word)) return profile.looks ? VERB.none : 0
  if (!profile.looks && verbs.length > 0 && !isAsked(request, at)) return 0
  const isSame = profile.verbs.some(({ stem }) => stem === token.stem)
  if (isSame && !GENERIC.has(token.stem)) return VERB.same
  if (LIGHT.has(token.stem) && !profile.looks && !isSame) return VERB.light
  const isClose = profile.verbs.some((own) =>
    own.verbs.some((family) => family !== '!look' && verbs.includes(family)),
  )
  return isClose || !profile.looks ? VERB.alike : VERB.look
}

/** Whether nothing but words without meaning comes before a token in its clause. */
export function isLeading(request: Request, at: number): boolean {
  return clauseBefore(request, at).every(({ word }) => STOP.has(word) && !/^(?:the|a|an|my|our)$/.test(word))
}

/** Whether a message asks to see something. */
function looksAround(request: Request): boolean {
  return request.tokens.some(
    ({ verbs, word }, at) =>
      (ASKING.has(word) && asks(request, at)) ||
      (verbs.includes('!look') && !STOP.has(word) && !verbs.includes('!finish') && isAsked(request, at)),
  )
}

/** `which …s`, `what is`; but not `…, which is …`. */
function asks(request: Request, at: number): boolean {
  const next = request.tokens[at + 1]?.word ?? ''
  const { sentenceOf } = request
  const isRelative = sentenceOf.some(
    (each, place) => place < at && each === sentenceOf[at] && isContent(request, place),
  )
  const isNear = (isRelative ? [1] : [1, 2, 3]).some((step) => isContent(request, at + step))
  const isBare = !request.tokens.some((_, place) => isContent(request, place))
  return (
    isNear ||
    isBare ||
    (/^(?:what|where|who)$/.test(request.tokens[at]?.word ?? '') && /^(?:is|are|s|the)$/.test(next))
  )
}

/** Where a verb asks for something that none of the tools does, before what they do is said. */
export function uncoveredVerbs(
  request: Request,
  profiles: readonly Profile[],
  verbAt: ReadonlySet<number> = new Set(),
): number[] {
  const first = Math.min(...verbAt, Number.POSITIVE_INFINITY)
  return request.tokens.flatMap((token, at) => {
    if (token.verbs.length === 0 || LIGHT.has(token.stem) || at > first) return []
    if (!isContent(request, at) || !isAsked(request, at)) return []
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

/** Whether a tool may be meant at all. */
function isPossible(match: Match, profiles: readonly Profile[], request: Request): boolean {
  const { profile, noun, verbAt } = match
  if (uncoveredVerbs(request, [profile], verbAt).length > 0) return false
  if (noun > 0) return true
  const others = profiles.flatMap(({ nouns }) => nouns).filter(({ stem }) => !profile.weights.has(stem))
  return !request.tokens.some(
    ({ keys }, at) => isContent(request, at) && others.some((other) => shares(other.keys, keys)),
  )
}

/** Whether it needs a thing that no tool can look up. */
function isStuck({ things }: Filled, profile: Profile, profiles: readonly Profile[]): boolean {
  return things.some(
    ({ rows, nouns }) => rows.length === 0 && lookupsFor(nouns, profile, profiles).length === 0,
  )
}

interface Rated {
  readonly match: Match
  readonly filled: Filled
  readonly total: number
  readonly isSure: boolean
  readonly isOffered: boolean
}

/** Better if it has a place for what was said, worse if it needs what was not. */
function rate(
  { match, filled }: Pick<Rated, 'match' | 'filled'>,
  all: readonly Match[],
  request: Request,
): Rated {
  const isOnly =
    match.verb >= VERB.alike &&
    all.every((other) => other === match || other.verb < (other.profile.looks ? match.verb : VERB.alike))
  const { profile, noun } = match
  const isAct = all.some(
    (other) => !other.profile.looks && [...other.verbAt].some((at) => isLeading(request, at)),
  )
  const cue = match.verb === 0 && !(profile.looks && isAct) ? verbCue(match, filled, request) : 0
  const verb = match.verb || cue
  const left = Math.min(6, filled.left)
  const unfounded = filled.things.filter(({ rows }) => rows.length === 0 && filled.mention === '').length
  const isOnlyAsked = !profile.looks && isWhQuestion(request)
  const total =
    match.score +
    cue +
    0.12 * (filled.used + filled.known) -
    0.15 * (filled.gaps.length + unfounded + filled.guessed) -
    0.3 * left -
    (isPluralOff(match, request) ? 0.15 : 0) -
    (isOnlyAsked ? 0.5 : 0) +
    (isMany(match, request) && !profile.verbs.some(({ verbs }) => verbs.includes('!count'))
      ? profile.lists
        ? 0.15
        : -0.15
      : 0)
  const isSearch = profile.verbs.some(({ verbs }) => verbs.includes('!search'))
  const isPlain = !profile.looks || verb >= VERB.alike || isSearch
  const isNamed = filled.mention !== '' || filled.things.some(({ rows }) => rows.length > 0)
  const isNaming = filled.things.length === 1 && isNamed && left + filled.gaps.length === 0
  const isRivalled = all.some((other) => other !== match && !other.profile.looks && other.verb >= VERB.light)
  const isDated =
    profile.looks &&
    noun === 0 &&
    verb >= VERB.asking &&
    filled.used > 0 &&
    left + filled.gaps.length + filled.things.length === 0
  const isFilled =
    left + filled.gaps.length + filled.things.length === 0 &&
    filled.used + filled.known + Object.keys(filled.args).length > 0
  const isSure =
    verb >= (profile.looks ? VERB.none : VERB.light) &&
    (noun >= 0.5 ||
      isDated ||
      (isFilled && Object.keys(filled.args).length > 1 && !isRivalled) ||
      ((isFilled || isNaming) && isOnly && isPlain)) &&
    (verb > VERB.none || (left === 0 && noun > 0.5) || (noun === 1 && profile.nouns.length > 1))
  return { match, filled, total, isSure, isOffered: isSure || isOffered({ match, filled, isOnly, isPlain }) }
}

/** Without a verb: a noun is enough to look at things; `… to 21`, `… is done` asks for a change. */
function verbCue({ profile }: Match, { args }: Filled, request: Request): number {
  const { tokens } = request
  if (profile.looks && profile.verbs.some(({ verbs }) => verbs.includes('!search'))) return 0
  if (profile.looks) return uncoveredVerbs(request, []).length > 0 ? 0 : VERB.none
  if (!profile.verbs.some(({ verbs }) => verbs.includes('!change')) || isInquiry(request)) return 0
  const isSet = profile.tool.params.some(({ name, isId }) => !isId && Object.hasOwn(args, name))
  const isCue =
    tokens.some(({ word }) => /^(?:to|as|is|are|at|want|be)$/.test(word)) || /[:=→]/.test(request.text)
  return isSet && isCue ? VERB.cue : 0
}

function isInquiry({ text, tokens }: Request): boolean {
  return (
    /\?\s*$/.test(text) || /^(?:is|are|was|were|did|does|has|have|why|when|if)$/.test(tokens[0]?.word ?? '')
  )
}

/** `what did I …`, `which one …`; not `what if`. */
function isWhQuestion({ tokens }: Request): boolean {
  return /^(?:what|which|where|who|when|why|how)$/.test(tokens.find(({ word }) => word !== 'and')?.word ?? '')
}

/** `all the …s`, `every …`. */
function isMany({ profile: { nouns } }: Match, { tokens }: Request): boolean {
  return tokens.some(
    ({ word }, at) =>
      MANY_SAID.has(word) &&
      tokens.slice(at + 1, at + 4).some(({ keys }) => nouns.some((noun) => shares(noun.keys, keys))),
  )
}

/** Whether a noun was said of many for a tool that is about one, or the other way round. */
function isPluralOff({ profile: { nouns } }: Match, { tokens }: Request): boolean {
  return nouns.some((noun) => {
    const said = tokens.filter(({ keys }) => shares(keys, noun.keys))
    return said.length > 0 && said.every(({ isPlural }) => isPlural !== noun.isPlural)
  })
}

/** A well-known verb alone is enough only if nothing else was said, a name, or if just one tool changes something that way. */
function isOffered({
  match,
  filled,
  isOnly,
  isPlain,
}: Pick<Rated, 'match' | 'filled'> & { isOnly: boolean; isPlain: boolean }): boolean {
  const { profile, noun, verb, verbAt } = match
  if (noun > 0)
    return verb > 0 || profile.looks || (filled.left + filled.gaps.length === 0 && filled.used > 0)
  if (verb < VERB.alike || verbAt.size === 0 || !isPlain) return false
  return filled.left + filled.gaps.length === 0 || (verb === VERB.same && isOnly && !profile.looks)
}

const POLITE = new Set(['can', 'could', 'would', 'will', 'please', 'might'])
const NOT = /^(?:not|never|dont|t|cannot|cant)$/
const DOUBT =
  /^(?:if|unless|why|how|when|did|was|were|has|had|what|should (?:i|we)|(?:can|may|must|do|could) i|have (?:you|i|we))\b/

/** `do not …`, `should not be …`. */
function isDenied({ tokens, clauseOf }: Request, { verbAt }: Match): boolean {
  return [...verbAt].some((at) =>
    [1, 2, 3].some((step) => {
      const words = tokens.slice(at - step, at).map(({ word }) => word)
      const isNot = NOT.test(words[0] ?? '')
      return isNot && clauseOf[at - step] === clauseOf[at] && words.every((word) => STOP.has(word))
    }),
  )
}

/** `was …ed`, `I …ed`, `I might …`, `nobody …`: told of, and not asked for. */
function isTold(request: Request, at: number): boolean {
  const { text, tokens } = request
  const before = clauseBefore(request, at).map(({ word }) => word)
  const isPast =
    (tokens[at]?.word ?? '').endsWith('ed') &&
    /^(?:i|we|you|he|she|they|have|has|had)$/.test(before.at(-1) ?? '')
  const isFinish = tokens[at]?.verbs.includes('!finish')
  const isParticiple =
    /é(?:e|s|es)?$/i.test(text.slice(0, tokens[at]?.end)) &&
    /\b(?:have|to|was)(?: already)?$/.test(before.join(' '))
  const own = [...before, ...tokens.slice(at, at + 12).map(({ word }) => word)]
  const isOver = OVER.test(own.join(' '))
  return TOLD.test(before.join(' ')) || isOver || ((isPast || isParticiple) && !isFinish)
}

/** Words of a report, or of a plan. */
const OVER =
  /\b(?:already|yesterday|tomorrow|later|soon|unless|whenever|if (?!you|possible|that|necessary))\b/

const TOLD =
  /\b(?:was(?! (?:wondering|hoping|thinking))|were|nobody|maybe|perhaps|probably)\b|(?:^|\b(?!you\b)\w+ )might\b/

/** `should I …`, `if …`, `is it …ed?`: a wish that is doubted or tied to something is not to be acted on. */
function isDoubted(request: Request, { profile, verbAt }: Match): boolean {
  const { tokens, sentenceOf, text } = request
  if (profile.looks) return false
  return [...verbAt].some((at) => {
    const first = sentenceOf.indexOf(sentenceOf[at] ?? 0)
    const last = sentenceOf.lastIndexOf(sentenceOf[at] ?? 0)
    const words = tokens.slice(first, last + 1).map(({ word }) => word)
    const isQuestion =
      /^[^\p{L}\p{N}]*\?/u.test(text.slice(tokens[last]?.end)) && !words.some((word) => POLITE.has(word))
    const isLate = tokens.slice(first, at).some((_, step) => isContent(request, first + step))
    return isTold(request, at) || DOUBT.test(words.slice(0, 2).join(' ')) || (isQuestion && isLate)
  })
}

/** In a long text a few words that happen to fit say little. */
function isDiluted(request: Request, { tokens }: Match): boolean {
  const content = request.tokens.filter((_, at) => isContent(request, at)).length
  return content > 60 && tokens.size < content / 20
}
