/**
 * Words of a request in the words that the tools use: what people call things in their language, and the few French words
 * that carry grammar. Where a tool itself uses a word, it stays. Names of things are left as they were written.
 */
import type { EntityWords } from '../model/grounding-context.ts'
import { FRENCH, FRENCH_SHORT } from './grammar.ts'
import { stemOf, type Token } from './words.ts'

export interface Lexicon {
  /** Other words for things, and the one that stands for them here. */
  readonly nouns: ReadonlyMap<string, string>
  /** Stems that tools use in their names. */
  readonly own: ReadonlySet<string>
}

export const NO_LEXICON: Lexicon = { nouns: new Map(), own: new Set() }

/** `own` are the stems that tools use in their names. */
export function lexiconOf(
  own: ReadonlySet<string>,
  entities: Readonly<Record<string, EntityWords>>,
): Lexicon {
  const nouns = new Map<string, string>()
  for (const { one, many } of Object.values(entities)) {
    const [first = '', several = first] = [one[0], many[0]]
    for (const word of one) if (stemOf(word) !== stemOf(first)) nouns.set(word, first)
    for (const word of many) if (!stemOf(word).startsWith(stemOf(first))) nouns.set(word, several)
  }
  return { nouns, own }
}

/** The same tokens; those that were said in another way keep it as `said`. */
export function translated(
  tokens: readonly Token[],
  { nouns, own }: Lexicon,
): { readonly tokens: readonly Token[]; readonly isFrench: boolean } {
  const isOwn = ({ stem }: Token): boolean => own.has(stem)
  const isFrench = tokens.some((token) => !isOwn(token) && (FRENCH.has(token.word) || nouns.has(token.word)))
  if (!isFrench) return { tokens, isFrench }
  const inOtherWords = (token: Token): Token => {
    const { word: said } = token
    const word = nouns.get(said) ?? FRENCH.get(said) ?? FRENCH_SHORT.get(said)
    if (word === undefined || isOwn(token)) return token
    return { ...token, word, stem: stemOf(word), said: token.stem }
  }
  return { tokens: tokens.map(inOtherWords), isFrench }
}
