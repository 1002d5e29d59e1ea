/** Rules for what a question leaves open, and for replies to a clarification. English and French; no model. */
import { foldText, isContentWord, stemOf, type Token, tokensOf } from './words.ts'

export type MissingKind = 'missing context' | 'ambiguous reference' | 'underspecified parameter'

export interface Missing {
  readonly kind: MissingKind
  /** `what "it" refers to`. */
  readonly what: string
  /** The words that leave it open. */
  readonly words: readonly string[]
}

export const MISSING_KINDS: readonly MissingKind[] = [
  'missing context',
  'ambiguous reference',
  'underspecified parameter',
]

/** As `missing_context` has it: `ambiguous reference: what "it" refers to`. */
export function missingText({ kind, what }: Pick<Missing, 'kind' | 'what'>): string {
  return `${kind}: ${what}`
}

const set = (text: string): ReadonlySet<string> => new Set(text.split(' '))

const PERSONAL = set('it he she they him them its il elle ils elles lui eux ca cela ceci')
const DEMONSTRATIVE = set('this that these those celui celle ceux celles')
const ONE = set('one ones')
const QUANTIFIER = set(
  'all any some both each either neither many few several most none everything anything whatever whichever tout tous toutes quelques plusieurs certains certaines aucun aucune beaucoup chacun chacune',
)
/** `it` that stands for nothing: `is it true that`, `how long does it take`. */
const EXPLETIVE = set(
  'true possible necessary take takes took legal allowed safe known said important vrai possible necessaire faut fait existe arrive agit',
)
/** Words that begin a clause: a pronoun after them may refer to the clause before. */
const CLAUSE = set(
  'and or but when if because while that which where who so than et ou mais quand si car lorsque dont que qui',
)
const PREPOSITION = set(
  'of from by about with in on at for that which de du des par sur avec dans en pour qui que',
)
const POINTING = set('this that these those ce cet cette ces')
const DEFINITE = set('the le la les l')
const DOCUMENT = set(
  'paper papers document documents study studies article articles report reports author authors file text book papier papiers etude etudes rapport rapports auteur auteurs fichier texte livre',
)
const GRADABLE = set(
  'enough sufficient sufficiently good better best bad worse worst reasonable acceptable optimal suitable appropriate assez suffisant suffisante suffisants suffit suffisent bon bonne bons meilleur meilleure meilleurs mauvais raisonnable acceptable optimal adapte convenable',
)
/** Other content words that make a gradable word clear enough. */
const ANCHORING_WORDS = 3

/** The open part of a question, or undefined. `hasAntecedent`: an earlier question that it may refer to was answered. */
export function missingIn(question: string, hasAntecedent: boolean): Missing | undefined {
  const tokens = tokensOf(question)
  const content = tokens.filter(
    ({ word }) => isContentWord(word) && !GRADABLE.has(word) && !DOCUMENT.has(word),
  )
  const pronouns = hasAntecedent ? [] : openPronouns(question, tokens)
  if (pronouns.length > 0) return referring(pronouns)
  const documents = hasAntecedent ? [] : openDocuments(tokens, content.length)
  if (documents.length > 0) return referring(documents)
  const gradable = tokens.filter(({ word }, at) => GRADABLE.has(word) && !isAfterHow(tokens, at))
  const isOpen = content.length < ANCHORING_WORDS && !hasAntecedent && !hasAnchor(question, tokens)
  if (gradable.length > 0 && isOpen) {
    const names = [...new Set(gradable.map(({ text }) => text))]
    const verb = names.length === 1 ? 'means' : 'mean'
    return { kind: 'underspecified parameter', what: `what ${quoted(names)} ${verb}`, words: names }
  }
  if (content.length > 0 || gradable.length > 0 || hasAntecedent) return undefined
  return { kind: 'missing context', what: 'the topic', words: [] }
}

function referring(words: readonly string[]): Missing {
  const verb = words.length === 1 ? 'refers' : 'refer'
  return { kind: 'ambiguous reference', what: `what ${quoted(words)} ${verb} to`, words }
}

function quoted(words: readonly string[]): string {
  return words.map((word) => `"${word}"`).join(' and ')
}

/** Pronouns that nothing before them in the question explains. */
function openPronouns(question: string, tokens: readonly Token[]): readonly string[] {
  const found = tokens.filter((token, at) => {
    const next = tokens[at + 1]?.word ?? ''
    const isPronoun =
      PERSONAL.has(token.word) ||
      (DEMONSTRATIVE.has(token.word) && !isFollowedByNoun(tokens, at) && !isThatOf(tokens, at))
    if (!isPronoun || isRelative(tokens, at) || EXPLETIVE.has(next) || isImpersonal(tokens, at)) return false
    if (isOfLaterName(tokens, at) || isAnybody(tokens, at)) return false
    return !hasClauseBefore(question, tokens, at) && !repeatsSubject(question, tokens, at)
  })
  return [...new Set(found.map(({ text }) => text))]
}

const POSSESSIVE = set('its his her their son sa ses leur leurs')

/** `How far from its place was Petrel found?` */
function isOfLaterName(tokens: readonly Token[], at: number): boolean {
  return (
    POSSESSIVE.has(tokens[at]?.word ?? '') && tokens.slice(at + 1).some(({ text }) => /^\p{Lu}/u.test(text))
  )
}

const PEOPLE = set('they ils')

/** `How did they keep the gulls off the roof?`: people whom nobody has to name, in a question that says all else. */
function isAnybody(tokens: readonly Token[], at: number): boolean {
  if (!PEOPLE.has(tokens[at]?.word ?? '')) return false
  return tokens.slice(at + 1).filter(({ word }) => isContentWord(word)).length >= ANCHORING_WORDS
}

