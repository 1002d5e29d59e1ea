/** Words of queries and of the index: how a text is prepared for full-text search. Knows no index. */

/** Scripts that are written without spaces: every character is a word of the index. U+30FC lengthens a vowel of Katakana. */
export const UNSPACED: string = String.raw`[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\u30FC\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]`
const UNSPACED_CHARACTER = new RegExp(String.raw`${UNSPACED}\p{M}*`, 'gu')
const WORD = new RegExp(String.raw`(?:${UNSPACED}\p{M}*)+|(?:(?!${UNSPACED})[\p{L}\p{N}\p{M}])+`, 'gu')
const IS_UNSPACED = new RegExp(`^${UNSPACED}`, 'u')
// Matched from the start of a word: from each of its letters, a long word would take the square of its length.
const HYPHENATED = /(?<!\p{L})(\p{L}+)-\n\s*(\p{L}+)/gu
const MOST_TERMS = 32

/**
 * Marks without which a word is the same one: accents that make no letter of their own, as the stress of Cyrillic, vowel points
 * of Hebrew and Arabic with its lengthening stroke, and variants of a character. Vowel signs of Indic scripts are none of them.
 */
const OPTIONAL_MARKS = new RegExp(
  [
    String.raw`[\u0300-\u036F\u1AB0-\u1AFF\u1DC0-\u1DFF\u20D0-\u20FF\uFE20-\uFE2F]`,
    String.raw`[\u0591-\u05BD\u05BF\u05C1\u05C2\u05C4\u05C5\u05C7]`,
    String.raw`[\u0610-\u061A\u0640\u064B-\u0652\u0670\u06D6-\u06DC\u06DF-\u06E4\u06E7\u06E8\u06EA-\u06ED]`,
    String.raw`[\uFE00-\uFE0F\u{E0100}-\u{E01EF}]`,
  ].join('|'),
  'gu',
)
const GREEK = /\p{Script=Greek}/gu
const MARKS = /\p{M}/gu

/** Words that carry a question, not its subject. */
const STOP_WORDS: ReadonlySet<string> = new Set(
  [
    'a an and are as at be been being but by can could did do does for from had has have how i if in into is it its',
    'many may me might much must my of on or our shall she he should so than that the their them then there these they this those to us was we',
    'were what when where which while who whom whose why will with would you your about any some please tell',
    'au aux avec ce ces cette comment dans de des du elle elles en est et eux il ils je la le les leur leurs lui ma',
    'mais mes moi mon ne nos notre nous on ont ou où par pas pour pourquoi qu quand que quel quelle quelles quels qui',
    'quoi sa se sera ses si son sont sous sur ta te tes toi ton tu un une vos votre vous y combien était étaient été',
  ].flatMap((line) => line.split(' ')),
)

/** Compatible forms unified, marks left out that make no other word. The index leaves out the accents of Latin letters. */
export function foldMarks(text: string): string {
  return text
    .normalize('NFKC')
    .replaceAll(GREEK, (letter) => letter.normalize('NFD').replaceAll(MARKS, ''))
    .replaceAll(OPTIONAL_MARKS, '')
}

/** A text as it is indexed: marks folded, words whole that a line end has cut. */
export function indexText(text: string): string {
  return foldMarks(text).replaceAll(HYPHENATED, '$1$2 $1 $2').replaceAll(UNSPACED_CHARACTER, ' $& ')
}

/**
 * The terms of a question, each a phrase of words, without repetitions and without stop words, unless it has no others.
 * No character of them has a meaning in a query language.
 */
export function queryTerms(question: string): readonly string[] {
  const words = new Set(foldMarks(question).toLowerCase().match(WORD)?.flatMap(termsOf))
  const all = [...words]
  const telling = all.filter((word) => !STOP_WORDS.has(word) && !/^\p{L}\p{M}*$/u.test(word))
  const unspaced = all.filter((word) => IS_UNSPACED.test(word) && !telling.includes(word))
  const chosen = [...telling, ...unspaced]
  return (chosen.length === 0 ? all : chosen).slice(0, MOST_TERMS)
}

/** Two neighbouring characters, each with its marks, are a term where there are no spaces. */
function termsOf(word: string): readonly string[] {
  if (!IS_UNSPACED.test(word)) return [word]
  const characters = word.match(/.\p{M}*/gsu) ?? []
  if (characters.length === 1) return characters
  return characters.slice(1).map((character, at) => `${characters[at] ?? ''} ${character}`)
}
