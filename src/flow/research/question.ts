/** The question that is researched: what it asks after clarifications, what it refers back to, and its queries. Pure. */
import type { AskedPart } from './asked-part.ts'
import { partsOf } from './question-parts.ts'
import { type ResearchState, userTexts } from './state.ts'
import { refersBack } from './vagueness.ts'
import { contentStems, isContentWord, tokensOf } from './words.ts'

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

const MOST_QUERIES = 8

/** The whole question, and its parts if it asks for several things. */
export function queriesFor({ question, about }: Question): readonly string[] {
  const parts = partsOf(question).map(({ text, about: before }) => `${text} ${before} ${about}`)
  return distinct([`${question} ${about}`, ...(parts.length > 1 ? parts : [])])
}

/** The subjects of parts, without their other words, for a second search; none of them is a query of the first. */
export function subjectQueries(parts: readonly AskedPart[], asked: Question): readonly string[] {
  const first = queriesFor(asked)
  return distinct(parts.map(subjectOf)).filter((query) => !first.includes(query))
}

function distinct(queries: readonly string[]): readonly string[] {
  const even = queries.map((query) => query.replaceAll(/\s+/g, ' ').trim())
  return [...new Set(even.filter((query) => query !== ''))].slice(0, MOST_QUERIES)
}

const LEAST_SUBJECT = 2

/** Names, nouns and measures, and the words that it refers back to; empty if they are too few to find anything. */
function subjectOf({ names, required, predicates, measures, about, texts }: AskedPart): string {
  const subject = [...names, ...required, ...measures]
  const stems = subject.length < LEAST_SUBJECT ? [...subject, ...predicates] : subject
  if (stems.length + about.length < LEAST_SUBJECT) return ''
  return [...stems, ...about].map((stem) => texts.get(stem) ?? stem).join(' ')
}

const WEB =
  /\b(?:(?:search|look|check|find|browse|google)\b.{0,30}\b(?:web|internet|online)|(?:on|from|in) the (?:web|internet)|(?:the (?:web|internet)|internet) says?|does the (?:web|internet) say|(?:dit|disent) (?:le web|internet)|online|web search|(?:sur|dans) (?:le web|internet|la toile)|en ligne|recherche web)\b/iu

/** True if the user asks for the web. */
export function asksForWeb(question: string): boolean {
  return WEB.test(question)
}
