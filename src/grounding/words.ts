/** The words of the blocks that a prompt ends with, by language. Hosts may replace any of them. */
import type { Called, Entity } from './entity.ts'

export interface GroundingWords {
  /** Above what is chosen; it says that this counts and nothing else. */
  readonly stateHeading: string
  /** How a line of what is chosen begins: "Active project". */
  readonly active: (called: Called) => string
  /** Above what tools have shown. */
  readonly memoryHeading: string
  readonly more: (count: number) => string
  /** The question which of several is meant. */
  readonly which: (called: Called) => string
}

const ENGLISH: GroundingWords = {
  stateHeading: 'Current state - Source of truth',
  active: ({ one, active }) => active ?? `Active ${one}`,
  memoryHeading: 'Seen before',
  more: (count) => `and ${count} more`,
  which: ({ one }) => `Which ${one} do you mean?`,
}

const FRENCH: GroundingWords = {
  stateHeading: 'État actuel - Source de vérité',
  active: ({ one, active }) => active ?? `${capital(one)} ${one.endsWith('e') ? 'active' : 'actif'}`,
  memoryHeading: 'Données précédentes',
  more: (count) => `et ${count} de plus`,
  which: ({ one }) => `${capital(one)} : à quoi pensez-vous exactement ?`,
}

const LANGUAGES: Readonly<Record<string, GroundingWords>> = { en: ENGLISH, fr: FRENCH }

export interface WordsOptions {
  /** Such as `fr` or `fr-CA`; English unless said otherwise, and for languages that are not known. */
  readonly language?: string
  readonly words?: Partial<GroundingWords>
}

export function wordsFor({ language = 'en', words = {} }: WordsOptions): GroundingWords {
  return { ...(LANGUAGES[baseOf(language)] ?? ENGLISH), ...words }
}

/** What people call a thing in a language, or else in English. */
export function calledIn(entity: Pick<Entity, 'name' | 'called'>, language = 'en'): Called {
  return (
    entity.called[language] ?? entity.called[baseOf(language)] ?? entity.called['en'] ?? { one: entity.name }
  )
}

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

function baseOf(language: string): string {
  return language.toLowerCase().split(/[-_]/)[0] ?? language
}
