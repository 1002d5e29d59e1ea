/**
 * Arguments that are plain text: what stands behind a colon, in quotes or behind `named`, and at last the words of the
 * request that nothing else has explained. Words are taken only if one parameter can have them.
 */
import { BREAK, type Claims } from './claims.ts'
import { fitSpan, fitText, formOfParam } from './coerce.ts'
import { BEFORE_NAMES, CURRENT, NAME_WORDS, NAMING, STOP, TEXT_WORDS } from './grammar.ts'
import { isKnownVerb } from './match.ts'
import { isContent } from './request.ts'
import type { Param } from './schema.ts'

/** `settled` says that no thing is still to be looked up whose name the left-over words may be. */
export function fillText(claims: Claims, params: readonly Param[], settled: boolean): void {
  const open = () => params.filter((param) => isPlain(param) && claims.isOpen(param))
  fillNaming(claims, open(), settled)
  if (settled) fillLiteral(claims, open())
  fillQuoted(claims, open(), settled)
  fillBehindColon(claims, open())
  fillTarget(claims, open())
  if (settled) fillRest(claims, open())
}

function isPlain(param: Param): boolean {
  const texts = param.type === 'string' || param.type === 'any'
  return texts && !param.isId && param.choices === undefined && formOfParam(param) === undefined
}

function put(claims: Claims, param: Param, [from, to]: readonly [number, number]): boolean {
  const value = to > from ? fitText(param, claims.textOf(from, to)) : undefined
  if (value === undefined) return false
  claims.set(param, value)
  claims.takeTokens(from, to)
  return true
}

/** The parameter that free text goes to: the only required one, or else the only one that is made for text. */
function onlyOne(params: readonly Param[]): Param | undefined {
  const required = params.filter(({ required: needed }) => needed)
  if (required.length > 0) return required.length === 1 ? required[0] : undefined
  const made = params.filter(({ stems }) => stems.some((stem) => TEXT_WORDS.has(stem)))
  return made.length === 1 ? made[0] : undefined
}

function nameParam(params: readonly Param[]): Param | undefined {
  const named = params.filter(({ stems }) => NAME_WORDS.has(stems.at(-1) ?? ''))
  return named.find(({ required }) => required) ?? (named.length === 1 ? named[0] : undefined)
}

/** `named X`: the name, or the one required text of a tool that has no name for it. */
function fillNaming(claims: Claims, params: readonly Param[], settled: boolean): void {
  const { tokens, spanOf } = claims.request
  const param = nameParam(params) ?? (settled ? onlyOne(params) : undefined)
  const at = tokens.findIndex(
    ({ word }, place) => NAMING.has(word) && claims.isFree(place) && spanOf[place] === undefined,
  )
  if (param === undefined || at < 0) return
  const span = spanOf[at + 1]
  if (span === undefined) {
    put(claims, param, [at + 1, claims.runEnd(at + 1)])
    return
  }
  const value = claims.isFree(at + 1) ? fitSpan(param, span) : undefined
  if (value === undefined) return
  claims.set(param, value)
  claims.takeSpan(span)
}

/** A path or the like goes to the first text that is needed, as it would in a call. */
function fillLiteral(claims: Claims, params: readonly Param[]): void {
  const [span, more] = claims.spans('literal')
  const param = params.find(({ required }) => required)
  const value = param && span && more === undefined ? fitSpan(param, span) : undefined
  if (param === undefined || span === undefined || value === undefined || claims.spans('quoted').length > 0)
    return
  claims.set(param, value)
  claims.takeSpan(span)
}

/** One quoted text and one place for it. Several of both are not guessed at. */
function fillQuoted(claims: Claims, params: readonly Param[], settled: boolean): void {
  const quoted = claims.spans('quoted', 'literal')
  const required = params.filter(({ required: needed }) => needed)
  const param = settled
    ? (onlyOne(params) ?? (params.length === 1 ? params[0] : undefined))
    : onlyOne(required)
  const [span] = quoted
  if (quoted.length !== 1 || span === undefined) {
    if (quoted.length > 1)
      for (const each of required) claims.unsure.push({ param: each, options: quoted.map(({ raw }) => raw) })
    return
  }
  const value = param && fitSpan(param, span)
  if (param === undefined || value === undefined) return
  claims.set(param, value)
  claims.takeSpan(span)
}

/** Everything behind the first colon that belongs to no name. */
function fillBehindColon(claims: Claims, params: readonly Param[]): void {
  const param = onlyOne(params)
  const { tokens } = claims.request
  if (param === undefined) return
  const says = /^(?:saying|says|reading)$/
  const at = tokens.findIndex(({ word }, place) => {
    return (
      place > 0 &&
      claims.isFree(place) &&
      (claims.gapBefore(place).includes(':') || says.test(tokens[place - 1]?.word ?? word))
    )
  })
  if (at < 0 || [...claims.spoken].some((place) => place >= at)) return
  let end = at
  // What is searched for is short; what is written down may be long.
  const { sentenceOf } = claims.request
  const isPart = (place: number): boolean => !claims.profile.looks || sentenceOf[place] === sentenceOf[at]
  while (end < tokens.length && claims.isFree(end) && isPart(end)) end++
  if (end < tokens.length) while (end > at && STOP.has(tokens[end - 1]?.word ?? '')) end--
  put(claims, param, [at, end])
}

