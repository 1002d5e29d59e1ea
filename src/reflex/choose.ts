/**
 * Which tool a text asks for: the evidence in its words for what a tool does and what it is about, less what the tool
 * would leave unexplained or still needs. Where the evidence is thin or two tools are near, nothing is chosen.
 */
import { type Filled, fillArguments } from './fill.ts'
import { ASKING, BEFORE_NOUNS, LIGHT, LOOKING, NAMELESS, STOP } from './lexicon.ts'
import {
  asks,
  isDenied,
  isDoubted,
  isInquiry,
  isLeading,
  isStatement,
  isWhQuestion,
  looksAround,
} from './mood.ts'
import { referredTo } from './pointed.ts'
import { isAsked, isContent, isInValue, type Request, readRequest, shares, type Token } from './request.ts'
import { latestOf, mentioned, type Row } from './rows.ts'
import { isLabel } from './schema.ts'
import { kindOf, type Things, takesRow } from './things.ts'
import { isAlike, lookupsFor, type Profile, WEIGHT } from './tools.ts'
import { uncoveredVerbs } from './uncovered-verbs.ts'

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
const CLOSE = 0.15
/** Verbs of looking that say nothing about what is looked at. */
const GENERIC = new Set('get show display see view give tell fetch open check look retriev load'.split(' '))
const MANY_SAID = new Set(['all', 'every', 'each', 'many'])
const MOST_OFFERED = 4
const MOST_RATED = 8
const MOST_PLACES = 20
const VERB = { same: 1, alike: 0.8, look: 0.65, asking: 0.7, cue: 0.7, light: 0.6, none: 0.5 }

export function chooseTool(text: string, profiles: readonly Profile[], things: Things): Choice {
  const request = readRequest(text, things.lexicon)
  const referred = referredTo({ request }, things)
  const fitting = profiles.filter((profile) => mayTake(profile, referred, { request, things }))
  const spokenOf = referred.length > 0 ? referred : namedRows(request, things)
  const all = matchTools(fitting, request, contextOf(spokenOf, profiles, things))
  const rated = all
    .slice(0, MOST_RATED)
    .map((match) => ({ match, filled: fillArguments({ match, request, things }) }))
    .filter((each) => isPossible(each, fitting, request))
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
  const serious = seriousOf(first, { rated, close })
  const isClear = serious.length === 1 && first.isSure
  if (isClear && isDenied(request, first.match.verbAt)) return { kind: 'denied' }
  const { profile, verbAt } = first.match
  const isInDoubt = !profile.looks && isDoubted(request, verbAt, first.filled.taken)
  if (isClear && !isDiluted(request, first.match) && !isInDoubt) return { kind: 'one', match: first.match }
  return { kind: 'several', profiles: serious.slice(0, MOST_OFFERED).map(({ match }) => match.profile) }
}

/** The tools that may be meant as well as the first. A verb alone is no order if several tools do what it says. */
function seriousOf(
  first: Rated,
  { rated, close }: { readonly rated: readonly Rated[]; readonly close: readonly Rated[] },
): readonly Rated[] {
  const isBare = ({ match, filled }: Rated): boolean =>
    !match.profile.looks && match.noun === 0 && filled.used + Object.keys(filled.args).length === 0
  const rivals = rated.filter((other) => isBare(other) && other.match.verb >= first.match.verb)
  if (isBare(first) && rivals.length > 1) return rivals
  return first.isSure ? close.filter(({ isSure }) => isSure) : close
}

/** One or two known things that the message names in part. */
function namedRows({ tokens }: Request, { seen }: Things): readonly Row[] {
  const rows = mentioned(
    latestOf(seen).filter(({ id }) => id !== undefined),
    tokens,
  ).map(({ row }) => row)
  return rows.length < 3 ? rows : []
}

