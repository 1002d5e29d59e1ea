/** Understands a message as the answer to the question before it. */
import type { Json } from '../protocol/index.ts'
import { chooseTool } from './choose.ts'
import { fitSpan, fitText } from './coerce.ts'
import { fillArguments } from './fill.ts'
import type { Goal, Pending } from './goal.ts'
import { CANCEL, NEGATION, ordinalOf, STOP, YES } from './grammar.ts'
import type { Things } from './knowledge.ts'
import { isMarked } from './marked.ts'
import { isKnownVerb, matchTools, type Profile } from './match.ts'
import { type Request, readRequest } from './request.ts'
import { idFor, mentioned, type Row } from './results.ts'
import type { Param } from './schema.ts'

export type Answer =
  | { readonly kind: 'goal'; readonly goal: Goal }
  | { readonly kind: 'left' }
  /** It is no answer, but something new. */
  | { readonly kind: 'new' }
  /** It is not understood, so the question stands. */
  | { readonly kind: 'unclear' }

export interface Asked {
  readonly pending: Pending
  readonly text: string
  readonly profiles: readonly Profile[]
  readonly things: Things
}

export function readAnswer(asked: Asked): Answer {
  const { pending, text } = asked
  const request = readRequest(text, asked.things.lexicon)
  const words = request.tokens.map(({ word }) => word)
  if (pending.of !== 'param' && isCancel(words)) return { kind: 'left' }
  if (pending.of === 'param' && isCancel(words) && pending.param.type !== 'boolean') return { kind: 'left' }
  const goal = goalOf(asked, request, words)
  if (goal) return { kind: 'goal', goal }
  return chooseTool(text, asked.profiles, asked.things).kind === 'one' ? { kind: 'new' } : { kind: 'unclear' }
}

function isCancel(words: readonly string[]): boolean {
  return (
    words.length > 0 &&
    words.length <= 4 &&
    words.some((word) => CANCEL.has(word)) &&
    words.every((word) => CANCEL.has(word) || STOP.has(word))
  )
}

function goalOf(asked: Asked, request: Request, words: readonly string[]): Goal | undefined {
  const { pending } = asked
  const place = words.map(ordinalOf).find((each) => each !== undefined) ?? bareNumber(request)
  const agreed = words.some((word) => YES.has(word))
  if (pending.of === 'tool') {
    const [first, second] = pending.tools
    const said = pick(pending.tools, place) ?? named(pending.tools, request)
    const tool = second === undefined ? (agreed ? first : undefined) : said
    return tool && !isAnew(asked, request) ? { text: pending.text, tool, preset: {} } : undefined
  }
  const { goal, param } = pending
  if (pending.of === 'row') {
    const row = rowOf(pending.rows, request, place)
    const id = (row && idFor(row, param)) ?? (row ? undefined : nameGiven(asked, param, request))
    return id === undefined ? undefined : { ...goal, preset: { ...goal.preset, [param.name]: id } }
  }
  if (isCommand(asked, request)) return undefined
  const value = valueOf(param, request)
  if (value !== undefined) return { ...goal, preset: { ...goal.preset, [param.name]: value } }
  return param.isId &&
    request.tokens.length > 0 &&
    chooseTool(asked.text, asked.profiles, asked.things).kind !== 'one'
    ? { ...goal, text: `${goal.text}\n${asked.text}` }
    : undefined
}

/** The name of another thing than those that were offered: whoever judges ids knows it, or says how to find it. */
function nameGiven(asked: Asked, param: Param, request: Request): string | undefined {
  const isFree = chooseTool(asked.text, asked.profiles, asked.things).kind === 'none'
  const isShort = request.tokens.length > 0 && request.tokens.length <= LONGEST_NAME
  if (request.tokens.some(({ stem }) => isKnownVerb(stem))) return undefined
  return isMarked(param) && param.type === 'string' && isShort && isFree ? bare(request.text) : undefined
}

const LONGEST_NAME = 6