/** `… to X` or `… as X` at the end: what something is changed into. */
function fillTarget(claims: Claims, params: readonly Param[]): void {
  const required = params.filter(({ required: needed }) => needed)
  const [param] = required
  if (required.length !== 1 || param === undefined || !claims.profile.tool.params.some(({ isId }) => isId))
    return
  const { tokens } = claims.request
  const at = tokens.findLastIndex(
    ({ word }, place) => (word === 'to' || word === 'as') && claims.isFree(place),
  )
  if (at < 0 || claims.spoken.has(at + 1) || STOP.has(tokens[at + 1]?.word ?? '')) return
  if (nameParam([param]) !== undefined) put(claims, param, [at + 1, claims.runEnd(at + 1)])
}

/** The left-over words that follow directly on words of the tool. */
function fillRest(claims: Claims, params: readonly Param[]): void {
  const param = onlyOne(params)
  const runs = param ? runsIn(claims).filter((run) => mayBe(claims, param, run)) : []
  const run = longestOf(runs)
  if (param && run) put(claims, param, run)
  else if (param?.required) fillRemainder(claims, param)
}

/** No words but numbers and signs: all that stands behind the last word of the tool. */
function fillRemainder(claims: Claims, param: Param): void {
  const last = Math.max(...claims.spoken)
  const { tokens, text } = claims.request
  if (!Number.isFinite(last) || last + 1 >= tokens.length) return
  const rest = text
    .slice(tokens[last]?.end)
    .trim()
    .replace(/[.!?]+$/, '')
  const plain = tokens.every((_, at) => at <= last || claims.request.spanOf[at]?.kind === 'number')
  const value = plain && /^\S/.test(rest) ? fitText(param, rest) : undefined
  if (value === undefined) return
  claims.set(param, value)
  claims.takeTokens(last + 1, tokens.length)
}

/** Words between what is done and what it is done to describe the thing; they may be searched for, but name nothing. */
function mayBe(claims: Claims, { stems }: Param, [from, to]: Run): boolean {
  return claims.followsTool(from) && (!claims.leadsToName(to) || stems.some((stem) => TEXT_WORDS.has(stem)))
}

type Run = readonly [from: number, to: number]

/** What nothing has explained, in the sentence that speaks most of the tool. */
export function restOf(claims: Claims): string {
  const quoted = claims.spans('quoted', 'literal')[0]?.raw
  const run = longestOf(runsIn(claims))
  return quoted ?? (run ? claims.textOf(run[0], run[1]) : '')
}

/** Of that, what stands next to words of the tool, and so may be the name of a thing. */
export function nameOf(claims: Claims): string {
  const quoted = claims.spans('quoted', 'literal')[0]?.raw
  const runs = runsIn(claims)
  const run =
    longestOf(runs.filter(([from]) => claims.followsTool(from))) ??
    longestOf(runs.filter(([, to]) => claims.leadsToName(to)))
  return quoted ?? (run ? claims.textOf(run[0], run[1]) : '')
}

/** What is left and written as names are, wherever it stands. */
export function nameLeft(claims: Claims): string {
  const quoted = claims.spans('quoted')[0]?.raw
  const names = runsIn(claims).map(([from, to]) => claims.textOf(from, to))
  return quoted ?? names.find((name) => isName(claims, name)) ?? ''
}

/** Whether words are the name of something: in quotes, with a capital, or behind `for` and the like. */
export function isName({ request: { tokens, text, spanOf } }: Claims, name: string): boolean {
  const start = name === '' ? -1 : text.indexOf(name)
  const at = tokens.findIndex((token) => token.start >= start)
  if (start < 0 || at < 0) return false
  const said = tokens.filter((token) => token.start >= start && token.end <= start + name.length)
  if (said.every(({ word }) => CURRENT.has(word) || STOP.has(word))) return false
  if (spanOf[at]?.kind === 'quoted' || (at > 0 && /^[\p{Lu}\p{N}]/u.test(name))) return true
  const before = tokens[at - 1]?.word === 'the' ? tokens[at - 2] : tokens[at - 1]
  return BEFORE_NAMES.has(before?.word ?? '')
}

function longestOf(runs: readonly Run[]): Run | undefined {
  return runs.reduce<Run | undefined>((best, run) => {
    return best === undefined || run[1] - run[0] > best[1] - best[0] ? run : best
  }, undefined)
}

function runsIn(claims: Claims): Run[] {
  const { tokens, sentenceOf } = claims.request
  const sentence = mainSentence(claims)
  const runs: Run[] = []
  let from = -1
  for (let at = 0; at <= tokens.length; at++) {
    const plain =
      at < tokens.length && sentenceOf[at] === sentence && claims.isFree(at) && !claims.spoken.has(at)
    if (from >= 0 && (!plain || BREAK.test(claims.gapBefore(at)))) {
      const run = trimmed(claims, [from, at])
      if (!isEmpty(claims, run)) runs.push(run)
      from = -1
    }
    if (plain && from < 0) from = at
  }
  return runs
}

/** Well-known verbs alone name nothing. */
function isEmpty({ request }: Claims, [from, to]: Run): boolean {
  return request.tokens.slice(from, to).every(({ stem, word }) => isKnownVerb(stem) || STOP.has(word))
}

function trimmed(claims: Claims, [from, to]: readonly [number, number]): readonly [number, number] {
  let [start, end] = [from, to]
  while (start < end && !isContent(claims.request, start)) start++
  while (end > start && !isContent(claims.request, end - 1)) end--
  return [start, end]
}

function mainSentence({ request, spoken }: Claims): number {
  const counts = new Map<number, number>()
  for (const at of spoken) {
    const sentence = request.sentenceOf[at] ?? 0
    counts.set(sentence, (counts.get(sentence) ?? 0) + 1)
  }
  return [...counts].sort((a, b) => b[1] - a[1])[0]?.[0] ?? 0
}
