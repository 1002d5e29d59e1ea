/** Words of questions and passages, in English and French: content words, their stems, figures and sentences. Pure. */
import { foldMarks, UNSPACED } from '../../corpus/search-text.ts'

export type Language = 'en' | 'fr'

const words = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/))

const ENGLISH = words(`
  a about above after again against all also although am among an and any are as at be because been before being below
  between both but by can cannot could did do does doing down during each either else ever every few for from further get gets
  give given go goes got had has have having he her here hers him his how however i if in into is it its itself just let like
  many may me might mine more most much must my neither no nor not of off ok okay on once one ones only or other others our
  aren couldn didn doesn don hadn hasn haven isn ll re shouldn ve wasn weren won wouldn
  ours out over own per please same shall she should since so some such than thanks that the their theirs them then there
  these they this those though through thus to too under until up upon us very via was we were what whatever when where
  whether which while who whoever whom whose why will with within without would yes yet you your yours`)

const FRENCH = words(`
  ai alors as au aucun aucune aussi autre autres aux avec avoir ca car ce ceci cela celle celles celui ces cet cette ceux chaque
  chez ci combien comme comment dans de depuis des donc dont du elle elles en encore entre es est et etaient etait etant ete etes etre
  eu eux fait faut il ils je la le les leur leurs lors lui ma mais me meme memes mes moi moins mon ne ni non nos notre nous on
  ont ou oui par parce pas pendant peu peut plus pour pourquoi puis qu quand que quel quelle quelles quels qui quoi sa sans se
  selon sera ses si soi soit son sont sous suis sur ta te tes toi ton tous tout toute toutes tres tu un une va vers voici voila
  vos votre vous y`)

/** Words that ask for something without saying for what. */
const FILLERS = words(`
  anything ask asking chose choses concerne concerning connais connaitre description describe detail details dire dis dites dont
  everything explain explanation explique expliquer expliquez find information informations infos inform know learn look mean
  means meant mention mentioned more overview parle parler parlez question quelque question regarding resume resumer resumez
  sais savoir say says something stuff sujet summarise summarize summary sure talk tell thing things topic truc understand want wondering donne donner donnez cherche chercher`)

const NON_CONTENT_WORDS: ReadonlySet<string> = new Set([...ENGLISH, ...FRENCH, ...FILLERS])

/**
 * Numbers keep their decimals; `l'eau` is one word and an article; `MS-1` is one word. Of a script without spaces each two
 * neighbours are a word.
 */
const TOKEN = new RegExp(
  String.raw`\d+(?:[.,\u00a0\u202f]\d+)*|(?=(${UNSPACED}\p{M}*${UNSPACED}\p{M}*))${UNSPACED}\p{M}*|(?:(?!${UNSPACED})[\p{L}\p{M}\p{N}])+(?:(?<=\p{L})-\d{1,3}(?!\d))?`,
  'gu',
)
const ACCENTED = /(\p{Script=Latin})\p{M}+/gu

/** Small letters without accents, and without other marks that make no other word. */
export function foldText(text: string): string {
  return foldMarks(text)
    .normalize('NFKD')
    .replaceAll(ACCENTED, '$1')
    .normalize('NFC')
    .toLowerCase()
    .replaceAll('œ', 'oe')
    .replaceAll('ß', 'ss')
}

export interface Token {
  /** Folded. */
  readonly word: string
  /** As it stands in the text. */
  readonly text: string
  readonly start: number
}

export function tokensOf(text: string): readonly Token[] {
  return [...text.matchAll(TOKEN)].map(({ 0: found, 1: pair = found, index }) => ({
    word: isFigure(pair) ? figureOf(pair) : foldText(pair).replace('-', ''),
    text: pair,
    start: index,
  }))
}

export function isFigure(word: string): boolean {
  return /^\d/.test(word) && !/\p{L}/u.test(word)
}

/** Thousands. `0.125` and `1998.125` are none. */
const GROUPS = /^[1-9]\d{0,2}([,.\u00a0\u202f])\d{3}(?:\1\d{3})*(?!\d)/

/** `1,200` and `1 200` are 1200; `87,2` is 87.2. */
function figureOf(text: string): string {
  return text
    .replace(GROUPS, (groups) => groups.replaceAll(/\D/g, ''))
    .replaceAll(',', '.')
    .replace(/^0+(?=\d)/, '')
}

export function isContentWord(word: string): boolean {
  return !NON_CONTENT_WORDS.has(word) && (word.length > 1 || isFigure(word))
}

/** True for the stem of a word that asks for something without saying for what. */
export function isFiller(stem: string): boolean {
  return FILLERS.has(stem)
}

/** The stems of the content words, each once, in order. */
export function contentStems(text: string): readonly string[] {
  const found = tokensOf(text).flatMap(({ word }) => (isContentWord(word) ? [stemOf(word)] : []))
  return [...new Set(found)]
}

const ENDINGS = /(?:ements?|ment|ings?|ed|ers?|ly|es|s|e|x)$/

