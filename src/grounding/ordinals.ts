/**
 * List positions in people's words, in English and French: "2", "#2", "project 2", "the second one", "1 and 3", "le
 * deuxième", "la dernière". Does not know the list.
 */
import { foldedText } from '../protocol/index.ts'
import type { Entity } from './entity.ts'

export interface Ordinal {
  /** From 1 on; from -1 back. */
  readonly place: number
  /** Written as a number, which could be an id as well. */
  readonly isNumber: boolean
  /** Named with its noun: "project 2", "the second project". */
  readonly hasNoun: boolean
}

/** The positions that a whole value names; none if it contains anything else. */
export function ordinalsOf(value: string, { nouns }: Pick<Entity, 'nouns'>): readonly Ordinal[] {
  if (value.length > LONGEST_VALUE || value.startsWith('-')) return []
  return wholeList(tokensOf(value, { own: nouns, others: NO_NOUNS }))
}

/**
 * The positions of things of one entity that a text mentions. A bare number counts only if the text contains nothing else:
 * prices and amounts are no positions. `others` are the other entities, whose positions are excluded.
 */
export function ordinalsIn(
  text: string,
  entity: Pick<Entity, 'nouns'>,
  others: Iterable<Pick<Entity, 'nouns'>> = [],
): readonly Ordinal[] {
  const foreign = [...others].filter((other) => other !== entity)
  const isForeign = (word: string): boolean =>
    !isNoun(word, entity.nouns) && foreign.some(({ nouns }) => isNoun(word, nouns))
  const tokens = tokensOf(text.slice(0, LONGEST_TEXT), { own: entity.nouns, others: isForeign })
  const whole = wholeList(tokens)
  return whole.length > 0 ? whole : tokens.flatMap((_, at) => spokenAt(tokens, at))
}

/** The item at a position. */
export function atPlace<T>(list: readonly T[], { place }: Ordinal): T | undefined {
  return list.at(place > 0 ? place - 1 : place)
}

const LONGEST_VALUE = 80
const LONGEST_TEXT = 4000
const LONGEST_RANGE = 50
const NO_NOUNS = (): boolean => false

type Kind =
  | 'number'
  | 'ordinal'
  | 'one'
  | 'many'
  | 'foreign'
  | 'sign'
  | 'filler'
  | 'and'
  | 'to'
  | 'dash'
  | 'stop'
  | 'polite'
  | 'other'

interface Token {
  readonly kind: Kind
  readonly place: number
}

interface Nouns {
  readonly own: Entity['nouns']
  readonly others: (word: string) => boolean
}

const set = (words: string): ReadonlySet<string> => new Set(words.split(' '))
const SIGNS = set('# no nr num numero number n nos numeros numbers')
const FILLERS = set(
  'the le la les l one ones item items option options choice ceux celui celle du de des of d list liste these those them',
)
const ANDS = set('and et & , plus + puis ou or')
const TOS = set('to a au through jusqu')
const DASHES = set('- –')
const STOPS = set('. ! ? ; : ) … » " \'')
const POLITE =
  set(`please thanks thank you ok okay yes oui stp svp s il te vous plait merci d accord alors donc for to as is in on with
  now too also then but pour est en dans sur avec maintenant aussi mais qui that who`)

const PLACES: ReadonlyMap<string, number> = new Map([
  ...numbered('first second third fourth fifth sixth seventh eighth ninth tenth'),
  ...numbered('premier deuxieme troisieme quatrieme cinquieme sixieme septieme huitieme neuvieme dixieme'),
  ...numbered('premiere seconde'),
  ['last', -1],
  ['dernier', -1],
  ['derniere', -1],
])
/** Without one: that is a pronoun far more often. */
const NUMBERS: ReadonlyMap<string, number> = new Map([
  ...numbered('- two three four five six seven eight nine ten'),
  ...numbered('- deux trois quatre cinq six sept huit neuf dix'),
])

function numbered(words: string): readonly (readonly [string, number])[] {
  return words.split(' ').flatMap((word, at) => (word === '-' ? [] : [[word, at + 1] as const]))
}

/** `2nd`, `1er`, `2e`, `3ème` are one token, and so is `12`; everything else is a word or a sign. */
const PIECES =
  /\d+(?:[.,:/]\d+)+|\d+(?:st|nd|rd|th|ere|er|eme|ieme|nde|e)?(?![\p{L}\p{N}])|[\p{L}\p{N}]+|[^\s\p{L}\p{N}]/gu

const NUMERAL = /^([1-9]\d{0,3})(st|nd|rd|th|ere|er|eme|ieme|nde|e)?$/

function tokensOf(text: string, nouns: Nouns): readonly Token[] {
  const words = foldedText(text.replaceAll('№', '#').replace(/[°º]/g, ' ')).match(PIECES) ?? []
  return words.map((word, at) =>
    tokenOf(word, { before: words[at - 1], after: words.slice(at + 1, at + 3).join(' '), nouns }),
  )
}

interface WordContext {
  readonly before: string | undefined
  readonly after: string
  readonly nouns: Nouns
}

