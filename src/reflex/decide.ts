/**
 * Decides the next step of a conversation: call tools, ask, or reply. A message is read, tools are chosen by evidence,
 * arguments are filled, and then the next step is taken. It keeps nothing between calls: what a question was about is found
 * again by deciding once more at the place where it was asked.
 */
import type { GroundingContext } from '../model/grounding-context.ts'
import type { Json, JsonObject } from '../protocol/index.ts'
import { readAnswer } from './answer.ts'
import { type Choice, chooseTool, matchOf, matchTools } from './choose.ts'
import { Claims } from './claims.ts'
import type { Done, Exchange } from './conversation.ts'
import { type Filled, fillArguments } from './fill.ts'
import {
  AGAIN,
  asksAboutSelf,
  asksForHelp,
  GREETINGS,
  isSmallTalk,
  LIGHT,
  ordinalOf,
  PRONOUNS,
  STOP,
  THANKS,
} from './lexicon.ts'
import { isLeading } from './mood.ts'
import {
  type Call,
  callByName,
  type Goal,
  goalsFor,
  isSame,
  nextStep,
  type Pending,
  refusalOf,
  type Step,
} from './plan.ts'
import { referredTo } from './pointed.ts'
import { isContent, type Lexicon, languageOf, type Request, readRequest, type Token } from './request.ts'
import { describes, idFor, latestOf, mentioned, type Row } from './rows.ts'
import { isMarked, kindOf, severalNamed, type Things, takesRow, thingsOf } from './things.ts'
import type { Profile } from './tools.ts'
import { uncoveredVerbs } from './uncovered-verbs.ts'
import { findSpans } from './values.ts'
import { Wording } from './wording.ts'
import { foldText, stemsOf } from './words.ts'

export type Decision = Step | { readonly kind: 'say'; readonly text: string }

export interface Scene {
  readonly turns: readonly Exchange[]
  readonly profiles: readonly Profile[]
  /** One of these has to be called, whatever the words say. */
  readonly forced: boolean
  /** Its language is that of the instructions. */
  readonly lexicon: Lexicon
  readonly known?: GroundingContext | undefined
}

/** A scene at its last turn: in which language it is, and what was known when the turn began. */
interface Moment extends Scene {
  readonly turn: Exchange
  readonly before: readonly Exchange[]
  readonly things: Things
  readonly wording: Wording
}

/** Questions about questions end somewhere. */
const DEEPEST = 8

export function decide(scene: Scene, depth = 0): Decision {
  const { turns, profiles, known } = scene
  const spoken = turns
    .map(({ text }) => languageOf(text, scene.lexicon.nouns))
    .findLast((each) => each !== undefined)
  const lexicon = { ...scene.lexicon, language: spoken ?? scene.lexicon.language }
  const wording = new Wording(lexicon.language)
  const turn = turns.at(-1)
  if (turn === undefined || turn.text === '') return say(wording.hello(profiles.map(({ tool }) => tool)))
  const trouble = turn.calls.find((call) => call.failed && refusalOf(call) === undefined)
  if (trouble) return say(wording.trouble(trouble))
  const before = turns.slice(0, -1)
  const things = thingsOf(before, { lexicon, known, current: 0 })
  const moment = { ...scene, lexicon, wording, turn, before, things }
  const wanted = goalsOf(moment, depth)
  return Array.isArray(wanted) ? pursue(wanted as readonly Goal[], moment) : (wanted as Decision)
}

function say(text: string): Decision {
  return { kind: 'say', text }
}