/** The word without its ending. It need not be a word, only the same for most forms of one. */
export function stemOf(word: string): string {
  if (isFigure(word)) return word
  if (word.length < 4) return word.replace(/(?<=..)y$/, 'i')
  if (word.endsWith('ies') || word.endsWith('ied')) return `${word.slice(0, -3)}i`
  if (/(?:ss|us|is)$/.test(word)) return word
  const cut = word.replace(ENDINGS, '')
  const isCut = cut.length > 3 || (cut.length === 3 && !/ers?$/.test(word))
  const stem = isCut ? cut : word.replace(/s$/, '')
  const single = /([^aeiou])\1$/.test(stem) ? stem.slice(0, -1) : stem
  return single.replace(/(?<=.{2})y$/, 'i').replace(/(?<=.{3})e$/, '')
}

const LEAST_SHARED = 6
const MOST_REST = 3

/** True for two stems of one word, such as those of `accurate` and `accuracy`. Figures are the same or different. */
function isSameStem(a: string, b: string): boolean {
  if (a === b) return true
  if (isFigure(a) || isFigure(b)) return false
  const shortest = Math.min(a.length, b.length)
  let shared = 0
  while (shared < shortest && a[shared] === b[shared]) shared += 1
  const longest = Math.max(a.length, b.length)
  // `dive` and `diver`.
  if (shared === shortest && shared >= 3 && (a.slice(shared) || b.slice(shared)) === 'er') return true
  if (shared === shortest && shared >= 4) return longest - shared <= MOST_REST + 1
  return shared >= LEAST_SHARED && longest - shared <= MOST_REST
}

/** The part of `wanted` that `given` has, from 0 to 1; 0 if nothing is wanted. */
export function shareOf(wanted: readonly string[], given: readonly string[]): number {
  return wanted.length === 0 ? 0 : sharedStems(wanted, given).length / wanted.length
}

export function sharedStems(wanted: readonly string[], given: readonly string[]): readonly string[] {
  const known = new Set(given)
  return wanted.filter((stem) => known.has(stem) || given.some((other) => isSameStem(stem, other)))
}

const ABBREVIATION =
  /\b(?:et al|e\.g|i\.e|cf|ca|etc|vs|approx|figs?|eq|nos?|vol|pp?|ch|dr|mr|mrs|ms|prof|st|eds?|art|env)\.$/i
const LONGEST_ABBREVIATION = 12
const INITIAL = /(?:^|[\s(])\p{Lu}\.$/u

/** Begins of list items, headings, rows and quotes: each ends the sentence before it. */
const BLOCK = /\n\n|\n(?= ?(?:[-*#|>]|\d{1,3}\. ))/
const SENTENCE_END = /(?<=[.!?…]["”»)\]]{0,3}) (?=[\p{Lu}\p{N}"“«([*_])/u

/** Sentences with single blanks. Empty lines, headings and rows of tables end sentences; abbreviations do not. */
export function sentencesOf(text: string): readonly string[] {
  // Runs of blanks first: patterns that meet one at each of its places take quadratic time.
  const even = text.replaceAll(/[^\S\n]+/g, ' ').replaceAll(/(?: ?\n){2,}/g, '\n\n')
  return withBlocks(even)
    .split(BLOCK)
    .flatMap((block) => {
      const sentences: string[] = []
      let open = ''
      for (const part of block.replaceAll(/ ?\n ?/g, ' ').split(SENTENCE_END)) {
        open = open === '' ? part : `${open} ${part}`
        const tail = open.slice(-LONGEST_ABBREVIATION)
        if (ABBREVIATION.test(tail) || INITIAL.test(tail)) continue
        sentences.push(open.trim())
        open = ''
      }
      return [...sentences, open.trim()].filter((sentence) => sentence !== '')
    })
}

/** Lines of a paragraph are about as long as the longest line. */
const SHORT_LINE = 0.7

/**
 * An empty line after each short line, if the next one begins anew, and before a page number: text of a PDF has headings and
 * rows of tables in lines of their own, and no empty lines.
 */
function withBlocks(text: string): string {
  const lines = text.split('\n').map((line) => line.trim())
  const width = Math.max(...lines.slice(0, MOST_LINES).map(({ length }) => length))
  const ended = lines.map((line, at) => {
    const next = lines[at + 1] ?? ''
    const isShort = line.length < width * SHORT_LINE && /^[\p{Lu}\p{N}"“«(]/u.test(next)
    return line !== '' && (isShort || /^\d+$/.test(next)) ? `${line}\n` : line
  })
  return ended.join('\n')
}

const MOST_LINES = 10_000

const SIGNS: Readonly<Record<Language, ReadonlySet<string>>> = {
  en: words(
    'the of is are what which how who when where why does do did it this that these with about and was were to tell',
  ),
  fr: words(
    'le la les des est sont quel quelle quels quelles comment qui quand ou pourquoi combien ce cette ces ca cela avec et dans du un une sur moi il elle parle',
  ),
}

/** French if most of its small words are. */
export function languageOf(text: string): Language {
  const found = tokensOf(text).map(({ word }) => word)
  const count = (language: Language): number => found.filter((word) => SIGNS[language].has(word)).length
  return count('fr') > count('en') ? 'fr' : 'en'
}
