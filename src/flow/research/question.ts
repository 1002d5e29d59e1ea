/** The question that is researched: what it asks after clarifications, what it refers back to, and its queries. Pure. */
import { type ResearchState, userTexts } from './state.ts'
import { refersBack } from './vagueness.ts'
import { contentStems, isContentWord, isFigure, tokensOf } from './words.ts'

export interface Question {
  readonly question: string
  /** Words of the question before, if this one refers back to it. */
  readonly about: string
}

/** The user's messages that no research has answered yet: the question, and the replies to clarifications. */
export function pendingTexts({
  messages,
  last_agent,
  clarification_count,
}: ResearchState): readonly string[] {
  const open = last_agent === 'clarification' ? clarification_count + 1 : 1
  return userTexts(messages).slice(-open).map(analysed)
}

/** Rules and queries see so much of a message; a model sees all of it. */
const MOST_CHARS = 2000

function analysed(text: string): string {
  return text.slice(0, MOST_CHARS).toWellFormed().replaceAll(/\s+/g, ' ').trim()
}

const MOST_ABOUT = 6
const LEAST_SELF_CONTAINED = 2

/** A reply that is a question of its own replaces the vague one; any other completes it. */
export function questionOf(state: ResearchState): Question {
  const pending = pendingTexts(state)
  const last = pending.at(-1) ?? ''
  const isNew = pending.length > 1 && last.endsWith('?') && contentStems(last).length >= LEAST_SELF_CONTAINED
  const question = isNew ? last : pending.join(' — ')
  return { question, about: pending.length === 1 ? wordsBefore(state, question) : '' }
}

function wordsBefore({ context, last_agent }: ResearchState, question: string): string {
  if (last_agent !== 'synthesis' || !refersBack(question)) return ''
  const own = new Set(tokensOf(question).map(({ word }) => word))
  const before = tokensOf(`${context.question ?? ''} ${context.about ?? ''}`)
  const found = before.filter(({ word }) => isContentWord(word) && !own.has(word)).map(({ text }) => text)
  return [...new Set(found)].slice(0, MOST_ABOUT).join(' ')
}

const MOST_QUERIES = 5
/** Between two things that are asked for at once. */
const JOINT =
  /\s*(?:[;?]+|,?\s+(?:and|as well as|versus|vs\.?|compared (?:to|with)|et|ainsi que|par rapport à|contre))\s+/iu

/**
 * The whole question, and its parts if it asks for several things. A part that lost the words around it keeps the
 * question's first content word, or three in place of a pronoun: `depth of Cancale and Granville` gives `depth of Cancale`
 * and `Granville depth`. A part that is but another figure replaces that of the first part.
 */
export function queriesFor({ question, about }: Question): readonly string[] {
  const whole = `${question} ${about}`.trim()
  const parts = question.split(JOINT).map((part) => part.replace(/[?.!\s]+$/, '').trim())
  if (parts.length < 2) return [whole]
  const leads = tokensOf(measureless(question)).flatMap(({ word, text }) =>
    isContentWord(word) ? [text] : [],
  )
  const queries = parts.flatMap((part, at) => {
    const stems = contentStems(part)
    if (stems.length === 0) return []
    const kept = at === 0 ? [] : keptWords(part, { stems, leads, first: parts[0] ?? '' })
    return [[part, ...kept, about].filter((piece) => piece !== '').join(' ')]
  })
  return [...new Set([whole, ...queries])].slice(0, MOST_QUERIES)
}

interface Around {
  readonly stems: readonly string[]
  /** Content words of the question. */
  readonly leads: readonly string[]
  readonly first: string
}

const MOST_KEPT = 3

/** The words of a question that a part has lost: a pronoun stands for them, or nothing does. */
function keptWords(part: string, { stems, leads, first }: Around): readonly string[] {
  if (stems.every(isFigure)) return [withoutFigures(first)]
  const count = refersBack(part) ? MOST_KEPT : stems.length < 2 ? 1 : 0
  return leads.slice(0, count).filter((word) => !part.includes(word))
}

/** Without the measure that a question asks for: `How deep is it?`. Answers seldom have its word. */
export function measureless(question: string): string {
  return question.replaceAll(
    /\bhow (?!(?:many|much|do|does|did|is|are|was|were|can|could|to)\b)\p{L}+/giu,
    '',
  )
}

/** Without figures, and the preposition before each. */
function withoutFigures(text: string): string {
  return text.replaceAll(/(?:\b\p{L}{1,3} )?\d[\d.,]*/gu, '').trim()
}

const WEB =
  /\b(?:(?:search|look|check|find|browse|google)\b.{0,30}\b(?:web|internet|online)|(?:on|from|in) the (?:web|internet)|(?:the (?:web|internet)|internet) says?|does the (?:web|internet) say|(?:dit|disent) (?:le web|internet)|online|web search|(?:sur|dans) (?:le web|internet|la toile)|en ligne|recherche web)\b/iu

/** True if the user asks for the web. */
export function asksForWeb(question: string): boolean {
  return WEB.test(question)
}
