/**
 * A message taken apart once: its language, its words in the words of the tools, its values, sentences and clauses. It
 * chooses nothing.
 */
import type { EntityWords } from '../model/grounding-context.ts'
import { findSpans, type Span } from './values.ts'
import {
  AUXILIARY,
  BEFORE_NOUNS,
  FRENCH,
  FRENCH_GRAMMAR,
  FRENCH_GREETINGS,
  GREETINGS,
  IDIOMS,
  STOP,
  SYNONYMS,
  VERB_GROUPS,
} from './vocabulary.ts'
import { foldText, stemOf, type Token, tokenise } from './words.ts'

export type Language = 'en' | 'fr'

/** How the words of requests are read. */
export interface Lexicon {
  /** Other words for things, and the one that stands for them here. */
  readonly nouns: ReadonlyMap<string, string>
  /** Stems that tools use. */
  readonly own: ReadonlySet<string>
  /** Of a text that does not show its language. */
  readonly language: Language
}

export interface Request {
  readonly text: string
  readonly language: Language
  readonly tokens: readonly Token[]
  readonly spans: readonly Span[]
  /** For each token the span that it is part of. */
  readonly spanOf: readonly (Span | undefined)[]
  /** For each token the numbers of its sentence and of its clause. */
  readonly sentenceOf: readonly number[]
  readonly clauseOf: readonly number[]
  /** Where each stem stands. */
  readonly places: ReadonlyMap<string, readonly number[]>
}

const SENTENCE = /[.!?\n](?:\s|$)|\n/
export const BREAK: RegExp = /[,;:.!?()\n…]|\s[-–—]+\s|\/\/|->/

export function lexiconOf(
  own: ReadonlySet<string>,
  entities: Readonly<Record<string, EntityWords>>,
  language: Language,
): Lexicon {
  const nouns = new Map<string, string>()
  for (const { one, many } of Object.values(entities)) {
    const [first = '', several = first] = [one[0], many[0]]
    for (const word of one) if (stemOf(word) !== stemOf(first)) nouns.set(word, first)
    for (const word of many) if (!stemOf(word).startsWith(stemOf(first))) nouns.set(word, several)
  }
  return { nouns, own, language }
}

export function readRequest(text: string, lexicon: Lexicon): Request {
  const language = languageOf(text, lexicon.nouns) ?? lexicon.language
  const tokens = withIdioms(tokenise(text), language).map((token) => inToolWords(token, language, lexicon))
  const spans = findSpans(text)
  const spanOf: (Span | undefined)[] = []
  const sentenceOf: number[] = []
  const clauseOf: number[] = []
  const places = new Map<string, number[]>()
  let [span, sentence, clause, before] = [0, 0, 0, 0]
  for (const [at, { stem, said, start, end }] of tokens.entries()) {
    while (spans[span] !== undefined && (spans[span] as Span).end <= start) span++
    const around = spans[span]
    spanOf.push(around && around.start < end && around.end > start ? around : undefined)
    const gap = text.slice(before, Math.min(start, before + 20))
    if (start - before > 1 && SENTENCE.test(gap)) sentence++
    if (BREAK.test(gap)) clause++
    sentenceOf.push(sentence)
    clauseOf.push(clause)
    before = end
    for (const each of stem === said ? [stem] : [stem, said]) {
      const known = places.get(each)
      if (known) known.push(at)
      else places.set(each, [at])
    }
  }
  return { text, language, tokens, spans, spanOf, sentenceOf, clauseOf, places }
}

/** Undefined for a text that could be in either language. */
export function languageOf(text: string, nouns: Lexicon['nouns'] = new Map()): Language | undefined {
  let [french, english] = [0, 0]
  for (const run of text.slice(0, 2000).matchAll(/[\p{L}\p{M}]+/gu)) {
    const word = foldText(run[0])
    if (word.length < 2) continue
    const isEnglish = !FRENCH_GREETINGS.has(word) && (STOP.has(word) || groupsOf(stemOf(word)).length > 0)
    const isFrench =
      FRENCH_GREETINGS.has(word) ||
      FRENCH_GRAMMAR.has(word) ||
      (nouns.get(word) ?? word) !== word ||
      isOtherWord(word, FRENCH.get(word))
    if (isFrench && !isEnglish) french++
    if (isEnglish && !isFrench && !FRENCH.has(word)) english++
  }
  return french === english ? undefined : french > english ? 'fr' : 'en'
}

/** Whether a French word is no English one. */
function isOtherWord(word: string, meanings: readonly string[] = [word]): boolean {
  return !meanings.some((meaning) => stemOf(meaning) === stemOf(word))
}