/** A thing that the message points at must be one that the tool takes, unless the tool names its own kind in it. */
function mayTake(
  profile: Profile,
  rows: readonly Row[],
  { request, things }: { request: Request; things: Things },
): boolean {
  const ids = profile.tool.params.filter(({ isId }) => isId)
  const isListing = profile.lists && rows.length > 1
  if (rows.length === 0 || ids.length === 0) return true
  if (
    isListing &&
    profile.nouns.some(({ keys }) => rows.some((row) => keys.some((key) => row.nouns.has(key))))
  )
    return true
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
  const isQuestion = isWhQuestion(request) || said.some(({ word }) => ASKING.has(word))
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
    // Words by which other tools describe the same thing say little to a question.
    const isOwn =
      weight === WEIGHT.description || weight === WEIGHT.name || (weight === WEIGHT.shared && !isQuestion)
    const isParam = profile.tool.params.some(({ keys }) => keys.some((each) => shares(each, token.keys)))
    if (isOwn && isNoun && !NAMELESS.has(token.word) && !isParam) isDescribed = true
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
  const described = isDescribed && profile.looks ? (profile.lists ? 0.6 : 0.5) : 0
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
  if (isCalled(profile, request, at)) return VERB.same
  if (/^gets?$/.test(word) && /..ed$/.test(request.tokens[at + 1]?.word ?? '')) return 0
  const isSetting = verbs.some((family) => profile.settings.has(family)) && !isAdjective(request, at)
  if (isSetting && !looksAround(request)) return VERB.alike
  if (isAdjective(request, at)) return 0
  const isSearch = profile.verbs.some((own) => own.verbs.includes('!search'))
  if (profile.looks && ASKING.has(word) && asks(request, at)) {
    if (profile.asks.has(word) || isAlike(profile, token)) return VERB.same
    if (!isSearch) return VERB.asking
    return word === 'any' ? VERB.asking : 0
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

/**
 * The name of a tool alone, or its verb and right behind it its noun: `take the inventory`. A verb that says nothing elsewhere, such as
 * `take`, is one there.
 */
function isCalled({ title, leads, nouns }: Profile, request: Request, at: number): boolean {
  const { tokens } = request
  const isNamed = tokens.length === title.length && tokens.every(({ stem }, place) => stem === title[place])
  if (isNamed) return at === 0
  if (!leads.has(tokens[at]?.stem ?? '') || !STOP.has(tokens[at]?.word ?? '') || !isLeading(request, at))
    return false
  const next = tokens.slice(at + 1).find(({ word }) => !BEFORE_NOUNS.has(word))
  return nouns.some(({ stem }) => stem === next?.stem)
}

/** `open tickets`, `closed ones`, `tickets fermés`: beside a plural noun of the tools. */
function isAdjective({ tokens, language }: Request, at: number): boolean {
  const isPlural = (token: Token | undefined): boolean =>
    token?.isPlural === true && token.isTool && !STOP.has(token.word)
  const isState = tokens[at]?.keys.some((key) => key.startsWith('=')) === true
  const isNoun = (token: Token | undefined): boolean =>
    isPlural(token) ||
    (token?.isPlural === true && !token.isName && token.keys.some((key) => key.startsWith('=')))
  const isBefore = language === 'en' && (isNoun(tokens[at + 1]) || tokens[at + 1]?.word === 'ones')
  return (
    isState && (isBefore || (language === 'fr' && tokens[at]?.isPlural === true && isPlural(tokens[at - 1])))
  )
}

/** Whether a tool may be meant at all. */
function isPossible(
  { match, filled: { taken } }: Pick<Rated, 'match' | 'filled'>,
  profiles: readonly Profile[],
  request: Request,
): boolean {
  const { profile, noun, verbAt } = match
  if (uncoveredVerbs(request, [profile], verbAt).some((at) => !taken.has(at))) return false
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
  const { profile, noun } = match
  const left = Math.min(6, filled.left)
  const open = filled.gaps.length + filled.things.length
  const isNamed = filled.mention !== '' || filled.things.some(({ rows }) => rows.length > 0)
  const isNaming = open === 1 && filled.things.length === 1 && isNamed
  const said = filled.used + filled.named + Object.keys(filled.args).length
  const isWhole = said > 0 || (match.verb >= VERB.alike && profile.tool.params.length === 0 && !profile.looks)
  const explains = left === 0 && ((open === 0 && isWhole) || isNaming)
  const cue =
    match.verb === 0 ? cueOf({ match, filled }, all, { request, isComplete: explains && open === 0 }) : 0
  const verb = match.verb || cue
  const unfounded = filled.things.filter(({ rows }) => rows.length === 0 && filled.mention === '').length
  const isOnlyAsked = !profile.looks && isWhQuestion(request)
  const total =
    match.score +
    cue +
    0.12 * (filled.used + filled.known) -
    0.15 * (filled.gaps.length + filled.guessed) -
    (profile.looks && !profile.lists ? 0.3 : 0.15) * unfounded -
    0.3 * left -
    (isPluralOff(match, request) ? 0.15 : 0) -
    (isOnlyAsked ? 0.5 : 0) -
    (does(profile, '!count') && match.verb < VERB.alike ? 0.2 : 0) +
    (isMany(match, request) && !profile.verbs.some(({ verbs }) => verbs.includes('!count'))
      ? profile.lists
        ? 0.15
        : -0.15
      : 0)
  const isPlain =
    !profile.looks ||
    verb >= (filled.used > 0 || isTitled(filled, profile) ? VERB.look : VERB.alike) ||
    does(profile, '!search')
  const isTopic = noun >= 0.5 && (verb > VERB.none || (left === 0 && noun > 0.5))
  // A verb that is only a typing error away says nothing by itself.
  const isWritten = ![...match.tokens].every((at) => match.verbAt.has(at) && request.tokens[at]?.isCorrected)
  const isSure =
    verb > 0 && isWritten && !absorbs({ match, filled }, request) && (isTopic || (explains && isPlain))
  return { match, filled, total, isSure, isOffered: isSure || isOffered({ match, filled, isPlain }) }
}

/** `put on X`: any words would do for the text of what is made, and the verb is one of many meanings. */
function absorbs({ match, filled }: Pick<Rated, 'match' | 'filled'>, { tokens }: Request): boolean {
  const { profile, tokens: said, verbAt } = match
  const isVague = [...said].every((at) => verbAt.has(at) && (tokens[at]?.verbs.length ?? 0) > 1)
  return isVague && filled.used + filled.named === 0 && does(profile, '!create')
}

/** Whether a tool was given one of its choices, or the name of a thing that is written as a name. */
function isTitled({ args }: Filled, { tool }: Profile): boolean {
  return tool.params.some(
    (param) =>
      (param.choices !== undefined && Object.hasOwn(args, param.name)) ||
      (isLabel(param) && /^"\p{Lu}/u.test(JSON.stringify(args[param.name] ?? ''))),
  )
}

function does({ verbs }: Profile, ...families: readonly string[]): boolean {
  return verbs.some((verb) => shares(verb.verbs, families))
}

interface Around {
  readonly request: Request
  /** Whether every word is explained and every value is there. */
  readonly isComplete: boolean
}

/**
 * Without a verb: a noun is enough to look at things. A tool that adds, changes, chooses or assigns is meant by everything
 * that it needs, if no verb was said; what removes, ends or buys something has to be said.
 */
function cueOf(
  { match: { profile }, filled: { args, named } }: Pick<Rated, 'match' | 'filled'>,
  all: readonly Match[],
  { request, isComplete }: Around,
): number {
  if (profile.looks) {
    const isAct = all.some(
      (other) => !other.profile.looks && [...other.verbAt].some((at) => isLeading(request, at)),
    )
    if (isAct || isStatement(request) || uncoveredVerbs(request, []).length > 0) return 0
    return !does(profile, '!search') ? VERB.none : isComplete && isInquiry(request) ? VERB.asking : 0
  }
  const isVerb = ({ verbs }: Token, at: number): boolean =>
    verbs.length > 0 && isLeading(request, at) && isAsked(request, at)
  const isSaid = all.some(({ verb, noun, profile: { looks } }) => verb > 0 && (noun > 0 || !looks))
  if (isInquiry(request) || isSaid || request.tokens.some(isVerb)) return 0
  const isSet = profile.tool.params.some(({ name, isId }) => !isId && Object.hasOwn(args, name))
  const isCue =
    request.tokens.some(({ word }) => /^(?:to|as|is|are|at|want|be)$/.test(word)) ||
    /[:=→]/.test(request.text)
  if (does(profile, '!change') && isSet && isCue) return VERB.cue
  const isSpecific = named > 0 || Object.keys(args).length > 1
  return isComplete &&
    isSpecific &&
    !isStatement(request) &&
    does(profile, '!create', '!change', '!select', '!assign')
    ? VERB.light
    : 0
}

/** `all the …s`, `every …`. */
function isMany({ profile: { nouns } }: Match, { tokens }: Request): boolean {
  return tokens.some(
    ({ word }, at) =>
      word === 'everything' ||
      (MANY_SAID.has(word) &&
        tokens.slice(at + 1, at + 4).some(({ keys }) => nouns.some((noun) => shares(noun.keys, keys)))),
  )
}

/** Whether a noun was said of many for a tool that is about one, or the other way round. */
function isPluralOff({ profile: { nouns } }: Match, { tokens }: Request): boolean {
  return nouns.some((noun) => {
    const said = tokens.filter(({ keys }) => shares(keys, noun.keys))
    return said.length > 0 && said.every(({ isPlural }) => isPlural !== noun.isPlural)
  })
}

/** A well-known verb alone is enough only if nothing else was said but a name. */
function isOffered({
  match,
  filled,
  isPlain,
}: Pick<Rated, 'match' | 'filled'> & { isPlain: boolean }): boolean {
  const { profile, noun, verb, verbAt } = match
  const rest = filled.left + filled.gaps.length
  if (noun > 0) return verb > 0 || profile.looks || (rest === 0 && filled.used > 0)
  const isWanted = (verb === VERB.same || filled.used > 0) && !profile.looks
  return verb >= VERB.alike && verbAt.size > 0 && isPlain && (rest === 0 || isWanted)
}

/** In a long text a few words that happen to fit say little. */
function isDiluted(request: Request, { tokens }: Match): boolean {
  const content = request.tokens.filter((_, at) => isContent(request, at)).length
  return content > 60 && tokens.size < content / 20
}