/** `compare the wind of May with that of June`. */
function isThatOf(tokens: readonly Token[], at: number): boolean {
  const isOf = /^(?:of|in|de|du|des)$/.test(tokens[at + 1]?.word ?? '')
  return isOf && tokens.slice(0, at).some(({ word }) => isContentWord(word))
}

/** `the wind that was measured`. */
function isRelative(tokens: readonly Token[], at: number): boolean {
  const before = tokens[at - 1]?.word
  return tokens[at]?.word === 'that' && before !== undefined && isContentWord(before)
}

/** `Quand la station a-t-elle ouvert ?`: the subject stands before the verb that the pronoun is joined to. */
function repeatsSubject(question: string, tokens: readonly Token[], at: number): boolean {
  const isJoined = (token: Token | undefined): boolean =>
    token !== undefined && question[token.start - 1] === '-'
  if (!isJoined(tokens[at])) return false
  let verb = at
  while (isJoined(tokens[verb])) verb -= 1
  return tokens.slice(0, verb).some(({ word }) => isContentWord(word))
}

/** `y a-t-il`, `il y a`, `est-il vrai`, `faut-il`, `existe-t-il`. */
function isImpersonal(tokens: readonly Token[], at: number): boolean {
  const [before, next] = [tokens[at - 1]?.word, tokens[at + 1]?.word]
  if (tokens[at]?.word !== 'il') return false
  const verb = before === 't' ? at - 2 : at - 1
  const isInverted = EXPLETIVE.has(tokens[verb]?.word ?? '') || tokens[verb - 1]?.word === 'y'
  return isInverted || next === 'y' || (next !== undefined && EXPLETIVE.has(next))
}

function isFollowedByNoun(tokens: readonly Token[], at: number): boolean {
  const next = tokens[at + 1]?.word
  return next !== undefined && isContentWord(next)
}

/** A content word, and then the begin of another clause: `What is BERT, and how does it work?`. */
function hasClauseBefore(question: string, tokens: readonly Token[], at: number): boolean {
  const first = tokens.findIndex(({ word }) => isContentWord(word))
  if (first < 0 || first >= at) return false
  const between = tokens.slice(first + 1, at).some(({ word }) => CLAUSE.has(word))
  const [from, to] = [tokens[first]?.start ?? 0, tokens[at]?.start ?? 0]
  return between || /[,;:?.!—–]|\s-\s/.test(question.slice(from, to))
}

/** `this paper`, and `the paper` of a question that says nothing else. */
function openDocuments(tokens: readonly Token[], contentWords: number): readonly string[] {
  return tokens.flatMap(({ word, text }, at) => {
    const before = tokens[at - 1]?.word ?? ''
    if (!DOCUMENT.has(word)) return []
    const isOpen = POINTING.has(before) || (DEFINITE.has(before) && contentWords === 0)
    return isOpen ? [`${tokens[at - 1]?.text ?? ''} ${text}`] : []
  })
}

function isAfterHow(tokens: readonly Token[], at: number): boolean {
  return tokens[at - 1]?.word === 'how'
}

/** A name, a figure or a quotation. */
function hasAnchor(question: string, tokens: readonly Token[]): boolean {
  return (
    /["“«]/.test(question) ||
    tokens.some(({ text, word }, at) => /^\d/.test(text) || (at > 0 && /^\p{Lu}/u.test(text) && word !== 'i'))
  )
}

/**
 * True for a reply to a clarification that can be researched: it has a content word that the question had not, and no
 * pronoun or quantifier that stands alone.
 */
export function isHelpfulReply(reply: string, question: string): boolean {
  const tokens = tokensOf(reply)
  if (tokens.some((_, at) => isBare(tokens, at))) return false
  const known = new Set(tokensOf(question).map(({ word }) => stemOf(word)))
  return tokens.some(({ word }) => isContentWord(word) && !GRADABLE.has(word) && !known.has(stemOf(word)))
}

/** A pronoun, or a quantifier without a noun: `it`, `all of them`, `both`, `the second one`. */
function isBare(tokens: readonly Token[], at: number): boolean {
  const { word } = tokens[at] as Token
  if (PERSONAL.has(word)) return !isImpersonal(tokens, at) && !EXPLETIVE.has(tokens[at + 1]?.word ?? '')
  const isAlone = !isFollowedByNoun(tokens, at)
  if (DEMONSTRATIVE.has(word) || ONE.has(word)) return isAlone && !isModified(tokens, at)
  return QUANTIFIER.has(word) && isAlone && !isModified(tokens, at)
}

/** `the one about tides`, `all of the oyster farms`. */
function isModified(tokens: readonly Token[], at: number): boolean {
  const next = tokens[at + 1]?.word
  if (next === undefined) return false
  const rest = tokens.slice(at + 1, at + 5)
  const leads = PREPOSITION.has(next) || DEFINITE.has(next)
  return leads && rest.some(({ word }) => isContentWord(word)) && !rest.some(({ word }) => PERSONAL.has(word))
}

/** True if the text has a pronoun or a document that only an earlier question explains. */
export function refersBack(question: string): boolean {
  const tokens = tokensOf(question)
  const content = tokens.filter(({ word }) => isContentWord(word) && !DOCUMENT.has(word)).length
  if (openPronouns(question, tokens).length > 0 || openDocuments(tokens, content).length > 0) return true
  return (
    content === 0 ||
    (/^(?:and|what about|how about|why|et|qu'en est-il|pourquoi)\b/.test(foldText(question).trim()) &&
      content <= 2)
  )
}
