/**
 * Arguments that are plain text: what stands behind `named`, in quotes or behind a colon, and at last the words of the
 * request that nothing else has explained. Words are taken only if one parameter can have them.
 */
import type { Claims } from './claims.ts'
import {
  BEFORE_NAMES,
  CURRENT,
  EXPRESSION_WORDS,
  NAME_WORDS,
  NAMELESS,
  NAMING,
  ordinalOf,
  PLACE_WORDS,
  STOP,
  TEXT_WORDS,
  WHEN,
} from './lexicon.ts'
import { BREAK, isContent, isNounHere } from './request.ts'
import { fitSpan, fitText, formOfParam, type Param } from './schema.ts'
import type { Span } from './values.ts'

type Run = readonly [from: number, to: number]

/** `settled` says that no thing is still to be looked up whose name the left-over words may be. */
export function fillText(claims: Claims, params: readonly Param[], settled: boolean): void {
  const open = () => params.filter((param) => isPlain(param) && claims.isOpen(param))
  putSpan(claims, speaksOf(open(), EXPRESSION_WORDS), claims.spans('expression', 'literal'))
  fillPair(
    claims,
    open().filter(({ required }) => required),
  )
  fillNaming(claims, open(), settled)
  fillNameAndText(
    claims,
    open().filter((param) => param.required && !isExpression(param)),
  )
  if (settled && claims.spans('quoted').length === 0)
    putSpan(
      claims,
      open().find(({ required }) => required),
      claims.spans('literal', 'expression'),
    )
  fillQuoted(claims, open(), settled)
  fillBehindColon(claims, onlyOne(open()))
  fillTarget(
    claims,
    open().filter(({ required }) => required),
  )
  fillWhere(claims, speaksOf(open(), PLACE_WORDS))
  const rest = onlyOne(open())
  if (!settled || rest === undefined || isExpression(rest)) return
  fillRest(claims, rest)
  const isTitle = rest.stems.some((stem) => NAME_WORDS.has(stem))
  if (claims.isOpen(rest) && (claims.profile.looks || isTitle)) fillLoneName(claims, rest)
}

function isPlain({ type, isId, choices, ...param }: Param): boolean {
  const isText = type === 'string' || type === 'any'
  return isText && !isId && choices === undefined && formOfParam({ type, isId, ...param }) === undefined
}

/** Arithmetic is written in signs and numbers, and is no free text. */
function isExpression({ stems }: Param): boolean {
  return stems.some((stem) => EXPRESSION_WORDS.has(stem))
}

function put(claims: Claims, param: Param, [from, to]: Run): void {
  const value = to > from ? fitText(param, claims.textOf(from, to)) : undefined
  if (value === undefined || isHalf(claims, param, [from, to])) return
  claims.set(param, value)
  claims.takeTokens(from, to)
}

/** Where a value begins or ends is in doubt: `madam Moreau`, `Lisbon vaguely`, `Yoga to my planner`, and a part of a quoted text. */
function isHalf({ request: { tokens, text, spanOf } }: Claims, { stems }: Param, [from, to]: Run): boolean {
  const run = tokens.slice(from, to)
  const isCapital = (at: number): boolean => /^\p{Lu}/u.test(text.slice(run[at]?.start))
  const isLower = (at: number): boolean => !STOP.has(run[at]?.word ?? '') && !isCapital(at)
  const isPlace = stems.some((stem) => PLACE_WORDS.has(stem))
  const isTitle = isPlace || stems.some((stem) => NAME_WORDS.has(stem))
  if (spanOf.slice(from, to).some((span) => span?.kind === 'quoted')) return true
  if (!isTitle || run.length < 2) return false
  const isOwn = /^(?:to|in|into|on)$/
  return (
    (isLower(0) && isCapital(1)) ||
    (isPlace && isCapital(0) && run.some((_, at) => isLower(at))) ||
    run.some(({ word }, at) => isOwn.test(word) && /^(?:my|our|your|the)$/.test(run[at + 1]?.word ?? ''))
  )
}

/** The only value there is. */
function putSpan(claims: Claims, param: Param | undefined, [span, more]: readonly Span[]): void {
  const value = param && span && more === undefined ? fitSpan(param, span) : undefined
  if (value === undefined) return
  claims.set(param as Param, value)
  claims.takeSpan(span as Span)
}

function speaksOf(params: readonly Param[], words: ReadonlySet<string>): Param | undefined {
  const found = params.filter(({ stems }) => stems.some((stem) => words.has(stem)))
  return found.length === 1 ? found[0] : undefined
}

