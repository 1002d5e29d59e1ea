/** The demand of a question: the kind of its answer, and the words that a passage must have to give it. Pure. */
import { type AnswerKind, dimensionOf } from './values.ts'
import { foldText, isContentWord, isFigure, isFiller, stemOf, type Token, tokensOf } from './words.ts'

export interface Demand {
  readonly kind: AnswerKind
  /** Stems of names, codes and figures. */
  readonly names: readonly string[]
  /** Stems of the other words that must be there. */
  readonly required: readonly string[]
  /** The stem of the question's verb. Answers often have another one. */
  readonly predicates: readonly string[]
  /** Stems of words that an answer need not have: the measure that is asked for; light words, and words for documents. */
  readonly measures: readonly string[]
  readonly light: readonly string[]
  /** The stem of the thing that is counted, chosen or asked for. */
  readonly focus: string | undefined
  /** Each stem as the question has it. */
  readonly texts: ReadonlyMap<string, string>
}

type WordClass = 'names' | 'required' | 'predicates' | 'measures' | 'light'

const set = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/))

/** Words of questions that say nothing about their subject. */
const LIGHT = set(`
  use uses used using happen happens happened kind kinds type types sort way ways number numbers amount total exactly
  currently now today approximately roughly usually normally actually according listed stated called name names named 
  become became done does doing compare compared comparison difference different versus value values figure figures
  still ever able actual soon possible around altogether new current present come comes came go goes went give gives gave take
  takes took get gets got put puts bring brings brought let lets keep exact full whole different same certain main place
 time times less more fewer least
  last latest recent recently search searches web internet online please
  measured recorded counted given known allow allows allowed permit permitted need needs needed require required
  nombre sorte genre facon maniere appelle nom`)
const DOCUMENT = set(`
  paper papers document documents study studies article articles report reports file text texts book note notes memo manual
  page survey newsletter letter guide handbook diary rules
  etude etudes rapport rapports fichier texte livre`)

/** Adjectives after `how`, and nouns after `what is the`, that ask for a value of a dimension. */
const MEASURES: ReadonlyMap<string, AnswerKind> = new Map(
  Object.entries({
    'dimension length':
      'deep depth high height tall wide width thick thickness thin far distance range profondeur hauteur largeur distance',
    'dimension mass': 'heavy weight mass weigh weighs masse poids',
    'dimension temperature': 'warm hot cold temperature temperatures',
    'dimension percent': 'percentage percent proportion discount',
    'dimension speed': 'fast speed vitesse',
    'dimension frequency': 'frequency',
    'dimension voltage': 'voltage',
    money: 'cost costs price prices fee fees salary wage wages income cout prix salaire tarif',
    'dimension length duration': 'long length duree longueur',
    quantity: 'large big old size small strong hard age taille',
    interval: 'often frequently',
    year: 'year annee',
    date: 'day date month jour mois weekday when soon',
    time: 'time hour heure',
    colour: 'colour color couleur',
  } as const).flatMap(([kind, words]) => words.split(' ').map((word) => [word, kind as AnswerKind] as const)),
)
/** Words of measures that a sentence with the value need not have. The others name what is measured. */
const UNSAID = set(
  'deep high tall wide thick thin far heavy weigh weighs warm hot cold fast large big old long small often frequently year day date month time hour colour color when cost costs price prices soon hard strong frequency speed voltage cout prix annee jour mois heure couleur weekday temperature percentage percent',
)
const NUMBER = set(
  'one two three four five six seven eight nine ten eleven twelve twenty thirty deux trois quatre cinq dix',
)
const QUESTION_WORD = /^(?:how|what|which|who|when|where|why|quel|quelle|quels|quelles)$/
const PASSIVE = set('be been being')
const BARE_VERB = set('have has had be been get')
const DO = set('do does did can could may might must should shall will would')
const BE = set('is are was were am been est sont')
const COST = /\bcosts?\b|\bpric|\bpay\b|\bpaid\b|\bspen[dt]\b|\bcout|\bprix\b|\bworth\b/
const AUXILIARY = set(
  'do does did can could may might must should shall will would has have had is are was were am been peut doit est sont a ont',
)
const SUBJECT_PRONOUN = set('i you we they he she it one somebody on je tu il elle nous vous ils elles')
const DETERMINER = set(
  'the a an its his her their our my your this that these those each every any some no le la les l un une des du d ce cette ces son sa ses',
)
const PREPOSITION = set(
  'of in on at by for from to with without into over under above below behind between during before after since until about around off out up down per as than within through near de du des d dans sur sous avec sans pour par a au aux en vers chez depuis entre pendant avant apres',
)

/** `a ten-year-old child`. */
const AGE = /\b[\p{L}\d]+-(?:year|month|week|day)s?-old\b/giu

