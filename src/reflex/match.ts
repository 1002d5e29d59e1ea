/**
 * Which tool a request means: words of the request against words of the tools, words that many tools share counting
 * little. It says how sure it is, and does not look at arguments.
 */
import { ASKING, CHANGE, LOOK, MANY, MANY_SAID, PARTICLES, QUALIFIERS, STOP, VERB_GROUPS } from './grammar.ts'
import { isContent, isInValue, type Request } from './request.ts'
import type { Param, ToolInfo } from './schema.ts'
import { stemOf, stemsOf, tokenise } from './words.ts'

/** What a tool is about, ready to be compared. */
export interface Profile {
  readonly tool: ToolInfo
  readonly name: readonly string[]
  /** The forms that the name itself uses. */
  readonly forms: ReadonlySet<string>
  /** All words by which the tool tells what it does, in its name or first in its description. */
  readonly verbs: readonly string[]
  /** The rest of its name. */
  readonly nouns: readonly string[]
  /** The best weight of every stem that the tool has anywhere. */
  readonly weights: ReadonlyMap<string, number>
  /** Whether it only looks. */
  readonly looks: boolean
  /** Whether it looks and answers with many. */
  readonly lists: boolean
}

export interface Match {
  readonly profile: Profile
  readonly score: number
  /** How much of the name the request has said, from 0 to 1. */
  readonly coverage: number
  /** Whether what the tool does was said, and not only what it does it to. */
  readonly verbSaid: boolean
  /** Whether what it does it to was said, or is being talked about. */
  readonly nounSaid: boolean
  /** Whether it was said by more than a word such as `all`. */
  readonly plainVerb: boolean
  /** Whether what it does was said in its own words, and whether these are words that only it uses. */
  readonly directVerb: boolean
  readonly ownVerb: boolean
  /** Whether a well-known verb was said that is not what the tool does. */
  readonly otherVerb: boolean
  /** Where. */
  readonly verbAt: ReadonlySet<number>
  /** Whether the noun was said in the form that the name has, or not at all. */
  readonly formFits: boolean
  /** The tokens of the request that spoke for it. */
  readonly tokens: ReadonlySet<number>
}

const WEIGHT = {
  name: 1,
  synonym: 0.6,
  verb: 0.8,
  description: 0.35,
  choice: 0.4,
  param: 0.3,
  about: 0.12,
  context: 0.5,
}

const GROUPS: ReadonlyMap<string, readonly number[]> = groupsByStem()

function groupsByStem(): Map<string, number[]> {
  const groups = new Map<string, number[]>()
  for (const [at, group] of VERB_GROUPS.entries()) {
    for (const stem of new Set(group.map(stemOf))) groups.set(stem, [...(groups.get(stem) ?? []), at])
  }
  return groups
}

const lookStems = new Set([...LOOK].map(stemOf))
const manyStems = new Set([...MANY].map(stemOf))
const qualifierStems = new Set([...QUALIFIERS].map(stemOf))
const manySaidStems = new Set([...MANY_SAID].map(stemOf))
const changeStems = new Set([...CHANGE].map(stemOf))

export function profileOf(tool: ToolInfo): Profile {
  const name = tool.nameTokens.map(({ stem }) => stem)
  const described = tokenise(tool.description).filter(({ word }) => !STOP.has(word))
  const [first = ''] = described.map(({ stem }) => stem)
  const spoken = verbsIn(name, first)
  const nouns = name.filter((stem) => !spoken.includes(stem))
  const verbs = first === '' || nouns.includes(first) ? spoken : [...new Set([...spoken, first])]
  const weights = new Map<string, number>()
  const put = (stem: string, weight: number): void => {
    if (weight > (weights.get(stem) ?? 0)) weights.set(stem, weight)
  }
  for (const stem of name) put(stem, WEIGHT.name)
  for (const stem of verbs) put(stem, WEIGHT.verb)
  for (const { stem } of described) put(stem, WEIGHT.description)
  for (const param of tool.params) putParam(param, put)
  const cues = [...name, ...verbs]
  const looks = cues.some((stem) => lookStems.has(stem)) && !cues.some((stem) => changeStems.has(stem))
  const lists =
    looks && (cues.some((stem) => manyStems.has(stem)) || described.some(({ word }) => MANY.has(word)))
  const forms = new Set(tool.nameTokens.map(({ word }) => word))
  return { tool, name, forms, verbs, nouns, weights, looks, lists }
}

