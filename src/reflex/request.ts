/**
 * A message taken apart once: its language, its words with the families they are in, its values, sentences and clauses.
 * It chooses nothing.
 */
import type { EntityWords } from '../model/grounding-context.ts'
import { editDistance } from '../protocol/index.ts'
import {
  AUXILIARY,
  BEFORE_NOUNS,
  FRENCH_GRAMMAR,
  FRENCH_GREETINGS,
  GREETINGS,
  IDIOM_INDEX,
  isKnownWord,
  knownWords,
  type Language,
  nounsOf,
  numberWord,
  ordinalOf,
  STOP,
  verbsOf,
} from './lexicon.ts'
import { findSpans, type Span } from './values.ts'
import { foldText, type Piece, stemOf, tokenise } from './words.ts'

/** A word of a request or of a tool. */
export interface Word {
  /** Small letters, no accents; little French words in English. */
  readonly word: string
  readonly stem: string
  /** The stem, and the families of nouns that the word is in: words that share one mean the same. */
  readonly keys: readonly string[]
  /** The families of verbs that the word is in. */
  readonly verbs: readonly string[]
  readonly isPlural: boolean
}

export interface Token extends Word {
  /** The stem as the person wrote it, and whether that was read as a typing error. */
  readonly said: string
  readonly isCorrected?: boolean
  /** Whether a tool has it in its name. */
  readonly isTool: boolean
  readonly start: number
  readonly end: number
  readonly isName: boolean
}

/** How the words of requests are read. */
export interface Lexicon {
  /** Other words for things, and the one that stands for them here. */
  readonly nouns: ReadonlyMap<string, string>
  /** Stems that tools use in their names, and anywhere. */
  readonly names: ReadonlySet<string>
  readonly own: ReadonlySet<string>
  /** Of a text that does not show its language. */
  readonly language: Language
  /** Stems of the names of things, which are no typing errors. */
  readonly labels?: ReadonlySet<string>
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
  /** Where each key stands. */
  readonly places: ReadonlyMap<string, readonly number[]>
}

const SENTENCE = /[.!?\n](?:\s|$)|\n/
export const BREAK: RegExp = /[,;:.!?()\n…]|\s[-–—]+\s|\/\/|->|→/

export function lexiconOf(
  { own, names }: Pick<Lexicon, 'own' | 'names'>,
  entities: Readonly<Record<string, EntityWords>>,
  language: Language,
): Lexicon {
  const nouns = new Map<string, string>()
  for (const { one, many } of Object.values(entities))
    for (const word of [...one, ...many]) nouns.set(foldText(word), stemOf(foldText(one[0] ?? word)))
  return { nouns, own, names, language }
}

/** The last message that was read with a lexicon: one decision reads the same one several times. */
const LAST = new WeakMap<Lexicon, Request>()

export function readRequest(text: string, lexicon: Lexicon): Request {
  const last = LAST.get(lexicon)
  if (last?.text === text) return last
  const request = takeApart(text, lexicon)
  LAST.set(lexicon, request)
  return request
}

function takeApart(text: string, lexicon: Lexicon): Request {
  const language = languageOf(text, lexicon.nouns) ?? lexicon.language
  const spans = findSpans(text)
  const pieces = tokenise(text)
  const tokens = readWords(pieces, language, lexicon)
  const spanOf: (Span | undefined)[] = []
  const sentenceOf: number[] = []
  const clauseOf: number[] = []
  const places = new Map<string, number[]>()
  let [span, sentence, clause, before] = [0, 0, 0, 0]
  for (const [at, { keys, said, start, end }] of tokens.entries()) {
    while (spans[span] !== undefined && (spans[span] as Span).end <= start) span++
    const around = spans[span]
    spanOf.push(around && around.start < end && around.end > start ? around : undefined)
    const gap = text.slice(before, Math.min(start, before + 20))
    if (start - before > 1 && SENTENCE.test(gap)) sentence++
    if (BREAK.test(gap)) clause++
    sentenceOf.push(sentence)
    clauseOf.push(clause)
    before = end
    for (const key of new Set([...keys, said])) {
      const known = places.get(key)
      if (known) known.push(at)
      else places.set(key, [at])
    }
  }
  return { text, language, tokens, spans, spanOf, sentenceOf, clauseOf, places }
}

/** The words of a tool. */
export function wordsOf(text: string, language: Language): readonly Word[] {
  return readWords(tokenise(text), language, NO_LEXICON)
}