/** The next step of all goals that are not reached; questions only when nothing else is left to do. */
function pursue(
  wanted: readonly Goal[],
  { turns, turn, profiles, lexicon, known, wording }: Moment,
): Decision {
  const things = thingsOf(turns, { lexicon, known, current: turn.calls.length })
  const situation = { profiles, things, calls: turn.calls, wording }
  const goals = wanted.flatMap((goal) => goalsFor(goal, situation))
  const run = turn.calls.filter((call) => refusalOf(call) === undefined)
  const reached = reachedBy(goals, run)
  const open = goals.filter((_, at) => reached[at] === undefined)
  const all = open.map((goal) => nextStep(goal, situation))
  // A choice comes first: the rest of the message is about what it chose.
  const choice = open.findIndex(({ tool }, at) => selects(tool) && acts(tool, all[at]))
  const steps = choice < 0 ? all : all.slice(0, choice + 1)
  const question = steps.find((step) => step.kind === 'ask')
  // Nothing is changed by one half of a message while the other half is asked about.
  const rest = open.filter(({ tool }, at) => !tool.looks && acts(tool, steps[at]))
  const isLooking = open.some(
    ({ tool }, at) => !tool.looks && steps[at]?.kind === 'call' && !acts(tool, steps[at]),
  )
  const calls = steps.flatMap((step, at) => {
    const isWaiting = (question !== undefined || isLooking) && rest.includes(open[at] as Goal)
    return step.kind === 'call' && !isWaiting ? step.calls : []
  })
  // A refused call may be good after another lookup.
  const made = turn.calls.filter((call, at) => run.includes(call) || at === turn.calls.length - 1)
  const fresh = calls.filter((call, at) => isNew(call, calls.slice(0, at), made))
  if (fresh.length > 0) return { kind: 'call', calls: fresh }
  const done = reached.filter((call) => call !== undefined)
  if (question !== undefined)
    return done.length === 0
      ? { ...question, rest }
      : { ...question, text: `${wording.results(done)}\n\n${question.text}` }
  const stuck = done.length === 0 ? turn.calls.findLast((call) => !run.includes(call)) : undefined
  return say(stuck ? wording.trouble(stuck) : wording.results(done.length > 0 ? done : turn.calls.slice(-1)))
}

function selects({ verbs, looks }: Profile): boolean {
  return !looks && verbs.some((each) => each.verbs.includes('!select'))
}

function acts({ tool }: Profile, step: Step | undefined): boolean {
  return step?.kind === 'call' && step.calls.some((call) => call.tool === tool.name)
}

/** For each goal the call that reached it. */
function reachedBy(goals: readonly Goal[], calls: readonly Done[]): (Done | undefined)[] {
  const left = [...calls]
  return goals.map(({ tool }) => {
    const at = left.findIndex((call) => call.tool === tool.tool.name)
    return at < 0 ? undefined : left.splice(at, 1)[0]
  })
}

function isNew(call: Call, earlier: readonly Call[], made: readonly Done[]): boolean {
  return ![...earlier, ...made].some((other) => isSame(other, call))
}

/** The goals of this turn, or the reply if the message gives none. */
function goalsOf(moment: Moment, depth: number): readonly Goal[] | Decision {
  const { turn, profiles, things, wording } = moment
  const { text } = turn
  const pending = depth < DEEPEST ? pendingOf(moment, depth) : undefined
  if (pending) {
    const answer = readAnswer({ pending: pending.pending, text, profiles, things })
    if (answer.kind === 'goal') return [answer.goal, ...(pending.rest ?? [])]
    if (answer.kind === 'left') return say(wording.left)
    if (answer.kind === 'unclear' && pending.pending.of !== 'tool' && pending.pending.of !== 'without')
      return pending
  }
  if (isSmallTalk(foldText(text))) return say(wording.hello(profiles.map(({ tool }) => tool)))
  const again = followUp(moment)
  if (again) return [again]
  const pointed = justPointed(moment)
  if (pointed) return pointed
  const clauses = clausesOf(moment)
  if (clauses) return clauses
  const choice = chooseTool(text, profiles, things)
  if (choice.kind === 'one') return [goalFor(choice.match.profile, text)]
  if (choice.kind === 'denied') return say(wording.left)
  return withoutChoice(moment, choice.kind === 'several' ? choice.profiles : [])
}

function goalFor(tool: Profile, text: string, preset: JsonObject = {}): Goal {
  return { text, tool, preset }
}

/** The question that was asked last, found by asking it again. */
function pendingOf(scene: Moment, depth: number): (Step & { kind: 'ask'; pending: Pending }) | undefined {
  const { turns, profiles, forced, lexicon, known } = scene
  const asked = turns.at(-2)
  if (asked === undefined || !asked.reply.endsWith('?')) return undefined
  const earlier = [...turns.slice(0, -2), { ...asked, reply: '' }]
  const decision = decide({ turns: earlier, profiles, forced, lexicon, known }, depth + 1)
  return decision.kind === 'ask' && decision.text === asked.reply ? decision : undefined
}

