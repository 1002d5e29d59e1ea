/** A part of a question beside the statements of passages: whether one gives what is asked for, and what it lacks. Pure. */
import { type Demand, demandOf } from './demand.ts'
import { partsOf } from './question-parts.ts'
import { PRONOUN, passageStems, type Statement } from './statements.ts'
import { coveredStems } from './synonyms.ts'
import { hasCount, hasKind, unitOf, yearsIn } from './values.ts'
import { contentStems, isFigure, type Language, languageOf, tokensOf } from './words.ts'

export interface AskedPart extends Demand {
  readonly text: string
  readonly language: Language
  /** Stems of the words that it refers back to; `texts` has them, too. */
  readonly about: readonly string[]
}

/** `about`: words of the question before, if this one refers back to it. */
export function askedParts({ question, about }: { question: string; about: string }): readonly AskedPart[] {
  const language = languageOf(question)
  return partsOf(question).map(({ text, about: before }) => {
    const demand = demandOf(text)
    const referred = demandOf(`${before} ${about}`).texts
    const texts = new Map([...referred, ...demand.texts])
    return { ...demand, text, language, texts, about: [...referred.keys()] }
  })
}

/** The least part of the words that a part refers back to. */
const ABOUT_SHARE = 0.3
/** A long question may have one word that the passage says otherwise. */
const LONG_QUESTION = 5
const FOREIGN_SHARE = 0.5

/** Stems that must be there, in this order of weight. */
export function demanded({
  names,
  required,
  predicates,
  measures,
  light,
  about,
}: AskedPart): readonly string[] {
  const own = [...names, ...required, ...predicates]
  if (own.length > 0) return own
  return about.length > 0 ? [] : [...measures, ...light]
}

/** Other words that make up for the verb of the question. */
const INSTEAD_OF_VERB = 2

/** The demanded stems that a statement lacks. */
export function lackingIn(statement: Statement, part: AskedPart): readonly string[] {
  const covered = coveredStems(demanded(part), statement.window)
  return demanded(part).filter((stem) => !covered.includes(stem) && !isYearInForce(stem, statement))
}

/** A year that the passage names is about a statement unless the sentence or the title names another one. */
function isYearInForce(stem: string, statement: Statement): boolean {
  if (yearsIn(stem).length === 0 || !passageStems(statement).includes(stem)) return false
  return yearsIn(`${statement.item.title} ${statement.sentence}`).length === 0
}

/** True if a statement has the words of a part and a value of the kind that it asks for. */
export function answers(statement: Statement, part: AskedPart): boolean {
  return fits(statement, part) && hasWords(statement, part)
}

/** Matches the subject, the kind of value and the counted noun of the part, not its required words. */
function fits(statement: Statement, part: AskedPart): boolean {
  return isAbout(statement, part) && givesKind(statement, part) && hasCounted(statement, part)
}

/** A pronoun stands for words of the sentence before. */
function hasCounted({ sentence, stems, near, head }: Statement, { kind, focus }: AskedPart): boolean {
  if (focus === undefined || (kind !== 'count' && kind !== 'quantity')) return true
  const given = PRONOUN.test(sentence) ? near : [...stems, ...contentStems(head)]
  return coveredStems([focus], given).length > 0
}

/** True for a statement that lacks but one word, and no name: it may still be about the same. */
export function nearlyAnswers(statement: Statement, part: AskedPart): boolean {
  if (answers(statement, part)) return true
  const lacking = lackingIn(statement, part)
  const hasMost = demanded(part).length - lacking.length >= INSTEAD_OF_VERB
  return fits(statement, part) && lacking.length === 1 && hasMost && !part.names.includes(lacking[0] ?? '')
}

/** The sentence itself, not only the text around it, has a word of the part. */
function isAbout({ stems }: Statement, part: AskedPart): boolean {
  return coveredStems([...demanded(part), ...part.measures, ...part.light, ...part.about], stems).length > 0
}

function hasWords(statement: Statement, part: AskedPart): boolean {
  const { names, required, predicates, focus, about } = part
  const isReferred = about.length === 0 || shareCovered(about, passageStems(statement)) >= ABOUT_SHARE
  if (!isReferred) return false
  const all = lackingIn(statement, part)
  const loose = looseIn(all, statement, part)
  const lacking = all.filter((stem) => !loose.includes(stem))
  if (lacking.some((stem) => names.includes(stem))) return false
  const others = lacking.filter((stem) => !predicates.includes(stem))
  const isVerbCovered = lacking.length === others.length
  if (others.length === 0) return isVerbCovered || isWithoutVerb(part, [...statement.near, ...loose])
  if (part.language !== languageOf(statement.item.text)) return isForeignMatch(statement, part)
  const isLong = names.length + required.length >= LONG_QUESTION || hasCode(statement, part)
  return isLong && isVerbCovered && others.length === 1 && (others[0] !== focus || hasCode(statement, part))
}

/** Other words make up for the verb, and not names alone: of a person it is the verb that says what is asked. */
function isWithoutVerb({ names, required, about }: AskedPart, given: readonly string[]): boolean {
  const nouns = coveredStems([...required, ...about], given).length
  return nouns > 0 && nouns + coveredStems(names, given).length >= INSTEAD_OF_VERB
}

/** Less than half of the demanded words may be in the sentence before, although no pronoun points to it. */
function looseIn(lacking: readonly string[], { before }: Statement, part: AskedPart): readonly string[] {
  const most = Math.floor((demanded(part).length - 1) / 2)
  const nouns = lacking.filter((stem) => !part.predicates.includes(stem))
  return coveredStems(nouns, before).slice(0, Math.max(0, most))
}

/** A code, such as `E05`, says what a sentence is about. */
function hasCode({ stems }: Statement, { names }: AskedPart): boolean {
  return names.some((name) => /^\p{L}+\d+$/u.test(name) && stems.includes(name))
}

/** Words of another language are seldom alike: the names must be, and some of the rest, which no names make up for. */
function isForeignMatch({ window }: Statement, part: AskedPart): boolean {
  const { names, required, predicates, measures, light } = part
  const others = [...required, ...measures, ...light]
  const asked = others.length === 0 ? predicates : others
  const isSaid = asked.length === 0 || coveredStems(asked, window).length > 0
  return names.length > 0 && isSaid && shareCovered([...names, ...others], window) >= FOREIGN_SHARE
}

export function shareCovered(wanted: readonly string[], given: readonly string[]): number {
  return wanted.length === 0 ? 0 : coveredStems(wanted, given).length / wanted.length
}

/** Names and figures of the question answer nothing: they are left out of the sentence. */
function givesKind({ sentence, around, head }: Statement, { kind, focus, texts, names }: AskedPart): boolean {
  const asked = new Set(names.map((stem) => texts.get(stem) ?? stem))
  const rest = tokensOf(sentence)
    .filter(({ text }) => asked.has(text))
    .reduceRight((left, { start, text }) => left.slice(0, start) + left.slice(start + text.length), sentence)
  if (kind === 'count') return hasCount(rest, unitOf(focus ?? ''))
  return hasKind(rest, kind, kind === 'reason' || kind === 'money' ? around : head)
}

/** The demanded words as the question has them. */
export function wordsOf(stems: readonly string[], { texts }: AskedPart): readonly string[] {
  return stems.map((stem) => texts.get(stem) ?? stem)
}

/** Names, codes and figures that no given stem covers: nothing can stand for them. */
export function lackingNames({ names }: AskedPart, given: readonly string[]): readonly string[] {
  const covered = coveredStems(names, given)
  return names.filter((stem) => !covered.includes(stem) && (isFigure(stem) || stem.length > 2))
}
