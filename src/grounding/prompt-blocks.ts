/**
 * The blocks that grounding adds to a prompt, in English and French. Layer 1 is the state block: the active values. Layer 2
 * is the memory block: the sightings of the last turns with tools.
 */
import type { ActiveValue, Sighting } from '../protocol/index.ts'
import { unexpired } from './active-values.ts'
import { type Called, depthOf, type Entities, type Entity, undeclared } from './entity.ts'
import { activeIds } from './facts.ts'
import { plainLine } from './text-normalize.ts'

export interface GroundingWords {
  /** The heading of the state block; it says that only this counts. */
  readonly stateHeading: string
  /** The beginning of a line of the state block: "Active project". */
  readonly active: (called: Called) => string
  /** The heading of the memory block. */
  readonly memoryHeading: string
  readonly more: (count: number) => string
  /** The question which of several things is meant. */
  readonly which: (called: Called) => string
  /** The rules in the system prompt; an empty text omits them. */
  readonly rules: (about: RulesContext) => string
}

/** The names that the rules refer to. */
export interface RulesContext {
  readonly stateHeading: string
  readonly memoryHeading: string
  /** The beginnings of the state block's lines, one for each entity: "Active project". */
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

const LANGUAGES: ReadonlyMap<string, GroundingWords> = new Map([
  ['en', ENGLISH],
  ['fr', FRENCH],
])

export interface WordsOptions {
  /** Such as `fr` or `fr-CA`. Default: English, also for unknown languages. */
  readonly language?: string
  readonly words?: Partial<GroundingWords>
}

export function wordsFor({ language = 'en', words = {} }: WordsOptions): GroundingWords {
  return { ...(LANGUAGES.get(baseOf(language)) ?? ENGLISH), ...words }
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

/** The nouns of an entity in a language, or else in English. */
export function calledIn(entity: Pick<Entity, 'name' | 'called'>, language = 'en'): Called {
  // A caller names the language, so it may be any text.
  const known = new Map(Object.entries(entity.called))
  return known.get(language) ?? known.get(baseOf(language)) ?? known.get('en') ?? { one: entity.name }
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

function baseOf(language: string): string {
  return language.toLowerCase().split(/[-_]/)[0] ?? language
}

export interface StateBlockOptions extends WordsOptions {
  readonly entities: Entities
  readonly now: number
  /** Encodes an id, if ids are not to be shown as they are. */
  readonly handle?: (entity: string, id: string) => string
}

/**
 * `[Current state - Source of truth]`, then a line for each entity: `Active project: Champigny (ID: abc-123)`, or of
 * several `Active project: Champigny (ID: abc-123), Bureau (ID: def-456)`. Parents come first; expired values are omitted.
 * Undefined if no value is left.
 */
export function stateBlock(active: readonly ActiveValue[], options: StateBlockOptions): string | undefined {
  const { entities, now } = options
  const values = unexpired(active, entities, now).toSorted(
    (a, b) => depthOf(entities.get(a.entity)) - depthOf(entities.get(b.entity)),
  )
  if (values.length === 0) return undefined
  return [`[${wordsFor(options).stateHeading}]`, ...values.map((value) => activeLine(value, options))].join(
    '\n',
  )
}

/** The most things of one entity in the state block. */
export const MOST_ACTIVE = 10
/** A cut id is none, so only a text that is hardly an id is cut. */
const LONGEST_ID = 1000

function activeLine(value: ActiveValue, options: StateBlockOptions): string {
  const { entities, language, handle = (_, id) => id } = options
  const words = wordsFor(options)
  const entity = entities.get(value.entity) ?? undeclared(value.entity)
  const [ids, labels] = [activeIds(value), activeLabels(value)]
  const shown = ids.slice(0, MOST_ACTIVE).map((id) => ({
    id: plainLine(handle(value.entity, id), LONGEST_ID),
    label: labels.get(id),
  }))
  const rest = ids.length > MOST_ACTIVE ? `, ${words.more(ids.length - MOST_ACTIVE)}` : ''
  const title = capital(words.active(calledIn(entity, language)))
  if (ids.length === 1 || labels.size > 0) return `${title}: ${shown.map(thing).join(', ')}${rest}`
  const together = `IDs: ${shown.map(({ id }) => id).join(', ')}${rest}`
  return `${title}: ${value.label === undefined ? together : `${plainLine(value.label, 60)} (${together})`}`
}

function thing({ id, label }: { readonly id: string; readonly label: string | undefined }): string {
  return label === undefined ? `ID: ${id}` : `${plainLine(label, 60)} (ID: ${id})`
}

/** The known labels of the active things, by id. */
export function activeLabels({ id, ids = [id], label, labels }: ActiveValue): ReadonlyMap<string, string> {
  if (ids.length < 2) return new Map(label === undefined ? [] : [[id, label]])
  const known = ids.map((each, at): [string, string] => [each, labels?.[at] ?? ''])
  return new Map(known.filter(([, name]) => name !== ''))
}

/** The most turns with tools in the memory block. */
export const MOST_MEMORY_TURNS = 3

/** The sightings of one turn, in order. */
export interface ToolTurn {
  readonly turn: number
  readonly seen: readonly Sighting[]
}

export interface ToolMemoryOptions extends WordsOptions {
  readonly entities: Entities
  /** How many turns with tools count, at most 3. Default: 3. With 0 there is no block. */
  readonly turns?: number
  /** The rows of each entity. Default: 12. */
  readonly rows?: number
  /** The characters of the whole block, about two for a token where ids are long. Default: 900. */
  readonly characters?: number
  readonly handle?: (entity: string, id: string) => string
}

/**
 * A line for each entity: `Projects: [{"id":"abc-123","label":"Champigny"}]`. Each thing is there once, as it was shown
 * last; newer ones come first into the block, and rows keep their order. Undefined without sightings.
 */
export function toolMemoryBlock(turns: readonly ToolTurn[], options: ToolMemoryOptions): string | undefined {
  const { rows = 12, characters = 900 } = options
  const words = wordsFor(options)
  const groups = grouped(turns, Math.min(MOST_MEMORY_TURNS, options.turns ?? MOST_MEMORY_TURNS))
  if (groups.size === 0) return undefined
  const share = Math.floor((characters - words.memoryHeading.length - 4) / groups.size)
  const lines = [...groups].map(([entity, seen]) => groupLine({ entity, seen, rows, share }, options))
  return [`[${words.memoryHeading}:`, ...lines, ']'].join('\n')
}

/** By entity; the rows of the newest turn first. */
function grouped(turns: readonly ToolTurn[], most: number): ReadonlyMap<string, Things> {
  const withTools = turns.filter(({ seen }) => seen.length > 0).toSorted((a, b) => b.turn - a.turn)
  const groups = new Map<string, Things>()
  for (const { seen } of withTools.slice(0, most)) {
    for (const [entity, things] of thingsIn(seen)) {
      const newer = groups.get(entity)
      // Rows of newer turns come first, and a thing is as it was shown last.
      groups.set(entity, newer === undefined ? things : new Map([...newer, ...things, ...newer]))
    }
  }
  return groups
}

/** The things of one turn by entity, each as it was shown last, in their order. */
function thingsIn(seen: readonly Sighting[]): ReadonlyMap<string, Things> {
  const [first] = seen
  const known = first && TURNS.get(first)
  if (known !== undefined && known.length === seen.length && known.last === seen.at(-1)) return known.things
  const things = new Map<string, Map<string, Sighting>>()
  for (const one of seen) {
    const group = things.get(one.entity) ?? new Map<string, Sighting>()
    things.set(one.entity, group)
    group.set(one.id, one)
  }
  if (first !== undefined) TURNS.set(first, { length: seen.length, last: seen.at(-1), things })
  return things
}

type Things = ReadonlyMap<string, Sighting>

/** Every prompt of a turn shows the same things, and a turn only adds sightings. */
const TURNS = new WeakMap<
  Sighting,
  {
    readonly length: number
    readonly last: Sighting | undefined
    readonly things: ReadonlyMap<string, Things>
  }
>()

interface Group {
  readonly entity: string
  readonly seen: Things
  readonly rows: number
  readonly share: number
}

function groupLine({ entity, seen, rows, share }: Group, options: ToolMemoryOptions): string {
  const { entities, language, handle = (_, id) => id } = options
  const words = wordsFor(options)
  const { one, many } = calledIn(entities.get(entity) ?? undeclared(entity), language)
  const shown: string[] = []
  let length = 0
  for (const { id, label } of seen.values()) {
    if (shown.length === rows) break
    const name = label === undefined ? {} : { label: plainLine(label, LONGEST_LABEL) }
    const row = JSON.stringify({ id: handle(entity, id), ...name })
    length += row.length + 1
    if (length > share && shown.length > 0) break
    shown.push(row)
  }
  const rest = seen.size - shown.length
  return `${capital(many ?? `${one}s`)}: [${shown.join(',')}]${rest > 0 ? ` ${words.more(rest)}` : ''}`
}

const LONGEST_LABEL = 60