/** The parameter that free text goes to: the only required one, or else the only one that is made for text. */
function onlyOne(params: readonly Param[]): Param | undefined {
  const required = params.filter(({ required: needed }) => needed)
  if (required.length > 0) return required.length === 1 ? required[0] : undefined
  return speaksOf(params, TEXT_WORDS)
}

/** `named X`: the name, or the one required text of a tool that has no name for it. */
function fillNaming(claims: Claims, params: readonly Param[], settled: boolean): void {
  const { tokens, spanOf } = claims.request
  const named = params.filter(({ stems }) => NAME_WORDS.has(stems.at(-1) ?? ''))
  const own = named.find(({ required }) => required) ?? (named.length === 1 ? named[0] : undefined)
  const param = own ?? (settled ? onlyOne(params) : undefined)
  let at =
    tokens.findIndex(({ word }, place) => NAMING.has(word) && claims.isFree(place) && !spanOf[place]) + 1
  if (param === undefined || at === 0) return
  while (tokens[at]?.word === 'just') at++
  const span = spanOf[at]
  if (span === undefined) put(claims, param, [at, claims.runEnd(at)])
  else if (claims.isFree(at)) putSpan(claims, param, [span])
}

/** One quoted text and one place for it. Several of both are not guessed at. */
function fillQuoted(claims: Claims, params: readonly Param[], settled: boolean): void {
  const quoted = claims.spans('quoted', 'literal')
  const required = params.filter(({ required: needed }) => needed)
  const only = params.length === 1 ? params[0] : undefined
  const [first] = quoted
  const title =
    first && claims.followsTool(claims.placeOf(first)) ? speaksOf(required, NAME_WORDS) : undefined
  putSpan(claims, settled ? (onlyOne(params) ?? only ?? title) : onlyOne(required), quoted)
  if (quoted.length > 1 && quoted.length === required.length && title !== undefined) {
    for (const [nth, param] of required.entries()) putSpan(claims, param, quoted.slice(nth, nth + 1))
    return
  }
  if (quoted.length > 1)
    for (const param of required) claims.unsure.push({ param, options: quoted.map(({ raw }) => raw) })
}

/** Everything behind the first colon that belongs to no name. What is searched for is short. */
function fillBehindColon(claims: Claims, param: Param | undefined): void {
  const { tokens, sentenceOf } = claims.request
  const at = tokens.findIndex(
    (_, place) =>
      place > 0 &&
      claims.isFree(place) &&
      (claims.gapBefore(place).includes(':') ||
        /^(?:saying|says|reading)$/.test(tokens[place - 1]?.word ?? '') ||
        (tokens[place - 1]?.word === 'that' &&
          !/^(?:says|reads)$/.test(tokens[place]?.word ?? '') &&
          place > 1 &&
          !claims.isFree(place - 2))),
  )
  const isSearch = claims.profile.verbs.some(({ verbs }) => verbs.includes('!search'))
  if (
    param === undefined ||
    at < 0 ||
    [...claims.spoken].some((place) => place >= at && tokens[place]?.word !== 'new')
  )
    return
  if (claims.profile.looks && !isSearch) return
  let end = at
  const isPart = (place: number): boolean => !claims.profile.looks || sentenceOf[place] === sentenceOf[at]
  while (end < tokens.length && claims.isFree(end) && isPart(end)) end++
  if (end < tokens.length) while (end > at && STOP.has(tokens[end - 1]?.word ?? '')) end--
  put(claims, param, [at, end])
}

/** `rename X to Y`, `copy X as Y`: a name, and what comes of it. */
function fillPair(claims: Claims, [first, second, more]: readonly Param[]): void {
  const { tokens, spanOf } = claims.request
  const isPair =
    first && second && !more && [first, second].every(({ stems }) => NAME_WORDS.has(stems.at(-1) ?? ''))
  const at = tokens.findIndex(
    ({ word }, place) => /^(?:to|as|into|in)$/.test(word) && place > 1 && claims.isFree(place),
  )
  const values = claims.spans('quoted', 'literal')
  if (isPair && values.length === 2) {
    for (const [nth, param] of [first, second].entries()) putSpan(claims, param, values.slice(nth, nth + 1))
    return
  }
  if (!isPair || at < 0) return
  const parts = [
    [lastSpoken(claims, at) + 1, at],
    [at + 1, at + 1],
  ] as const
  for (const [nth, param] of [first, second].entries()) {
    const [from, to] = parts[nth] ?? [0, 0]
    const span = spanOf[nth === 0 ? to - 1 : from]
    if (span !== undefined) putSpan(claims, param, [span])
    else put(claims, param, nth === 0 ? [from, to] : [from, claims.runEnd(from)])
  }
}

