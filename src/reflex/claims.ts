/**
 * The work on the arguments of one call: what is filled, and which words and values of the request are used up. A
 * value is used for one parameter only.
 */
import type { Json } from '../protocol/index.ts'
import {
  BEFORE_NAMES,
  CURRENT,
  ENDS,
  LIGHT,
  NAMELESS,
  NAMING,
  ordinalOf,
  PLACES,
  PRONOUNS,
  QUIET,
  STOP,
  WHEN,
} from './lexicon.ts'
import { BREAK, isContent, type Request, runsOf, shares } from './request.ts'
import type { Param } from './schema.ts'
import { type Profile, WEIGHT } from './tools.ts'
import type { Span, SpanKind } from './values.ts'
import { stemsOf, UNSPACED } from './words.ts'

export interface Gap {
  readonly param: Param
  /** Values between which the request does not decide. */
  readonly options?: readonly Json[]
}

const LONGEST_RUN = 40
/** In a longer text, words that nothing has explained say little. */
const LONGEST_REQUEST = 200
/** Signs that end a clause, without the colon. */
const CLAUSE = /[,;.!?()\n]|:\s|\s[-–—]+\s/

/** Words that no value ends with. */
const TAIL = new Set(
  'please pls thanks thank on in at for to of with and from by the a an as into now or is are today tonight currently right there again'.split(
    ' ',
  ),
)

function hasForm({ kind }: Span): boolean {
  return kind !== 'number' && kind !== 'id'
}

export class Claims {
  readonly args: Record<string, Json> = {}
  readonly unsure: Gap[] = []
  readonly request: Request
  readonly profile: Profile
  /** Tokens that speak for the tool. */
  readonly spoken: ReadonlySet<number>
  readonly #tokens = new Set<number>()
  readonly #spans = new Set<Span>()
  readonly #sentences: ReadonlySet<number>
  /** The sentence that speaks most of the tool. */
  readonly mainSentence: number

  constructor(request: Request, profile: Profile, spoken: ReadonlySet<number>) {
    this.request = request
    this.profile = profile
    this.spoken = spoken
    const places = [...spoken].map((at) => request.sentenceOf[at] ?? 0)
    this.#sentences = new Set(places)
    const count = (sentence: number): number => places.filter((each) => each === sentence).length
    this.mainSentence = [...this.#sentences].sort((a, b) => count(b) - count(a) || a - b)[0] ?? 0
  }

  /** How many values with a form of their own have found a place. */
  get used(): number {
    return this.#spans.size
  }

  isOpen({ name }: Param): boolean {
    return !Object.hasOwn(this.args, name) && !this.unsure.some(({ param }) => param.name === name)
  }

  isFree(at: number): boolean {
    const span = this.request.spanOf[at]
    return !this.#tokens.has(at) && (span === undefined || !this.#spans.has(span))
  }

  /** The tokens that are explained as values. */
  get taken(): ReadonlySet<number> {
    return new Set([...this.request.tokens.keys()].filter((at) => !this.isFree(at)))
  }

  /** Values that are not used. A bare number or id counts only in a sentence that speaks of the tool. */
  spans(...kinds: readonly SpanKind[]): Span[] {
    return this.request.spans.filter((span) => {
      return kinds.includes(span.kind) && !this.#spans.has(span) && (hasForm(span) || this.#isNear(span))
    })
  }

  #isNear(span: Span): boolean {
    return this.#sentences.size === 0 || this.#sentences.has(this.request.sentenceOf[this.placeOf(span)] ?? 0)
  }

  takeSpan(span: Span): void {
    this.#spans.add(span)
  }

  takeTokens(from: number, to: number): void {
    for (let at = from; at < to; at++) this.#tokens.add(at)
  }

  set({ name }: Param, value: Json): void {
    this.args[name] = value
  }

  /** The first token of a span. */
  placeOf(span: Span): number {
    return this.request.spanOf.indexOf(span)
  }