function withoutChoice(moment: Moment, close: readonly Profile[]): readonly Goal[] | Decision {
  const { profiles, forced, turn, wording, things } = moment
  const tools = profiles.map(({ tool }) => tool)
  const request = readRequest(turn.text, things.lexicon)
  const folded = foldText(turn.text.slice(0, 1000))
  if (asksAboutSelf(folded)) return say(wording.who(tools))
  if (asksForHelp(folded)) return say(wording.tools(tools))
  const [only] = profiles
  if (forced && profiles.length === 1 && only) return [goalFor(only, turn.text)]
  const [verb] = uncoveredVerbs(request, profiles)
  if (verb !== undefined) {
    const { start = 0, end = 0 } = request.tokens[verb] ?? {}
    return say(wording.cannot(turn.text.slice(start, end), tools))
  }
  if (close.length > 0) {
    const found = byName(moment, close)
    if (found) return found
    const pending: Pending = { of: 'tool', text: turn.text, tools: close }
    return { kind: 'ask', text: wording.askTool(close.map(({ tool }) => tool)), pending }
  }
  const words = request.tokens.map(({ word }) => word)
  if (words.length <= 8 && words.every((word) => GREETINGS.has(word) || THANKS.has(word) || STOP.has(word))) {
    if (words.some((word) => THANKS.has(word))) return say(wording.welcome)
    if (words.some((word) => GREETINGS.has(word))) return say(wording.hello(tools))
  }
  return say(wording.unknown(tools))
}

/** Tools that differ in the kind of thing they take: its name is looked up, and decides. */
function byName(
  { turns, turn, profiles, lexicon, known, things }: Moment,
  close: readonly Profile[],
): readonly Goal[] | Decision | undefined {
  const request = readRequest(turn.text, lexicon)
  const isWanting = close.map((profile) =>
    fillArguments({ match: matchOf(profile, request), request, things }),
  )
  const { mention = '', isNamed = false } = isWanting.find((filled) => filled.isNamed) ?? {}
  const kinds = close.flatMap(({ tool }) => tool.params.filter(isMarked).filter(({ required }) => required))
  const finders = [...new Set(kinds.flatMap(({ entity }) => things.lookups[entity] ?? []))]
  if (!isNamed || close.length < 2 || kinds.length < close.length || finders.length === 0) return undefined
  const calls = finders.map((tool) => callByName(mention, tool, { profiles }))
  const open = calls.filter((call) => !turn.calls.some((done) => isSame(done, call)))
  if (open.length > 0) return { kind: 'call', calls: open }
  const found = turn.calls.flatMap(({ seen = [], tool, output }) =>
    finders.includes(tool) && (output as { outcome?: unknown } | null)?.outcome !== 'none' ? seen : [],
  )
  const entities = new Set(found.map(({ entity }) => entity))
  const fitting = close.filter(({ tool }) =>
    tool.params.some((param) => isMarked(param) && entities.has(param.entity)),
  )
  const [tool] = fitting
  if (tool === undefined || fitting.length > 1) return undefined
  const later = thingsOf(turns, { lexicon, known, current: turn.calls.length })
  return fillArguments({ match: matchOf(tool, request), request, things: later }).things.length > 1
    ? undefined
    : [goalFor(tool, turn.text)]
}

const NO_CHOICE = new Set(['what', 'who', 'where', 'how', 'why', 'if', 'when', 'is', 'are', 'which'])
/** Words of somebody who wants more than to see something. */
const WANTING = new Set(['want', 'need', 'take', 'will', 'like', 'have'])
/** Verbs that only say that something is pointed at. */
const POINTING = new Set(['!look', '!select', '!search'])

/** `2`, `the first one`, `Bureau` after a list: the thing is chosen or shown, if one tool does that. */
function justPointed(moment: Moment): readonly Goal[] | Decision | undefined {
  const { turn, profiles, things, wording } = moment
  const request = readRequest(turn.text, things.lexicon)
  const [row, more] = pointedAt(request, things)
  if (row === undefined || row.id === undefined) return undefined
  const taking = profiles.flatMap((tool) => {
    const ids = tool.tool.params.filter((param) => takesRow(param, kindOf(param, tool, things), row))
    const needed = tool.tool.params.filter(({ required }) => required)
    const [param] = ids
    const isOnly = param !== undefined && ids.length === 1 && needed.every((each) => each === param)
    return param === undefined ? [] : [{ tool, param, isOnly }]
  })
  const selecting = taking.filter(({ tool, isOnly }) => isOnly && selects(tool))
  const showing = taking.filter(({ tool, isOnly }) => isOnly && tool.looks && !tool.lists)
  const wants =
    (request.places.has('!select') || request.tokens.some(({ word }) => WANTING.has(word))) &&
    !request.places.has('!detail')
  const [best, other] = selecting.length > 0 ? selecting : wants ? [] : showing
  const isQuestion = turn.text.trimEnd().endsWith('?') && selecting.length > 0
  if (best !== undefined && other === undefined && !isQuestion) {
    if (more !== undefined) return [goalFor(best.tool, turn.text)]
    const preset = { [best.param.name]: idFor(row, best.param) ?? null }
    return [{ ...goalFor(best.tool, turn.text, preset), isCovered: true }]
  }
  const tools = taking.slice(0, 4).map(({ tool }) => tool)
  if (tools.length === 0 || more !== undefined) return undefined
  const pending: Pending = { of: 'tool', text: turn.text, tools, row }
  return { kind: 'ask', text: wording.askTool(tools.map(({ tool }) => tool)), pending }
}