function tokenOf(word: string, { before, after, nouns }: WordContext): Token {
  const digits = NUMERAL.exec(word)
  if (digits) {
    return { kind: digits[2] === undefined ? 'number' : 'ordinal', place: Number(digits[1]) }
  }
  const place = PLACES.get(word)
  if (place !== undefined) {
    // "second to last" and "avant-dernier" are not supported.
    const isOdd = place === -1 && (before === 'to' || before === '-' || before === 'avant')
    return isOdd || (place === 2 && after === 'to last') ? OTHER : { kind: 'ordinal', place }
  }
  const number = NUMBERS.get(word)
  if (number !== undefined) return { kind: 'number', place: number }
  const kind: Kind = nouns.own.one.has(word)
    ? 'one'
    : nouns.own.many.has(word)
      ? 'many'
      : nouns.others(word)
        ? 'foreign'
        : (KINDS.find(([, words]) => words.has(word))?.[0] ?? 'other')
  return { kind, place: 0 }
}

const OTHER: Token = { kind: 'other', place: 0 }
const KINDS: readonly (readonly [Kind, ReadonlySet<string>])[] = [
  ['sign', SIGNS],
  ['filler', FILLERS],
  ['and', ANDS],
  ['to', TOS],
  ['dash', DASHES],
  ['stop', STOPS],
  ['polite', POLITE],
]

function isNoun(word: string, { one, many }: Entity['nouns']): boolean {
  return one.has(word) || many.has(word)
}

/** Only positions, and words that go with them. */
function wholeList(tokens: readonly Token[]): readonly Ordinal[] {
  if (tokens.some(({ kind }) => kind === 'other' || kind === 'foreign')) return []
  const places = tokens.filter(({ kind }) => kind === 'number' || kind === 'ordinal')
  if (places.length === 0) return []
  return listAt(tokens, 0, { isList: true, hasNoun: tokens.some(isOwnNoun) })
}

function isOwnNoun({ kind }: Token): boolean {
  return kind === 'one' || kind === 'many'
}

/** Positions that begin at a token, inside of a text. */
function spokenAt(tokens: readonly Token[], at: number): readonly Ordinal[] {
  const token = tokens[at] ?? OTHER
  const before = tokens[at - 1]?.kind
  if (token.kind === 'one' || token.kind === 'many') {
    const isSigned = tokens[at + 1]?.kind === 'sign'
    const start = at + (isSigned ? (tokens[at + 2]?.kind === 'sign' ? 3 : 2) : 1)
    // "project 2 and 3 hours" names one project.
    return isPlace(tokens[start])
      ? listAt(tokens, start, { isList: token.kind === 'many', hasNoun: true })
      : []
  }
  if (token.kind === 'sign' && (before === undefined || !['one', 'many', 'foreign', 'sign'].includes(before)))
    return tokens[at + 1]?.kind === 'number' ? listAt(tokens, at + 1, { isList: false, hasNoun: false }) : []
  if (token.kind !== 'ordinal') return []
  if (before === 'one' || before === 'many' || before === 'foreign' || before === 'dash') return []
  const end = endOf(tokens, at + 1)
  return end === 'no' ? [] : listAt(tokens, at, { isList: false, hasNoun: end === 'noun' })
}

function isPlace(token: Token | undefined): boolean {
  return token?.kind === 'number' || token?.kind === 'ordinal'
}

/** "the second one", "the second project", "the second", "the second and the third task": not "the second floor". */
function endOf(tokens: readonly Token[], start: number): 'noun' | 'bare' | 'no' {
  for (let at = start; at < tokens.length; at++) {
    const { kind } = tokens[at] ?? OTHER
    if (kind === 'one' || kind === 'many') return 'noun'
    if (kind === 'foreign' || kind === 'other' || kind === 'number' || kind === 'dash') return 'no'
    if (kind === 'stop' || kind === 'polite' || kind === 'to') return 'bare'
  }
  return 'bare'
}

/** "1, 2 and 3", "1 to 3": the positions from a token on, or only the first of them. */
function listAt(
  tokens: readonly Token[],
  start: number,
  { isList, hasNoun }: { readonly isList: boolean; readonly hasNoun: boolean },
): readonly Ordinal[] {
  const found: Ordinal[] = []
  for (let at = start; at < tokens.length; at++) {
    const { kind, place } = tokens[at] ?? OTHER
    if (kind === 'number' || kind === 'ordinal') {
      const from = found.at(-1)
      const link = tokens[at - 1]?.kind
      const isRange = (link === 'to' || link === 'dash') && from !== undefined
      if (isRange) found.push(...between(from.place, place).map((each) => ({ ...each, hasNoun })))
      found.push({ place, isNumber: kind === 'number', hasNoun })
      if (!isList) return found
    } else if (found.length > 0 && ENDS.has(kind)) break
  }
  return found
}

const ENDS: ReadonlySet<Kind> = new Set<Kind>(['other', 'foreign', 'polite', 'stop'])

function between(from: number, to: number): readonly Omit<Ordinal, 'hasNoun'>[] {
  const count = to - from - 1
  if (count < 1 || count > LONGEST_RANGE || from < 1) return []
  return Array.from({ length: count }, (_, index) => ({ place: from + 1 + index, isNumber: true }))
}
