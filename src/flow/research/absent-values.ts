/** Figures and names of a claim that its sources do not have: it cannot come from them. Pure. */
import type { Evidence } from './evidence.ts'
import { isDotted, namesIn, numbersIn } from './values.ts'
import { contentStems, isFigure, languageOf, sharedStems, stemOf, tokensOf } from './words.ts'

/** True if no source has one of the figures: in its text, what leads to it, its title, its page or its file. */
export function lacksFigure(claim: string, sources: readonly Evidence[]): boolean {
  const figures = tokensOf(claim).filter(({ word }) => isFigure(word))
  if (figures.length === 0) return false
  const given = numbersIn(sources.map((source) => `${source.page ?? ''}. ${textOf(source)}`).join('\n'))
  return figures.some(({ word, start, text }) => {
    // `1.2 million` is 1,200,000.
    const next = claim.slice(start + text.length).match(/^\s*\p{L}+/u)?.[0] ?? ''
    return isDotted(word)
      ? ![...numbersIn(word)].every((value) => given.has(value))
      : ![...numbersIn(`${word}${next}`)].some((value) => given.has(value))
  })
}

/** Capitals that name nothing: titles of people, parts of documents, and where something comes from. */
const NO_NAMES: ReadonlySet<string> = new Set(
  'mr mrs ms miss dr prof professor sir saint st sainte madame monsieur mme captain section table figure fig chapter appendix report study document source passage page paper article note'
    .split(' ')
    .map(stemOf),
)
const FROM_SOMEWHERE = /(?:ish|ese?|[ei]an|[aix]can|german|roman|french|dutch|greek|swiss|ais|aise|ois|oise)$/
/** `BM-4`. */
const CODE = /^\p{Lu}.*\d/u

/**
 * True if no source has one of the names and codes. `isLikely`: the claim has the words of its sources, so a capital at the beginning
 * of its sentence is no sign of a name. Names are not compared across languages.
 */
export function lacksName(claim: string, sources: readonly Evidence[], isLikely: boolean): boolean {
  const text = sources.map(textOf).join('\n')
  if (!/\p{Ll}/u.test(claim) || languageOf(claim) !== languageOf(text)) return false
  const names = claim
    .split(/[:;"“”«»()*_]+/)
    .flatMap((part) => namesIn(part).filter((name) => !isLikely || !isFirstWord(name, part)))
  names.push(...tokensOf(claim).flatMap((token) => (CODE.test(token.text) ? [token.text] : [])))
  if (names.length === 0) return false
  const given = contentStems(text)
  const said = new Set(contentStems(claim))
  const isNaming = (stem: string): boolean =>
    // `BM` of `BM-4` is no word.
    said.has(stem) && !NO_NAMES.has(stem) && !FROM_SOMEWHERE.test(stem)
  return names.some((name) => {
    const wanted = contentStems(name).filter(isNaming)
    return sharedStems(wanted, given).length < wanted.length && !isShortened(name, text)
  })
}

/** `WHO` for `World Health Organization` in the text, or the other way round. */
function isShortened(name: string, text: string): boolean {
  if (/^\p{Lu}{2,6}$/u.test(name)) return initialsOf(text).includes(name.toLowerCase())
  const short = initialsOf(name).toUpperCase()
  return short.length > 1 && tokensOf(text).some((token) => token.text === short)
}

function isFirstWord(name: string, part: string): boolean {
  return !name.includes(' ') && part.trimStart().startsWith(name)
}

function initialsOf(text: string): string {
  return tokensOf(text)
    .map(({ word }) => word.charAt(0))
    .join('')
}

function textOf({ title, source, lead, text }: Evidence): string {
  return [title, source, lead, text].join('\n')
}
