/** What prompts say about grounding, by language: the rules in the system prompt, and the words of the blocks at the end. */
import type { Called, Entities, Entity } from './entity.ts'

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
  /** The rules in the system prompt; an empty text leaves them out. */
  readonly rules: (about: RulesContext) => string
}

/** What the rules refer to. */
export interface RulesContext {
  readonly stateHeading: string
  readonly memoryHeading: string
  /** How the lines of the state block begin, one for each entity: "Active project". */
  readonly active: readonly string[]
}

const ENGLISH: GroundingWords = {
  stateHeading: 'Current state - Source of truth',
  active: ({ one, active }) => active ?? `Active ${one}`,
  memoryHeading: 'Seen before',
  more: (count) => `and ${count} more`,
  which: ({ one }) => `Which ${one} do you mean?`,
  rules: ({ stateHeading, memoryHeading, active }) => `# Explicit state and context

## Active state (source of truth)
When the prompt ends with [${stateHeading}]:
${numbered([
  'This information is authoritative: it always takes priority.',
  ...active.map((name) => `${name}: use its ID directly in tools.`),
  'Never invent IDs: copy them exactly.',
  'Do not ask the person for what they have already selected.',
])}

## Priority of sources (highest first)
1. Explicit state (the ID under [${stateHeading}]): use it first.
2. Recent history (tool results of the last 1-3 turns, [${memoryHeading}]): if the state has none, or the person means another one.
3. Lookup by name (the tools that find things): if neither of the two has it.`,
}

const FRENCH: GroundingWords = {
  stateHeading: 'État actuel - Source de vérité',
  active: ({ one, active }) => active ?? `${capital(one)} ${one.endsWith('e') ? 'active' : 'actif'}`,
  memoryHeading: 'Données précédentes',
  more: (count) => `et ${count} de plus`,
  which: ({ one }) => `${capital(one)} : à quoi pensez-vous exactement ?`,
  rules: ({ stateHeading, memoryHeading, active }) => `# État explicite et contexte

## État actif (source de vérité)
Quand le message se termine par [${stateHeading}] :
${numbered([
  'Cette information fait autorité : elle est toujours prioritaire.',
  ...active.map((name) => `${name} : utilise son ID directement pour les outils.`),
  "N'invente jamais d'ID : recopie-les tels quels.",
  "Ne demande pas à la personne ce qu'elle a déjà sélectionné.",
])}

## Priorité des sources (de la plus à la moins prioritaire)
1. État explicite (l'ID sous [${stateHeading}]) : à utiliser en premier.
2. Historique récent (résultats d'outils des 1 à 3 derniers tours, [${memoryHeading}]) : si l'état est vide, ou si la personne parle d'autre chose.
3. Recherche par nom (les outils qui trouvent) : si aucune des deux sources précédentes ne suffit.`,
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

/** The rules for the system prompt of an agent with these entities. */
export function groundingRules(entities: Entities, options: WordsOptions): string {
  const words = wordsFor(options)
  const { stateHeading, memoryHeading } = words
  const active = [...entities.values()].map((entity) =>
    capital(words.active(calledIn(entity, options.language))),
  )
  return words.rules({ stateHeading, memoryHeading, active })
}

function numbered(lines: readonly string[]): string {
  return lines.map((line, at) => `${at + 1}. ${line}`).join('\n')
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