const NO_LEXICON: Lexicon = { nouns: new Map(), own: new Set(), names: new Set(), language: 'en' }
/** In a longer text, a typing error says little. */
const LONGEST_CORRECTED = 60

function readWords(pieces: readonly Piece[], language: Language, lexicon: Lexicon): Token[] {
  const tokens = pieces.map((piece) => readWord(piece, language, lexicon))
  const corrected =
    tokens.length > LONGEST_CORRECTED
      ? tokens
      : tokens.map((token, at) => withoutTypo(token, tokens[at - 1], { language, lexicon }))
  const said = pieces.map((piece, at) =>
    corrected[at] === tokens[at] ? piece : { ...piece, word: corrected[at]?.word ?? piece.word },
  )
  return withIdioms(corrected, said)
}

interface Reading {
  readonly language: Language
  readonly lexicon: Lexicon
}

function readWord({ word: said, start, end, isName }: Piece, language: Language, lexicon: Lexicon): Token {
  const { nouns, names } = lexicon
  const grammar = language === 'fr' ? FRENCH_GRAMMAR.get(said) : undefined
  // English words that say nothing may be names in French: Nice.
  const isForeign =
    language === 'fr' && grammar === undefined && STOP.has(said) && (isName || said === 'nice')
  const word = grammar ?? (isForeign ? `${said}_` : said)
  const stem = stemOf(word)
  const entity = nouns.get(said)
  const families = names.has(stem) && !STOP.has(word) ? [] : nounsOf(said, stemOf(said), language)
  const keys = [...new Set([stem, ...(entity === undefined ? [] : [entity]), ...families])]
  const isPlural = /[^s]s$|x$/.test(said)
  const isNounOnly = language === 'en' && isPlural && (names.has(stem) || families.length > 0)
  const mayBeVerb = grammar === undefined || VERBAL_GRAMMAR.has(said)
  const verbs = mayBeVerb && !isNounOnly ? verbsOf(said, stemOf(said), language) : []
  return {
    word,
    stem,
    keys,
    verbs,
    said: stemOf(said),
    isTool: names.has(stem),
    isPlural,
    isName,
    start,
    end,
  }
}

/** A word that nobody knows, and that is one of the tools' or a well-known one but for a letter or two. */
function withoutTypo(token: Token, before: Token | undefined, { language, lexicon }: Reading): Token {
  const { word, stem, said } = token
  const { own, labels, nouns } = lexicon
  const isKnown =
    STOP.has(word) ||
    own.has(stem) ||
    isKnownWord(word, stem) ||
    nouns.has(word) ||
    labels?.has(said) ||
    ordinalOf(word) !== undefined ||
    numberWord(word) !== undefined
  if (isKnown || own.size === 0 || !/^[a-z]{3,}$/.test(word) || token.isName) return token
  const isTold = before !== undefined && BEFORE_NOUNS.has(before.word)
  const found =
    nearest(
      stem,
      [...own].filter((each) => each.length > 2),
      isTold,
    ) ?? nearest(word, knownWords(word[0] ?? '', language), false)
  if (found === undefined) return token
  return {
    ...readWord({ ...token, word: found }, language, lexicon),
    said,
    isPlural: token.isPlural,
    isCorrected: true,
  }
}

/** The one word that differs in the least letters; in short words, letters may be missing or have changed places. */
function nearest(word: string, all: readonly string[], isLoose: boolean): string | undefined {
  const most = word.length > 7 ? 2 : 1
  const rated = all.flatMap((each) => {
    if (each[0] !== word[0] || each.length < 3) return []
    const distance = editDistance(each, word, most)
    const isShort = Math.min(each.length, word.length) < 5
    const isOther = isShort && each.length === word.length && !isLoose && sorted(each) !== sorted(word)
    return distance > most || isOther || (word.length === 3 && each.length < 3) ? [] : [{ each, distance }]
  })
  const least = Math.min(...rated.map(({ distance }) => distance))
  const near = rated.filter(({ distance }) => distance === least).map(({ each }) => each)
  const little = near.filter((each) => STOP.has(each) || ordinalOf(each) !== undefined)
  const [only = '', more] = little.length > 0 ? little : near
  const isOne = more === undefined || little.length > 0 || stemOf(more) === stemOf(only)
  return isOne && only !== '' ? only : undefined
}

function sorted(word: string): string {
  return word.split('').sort().join('')
}

