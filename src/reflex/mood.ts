/** The mood of a message: whether a verb in it is an order, or is denied, doubted, asked about or only told of. */
import { ASKING, STOP } from './lexicon.ts'
import { clauseBefore, isContent, type Request, type Token } from './request.ts'

/** `it is cold in here`: a remark that asks for nothing. */
export function isStatement({ text, tokens }: Request): boolean {
  const said = tokens.slice(0, 3).map(({ word }) => word)
  if (/\?|quel|quoi|combien|comment/i.test(text) || tokens.some(({ word }) => ASKING.has(word))) return false
  const isSaid = ({ word }: Token, at: number): boolean =>
    /^(?:is|are|was|were|can|may|must|should|needs|has)$/.test(word) &&
    at > 1 &&
    !tokens[at - 1]?.word.startsWith('!')
  const isSubject = /^(?:the|my|our|this|that|these|those)$/.test(said[0] ?? '')
  return (
    (isSubject && tokens.some(isSaid)) ||
    /^(?:it|i|we|he|she|they|there) (?:is|are|s|m|was|were|no|don|never) /.test(`${said.join(' ')} `)
  )
}

export function isInquiry({ text, tokens }: Request): boolean {
  return (
    /\?\s*$/.test(text) || /^(?:is|are|was|were|did|does|has|have|why|when|if)$/.test(tokens[0]?.word ?? '')
  )
}

/** `what did I …`, `which one …`; not `what if`. */
export function isWhQuestion({ tokens }: Request): boolean {
  return /^(?:what|which|where|who|when|why|how)$/.test(tokens.find(({ word }) => word !== 'and')?.word ?? '')
}

const POLITE = new Set(['can', 'could', 'would', 'will', 'please', 'might'])
const NOT = /^(?:not|never|dont|t|cannot|cant)$/
const DOUBT =
  /^(?:if|unless|why|how|when|who|which|where|did|was|were|has|had|what|should (?:i|we)|(?:can|may|must|do|could) i|have (?:you|i|we))\b/

/** `do not …`, `should not be …`. */
export function isDenied({ tokens, clauseOf }: Request, verbAt: ReadonlySet<number>): boolean {
  return [...verbAt].some((at) =>
    [1, 2, 3].some((step) => {
      const words = tokens.slice(at - step, at).map(({ word }) => word)
      const isNot = NOT.test(words[0] ?? '')
      return isNot && clauseOf[at - step] === clauseOf[at] && words.every((word) => STOP.has(word))
    }),
  )
}

/** `was …ed`, `I …ed`, `I might …`, `nobody …`: told of, and not asked for. */
export function isTold(request: Request, at: number, taken: ReadonlySet<number> = new Set()): boolean {
  const { text, tokens } = request
  const before = clauseBefore(request, at).map(({ word }) => word)
  const isPast =
    (tokens[at]?.word ?? '').endsWith('ed') &&
    /^(?:i|we|you|he|she|they|have|has|had)$/.test(before.at(-1) ?? '')
  const isFinish = tokens[at]?.verbs.includes('!finish')
  const isParticiple =
    (/é(?:e|s|es)?$/i.test(text.slice(0, tokens[at]?.end)) || before.at(-1) === 'have') &&
    request.language === 'fr' &&
    /\b(?:have|to|was)(?: already)?$/.test(before.join(' '))
  const behind = tokens.slice(at, at + 12).filter((_, step) => !taken.has(at + step))
  const own = [...before, ...behind.map(({ word }) => word)]
  const isOver = OVER.test(own.join(' '))
  return TOLD.test(before.join(' ')) || isOver || ((isPast || isParticiple) && !isFinish)
}

/** Words of a report, or of a plan. */
const OVER =
  /\b(?:already|yesterday|tomorrow|later|soon|unless|whenever|if (?!you|possible|that|necessary))\b/

const TOLD =
  /\b(?:was(?! (?:wondering|hoping|thinking))|were|nobody|maybe|perhaps|probably)\b|(?:^|\b(?!you\b)\w+ )might\b/

/** `should I …`, `if …`, `is it …ed?`: a wish that is doubted or tied to something is not to be acted on. */
export function isDoubted(
  request: Request,
  verbAt: ReadonlySet<number>,
  taken: ReadonlySet<number>,
): boolean {
  const { tokens, sentenceOf, text } = request
  return [...verbAt].some((at) => {
    const first = sentenceOf.indexOf(sentenceOf[at] ?? 0)
    const last = sentenceOf.lastIndexOf(sentenceOf[at] ?? 0)
    const words = tokens.slice(first, last + 1).map(({ word }) => word)
    const isQuestion =
      /^[^\p{L}\p{N}]*\?/u.test(text.slice(tokens[last]?.end)) && !words.some((word) => POLITE.has(word))
    const isLate = tokens.slice(first, at).some((_, step) => isContent(request, first + step))
    const isAdvice = isQuestion && /^(?:i|we) should/.test(words.slice(0, 2).join(' '))
    return (
      isTold(request, at, taken) ||
      isAdvice ||
      DOUBT.test(words.slice(0, 2).join(' ')) ||
      (isQuestion && isLate)
    )
  })
}

/** Whether nothing but words without meaning comes before a token in its clause. */
export function isLeading(request: Request, at: number): boolean {
  return clauseBefore(request, at).every(({ word }) => STOP.has(word) && !/^(?:the|a|an|my|our)$/.test(word))
}
