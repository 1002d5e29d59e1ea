/** The mood of a message: whether a verb in it is an order, or is denied, doubted, asked about or only told of. */
import { ASKING, STOP } from './lexicon.ts'
import { clauseBefore, isAsked, isContent, type Request, type Token } from './request.ts'

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
/** The beginning of a question that is no polite order. */
const DOUBT =
  /^(?:if|unless|why|how|when|who|which|where|any|did|does|was|were|has|had|what|have (?:you|i|we)|(?:should|shall|may|must|do) (?!you)|can (?!you|u|we|please)|could i)\b/

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

/** Words of a report, of a plan, or of an exception. */
const OVER = /\b(?:already|yesterday|tomorrow)\b/

/** Words by which an order is told of, denied or doubted. */
const TOLD =
  /\b(?:without|before|after|instead of|was(?! (?:wondering|hoping|thinking))|were|nobody|no|not|never|may(?: \w+)? be|(?:should|could|would|must) have|says|said|probably)\b|(?:^|\b(?!you\b)\w+ )might\b/

/** `should I …`, `if …`, `is it …ed?`: a wish that is doubted or tied to something is not to be acted on. */
export function isDoubted(
  request: Request,
  verbAt: ReadonlySet<number>,
  taken: ReadonlySet<number>,
): boolean {
  const { tokens, sentenceOf, spanOf, text, language } = request
  return [...(verbAt.size > 0 ? verbAt : [0])].some((at) => {
    const first = sentenceOf.indexOf(sentenceOf[at] ?? 0)
    const last = sentenceOf.lastIndexOf(sentenceOf[at] ?? 0)
    const words = tokens.slice(first, last + 1).flatMap(({ word }) => (word === 'just' ? [] : [word]))
    const isMarked =
      /^[^\p{L}\p{N}]*\?/u.test(text.slice(tokens[last]?.end)) && spanOf[last]?.kind !== 'quoted'
    const isQuestion =
      (isMarked && !words.some((word) => POLITE.has(word))) ||
      (language === 'en' && /^(?:is|are)$/.test(words[0] ?? ''))
    const isAhead =
      tokens[at - 1]?.word === 'be' && /^(?:done|finished|completed?)$/.test(tokens[at]?.word ?? '')
    return isTold(request, at, taken) || isQuestion || isAhead || DOUBT.test(words.slice(0, 2).join(' '))
  })
}

/** Whether nothing but words without meaning comes before a token in its clause. */
export function isLeading(request: Request, at: number): boolean {
  return clauseBefore(request, at).every(({ word }) => STOP.has(word) && !/^(?:the|a|an|my|our)$/.test(word))
}

/** The places in a sentence of words that may carry what is wanted; one pass for all words of a message that ask. */
interface Contents {
  /** The first one that is no verb of looking, and the last one, by sentence. */
  readonly first: ReadonlyMap<number, number>
  readonly last: ReadonlyMap<number, number>
}

const CONTENTS = new WeakMap<Request, Contents>()

function contentsOf(request: Request): Contents {
  const known = CONTENTS.get(request)
  if (known !== undefined) return known
  const [first, last] = [new Map<number, number>(), new Map<number, number>()]
  for (const [at, { verbs }] of request.tokens.entries()) {
    const sentence = request.sentenceOf[at] ?? 0
    if (!isContent(request, at)) continue
    last.set(sentence, at)
    if (!first.has(sentence) && !verbs.includes('!look')) first.set(sentence, at)
  }
  CONTENTS.set(request, { first, last })
  return { first, last }
}

/** `which …s`, `what is`; but not `…, which is …`. */
export function asks(request: Request, at: number): boolean {
  const { tokens, sentenceOf } = request
  const sentence = sentenceOf[at] ?? 0
  const { first, last } = contentsOf(request)
  const isRelative = (first.get(sentence) ?? at) < at
  const isNear = isRelative ? isContent(request, at + 1) : (last.get(sentence) ?? at) > at
  const isLast = sentence !== sentenceOf[at + 1]
  const isVerbNext = /^(?:is|are|s|the)$/.test(tokens[at + 1]?.word ?? '')
  const isOpen = /^(?:what|where|who)$/.test(tokens[at]?.word ?? '') && isVerbNext
  return isNear || last.size === 0 || isLast || isOpen
}

const LOOKS_AROUND = new WeakMap<Request, boolean>()

/** Whether a message asks to see something. */
export function looksAround(request: Request): boolean {
  const known = LOOKS_AROUND.get(request)
  if (known !== undefined) return known
  const isLooking = request.tokens.some(
    ({ verbs, word }, at) =>
      (ASKING.has(word) && asks(request, at)) ||
      (verbs.includes('!look') && !STOP.has(word) && !verbs.includes('!finish') && isAsked(request, at)),
  )
  LOOKS_AROUND.set(request, isLooking)
  return isLooking
}