/** Little words that may be verbs, too. */
const VERBAL_GRAMMAR = new Set(['suis', 'combien', 'fait'])
const WIDEST = 7

/** Several words that mean one thing: the first of them gets the meaning, the others none. */
function withIdioms(tokens: readonly Token[], pieces: readonly Piece[]): Token[] {
  const found = [...tokens]
  for (let at = 0; at < tokens.length; at++) {
    for (const { meaning, parts } of IDIOM_INDEX.get(pieces[at]?.word ?? '') ?? []) {
      const places = placesOf(parts, pieces, at)
      if (places === undefined) continue
      for (const [step, place] of places.entries())
        found[place] = meant(tokens[place] as Token, step === 0 ? meaning : 'just')
      if (!parts.includes('*')) at += parts.length - 1
      break
    }
    const { word = '' } = tokens[at] ?? {}
    if (found[at] === tokens[at] && (word === 'on' || word === 'off') && isParticle(tokens, at))
      found[at] = meant(tokens[at] as Token, word)
  }
  return found
}

/** `the lamp on`, `lights off please`. */
function isParticle(tokens: readonly Token[], at: number): boolean {
  const before = tokens[at - 1]
  const isOne = before?.word === 'one' || before?.word === 'it'
  const isNoun = before !== undefined && (isOne || !STOP.has(before.word)) && before.verbs.length === 0
  const next = tokens[at + 1]
  const isLast = next !== undefined && next.start - (tokens[at]?.end ?? 0) > 1
  return isNoun && (isLast || /^(?:|please|pls|now|again|in|thanks|then|too)$/.test(next?.word ?? ''))
}

function placesOf(parts: readonly string[], pieces: readonly Piece[], from: number): number[] | undefined {
  const places: number[] = []
  let at = from
  for (const [step, part] of parts.entries()) {
    if (part === '*') {
      const next = parts[step + 1]
      const found = pieces.slice(at + 1, at + WIDEST).findIndex(({ word }) => word === next)
      // `put it on the list`, `put it on 2026-05-01` switch nothing on.
      const [behind, whom] = [pieces[at + found + 2]?.word, pieces[at + found + 3]?.word]
      const isFavour = behind === 'for' && /^(?:me|us)$/.test(whom ?? '')
      const after = next === 'on' && !isFavour ? (behind ?? 'please') : 'please'
      if (found < 0 || !STOP.has(after) || BEFORE_NOUNS.has(after)) return undefined
      at += found + 1
    } else {
      if (pieces[at]?.word !== part) return undefined
      places.push(at++)
    }
  }
  return places
}

/** Idioms that mean a family of verbs. */
const VERBAL = new Set(
  'delete look search detail select finish create change order lock on off rename copy'.split(' '),
)

function meant(token: Token, meaning: string): Token {
  if (VERBAL.has(meaning))
    return {
      ...token,
      word: `!${meaning}`,
      stem: `!${meaning}`,
      keys: [`!${meaning}`],
      verbs: [`!${meaning}`],
    }
  const families = nounsOf(meaning, stemOf(meaning), 'en')
  return {
    ...token,
    word: meaning,
    stem: stemOf(meaning),
    keys: [stemOf(meaning), ...families],
    verbs: verbsOf(meaning, stemOf(meaning), 'en'),
  }
}

/** Undefined for a text that could be in either language. */
export function languageOf(text: string, nouns: Lexicon['nouns'] = new Map()): Language | undefined {
  let [french, english] = [0, 0]
  // Names, and parts of file names and addresses, are in no language.
  for (const run of text.slice(0, 2000).matchAll(/(?<![.@/_\d-])[\p{L}\p{M}]+(?![@/_\d]|\.\p{L})/gu)) {
    const word = foldText(run[0])
    if (run.index > 0 && /^\p{Lu}\p{Ll}/u.test(run[0])) continue
    if (word.length < 2 && word === run[0].toLowerCase()) continue
    const stem = stemOf(word)
    const isFrench =
      FRENCH_GREETINGS.has(word) ||
      FRENCH_GRAMMAR.has(word) ||
      /[àâçéèêëîïôùûœ]/i.test(run[0]) ||
      (nouns.has(word) && nouns.get(word) !== stem) ||
      verbsOf(word, '', 'fr').length > 0 ||
      nounsOf(word, '', 'fr').length > 0
    const isEnglish =
      !FRENCH_GREETINGS.has(word) &&
      word === run[0].toLowerCase() &&
      (STOP.has(word) || verbsOf('', stem, 'en').length > 0 || nounsOf('', stem, 'en').length > 0)
    const weight = FRENCH_GRAMMAR.has(word) || STOP.has(word) ? 2 : 1
    if (isFrench && !isEnglish) french += weight
    if (isEnglish && !isFrench) english += weight
  }
  return french === english ? undefined : french > english ? 'fr' : 'en'
}