/** `note X: Y`, `a note X saying Y`: a name right behind the words of the tool, and the text. */
function fillNameAndText(claims: Claims, [first, second, more]: readonly Param[]): void {
  const isNamed = first?.stems.some((stem) => NAME_WORDS.has(stem))
  const isBody = second?.stems.some((stem) => TEXT_WORDS.has(stem))
  if (!first || !second || more || !isNamed || !isBody) return
  const { tokens } = claims.request
  const cut = tokens.findIndex(
    ({ word }, at) =>
      at > 0 &&
      claims.isFree(at) &&
      (/[:–—]|\s-\s/.test(claims.gapBefore(at)) || /^(?:with|saying|says|that|reading)$/.test(word)),
  )
  if (cut < 0) return
  const isSign = /[:–—]|\s-\s/.test(claims.gapBefore(cut))
  const end = /^(?:with|saying|says|that|reading)$/.test(tokens[cut - 1]?.word ?? '') ? cut - 1 : cut
  let from = end
  while (
    from > 0 &&
    claims.isFree(from - 1) &&
    !claims.spoken.has(from - 1) &&
    !STOP.has(tokens[from - 1]?.word ?? '')
  )
    from--
  if (from === end || !claims.followsTool(from)) return
  let start = isSign ? cut : cut + 1
  const isText = (at: number): boolean => tokens[at]?.keys.includes('=text') === true
  if (tokens[start]?.word === 'the' && isText(start + 1)) start++
  const isSaying = (at: number): boolean => /^(?:says|saying|reading)$/.test(tokens[at]?.word ?? '')
  while ((isText(start) || isSaying(start)) && start < tokens.length - 1) start++
  put(claims, first, [from, end])
  const span = claims.request.spanOf[start]
  if (span?.kind === 'quoted') putSpan(claims, second, [span])
  else put(claims, second, [start, tokens.length])
}

/** The last token before a place that speaks for the tool or says nothing. */
function lastSpoken(claims: Claims, to: number): number {
  let at = to - 1
  while (at >= 0 && !claims.spoken.has(at) && !STOP.has(claims.request.tokens[at]?.word ?? '')) at--
  return at
}

/** `… to X` or `… as X` at the end: what something is changed into, or who gets it. */
function fillTarget(claims: Claims, [param, more]: readonly Param[]): void {
  const isTarget = param && more === undefined && !param.stems.some((stem) => TEXT_WORDS.has(stem))
  if (!isTarget || !claims.profile.tool.params.some(({ isId }) => isId)) return
  const { tokens } = claims.request
  const at = tokens.findLastIndex(({ word }, place) => /^(?:to|as)$/.test(word) && claims.isFree(place)) + 1
  const end = claims.runEnd(at)
  // `to whoever is free`, `to X or Y` names nobody.
  const isBare = tokens.slice(at, end).every(({ word }) => !STOP.has(word))
  if (at > 0 && !claims.spoken.has(at) && isBare) put(claims, param, [at, end])
}

/** `in X`, for a tool that asks for a place. */
function fillWhere(claims: Claims, param: Param | undefined): void {
  const { tokens } = claims.request
  const at = tokens.findIndex(({ word }, place) => /^(?:in|at)$/.test(word) && claims.isFree(place)) + 1
  const from = tokens[at]?.word === 'the' ? at + 1 : at
  if (param && at > 0) put(claims, param, [from, claims.runEnd(from)])
}

/** The left-over words that follow directly on words of the tool; words before its noun only describe that. */
function fillRest(claims: Claims, param: Param | undefined): void {
  const isText = param?.stems.some(
    (stem) =>
      TEXT_WORDS.has(stem) ||
      (NAME_WORDS.has(stem) && !claims.profile.verbs.some(({ verbs }) => verbs.includes('!create'))),
  )
  const run = longestOf(
    runsIn(claims).filter(
      ([from, to]) =>
        (claims.profile.looks &&
          from === 0 &&
          claims.leadsToName(to) &&
          /^\p{Lu}/u.test(claims.textOf(from, to))) ||
        (claims.followsTool(from) &&
          isWhole(claims, from) &&
          (isText || !claims.leadsToName(to) || /^\p{Lu}/u.test(claims.textOf(from, to)))),
    ),
  )
  if (param && run) put(claims, param, run)
}

/** Not `a meeting with X`, `the mails that speak of X`: what is made or looked for is more than these words. */
function isWhole({ request: { tokens, spanOf }, profile: { looks } }: Claims, from: number): boolean {
  const at = /^(?:the|a|my|our)$/.test(tokens[from - 1]?.word ?? '') ? from - 2 : from - 1
  // `10 of X`
  if (tokens[at]?.word === 'of' && spanOf[at - 1]?.kind === 'number') return true
  return !(looks ? /^(?:who|which|that)$/ : /^(?:of|with|about|in|at)$/).test(tokens[at]?.word ?? '')
}