export function demandOf(text: string): Demand {
  const question = text.replaceAll(AGE, '')
  const tokens = tokensOf(question)
  const kind = kindOf(question, tokens)
  const focusAt = focusOf(tokens)
  const verbAt = verbOf(tokens)
  const texts = new Map<string, string>()
  const found: Record<WordClass, string[]> = {
    names: [],
    required: [],
    predicates: [],
    measures: [],
    light: [],
  }
  for (const [at, token] of tokens.entries()) {
    if (!isContentWord(token.word)) continue
    const stem = stemOf(token.word)
    texts.set(stem, texts.get(stem) ?? token.text)
    if (isName(question, tokens, at)) found.names.push(stem)
    else if (isLight(token)) found.light.push(stem)
    else if (isMeasure(tokens, at, kind)) found.measures.push(stem)
    else if (at === verbAt) found.predicates.push(stem)
    else found.required.push(stem)
  }
  const classes = Object.entries(found).map(([name, stems]) => [name, [...new Set(stems)]] as const)
  const focus = focusAt === undefined ? undefined : stemOf(tokens[focusAt]?.word ?? '')
  return { kind, focus, texts, ...(Object.fromEntries(classes) as Record<WordClass, readonly string[]>) }
}

/** A word with a capital that does not begin the sentence, a code, or a figure. */
function isName(question: string, tokens: readonly Token[], at: number): boolean {
  const { text, start } = tokens[at] as Token
  if (/\d/.test(text)) return true
  return /^\p{Lu}/u.test(text) && at > 0 && !/[.?!:—"“]\s*$/.test(question.slice(0, start))
}

function isLight({ word }: Token): boolean {
  return LIGHT.has(word) || DOCUMENT.has(word) || NUMBER.has(word) || isFiller(stemOf(word))
}

function isMeasure(tokens: readonly Token[], at: number, kind: AnswerKind): boolean {
  const { word } = tokens[at] as Token
  if (kind === 'money' && COST.test(` ${word} `)) return true
  if (tokens[at - 1]?.word === 'many' && kind !== 'count') return true
  return kind !== 'any' && UNSAID.has(word) && isMeasurePlace(tokens, at)
}

/** Directly after `how`, `what` or `which`, or after `what is the`. */
function isMeasurePlace(tokens: readonly Token[], at: number): boolean {
  const before = tokens.slice(Math.max(0, at - 3), at).map(({ word }) => word)
  const last = before.at(-1) ?? ''
  if (QUESTION_WORD.test(last)) return true
  return DETERMINER.has(last) && AUXILIARY.has(before.at(-2) ?? '') && QUESTION_WORD.test(before.at(-3) ?? '')
}

/**
 * The place of the question's verb: the last word that a phrase cannot hold after an auxiliary and its subject (`did the ferry
 * sail`, `can I clean`, `was the pier built`), or the word after `how many boats`.
 */
function verbOf(tokens: readonly Token[]): number | undefined {
  const words = tokens.flatMap(({ word }, at) => (isContentWord(word) ? [at] : []))
  const afterPronoun = words.find((at) => SUBJECT_PRONOUN.has(tokens[at - 1]?.word ?? ''))
  const beforeObject = words.find(
    (at) => DETERMINER.has(tokens[at + 1]?.word ?? '') && isVerbPlace(tokens, at),
  )
  return afterPronoun ?? beforeObject ?? words.findLast((at) => isVerbPlace(tokens, at))
}

function isVerbPlace(tokens: readonly Token[], at: number): boolean {
  const [before = '', next = ''] = [tokens[at - 1]?.word, tokens[at + 1]?.word]
  if (isContentWord(next) || BARE_VERB.has(next)) return false
  if (PASSIVE.has(before)) return true
  const auxiliary = tokens.findLastIndex(({ word }, place) => place < at && AUXILIARY.has(word))
  if (auxiliary < 0) return isAfterCounted(tokens, at)
  const subject = tokens.slice(auxiliary + 1, at)
  const { word: verb } = tokens[at] as Token
  // `What was wrong`, `which fee was decided`, `how much was left`.
  if (subject.length === 0)
    return (
      QUESTION_WORD.test(tokens[auxiliary - 1]?.word ?? '') ||
      /^(?:was|were)$/.test(tokens[auxiliary]?.word ?? '') ||
      /(?:ed|en)$/.test(verb)
    )
  const phrase = subject.findLastIndex(({ word }) => PREPOSITION.has(word) || DETERMINER.has(word))
  // The first noun after a preposition or an article belongs to its phrase.
  if (!isContentWord(before) || subject.length - phrase < 2) return false
  // No infinitive ends like a plural.
  if (DO.has(tokens[auxiliary]?.word ?? '')) return !/[^s]s$/.test(verb)
  return BE.has(tokens[auxiliary]?.word ?? '') ? /(?:ed|en|[^e]ee?s?|t|own|ung)$/.test(verb) : true
}

/** `How many guests came to`. */
function isAfterCounted(tokens: readonly Token[], at: number): boolean {
  const counted = tokens.findIndex(({ word }) => word === 'many')
  return (
    counted > 0 && at - counted >= 2 && tokens.slice(counted + 1, at).every(({ word }) => isContentWord(word))
  )
}

/** The first content word after `how many`, `which` and `what`. */
function focusOf(tokens: readonly Token[]): number | undefined {
  const at = tokens.findIndex(
    ({ word }, place) =>
      /^(?:which|what|quel|quelle|quels|quelles)$/.test(word) ||
      (word === 'combien' && /^(?:de|d)$/.test(tokens[place + 1]?.word ?? '')) ||
      (word === 'how' && /^(?:many|much)$/.test(tokens[place + 1]?.word ?? '')),
  )
  if (at < 0) return undefined
  const found = tokens.findIndex(
    (token, place) => place > at && isContentWord(token.word) && !isFigure(token.word) && !isLight(token),
  )
  return found < 0 ? undefined : found
}

/** The kind of answer, by the question word and the noun or adjective after it. */
function kindOf(question: string, tokens: readonly Token[] = tokensOf(question)): AnswerKind {
  const plain = ` ${foldText(question).replaceAll(/\s+/g, ' ')} `
  const at = tokens.findIndex(({ word }) =>
    /^(?:who|whom|whose|when|where|why|how|what|which|qui|quand|ou|pourquoi|combien|quel|quelle|quels|quelles|comment)$/.test(
      word,
    ),
  )
  const word = tokens[at]?.word ?? ''
  const next = tokens[at + 1]?.word ?? ''
  switch (word) {
    case 'who':
    case 'whom':
      return 'person'
    case 'qui':
      return at === 0 || tokens[at - 1]?.word === 'a' ? 'person' : 'any'
    case 'when':
    case 'quand':
      return /^(?:until|jusqu)$/.test(tokens[at - 1]?.word ?? '') ? 'deadline' : 'date'
    case 'where':
      return 'place'
    case 'why':
    case 'pourquoi':
      return 'reason'
    case 'combien':
      if (tokens[at - 1]?.word === 'de') return 'quantity'
      return COST.test(plain) && !['de', 'd'].includes(next) ? 'money' : 'count'
    case 'how':
      return next === 'many' ? countKind(tokens[at + 2]?.word ?? '') : howKind(next, plain)
    case 'what':
    case 'which':
    case 'quel':
    case 'quelle':
    case 'quels':
    case 'quelles':
      return whatKind(tokens, at, plain)
    default:
      return /^ (?:and|et|what about|how about) /.test(plain) ? lastMeasure(tokens) : 'any'
  }
}

/** `And its mass?` */
function lastMeasure(tokens: readonly Token[]): AnswerKind {
  const noun = tokens.findLast(({ word }) => isContentWord(word))?.word ?? ''
  return MEASURES.get(noun) ?? 'any'
}

/** `How many kilometres` asks for a length. */
function countKind(counted: string): AnswerKind {
  const dimension = dimensionOf(counted)
  return dimension === undefined ? 'count' : dimension === 'money' ? 'money' : `dimension ${dimension}`
}

function howKind(next: string, plain: string): AnswerKind {
  if (/ by how much /.test(plain)) return 'quantity'
  if (next === 'much')
    return COST.test(plain) || / how much (?:is|are|was|were) /.test(plain) ? 'money' : 'quantity'
  if (next === 'often' || next === 'frequently') return 'interval'
  if (next === 'soon') return 'quantity'
  return MEASURES.get(next) ?? 'any'
}

/** `what temperature`, `what is the depth of`, `what does it cost`, `what is it called`. */
function whatKind(tokens: readonly Token[], at: number, plain: string): AnswerKind {
  if (/ (?:called|appelle|name of|nom d)/.test(plain)) return 'name'
  const rest = tokens.slice(at + 1).map(({ word }) => word)
  const from = rest.findIndex((word) => !AUXILIARY.has(word) && !DETERMINER.has(word))
  const phrase = rest.slice(Math.max(0, from))
  const stop = phrase.findIndex(
    (word) => PREPOSITION.has(word) || AUXILIARY.has(word) || DETERMINER.has(word),
  )
  const noun = (stop < 0 ? phrase : phrase.slice(0, stop)).findLast((word) => isContentWord(word))
  const kind = noun === undefined ? undefined : MEASURES.get(noun)
  if (kind !== undefined) return kind
  return / what (?:do|does|did|will) .*\bcosts?\b|\bcoute/.test(plain) ? 'money' : 'any'
}