/** The things that a message points at, if it says nothing else. */
function pointedAt(request: Request, things: Things): readonly Row[] {
  const { tokens, spanOf } = request
  // `2 of the last one` and `the third may be closed` want more than to see it.
  const isNo = tokens.some(
    ({ word }, at) =>
      /^(?:not|never|ones|are|may|must|should|be)$/.test(word) ||
      (word === 'of' && spanOf[at - 1]?.kind === 'number'),
  )
  if (isNo || NO_CHOICE.has(tokens[0]?.word ?? '') || tokens.length > 12) return []
  const rows = referredTo({ request }, things)
  const found = rows.length > 0 ? rows : namedIn(request, things)
  const isPointing = tokens.every(({ word, keys, verbs }, at) => {
    const isPlace = ordinalOf(word) !== undefined || spanOf[at]?.kind === 'number'
    const isVerb =
      verbs.some((family) => POINTING.has(family)) &&
      (LIGHT.has(tokens[at]?.stem ?? '') || word.startsWith('!')) &&
      tokens.slice(0, at).every((token) => STOP.has(token.word))
    const isKind = found.some(({ nouns }) => keys.some((key) => nouns.has(key)))
    const isPart = found.some((row) => describes(row, tokens[at] as Token))
    return isPlace || STOP.has(word) || isPart || isKind || isVerb || !isContent(request, at)
  })
  const isEmpty = tokens.every(({ word }) => STOP.has(word))
  const isKindOnly = rows.length === 0 && found.length === 0
  return !isPointing || isEmpty || isKindOnly ? [] : found
}

/** Things of one kind that a message names in part. */
function namedIn({ tokens, spanOf }: Request, things: Things): readonly Row[] {
  const rows = latestOf(things.seen).filter(({ id }) => id !== undefined)
  const stems = tokens.map(({ said, word }) => (STOP.has(word) ? '' : said))
  const found = mentioned(rows, tokens).map(({ row }) => row)
  const points = tokens.some(({ word }) => PRONOUNS.has(word))
  const isCounted = tokens.some(({ word }, at) => ordinalOf(word) !== undefined || spanOf[at] !== undefined)
  const isNamed = found.some(({ label }) => stemsOf(label).some((stem) => stems.includes(stem)))
  if (isCounted || (!points && (!isNamed || tokens.some(({ word }) => word === 'is')))) return []
  const isOneKind = found.every(({ entity, tool }) => entity === found[0]?.entity && tool === found[0]?.tool)
  return isOneKind ? found : []
}

/** `and the second one`, `and in X`: the same as before, with another thing or another text. */
function followUp({ turn: { text }, before, profiles, things }: Moment): Goal | undefined {
  const last = before.at(-1)?.calls.at(-1)
  const tool = profiles.find((profile) => profile.tool.name === last?.tool)
  if (last === undefined || tool === undefined || last.failed) return undefined
  const request = readRequest(text, things.lexicon)
  const words = request.tokens.map(({ word }) => word)
  const again = [...words.slice(0, 3), words.at(-1) ?? ''].some((word) => AGAIN.has(word) || word === 'about')
  const isPointing = words.some((word) => PRONOUNS.has(word) || ordinalOf(word) !== undefined)
  if (words.length > 12 || !(again || (isPointing && tool.looks))) return undefined
  if (matchTools(profiles, request).some(({ verb }) => verb > 0.5) || uncoveredVerbs(request, []).length > 0)
    return undefined
  const filled = fillArguments({ match: matchOf(tool, request), request, things })
  const ids = tool.tool.params.filter(({ isId }) => isId)
  if (again && filled.isNamed && filled.things.length === 1 && ids.length === 1)
    return goalFor(tool, text, Object.fromEntries(keptOf(last, ids)))
  const args = ids.length > 0 ? sameFor(filled) : again && tool.looks ? sameWith(tool, filled) : undefined
  if (args === undefined) return undefined
  return { ...goalFor(tool, text, { ...Object.fromEntries(keptOf(last, ids)), ...args }), isCovered: true }
}