/** Whether two words mean the same. */
export function shares(a: readonly string[], b: readonly string[]): boolean {
  return a.some((key) => b.includes(key))
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
  if (token?.word.startsWith('!')) return true
  if (/(?:->|→|=>)\s*$/.test(request.text.slice(before?.end ?? 0, token?.start))) return false
  if (/ed$|^(?:sent|bought|done)$/.test(token?.word ?? '')) {
    const isState = /^(?:is|are|was|were)$/.test(before?.word ?? '') && (token?.verbs.length ?? 0) > 0
    if (isState && !/make sure|see (?:to it )?that|ensure/i.test(request.text)) return false
    const clause = clauseBefore(request, at)
    return (
      !isFirst &&
      (AUXILIARY.has(before.word) || clause.some(({ word }) => /^(?:have|get|want|like|need)$/.test(word)))
    )
  }
  if (isCounted(request, at)) return false
  const said = request.text.slice(token?.start, token?.end)
  if (request.language === 'fr' && !isFirst && /é(?:e|s|es)?$/.test(said) && !said.startsWith('cré'))
    return false
  // `tu peux la marquer`: a French infinitive is no noun.
  if (request.language === 'fr' && /(?:er|ir|re)$/.test(said)) return true
  if (token?.word.endsWith('ing') && /^(?:re|m|s|am|is|are|was|were)$/.test(before?.word ?? '')) return false
  if (!isFirst && STATE.has(before.word)) return false
  const isSubject = !isFirst && /^(?:i|we|you|they)$/.test(before.word)
  if (isSubject && /^(?:did|have|what)$/.test(tokens[at - 2]?.word ?? '')) return false
  return isFirst || !(BEFORE_NOUNS.has(before.word) || isContent(request, at - 1))
}

/** `order 10 bolts`, `order 10 bolt`: a word behind the number of an order is what is counted. */
function isCounted(request: Request, at: number): boolean {
  const { tokens, spanOf, clauseOf } = request
  const verb = tokens[at - 2]
  if (spanOf[at - 1]?.kind !== 'number' || verb === undefined || clauseOf[at - 2] !== clauseOf[at])
    return false
  const isLast = at + 1 === tokens.length || clauseOf[at + 1] !== clauseOf[at]
  return verb.verbs.length > 0 && isAsked(request, at - 2) && (isLast || tokens[at]?.isPlural === true)
}

/** `the stock of bolt`, `count bolts`: a noun, even if it is a verb elsewhere. An English order has no ending. */
export function isNounHere(request: Request, at: number): boolean {
  const { tokens, language } = request
  const token = tokens[at]
  if (token === undefined || token.keys.some((key) => key.startsWith('='))) return false
  const before = /^(?:the|a|an)$/.test(tokens[at - 1]?.word ?? '') ? tokens[at - 2] : tokens[at - 1]
  const isEnglish = language === 'en' && at > 0
  return isCounted(request, at) || (isEnglish && (token.isPlural || before?.word === 'of'))
}

const LONGEST_CLAUSE = 30

/** The tokens before one in its clause, as far as they matter. */
export function clauseBefore({ tokens, clauseOf }: Request, at: number): readonly Token[] {
  let from = at
  while (from > 0 && at - from < LONGEST_CLAUSE && clauseOf[from - 1] === clauseOf[at]) from--
  return tokens.slice(from, at)
}

const STATE = new Set(['is', 'are', 'as', 'be', 'still', 'not', 's'])

/** Where a row of words begins, each given by its keys; each place once, in order. */
export function runsOf({ tokens, places }: Request, row: readonly (readonly string[])[]): number[] {
  const starts = (row[0] ?? []).flatMap((key) => places.get(key) ?? [])
  return [...new Set(starts)]
    .sort((a, b) => a - b)
    .slice(0, 100)
    .filter((at) =>
      row.every((keys, step) => {
        const token = tokens[at + step]
        return token !== undefined && (shares(token.keys, keys) || keys.includes(token.said))
      }),
    )
}