/** Several words that mean one thing: the first of them gets the meaning, the others none. */
function withIdioms(tokens: readonly Token[], language: Language): Token[] {
  const found = [...tokens]
  for (let at = 0; at < tokens.length; at++) {
    const phrase = IDIOMS.get(tokens[at]?.word ?? '')?.find(([, ...parts]) =>
      parts.every((part, step) => tokens[at + step]?.word === part),
    )
    if (phrase === undefined) continue
    const [verb = '', ...parts] = phrase
    const [only, next] = [parts.length, tokens[at + parts.length]]
    // `change to` needs something to change to; `look for` what to look for.
    if (verb !== '' && next === undefined && language === 'en' && only < 3) continue
    for (let step = 0; step < parts.length; step++) {
      const token = tokens[at + step] as Token
      const word = step === 0 && verb !== '' ? verb : 'just'
      found[at + step] = { ...token, word, stem: stemOf(word) }
    }
    at += parts.length - 1
  }
  return found
}

/** The word that the tools use for it; a word that they use themselves stays. */
function inToolWords(token: Token, language: Language, { nouns, own }: Lexicon): Token {
  const { word: said, stem } = token
  const grammar = language === 'fr' ? FRENCH_GRAMMAR.get(said) : undefined
  const meanings = grammar ?? [
    ...(nouns.has(said) ? [nouns.get(said) as string] : []),
    ...(language === 'fr' ? (FRENCH.get(said) ?? []) : []),
    ...(SYNONYMS.get(said) ?? []),
  ]
  if (meanings.length === 0 || (grammar === undefined && own.has(stem))) return token
  const known = meanings.find((meaning) => own.has(stemOf(meaning.split('+')[0] ?? '')))
  const isTranslated = grammar !== undefined || nouns.has(said) || (language === 'fr' && FRENCH.has(said))
  const word = known ?? (isTranslated ? meanings[0] : undefined)
  if (word === undefined) return token
  const [verb = '', particle] = word.split('+')
  // The plural tells a list from one thing.
  const form = grammar === undefined && /[sx]$/.test(said) && !verb.endsWith('s') ? `${verb}s` : verb
  return { ...token, word: form, stem: stemOf(verb), ...(particle === undefined ? {} : { particle }) }
}

/** Words of a tool, in the language that requests are read in. */
export function translated(tokens: readonly Token[], language: Language): Token[] {
  return tokens.map((token) => inToolWords(token, language, NO_LEXICON))
}

const NO_LEXICON: Lexicon = { nouns: new Map(), own: new Set(), language: 'en' }

const GROUPS: ReadonlyMap<string, readonly number[]> = groupsByStem()

function groupsByStem(): Map<string, number[]> {
  const groups = new Map<string, number[]>()
  for (const [at, group] of VERB_GROUPS.entries())
    for (const stem of new Set(group.map(stemOf))) groups.set(stem, [...(groups.get(stem) ?? []), at])
  return groups
}

/** The groups of verbs that a word is in; none for a word that is no known verb. */
export function groupsOf(stem: string): readonly number[] {
  return GROUPS.get(stem) ?? []
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

/** Whether a token stands where a verb says what to do: `the order` orders nothing, `sent from here` sends nothing. */
export function isAsked(request: Request, at: number): boolean {
  const { tokens, clauseOf } = request
  const [before, token] = [tokens[at - 1], tokens[at]]
  const isFirst = before === undefined || clauseOf[at] !== clauseOf[at - 1]
  if (/ed$|^(?:sent|bought|done)$/.test(token?.word ?? '')) {
    const clause = tokens.filter((_, place) => place < at && clauseOf[place] === clauseOf[at])
    return (
      !isFirst && (AUXILIARY.has(before.word) || clause.some(({ word }) => /^(?:have|get|want)$/.test(word)))
    )
  }
  // `tu peux la marquer`: a French infinitive is no noun.
  if (request.language === 'fr' && /(?:er|ir|re)$/.test(token?.said ?? '')) return true
  return isFirst || !(BEFORE_NOUNS.has(before.word) || isContent(request, at - 1))
}

/** Where one of the stems in a row begins; each place once, in order. */
export function runsOf({ tokens, places }: Request, stems: readonly string[]): number[] {
  const starts = places.get(stems[0] ?? '') ?? []
  return starts
    .slice(0, 100)
    .filter((at) =>
      stems.every((stem, step) => tokens[at + step]?.stem === stem || tokens[at + step]?.said === stem),
    )
}