/** The well-known verbs of a name; without one, the word that the description begins with, or else the first. */
function verbsIn(name: readonly string[], first: string): string[] {
  const own = name.filter((stem) => GROUPS.has(stem))
  if (own.some((stem) => !qualifierStems.has(stem))) return own
  const rest = name.filter((stem) => !GROUPS.has(stem))
  if (own.length > 0 && rest.length < 2) return own
  return [...own, ...(rest.includes(first) ? [first] : rest.slice(0, 1))]
}

function putParam(param: Param, put: (stem: string, weight: number) => void): void {
  for (const stem of param.stems) put(stem, WEIGHT.param)
  for (const choice of (param.choices ?? param.items?.choices ?? []).slice(0, 50)) {
    for (const stem of stemsOf(String(choice))) put(stem, WEIGHT.choice)
  }
  for (const word of param.about) if (!STOP.has(word)) put(stemOf(word), WEIGHT.about)
}

/**
 * Every tool that the request speaks of at all, best first. `context` are the nouns of what is being talked about, for
 * requests that do not say them again.
 */
export function matchTools(
  profiles: readonly Profile[],
  request: Request,
  context: ReadonlySet<string> = NO_CONTEXT,
): Match[] {
  const rarity = rarityOf(profiles)
  const particles = new Set(profiles.flatMap(({ forms }) => [...forms].filter((form) => PARTICLES.has(form))))
  const said = saidBy(request, particles)
  for (const stem of context) {
    if (!said.some((each) => each.stem === stem)) said.push({ stem, forms: new Set(), at: [], content: true })
  }
  return profiles
    .map((profile) => matchOne(profile, said, rarity))
    .filter(({ score, tokens }) => score > 0 && tokens.size > 0)
    .sort((a, b) => b.score - a.score)
}

const NO_CONTEXT: ReadonlySet<string> = new Set()

/** How much a stem tells tools apart, from above 0 to 1. A stem in names counts only names, a verb all that are like it. */
function rarityOf(profiles: readonly Profile[]): (stem: string) => number {
  const named = new Map<string, number>()
  const anywhere = new Map<string, number>()
  for (const { name, weights } of profiles) {
    for (const stem of new Set(name)) named.set(stem, (named.get(stem) ?? 0) + 1)
    for (const stem of weights.keys()) anywhere.set(stem, (anywhere.get(stem) ?? 0) + 1)
  }
  for (const stem of GROUPS.keys()) {
    const alike = profiles.filter((profile) => isAlike(profile, stem)).length
    if (alike > 0) named.set(stem, alike)
  }
  const most = Math.log(1 + profiles.length)
  return (stem) => Math.log(1 + profiles.length / (named.get(stem) ?? anywhere.get(stem) ?? 1)) / most
}

interface Said {
  readonly stem: string
  /** Every form in which it was said. */
  readonly forms: Set<string>
  readonly at: number[]
  /** Whether it carries meaning, or only may stand for a verb. */
  readonly content: boolean
}

const MOST_PLACES = 20

function saidBy(request: Request, particles: ReadonlySet<string>): Said[] {
  const said = new Map<string, Said>()
  for (const [at, { stem, word }] of request.tokens.entries()) {
    if (isInValue(request, at)) continue
    const content = isContent(request, at) || particles.has(word)
    if (isIdiom(request, at)) continue
    if (!content && !(ASKING.has(word) ? asks(request, at) : GROUPS.has(stem))) continue
    const known = said.get(stem)
    if (known === undefined) said.set(stem, { stem, forms: new Set([word]), at: [at], content })
    else if (known.at.length < MOST_PLACES) {
      known.forms.add(word)
      known.at.push(at)
    }
  }
  return [...said.values()]
}

/** `which …s`, `what is`; but not `…, which is …`. */
function asks(request: Request, at: number): boolean {
  const next = request.tokens[at + 1]?.word ?? ''
  return isContent(request, at + 1) || (request.tokens[at]?.word === 'what' && /^(?:is|are|s)$/.test(next))
}

/** `should get cleaned` gets nothing, `see to it` sees nothing, and `that is all` and `first of all` are not all. */
function isIdiom({ tokens }: Request, at: number): boolean {
  const [before, word, next] = [tokens[at - 1], tokens[at], tokens[at + 1]].map((token) => token?.word ?? '')
  if (word === 'all')
    return before === 'is' || before === 's' || (before === 'of' && tokens[at - 2]?.word === 'first')
  if (word === 'see') return next === 'to' || next === 'that'
  return /^gets?$/.test(word ?? '') && /..ed$/.test(next ?? '')
}