  /** The text between a token and the one before it. */
  gapBefore(at: number): string {
    const { tokens, text } = this.request
    return text.slice(
      at === 0 ? 0 : tokens[at - 1]?.end,
      Math.min(tokens[at]?.start ?? text.length, text.length),
    )
  }

  /** Whether the name of some parameter, or another verb, begins here. */
  isTurn(at: number): boolean {
    const word = this.request.tokens[at]?.word ?? ''
    return NAMING.has(word) || this.#namesParam(at)
  }

  #namesParam(at: number): boolean {
    const { tokens } = this.request
    return this.profile.tool.params.some(
      ({ stems, keys }) =>
        stems.length > 0 &&
        (stems.every((stem, step) => tokens[at + step]?.said === stem) ||
          (/^\s*[:=]/.test(this.gapBefore(at + keys.length)) &&
            keys.every((each, step) => shares(tokens[at + step]?.keys ?? [], each)))),
    )
  }

  /** The end of the plain words that begin at a token: where a sentence, a clause or another parameter begins. */
  runEnd(from: number): number {
    const { tokens } = this.request
    let at = from
    while (at < tokens.length && at - from < LONGEST_RUN) {
      if (!this.isFree(at) || (at > from && CLAUSE.test(this.gapBefore(at)))) break
      const word = tokens[at]?.word ?? ''
      if (
        at > from &&
        (this.isTurn(at) ||
          this.gapBefore(at + 1)
            .trimStart()
            .startsWith('='))
      )
        break
      if (this.profile.looks && (WHEN.has(tokens[at]?.said ?? '') || WHEN.has(word))) break
      if (PLACES.has(word) && this.#awaitsThing()) break
      if (ENDS.has(word) && (word !== 'and' || at === from || this.#beginsAnew(at + 1))) break
      at++
    }
    if (/[:=]/.test(this.gapBefore(from))) return at
    while (at > from && TAIL.has(tokens[at - 1]?.word ?? '')) at--
    return at
  }

  #awaitsThing(): boolean {
    return this.profile.tool.params.some((param) => param.isId && param.required && this.isOpen(param))
  }

  #beginsAnew(at: number): boolean {
    const { tokens } = this.request
    return at >= tokens.length || this.isTurn(at) || this.spoken.has(at) || STOP.has(tokens[at]?.word ?? '')
  }

  /** Whether only words without meaning, and no break, stand between a token and a word of the tool before it. */
  followsTool(from: number): boolean {
    const { tokens, spanOf } = this.request
    for (let at = from; at > 0; at--) {
      if (BREAK.test(this.gapBefore(at))) return false
      if (this.spoken.has(at - 1)) return true
      const span = spanOf[at - 1]
      // `order 10 X`: the number has found its place.
      if (span?.kind === 'number' && !this.isFree(at - 1)) continue
      if (span !== undefined || !STOP.has(tokens[at - 1]?.word ?? '')) return false
    }
    return false
  }

  /** The same for a word of the tool's name behind it. */
  leadsToName(to: number): boolean {
    const { tokens, spanOf } = this.request
    for (let at = to; at < tokens.length; at++) {
      if (BREAK.test(this.gapBefore(at))) return false
      if (this.spoken.has(at))
        return this.profile.name.some(({ keys }) => shares(keys, tokens[at]?.keys ?? []))
      if (spanOf[at] !== undefined || !STOP.has(tokens[at]?.word ?? '')) return false
    }
    return false
  }

  textOf(from: number, to: number): string {
    const { tokens, text } = this.request
    return text.slice(tokens[from]?.start, tokens[to - 1]?.end)
  }

  /**
   * The first words that nothing has explained, in a clause that speaks of the tool or alone behind a preposition; for a
   * tool that changes something and that no verb asks for, in any clause.
   */
  residue(isAsked: boolean): string {
    const { tokens, clauseOf } = this.request
    const isOpen = this.spoken.size === 0 || (!this.profile.looks && !isAsked)
    const from = this.left.find((at) => isOpen || tokens[at]?.isTool || this.#isTied(at))
    if (from === undefined) return ''
    let end = from + 1
    while (end < tokens.length && clauseOf[end] === clauseOf[from] && this.#isUnexplained(end)) end++
    return this.textOf(from, end)
  }

  /** The words that nothing has explained, wherever they stand. */
  get left(): readonly number[] {
    const { tokens } = this.request
    return tokens.length > LONGEST_REQUEST
      ? []
      : [...tokens.keys()].filter((at) => this.#isUnexplained(at) && !this.#isLoose(at))
  }

  #isUnexplained(at: number): boolean {
    const { request, spoken, profile } = this
    const { stem = '', word = '', keys = [] } = request.tokens[at] ?? {}
    if (!this.isFree(at) || UNSPACED.test(word)) return false
    const weight = Math.max(0, ...keys.map((key) => profile.weights.get(key) ?? 0))
    if (weight === WEIGHT.choice && isContent(request, at)) return true
    if (spoken.has(at)) return false
    const isMeant = isContent(request, at) || (request.spanOf[at] !== undefined && !STOP.has(word))
    const isCount = ordinalOf(word) !== undefined && request.spanOf[at + 1]?.kind === 'number'
    // `tasks that are running`, `delete all tasks that are open`: a light verb that tells a state says something.
    const before = request.tokens[at - 1]
    const isState = !profile.looks && keys.some((key) => key.startsWith('='))
    const isForm = isState || word.endsWith('ing') || (!profile.looks && word.endsWith('ed'))
    const isDoing = isForm && /^(?:is|are|was|were)$/.test(before?.word ?? '')
    const isBehind = isState && request.language === 'fr' && before?.isPlural === true
    const isOfMany = request.tokens[at + 1]?.isPlural === true || isBehind
    const isNew = /^(?:new|nouve(?:au|aux|l|lle|lles))$/.test(word) && !request.tokens[at]?.isName
    return (
      isMeant &&
      !isCount &&
      weight < WEIGHT.param &&
      !((profile.looks ? LIGHT : QUIET).has(stem) && !isDoing && (NAMELESS.has(word) || !isOfMany)) &&
      !(isNew && (isOfMany || !profile.looks)) &&
      !(profile.lists && keys.includes('=left')) &&
      !CURRENT.has(word)
    )
  }

  #isTied(from: number): boolean {
    const { tokens, clauseOf } = this.request
    const clause = clauseOf[from] ?? 0
    if ([...this.spoken].some((at) => clauseOf[at] === clause)) return true
    const start = clauseOf.indexOf(clause)
    if (/:/.test(this.gapBefore(start))) return true
    const others = this.left.filter((at) => clauseOf[at] === clause)
    return BEFORE_NAMES.has(tokens[start]?.word ?? '') && from - start <= 2 && others.length <= 2
  }

  /** Adverbs that take nothing back, and words beside a sum. */
  #isLoose(at: number): boolean {
    const { word = '', isName = false } = this.request.tokens[at] ?? {}
    if (this.request.spanOf[at] !== undefined || isName) return false
    const isSum = [...this.#spans].some(({ kind }) => kind === 'expression')
    return isSum || (/..(?:ly|ment)$/.test(word) && !/^(?:near|hard|bare|part|most)ly$/.test(word))
  }

  /** Whether a pronoun is left to be explained. */
  points(): boolean {
    return this.request.tokens.some(({ word }, at) => PRONOUNS.has(word) && this.isFree(at))
  }

  /** The words of a settled value are explained wherever they stand. */
  takeText(text: string): void {
    const stems = new Set(stemsOf(text))
    for (const [at, { said, word }] of this.request.tokens.entries())
      if (stems.has(said) && !STOP.has(word)) this.takeTokens(at, at + 1)
  }

  runsOf(row: readonly (readonly string[])[]): number[] {
    return runsOf(this.request, row).filter((at) => this.isFree(at) && this.request.spanOf[at] === undefined)
  }
}
