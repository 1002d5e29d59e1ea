/**
 * The work on the arguments of one call: what is filled, and which words and values of the request are used up. A
 * value is used for one parameter only.
 */
import type { Json } from '../protocol/index.ts'
import { ENDS, NAMING, PLACES, STOP } from './grammar.ts'
import type { Profile } from './match.ts'
import type { Request } from './request.ts'
import { runsOf } from './request.ts'
import type { Param } from './schema.ts'
import type { Span, SpanKind } from './values.ts'

export interface Gap {
  readonly param: Param
  /** Values between which the request does not decide. */
  readonly options?: readonly Json[]
}

const LONGEST_RUN = 40
/** Signs that end a clause, and those with a colon. */
const CLAUSE = /[,;.!?()\n]|\s[-–—]+\s/
export const BREAK: RegExp = /[,;:.!?()\n]|\s[-–—]+\s/

function isMarked({ kind }: Span): boolean {
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

  constructor(request: Request, profile: Profile, spoken: ReadonlySet<number>) {
    this.request = request
    this.profile = profile
    this.spoken = spoken
    this.#sentences = new Set([...spoken].map((at) => request.sentenceOf[at] ?? 0))
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

  /** Values that are not used. A bare number or id counts only in a sentence that speaks of the tool. */
  spans(...kinds: readonly SpanKind[]): Span[] {
    return this.request.spans.filter((span) => {
      return kinds.includes(span.kind) && !this.#spans.has(span) && (isMarked(span) || this.#isNear(span))
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

  /** What stands between a token and the one before it. */
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
    return this.profile.tool.params.some(({ stems }) => {
      return stems.length > 0 && stems.every((stem, step) => this.request.tokens[at + step]?.stem === stem)
    })
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
      if (PLACES.has(word) && this.#awaitsThing()) break
      if (ENDS.has(word) && (word !== 'and' || at === from || this.#beginsAnew(at + 1))) break
      at++
    }
    while (at > from && STOP.has(tokens[at - 1]?.word ?? '')) at--
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
      if (spanOf[at - 1] !== undefined || !STOP.has(tokens[at - 1]?.word ?? '')) return false
    }
    return false
  }

  /** The same for a word of the tool's name behind it. */
  leadsToName(to: number): boolean {
    const { tokens, spanOf } = this.request
    for (let at = to; at < tokens.length; at++) {
      if (BREAK.test(this.gapBefore(at))) return false
      if (this.spoken.has(at)) return this.profile.name.includes(tokens[at]?.stem ?? '')
      if (spanOf[at] !== undefined || !STOP.has(tokens[at]?.word ?? '')) return false
    }
    return false
  }

  textOf(from: number, to: number): string {
    const { tokens, text } = this.request
    return text.slice(tokens[from]?.start, tokens[to - 1]?.end)
  }

  runsOf(stems: readonly string[]): number[] {
    return runsOf(this.request, stems).filter(
      (at) => this.isFree(at) && this.request.spanOf[at] === undefined,
    )
  }
}
