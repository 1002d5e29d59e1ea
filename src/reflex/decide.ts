/**
 * What to do next in a conversation: say something, call tools, or ask. It keeps nothing between calls: what a question
 * was about is found again by deciding once more at the place where it was asked.
 */

import type { GroundingContext } from '../model/grounding-context.ts'
import type { JsonObject } from '../protocol/index.ts'
import { readAnswer } from './answer.ts'
import { chooseTool } from './choose.ts'
import type { Done, Exchange } from './conversation.ts'
import { type Filled, fillArguments } from './fill.ts'
import type { Call, Goal, Pending, Step } from './goal.ts'
import { AGAIN, asksAboutSelf, asksForHelp, GREETINGS, STOP, THANKS } from './grammar.ts'
import type { Things } from './knowledge.ts'
import type { Lexicon } from './lexicon.ts'
import { markedIn } from './marked.ts'
import { matchTools, type Profile } from './match.ts'
import { goalsFor, isSame, matchOf, nextStep } from './plan.ts'
import { refusalOf } from './refusal.ts'
import { readRequest } from './request.ts'
import { latestOf, type Row, rowsOf } from './results.ts'
import { isPointing } from './things.ts'
import {
  askTool,
  SAY_LEFT,
  SAY_WELCOME,
  sayHello,
  sayResults,
  sayTools,
  sayTrouble,
  sayUnknown,
  sayWho,
} from './wording.ts'
import { foldText } from './words.ts'

export type Decision = Step | { readonly kind: 'say'; readonly text: string }

export interface Scene {
  readonly turns: readonly Exchange[]
  readonly profiles: readonly Profile[]
  /** One of these has to be called, whatever the words say. */
  readonly forced: boolean
  readonly lexicon: Lexicon
  /** What is known of ids whose kind the schemas name. */
  readonly known?: GroundingContext
}

/** Older calls are forgotten. */
const MOST_CALLS = 50
/** Questions about questions end somewhere. */
const DEEPEST = 8

export function decide(scene: Scene, depth = 0): Decision {
  const { turns, profiles } = scene
  const tools = profiles.map(({ tool }) => tool)
  const turn = turns.at(-1)
  if (turn === undefined || turn.text === '') return say(sayHello(tools))
  const trouble = turn.calls.find((call) => call.failed && refusalOf(call) === undefined)
  if (trouble) return say(sayTrouble(trouble))
  const wanted = goalsOf(scene, turn, depth)
  if (!Array.isArray(wanted)) return wanted as Decision
  return pursue(wanted as readonly Goal[], scene, turn)
}

function say(text: string): Decision {
  return { kind: 'say', text }
}

/** The next step of all goals that are not reached; questions only when nothing else is left to do. */
function pursue(wanted: readonly Goal[], scene: Scene, turn: Exchange): Decision {
  const situation = { profiles: scene.profiles, things: thingsOf(scene), calls: turn.calls }
  const goals = wanted.flatMap((goal) => goalsFor(goal, situation))
  const run = turn.calls.filter((call) => refusalOf(call) === undefined)
  const reached = reachedBy(goals, run)
  const steps = goals.filter((_, at) => reached[at] === undefined).map((goal) => nextStep(goal, situation))
  const calls = steps.flatMap((step) => (step.kind === 'call' ? step.calls : []))
  // What was refused may be good after a look at something else.
  const made = turn.calls.filter((call, at) => run.includes(call) || at === turn.calls.length - 1)
  const fresh = calls.filter((call, at) => isNew(call, calls.slice(0, at), made))
  if (fresh.length > 0) return { kind: 'call', calls: fresh }
  const question = steps.find((step) => step.kind === 'ask')
  const done = reached.filter((call) => call !== undefined)
  const stuck = done.length === 0 ? turn.calls.findLast((call) => !run.includes(call)) : undefined
  if (question === undefined && stuck !== undefined) return say(sayTrouble(stuck))
  if (question === undefined) return say(sayResults(done.length > 0 ? done : turn.calls.slice(-1)))
  if (done.length === 0) return question
  return { ...question, text: `${sayResults(done)}\n\n${question.text}` }
}

function isNew(call: Call, before: readonly Call[], done: readonly Done[]): boolean {
  return ![...before, ...done].some((other) => isSame(other, call))
}

/** For each goal the call that reached it. */
function reachedBy(goals: readonly Goal[], calls: readonly Done[]): (Done | undefined)[] {
  const left = [...calls]
  return goals.map(({ tool }) => {
    const at = left.findIndex((call) => call.tool === tool.tool.name)
    return at < 0 ? undefined : left.splice(at, 1)[0]
  })
}

function thingsOf({ turns, known, lexicon }: Scene): Things {
  const calls = turns.flatMap((turn) => turn.calls).slice(-MOST_CALLS)
  const seen = rowsOf(calls)
  return { rows: latestOf(seen), seen, focus: focusOf(calls, seen), marked: markedIn(turns, known), lexicon }
}

/** The thing that the latest call was about: the only one in its result, or else one that its arguments name. */
function focusOf(calls: readonly Done[], seen: readonly Row[]): Row | undefined {
  for (let list = calls.length - 1; list >= 0; list--) {
    const own = seen.filter((row) => row.list === list && row.id !== undefined)
    if (own.length === 1) return own[0]
    const given = new Set(idsIn(calls[list]?.args))
    const named = seen.filter((row) => row.list <= list && given.has(String(row.id)))
    if (named.length > 0) return named.at(-1)
  }
  return undefined
}

function idsIn(args: unknown): string[] {
  const values: unknown[] = Object.values(args ?? {})
  return values.filter((value) => typeof value === 'string' || typeof value === 'number').map(String)
}

