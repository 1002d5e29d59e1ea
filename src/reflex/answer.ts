/** Understands a message as the answer to the question before it. */
import type { Json } from '../protocol/index.ts'
import { chooseTool, matchTools } from './choose.ts'
import { fillArguments } from './fill.ts'
import { CANCEL, NEGATION, ordinalOf, STOP, YES } from './lexicon.ts'
import type { Goal, Pending } from './plan.ts'
import { type Request, readRequest } from './request.ts'
import { idFor, mentioned, type Row } from './rows.ts'
import { fitSpan, fitText, type Param } from './schema.ts'
import { isMarked, kindOf, type Things, takesRow } from './things.ts'
import type { Profile } from './tools.ts'

export type Answer =
  | { readonly kind: 'goal'; readonly goal: Goal }
  | { readonly kind: 'left' }
  /** It is no answer, but something new. */
  | { readonly kind: 'new' }
  /** It is not understood, so the question stands. */
  | { readonly kind: 'unclear' }

interface Asked {
  readonly pending: Pending
  readonly text: string
  readonly profiles: readonly Profile[]
  readonly things: Things
}

const LONGEST_NAME = 6

export function readAnswer(asked: Asked): Answer {
  const { pending, text, profiles, things } = asked
  const request = readRequest(text, things.lexicon)
  const words = request.tokens.map(({ word }) => word)
  const isYesOrNo = pending.of === 'param' && pending.param.type === 'boolean'
  if (!isYesOrNo && isCancel(words)) return { kind: 'left' }
  const goal = goalOf(asked, request, words)
  if (goal) return { kind: 'goal', goal }
  return chooseTool(text, profiles, things).kind === 'one' ? { kind: 'new' } : { kind: 'unclear' }
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
  const { pending, things } = asked
  const place = words.map(ordinalOf).find((each) => each !== undefined) ?? bareNumber(request)
  const isAgreed =
    words.some((word) => YES.has(word)) && words.every((word) => YES.has(word) || STOP.has(word))
  if (pending.of === 'without') return isAgreed ? { ...pending.goal, isAgreed } : undefined
  if (pending.of === 'tool') {
    const { tools, text, row } = pending
    const [first, second] = tools
    const said = pick(tools, place) ?? named(tools, request)
    const tool = second === undefined ? (isAgreed ? first : undefined) : said
    if (tool === undefined || isAnew(asked, request)) return undefined
    const param = row && tool.tool.params.find((each) => takesRow(each, kindOf(each, tool, things), row))
    const id = row && param && idFor(row, param)
    return {
      text,
      tool,
      preset: param && id !== undefined ? { [param.name]: id } : {},
      isCovered: row !== undefined,
    }
  }
  const { goal, param } = pending
  const settled = (value: Json): Goal => ({ ...goal, preset: { ...goal.preset, [param.name]: value } })
  if (pending.of === 'row') {
    const row = rowOf(pending.rows, request, place)
    const id = row ? idFor(row, param) : nameGiven(asked, param, request)
    return id === undefined ? undefined : { ...settled(id), isCovered: true }
  }
  if (isCommand(asked, request)) return undefined
  const value = valueOf(param, request)
  if (value !== undefined) return settled(value)
  const isOther = request.tokens.length === 0 || chooseTool(asked.text, asked.profiles, things).kind === 'one'
  return param.isId && !isOther ? { ...goal, text: `${goal.text}\n${asked.text}` } : undefined
}

/** The name of another thing than those that were offered: the guard of ids knows it, or says how to find it. */
function nameGiven(asked: Asked, param: Param, { tokens, text }: Request): string | undefined {
  if (!isMarked(param) || param.type !== 'string' || tokens.length === 0 || tokens.length > LONGEST_NAME)
    return undefined
  if (tokens.some(({ verbs }) => verbs.length > 0)) return undefined
  return chooseTool(asked.text, asked.profiles, asked.things).kind === 'none' ? bare(text) : undefined
}