/** `2` alone is the second of what was offered. */
function bareNumber({ spans, tokens }: Request): number | undefined {
  const [span] = spans
  return spans.length === 1 && tokens.length <= 2 && span?.kind === 'number'
    ? Number(span.value) - 1
    : undefined
}

function pick<T>(list: readonly T[], place: number | undefined): T | undefined {
  return place === undefined ? undefined : list.at(place)
}

/** The one of the offered tools that the answer speaks of most. */
function named(tools: readonly Profile[], request: Request): Profile | undefined {
  const [first, second] = matchTools(tools, request)
  const clear = first !== undefined && first.score - (second?.score ?? 0) > 0.05
  return clear ? first.profile : undefined
}

/** A whole new request may happen to speak of an offered tool; the name alone is an answer. */
function isAnew({ text, profiles, things }: Asked, request: Request): boolean {
  if (request.spans.some(({ kind }) => kind !== 'number')) return true
  if (request.tokens.some(({ word }) => NEGATION.has(word))) return true
  const choice = chooseTool(text, profiles, things)
  if (choice.kind !== 'one' || choice.match.coverage < 0.99) return false
  const { rest, used } = fillArguments({ match: choice.match, request, things })
  return rest !== '' || used > 0
}

function rowOf(rows: readonly Row[], request: Request, place: number | undefined): Row | undefined {
  const found = mentioned(
    rows,
    request.tokens.map(({ stem, said = stem }) => said),
    new Set(),
  )
  if (found.length === 1) return found[0]?.row
  return found.length === 0 ? pick(rows, place) : undefined
}

/** Whether it says what a tool does and to what, and so is no value. */
function isCommand({ text, profiles, things }: Asked, request: Request): boolean {
  if (request.spans[0]?.kind === 'quoted' && request.spans[0].start === 0) return false
  const choice = chooseTool(text, profiles, things)
  if (choice.kind !== 'one' || choice.match.coverage < 0.5) return false
  return choice.match.tokens.size > 1 || fillArguments({ match: choice.match, request, things }).named > 0
}

function valueOf(param: Param, request: Request): Json | undefined {
  if (param.type === 'array') return listOf(param, request.text)
  const fitting = request.spans.map((span) => fitSpan(param, span)).filter((value) => value !== undefined)
  if (fitting.length === 1 && (param.type !== 'string' || isOnlyValue(request))) return fitting[0]
  if (param.choices !== undefined || param.type === 'boolean') return wordOf(param, request)
  if (isMarked(param)) return fitText(param, bare(request.text))
  if ((param.type !== 'string' && param.type !== 'any') || param.isId) return fitText(param, request.text)
  return fitText(param, bare(request.text))
}

/** One value, and around it only words without meaning. */
function isOnlyValue({ tokens, spanOf }: Request): boolean {
  return tokens.every(({ word }, at) => spanOf[at] !== undefined || STOP.has(word))
}

/** The longest run of words that is a choice. */
function wordOf(param: Param, { tokens, text }: Request): Json | undefined {
  for (let length = Math.min(5, tokens.length); length > 0; length--) {
    for (let at = 0; at + length <= tokens.length; at++) {
      const value = fitText(param, text.slice(tokens[at]?.start, tokens[at + length - 1]?.end))
      if (value !== undefined) return value
    }
  }
  return undefined
}

/** The answer without the words around it: `it is X, please.` is X. */
function bare(text: string): string {
  return text
    .trim()
    .replace(
      /^(?:(?:please|use|take|ok|okay|let's say|it's|it is|it should be|call it|name it|make it|the \w+ is|that's)[\s,:]+)+/i,
      '',
    )
    .replace(/[\s,]*(?:please|thanks|thank you)?[.!]?$/i, '')
    .replace(/^["“«'](.*)["”»']$/, '$1')
}

function listOf({ items }: Param, text: string): Json | undefined {
  if (items === undefined) return undefined
  const parts = bare(text)
    .split(/\s*(?:,|;|\band\b)\s*/)
    .filter((part) => part !== '')
  const values = parts.map((part) => fitText(items, bare(part)))
  return values.length > 0 && values.every((value) => value !== undefined) ? values : undefined
}