/** What is wanted in this turn, or what to say if nothing can be made of it. */
function goalsOf(scene: Scene, turn: Exchange, depth: number): readonly Goal[] | Decision {
  const { turns, profiles } = scene
  const before = turns.slice(0, -1)
  const things = thingsOf({ ...scene, turns: before })
  const pending = depth < DEEPEST ? pendingOf(scene, depth) : undefined
  if (pending) {
    const answer = readAnswer({ pending: pending.pending, text: turn.text, profiles, things })
    if (answer.kind === 'goal') return [answer.goal]
    if (answer.kind === 'left') return say(SAY_LEFT)
    if (answer.kind === 'unclear' && pending.pending.of !== 'tool') return pending
  }
  const again = followUp(turn.text, before, { profiles, things })
  if (again) return [again]
  const clauses = clausesOf(turn.text, profiles, things)
  if (clauses) return clauses
  const choice = chooseTool(turn.text, profiles, things)
  if (choice.kind === 'one') return [goalFor(choice.match.profile, turn.text)]
  return withoutChoice(scene, turn, choice.kind === 'several' ? choice.profiles : [])
}

function goalFor(tool: Profile, text: string): Goal {
  return { text, tool, preset: {} }
}

/** The question that was asked last, found by asking it again. */
function pendingOf(scene: Scene, depth: number): (Step & { kind: 'ask'; pending: Pending }) | undefined {
  const { turns } = scene
  const asked = turns.at(-2)
  if (asked === undefined || !asked.reply.endsWith('?')) return undefined
  const decision = decide({ ...scene, turns: [...turns.slice(0, -2), { ...asked, reply: '' }] }, depth + 1)
  return decision.kind === 'ask' && decision.text === asked.reply ? decision : undefined
}

function withoutChoice(
  { profiles, forced, lexicon }: Scene,
  { text }: Exchange,
  close: readonly Profile[],
): readonly Goal[] | Decision {
  const tools = profiles.map(({ tool }) => tool)
  const words = readRequest(text, lexicon).tokens.map(({ word }) => word)
  if (asksAboutSelf(foldText(text.slice(0, 1000)))) return say(sayWho(tools))
  if (asksForHelp(foldText(text.slice(0, 1000)))) return say(sayTools(tools))
  if (close.length > 0) {
    return {
      kind: 'ask',
      text: askTool(close.map(({ tool }) => tool)),
      pending: { of: 'tool', text, tools: close },
    }
  }
  const [only] = profiles
  if (forced && profiles.length === 1 && only) return [goalFor(only, text)]
  if (words.length <= 8 && words.every((word) => GREETINGS.has(word) || THANKS.has(word) || STOP.has(word))) {
    if (words.some((word) => THANKS.has(word))) return say(SAY_WELCOME)
    if (words.some((word) => GREETINGS.has(word))) return say(sayHello(tools))
  }
  return say(sayUnknown(tools))
}

interface Known {
  readonly profiles: readonly Profile[]
  readonly things: Things
}

/** `and the second one`, `and in X`: the same as before, with another thing or another text. */
function followUp(text: string, before: readonly Exchange[], { profiles, things }: Known): Goal | undefined {
  const last = before.at(-1)?.calls.at(-1)
  const tool = profiles.find((profile) => profile.tool.name === last?.tool)
  if (last === undefined || tool === undefined || last.failed) return undefined
  const request = readRequest(text, things.lexicon)
  const words = request.tokens.map(({ word }) => word)
  const again = words.slice(0, 3).some((word) => AGAIN.has(word) || word === 'about')
  if (words.length > 12 || !(again || isPointing(words))) return undefined
  if (matchTools(profiles, request).some(({ verbSaid }) => verbSaid)) return undefined
  const filled = fillArguments({ match: matchOf(tool, request), request, things })
  const ids = tool.tool.params.filter(({ isId }) => isId)
  const args = ids.length > 0 ? sameFor(filled) : again && tool.looks ? sameWith(tool, filled) : undefined
  if (args === undefined) return undefined
  const kept = Object.entries(last.args ?? {}).filter(([name]) => !ids.some((id) => id.name === name))
  return { text, tool, preset: { ...Object.fromEntries(kept), ...args } }
}

/** Another thing, if it is clear which. */
function sameFor({ args, things, rest }: Filled): JsonObject | undefined {
  return things.length === 0 && rest === '' ? args : undefined
}

/** Another text, for a tool that needs one and only looks. */
function sameWith({ tool }: Profile, { args, rest }: Filled): JsonObject | undefined {
  const texts = tool.params.filter(
    ({ required, type, choices }) => required && type === 'string' && choices === undefined,
  )
  const [param] = texts
  return texts.length === 1 && param && rest !== '' ? { ...args, [param.name]: rest } : undefined
}

const MOST_CLAUSES = 4

/** Several requests in one message, if each of them is clear by itself. */
function clausesOf(text: string, profiles: readonly Profile[], things: Things): readonly Goal[] | undefined {
  if (text.length > 1000 || /["“«`]/.test(text)) return undefined
  for (const cut of [
    /\s*(?:;|\.\s|\n|,?\s+(?:and\s+|et\s+)?(?:then|also|puis)\s)\s*/i,
    /\s*(?:;|,?\s+(?:and|then|also|et|puis)\s)\s*/i,
  ]) {
    const parts = text.split(cut).filter((part) => /\p{L}/u.test(part))
    if (parts.length < 2 || parts.length > MOST_CLAUSES) continue
    const choices = parts.map((part) => chooseTool(part, profiles, things))
    const goals = choices.flatMap((choice, at) => {
      const clear = choice.kind === 'one' && choice.match.verbSaid
      return clear ? [goalFor(choice.match.profile, parts[at] ?? '')] : []
    })
    if (goals.length === parts.length) return goals
  }
  return undefined
}