/** `Berlin: what is the weather`: the only words that are written as a name. */
function fillLoneName(claims: Claims, param: Param): void {
  const names = runsIn(claims).filter(([from, to]) => {
    const isCapital = (at: number): boolean => /^\p{Lu}/u.test(claims.textOf(at, at + 1))
    return to - from <= 3 && isCapital(from) && isCapital(to - 1) && isWhole(claims, from)
  })
  const [only, more] = names
  if (only && more === undefined) put(claims, param, only)
}

/** The unexplained words of the sentence that is most about the tool. */
export function restOf(claims: Claims): string {
  return claims.spans('quoted', 'literal')[0]?.raw ?? textOfRun(claims, longestOf(runsIn(claims)))
}

/** Of that, what stands next to words of the tool, and so may be the name of a thing. */
export function nameOf(claims: Claims): string {
  const runs = runsIn(claims)
  const run =
    longestOf(runs.filter(([from]) => claims.followsTool(from))) ??
    longestOf(runs.filter(([, to]) => claims.leadsToName(to)))
  return claims.spans('quoted', 'literal')[0]?.raw ?? textOfRun(claims, run)
}

/** The words left over that are written as names, wherever they stand. */
export function nameLeft(claims: Claims): string {
  const names = runsIn(claims).map((run) => textOfRun(claims, run))
  return claims.spans('quoted')[0]?.raw ?? names.find((name) => isName(claims, name)) ?? ''
}

function textOfRun(claims: Claims, run: Run | undefined): string {
  return run ? claims.textOf(run[0], run[1]) : ''
}

/** Whether words are the name of something: in quotes, with a capital, or behind `for` and the like. */
export function isName(claims: Claims, name: string): boolean {
  const { tokens, text, spanOf } = claims.request
  const start = name === '' ? -1 : text.indexOf(name)
  const at = tokens.findIndex((token) => token.start >= start)
  if (start < 0 || at < 0) return false
  const said = tokens.filter((token) => token.start >= start && token.end <= start + name.length)
  if (said.every(({ word }) => CURRENT.has(word) || STOP.has(word))) return false
  if (spanOf[at]?.kind === 'quoted' || (at > 0 && /^[\p{Lu}\p{N}]/u.test(name))) return true
  const isLed = at === 0 && /^\p{Lu}/u.test(name) && claims.leadsToName(said.length)
  if (isLed && said.every(({ verbs }) => verbs.length === 0)) return true
  const before = tokens[at - 1]?.word === 'the' ? tokens[at - 2] : tokens[at - 1]
  return (
    BEFORE_NAMES.has(before?.word ?? '') || before?.word === 'just' || before?.word.startsWith('!') === true
  )
}

function longestOf(runs: readonly Run[]): Run | undefined {
  return runs.reduce<Run | undefined>(
    (best, run) => (best === undefined || run[1] - run[0] > best[1] - best[0] ? run : best),
    undefined,
  )
}

/** Words that no name goes on with. */
const LINKING = /^(?:should|must|has|have|had|is|are|was|be|needs?|gets?|will|can|could|would|please)$/

/** Well-known verbs alone name nothing. */
function runsIn(claims: Claims): Run[] {
  const { tokens, sentenceOf } = claims.request
  const sentence = claims.mainSentence
  const runs: Run[] = []
  let from = -1
  for (let at = 0; at <= tokens.length; at++) {
    const isLeft =
      at < tokens.length && sentenceOf[at] === sentence && claims.isFree(at) && !claims.spoken.has(at)
    const isEnd =
      !isLeft ||
      WHEN.has(tokens[at]?.word ?? '') ||
      WHEN.has(tokens[at - 1]?.word ?? '') ||
      BREAK.test(claims.gapBefore(at)) ||
      (at > from && LINKING.test(tokens[at]?.word ?? ''))
    if (from >= 0 && isEnd) {
      let [start, end] = [from, at]
      const isIdle = (place: number): boolean =>
        !isContent(claims.request, place) ||
        (NAMELESS.has(tokens[place]?.word ?? '') && !tokens[place]?.isName)
      while (start < end && isIdle(start)) start++
      while (end > start && !isContent(claims.request, end - 1)) end--
      const isNamed = tokens
        .slice(start, end)
        .some(
          ({ verbs, word }, step) =>
            (verbs.length === 0 || isNounHere(claims.request, start + step)) &&
            !STOP.has(word) &&
            !NAMELESS.has(word) &&
            ordinalOf(word) === undefined,
        )
      if (isNamed) runs.push([start, end])
      from = -1
    }
    if (isLeft && from < 0) from = at
  }
  return runs
}