function matchOne(profile: Profile, said: readonly Said[], rarity: (stem: string) => number): Match {
  const tokens = new Set<number>()
  const covered = new Set<string>()
  const verbAt = new Set<number>()
  let formFits = true
  let verbGain = 0
  let score = 0
  let otherVerb = false
  let directVerb = false
  let plainVerb = false
  let ownVerb = false
  for (const { stem, forms, at, content } of said) {
    const direct = content ? (profile.weights.get(stem) ?? 0) : 0
    const isVerb = profile.verbs.includes(stem)
    const alike = !isVerb && isAlike(profile, stem)
    if (content && !isVerb && !alike && isChange(stem)) otherVerb = true
    const weight = Math.max(direct, alike ? (content ? WEIGHT.synonym : WEIGHT.synonym / 2) : 0)
    if (weight === 0) continue
    covered.add(stem)
    const isNoun = at.length > 0 && profile.nouns.includes(stem)
    if (isNoun && ![...forms].some((form) => profile.forms.has(form))) formFits = false
    const gain = weight * rarity(stem) * (at.length === 0 ? WEIGHT.context : 1)
    // Saying one thing in two ways does not make it twice as likely.
    if (isVerb) directVerb = true
    if ((isVerb || alike) && (!qualifierStems.has(stem) || ASKING.has(stem))) plainVerb = true
    if (isVerb && !GROUPS.has(stem)) ownVerb = true
    if (isVerb || alike) {
      verbGain = Math.max(verbGain, gain)
      for (const place of at) verbAt.add(place)
    }
    if (!isVerb && !alike) score += gain
    for (const place of at)
      if (weight >= WEIGHT.choice || isVerb || alike || direct === WEIGHT.param) tokens.add(place)
  }
  const { verbs, nouns } = profile
  const verbSaid = verbGain > 0
  if (verbSaid && isTogether(profile, said)) score += TOGETHER
  if (profile.lists && said.some(({ stem }) => manySaidStems.has(stem))) score += TOGETHER
  score += verbSaid ? verbGain : -PENALTY.verb * rarity(verbs[0] ?? '')
  const open = nouns.filter((stem) => !covered.has(stem))
  for (const stem of open) score -= PENALTY.noun * rarity(stem)
  const coverage = (Number(verbSaid) + nouns.length - open.length) / (1 + nouns.length)
  const nounSaid = nouns.length === 0 || open.length < nouns.length
  return {
    profile,
    score,
    coverage,
    verbSaid,
    nounSaid,
    plainVerb,
    directVerb,
    ownVerb,
    verbAt,
    formFits,
    otherVerb: otherVerb && !plainVerb,
    tokens,
  }
}

/** For a verb with its noun right behind it. */
const TOGETHER = 0.15
const FARTHEST = 3

function isTogether(profile: Profile, said: readonly Said[]): boolean {
  const verbs = said
    .filter(({ stem }) => profile.verbs.includes(stem) || isAlike(profile, stem))
    .flatMap(({ at }) => at)
  const nouns = said.filter(({ stem }) => profile.nouns.includes(stem)).flatMap(({ at }) => at)
  return verbs.some((verb) => nouns.some((noun) => noun > verb && noun - verb <= FARTHEST))
}

/** What is taken off when a part of the name was not said. */
const PENALTY = { verb: 0.2, noun: 0.3 }

/** Whether a word may stand for what the tool does. */
function isAlike({ verbs }: Profile, stem: string): boolean {
  const groups = GROUPS.get(stem)
  return (
    groups !== undefined && verbs.some((verb) => GROUPS.get(verb)?.some((group) => groups.includes(group)))
  )
}

/** Whether a word is a verb that wants something changed. */
function isChange(stem: string): boolean {
  return changeStems.has(stem) && GROUPS.has(stem)
}

/** Whether a word is a well-known verb, and so no name of anything. */
export function isKnownVerb(stem: string): boolean {
  return GROUPS.has(stem)
}

/** Enough to act on: for a tool that only looks half of its name, for others what it does and nearly all of its name. */
export function isSure(match: Match): boolean {
  const { profile, coverage, score, verbSaid, nounSaid, otherVerb } = match
  if (score < 0.3 || otherVerb || (profile.nouns.length === 0 && !match.directVerb)) return false
  return profile.looks ? nounSaid && coverage >= 0.5 : verbSaid && coverage >= 0.66
}

/** Whether it may be meant, so that asking is better than saying nothing. */
export function isLikely({ coverage, score, tokens }: Match): boolean {
  return coverage >= 0.5 && score >= 0.15 && tokens.size > 0
}