/** The arguments of a call that are no ids. */
function keptOf({ args }: Done, ids: readonly { readonly name: string }[]): [string, Json | undefined][] {
  return Object.entries((args ?? {}) as JsonObject).filter(([name]) => !ids.some((id) => id.name === name))
}

/** Another thing, if it is clear which. */
function sameFor({ args, things, rest, named }: Filled): JsonObject | undefined {
  return things.length === 0 && rest === '' && named > 0 ? args : undefined
}

/** Another text, for a tool that needs one and only looks. */
function sameWith({ tool }: Profile, { args, rest }: Filled): JsonObject | undefined {
  const texts = tool.params.filter(
    ({ required, type, choices }) => required && type === 'string' && choices === undefined,
  )
  const [param] = texts
  const value = (param && args[param.name]) ?? rest
  return texts.length === 1 && param && value !== '' ? { ...args, [param.name]: value } : undefined
}

const MOST_CLAUSES = 4
const CUTS = [
  /\s*(?:;|\.\s|\n|,?\s+(?:and\s+|et\s+)?(?:then|also|puis|ensuite)\s)\s*/i,
  /\s*(?:;|,?\s+(?:and|then|also|et|puis)\s)\s*/i,
  /\s*,\s*/,
]

/** `mark X and Y as done`: an `and` that joins things, and not requests. */
function namesSeveral(tool: Profile, request: Request, things: Things): boolean {
  if (request.places.has('!on') && request.places.has('!off')) return false
  const claims = new Claims(request, tool, matchOf(tool, request).tokens)
  return tool.tool.params.some((param) => param.isId && severalNamed(claims, param, things).length > 1)
}

/** Several requests in one message, if each of them is clear by itself. */
function clausesOf({ turn: { text }, profiles, things }: Moment): readonly Goal[] | undefined {
  if (text.length > 1000) return undefined
  const whole = chooseTool(text, profiles, things)
  if (whole.kind === 'one' && namesSeveral(whole.match.profile, readRequest(text, things.lexicon), things))
    return undefined
  const quoted = findSpans(text).filter(({ kind }) => kind === 'quoted')
  const masked = quoted.reduce(
    (all, { start, end }) => all.slice(0, start) + '_'.repeat(end - start) + all.slice(end),
    text,
  )
  for (const cut of CUTS) {
    const parts = partsOf(masked, cut).map(([start, end]) => text.slice(start, end))
    if (parts.length < 2 || parts.length > MOST_CLAUSES) continue
    let isActing = false
    const goals = parts.flatMap((part, nth) => {
      const choice = chooseTool(part, profiles, things)
      if (choice.kind !== 'one' || (isActing && choice.match.profile.looks && choice.match.verb === 0))
        return []
      isActing ||= !choice.match.profile.looks
      const isElliptic = nth > 0 && whole.kind !== 'none' && isOf(whole, choice.match.profile)
      if (isElliptic && !choice.match.profile.looks && cut !== CUTS[2])
        return [goalFor(choice.match.profile, part)]
      const request = readRequest(part, things.lexicon)
      const isLeft =
        choice.match.profile.looks && fillArguments({ match: choice.match, request, things }).residue !== ''
      if (isLeft) return []
      const isClear = [...choice.match.verbAt].some(
        (at) => cut !== CUTS[2] || isLeading(request, at) || request.tokens[at]?.word.startsWith('!o'),
      )
      return (choice.match.profile.looks && (cut !== CUTS[2] || choice.match.verb > 0)) || isClear
        ? [goalFor(choice.match.profile, part)]
        : []
    })
    if (goals.length === parts.length) return goals
  }
  return undefined
}

function isOf(choice: Choice, profile: Profile): boolean {
  if (choice.kind === 'one') return choice.match.profile === profile
  return choice.kind === 'several' && choice.profiles.includes(profile)
}

/** Where the parts of a text begin and end. */
function partsOf(text: string, cut: RegExp): [number, number][] {
  const parts: [number, number][] = []
  let start = 0
  for (const match of text.matchAll(new RegExp(cut.source, 'gi'))) {
    parts.push([start, match.index])
    start = match.index + match[0].length
  }
  parts.push([start, text.length])
  return parts.filter(([from, to]) => /[\p{L}\d]/u.test(text.slice(from, to)))
}
