/** A text that asks for something, taken apart once: words, values, sentences. It does not know any tool. */
import { GREETINGS, STOP } from './grammar.ts'
import { type Lexicon, NO_LEXICON, translated } from './lexicon.ts'
import { findSpans, type Span } from './values.ts'
import { type Token, tokenise } from './words.ts'

export interface Request {
  readonly text: string
  readonly tokens: readonly Token[]
  readonly spans: readonly Span[]
  /** For each token the span that it is part of. */
  readonly spanOf: readonly (Span | undefined)[]
  /** For each token the number of its sentence. */
  readonly sentenceOf: readonly number[]
  /** Where each stem stands. */
  readonly places: ReadonlyMap<string, readonly number[]>
  readonly isFrench: boolean
}

const SENTENCE = /[.!?\n](?:\s|$)|\n/

export function readRequest(text: string, lexicon: Lexicon = NO_LEXICON): Request {
  const { tokens, isFrench } = translated(tokenise(text), lexicon)
  const spans = findSpans(text)
  const spanOf: (Span | undefined)[] = []
  const sentenceOf: number[] = []
  const places = new Map<string, number[]>()
  let span = 0
  let sentence = 0
  let before = 0
  for (const [at, { stem, start, end }] of tokens.entries()) {
    while (spans[span] !== undefined && (spans[span] as Span).end <= start) span++
    const around = spans[span]
    spanOf.push(around && around.start < end && around.end > start ? around : undefined)
    if (start - before > 1 && SENTENCE.test(text.slice(before, Math.min(start, before + 20)))) sentence++
    sentenceOf.push(sentence)
    before = end
    const known = places.get(stem)
    if (known) known.push(at)
    else places.set(stem, [at])
  }
  return { text, tokens, spans, spanOf, sentenceOf, places, isFrench }
}

/** Whether a token is part of a value that has a form of its own, and so says nothing about what is wanted. */
export function isInValue({ spanOf }: Request, at: number): boolean {
  return spanOf[at] !== undefined
}

/** Whether a token may carry what is wanted. */
export function isContent(request: Request, at: number): boolean {
  const word = request.tokens[at]?.word
  if (word === undefined || isInValue(request, at) || STOP.has(word)) return false
  const opens = at === 0 || (at === 1 && GREETINGS.has(request.tokens[0]?.word ?? ''))
  return !opens || !GREETINGS.has(word)
}

/** Where one of the stems in a row begins; each place once, in order. */
export function runsOf({ tokens, places }: Request, stems: readonly string[]): number[] {
  const starts = places.get(stems[0] ?? '') ?? []
  return starts.slice(0, 100).filter((at) => stems.every((stem, step) => tokens[at + step]?.stem === stem))
}