/** `2` alone is the second of what was offered. */
function bareNumber({ spans, tokens }: Request): number | undefined {
  const [span] = spans
  const isAlone = tokens.filter(({ word }) => !STOP.has(word) && word !== 'number').length <= 1
  return spans.length === 1 && isAlone && span?.kind === 'number' ? Number(span.value) - 1 : undefined
}

function pick<T>(list: readonly T[], place: number | undefined): T | undefined {
  return place === undefined ? undefined : list.at(place)
}

/** The one of the offered tools that the answer speaks of most. */
function named(tools: readonly Profile[], request: Request): Profile | undefined {
  const [first, second] = matchTools(tools, request)
  return first !== undefined && first.score - (second?.score ?? 0) > 0.05 ? first.profile : undefined
}

/** A whole new request may happen to speak of an offered tool; the name alone is an answer. */
function isAnew({ text, profiles, things }: Asked, request: Request): boolean {
  if (request.spans.some(({ kind }) => kind !== 'number')) return true
  if (request.tokens.some(({ word }) => NEGATION.has(word))) return true
  const choice = chooseTool(text, profiles, things)
  if (choice.kind !== 'one' || choice.match.noun < 1) return false
  const { rest, used } = fillArguments({ match: choice.match, request, things })
  return rest !== '' || used > 0
}

function rowOf(rows: readonly Row[], { tokens }: Request, place: number | undefined): Row | undefined {
  const found = mentioned(rows, tokens)
  const [first] = found
  if (first !== undefined && found.every(({ row }) => row.id === first.row.id)) return first.row
  return found.length === 0 ? pick(rows, place) : undefined
}

/** Whether it says what a tool does and to what, and so is no value. */
function isCommand({ text, profiles, things }: Asked, request: Request): boolean {
  if (request.spans[0]?.kind === 'quoted' && request.spans[0].start === 0) return false
  const choice = chooseTool(text, profiles, things)
  if (choice.kind !== 'one' || choice.match.noun < 0.5) return false
  return choice.match.tokens.size > 1 || fillArguments({ match: choice.match, request, things }).named > 0
}

function valueOf(param: Param, request: Request): Json | undefined {
  if (param.type === 'array') return listOf(param, request.text)
  const fitting = request.spans.map((span) => fitSpan(param, span)).filter((value) => value !== undefined)
  if (fitting.length === 1 && (param.type !== 'string' || isOnlyValue(request))) return fitting[0]
  if (param.choices !== undefined || param.type === 'boolean') return wordOf(param, request)
  const isText = (param.type === 'string' || param.type === 'any') && (!param.isId || isMarked(param))
  return fitText(param, isText ? bare(request.text) : request.text)
}

/** One value, and around it only words without meaning. */
function isOnlyValue({ tokens, spanOf }: Request): boolean {
  return tokens.every(({ word }, at) => spanOf[at] !== undefined || STOP.has(word))
}

/** The longest run of words that is a choice, as it was said or in the words of the tools. */
function wordOf(param: Param, { tokens, text }: Request): Json | undefined {
  for (let length = Math.min(5, tokens.length); length > 0; length--) {
    for (let at = 0; at + length <= tokens.length; at++) {
      const run = tokens.slice(at, at + length)
      const said = fitText(param, text.slice(run[0]?.start, run.at(-1)?.end))
      const value = said ?? fitText(param, run.map(({ word }) => word).join(' '))
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
      /^(?:(?:please|use|take|ok|okay|let's say|it's|it is|it should be|call it|name it|make it|the \w+ is|that's|c'est|disons|prends|appelle-l[ea]|mets|celui de|celle de)[\s,:]+)+/i,
      '',
    )
    .replace(/[\s,]*(?:please|thanks|thank you|merci|svp|s'il (?:te|vous) pla[iî]t)?[.!]?$/i, '')
    .replace(/^["“«'](.*)["”»']$/, '$1')
    .trim()
}

function listOf({ items }: Param, text: string): Json | undefined {
  if (items === undefined) return undefined
  const parts = bare(text)
    .split(/\s*(?:,|;|\b(?:and|et)\b)\s*/)
    .filter((part) => part !== '')
  const values = parts.map((part) => fitText(items, bare(part)))
  return values.length > 0 && values.every((value) => value !== undefined) ? values : undefined
}
