/** The subject of a tool: the words of its name and description, what it does, and what it is about. */
import type { ToolDeclaration } from '../model/language-model.ts'
import { ID_WORDS, type Language, LOOKING, MANY, NAME_WORDS, STOP } from './lexicon.ts'
import { shares, type Word, wordsOf } from './request.ts'
import { type Param, type ToolInfo, toolOf } from './schema.ts'
import { stemOf, stemsOf } from './words.ts'

/** The subject of a tool, ready to be compared. */
export interface Profile {
  readonly tool: ToolInfo
  /** The words of its name. */
  readonly name: readonly Word[]
  /** All words by which the tool tells what it does, in its name or first in its description. */
  readonly verbs: readonly Word[]
  /** The rest of its name. */
  readonly nouns: readonly Word[]
  /** The stems of all words of its name; and those that begin its name and its description, where its verb stands. */
  readonly title: readonly string[]
  readonly leads: ReadonlySet<string>
  /** Families of verbs by which people ask for one of its choices. */
  readonly settings: ReadonlyMap<string, string | number | boolean>
  /** The best weight of every key that the tool has anywhere. */
  readonly weights: ReadonlyMap<string, number>
  /** Words that ask, in its description: `Tells where an order is.` */
  readonly asks: ReadonlySet<string>
  /** Whether it only looks, and whether it answers with many. */
  readonly looks: boolean
  readonly lists: boolean
}

export const WEIGHT = {
  name: 1,
  verb: 0.8,
  description: 0.35,
  choice: 0.4,
  shared: 0.32,
  param: 0.3,
  about: 0.12,
} as const

interface Around {
  /** Marks of entities that nobody has said anything about count for nothing. */
  readonly entities?: Readonly<Record<string, unknown>> | undefined
  readonly language: Language
}

export function profileOf(declaration: ToolDeclaration, { entities = {}, language }: Around): Profile {
  const { name: title, description, params: declared } = toolOf(declaration)
  const params = declared.map(({ entity, ...param }): Param => {
    const kind = entity !== undefined && Object.hasOwn(entities, entity) ? { entity } : {}
    const choices = param.choices ?? param.items?.choices
    const choiceWords = choices?.slice(0, 50).map((choice) => contentOf(String(choice), language))
    const keys = wordsOf(param.name, language).map((word) => word.keys)
    return { ...param, ...kind, keys, ...(choiceWords === undefined ? {} : { choiceWords }) }
  })
  const named = wordsOf(title, language).filter(({ word }) => !STOP.has(word) && !ID_WORDS.has(word))
  const described = wordsOf(description, language).filter(({ word }) => !STOP.has(word))
  const asks = new Set(
    wordsOf(description, language).flatMap(({ word }) => (/^(?:where|who|when)$/.test(word) ? [word] : [])),
  )
  const words = wordsOf(title, language).map(({ stem }) => stem)
  const leads = new Set([...words.slice(0, 1), ...stemsOf(description).slice(0, 1)])
  return {
    ...profileFrom({ name: title, description, params }, named, described),
    ...{ asks, title: words, leads },
  }
}

/** The words that say something, or all if none does. */
function contentOf(text: string, language: Language): readonly Word[] {
  const all = wordsOf(text, language)
  const content = all.filter(({ word }) => !STOP.has(word))
  return content.length > 0 ? content : all
}

/** Words that go along with a verb. */
const QUALIFIERS = new Set(['all', 'every', 'new'])

function profileFrom(
  tool: ToolInfo,
  named: readonly Word[],
  described: readonly Word[],
): Omit<Profile, 'asks' | 'title' | 'leads'> {
  const [first] = described
  const spoken = verbsIn(named, first)
  const nouns = named.filter((word) => !spoken.includes(word) && !QUALIFIERS.has(word.word))
  const isNoun = first === undefined || nouns.some(({ stem }) => stem === first.stem)
  const isKnown = spoken.some((verb) => verb.verbs.length > 0)
  // The verb of the description is the same said again: `create_ticket`, opens a new ticket.
  const verbs = isNoun ? spoken : [...spoken, isKnown ? { ...first, verbs: [] } : first]
  const weights = new Map<string, number>()
  const put = ({ keys, verbs: own }: Pick<Word, 'keys' | 'verbs'>, weight: number): void => {
    for (const key of own.length > 0 && weight === WEIGHT.verb ? keys.slice(0, 1) : keys)
      if (weight > (weights.get(key) ?? 0)) weights.set(key, weight)
  }
  for (const word of named) put(word, verbs.includes(word) ? WEIGHT.verb : WEIGHT.name)
  for (const word of described) put(word, WEIGHT.description)
  for (const param of tool.params) putParam(param, put)
  const [lead] = isKnown
    ? spoken.filter((verb) => verb.verbs.length > 0)
    : verbs.filter((verb) => verb.verbs.length > 0)
  const needed = tool.params.filter(({ required }) => required)
  const looks = lead !== undefined && lead.word !== 'open' && LOOKING.has(lead.verbs[0] ?? '')
  const isMany = (word: Word): boolean => MANY.has(word.word) || manyStems.has(word.stem)
  const lists = looks && [...named, ...described].some(isMany)
  const isDetail =
    looks &&
    !lists &&
    needed.length === 1 &&
    needed.every(({ isId, stems }) => isId || NAME_WORDS.has(stems[0] ?? ''))
  const all = isDetail ? [...verbs, DETAIL] : verbs
  return {
    tool,
    name: named,
    verbs: all,
    nouns,
    settings: settingsOf(verbs, tool.params),
    weights,
    looks,
    lists,
  }
}

/** Asked of a tool that tells about one thing. */
const DETAIL: Word = {
  word: '!detail',
  stem: '!detail',
  keys: ['!detail'],
  verbs: ['!detail'],
  isPlural: false,
}
const manyStems = new Set([...MANY].map(stemOf))

/** The well-known verb of a name; without one, the word that the description begins with, or else the first. */
function verbsIn(name: readonly Word[], first: Word | undefined): readonly Word[] {
  // A participle names a state: `now_playing` plays nothing.
  const known = name.filter(({ verbs, word }) => verbs.length > 0 && !word.endsWith('ing'))
  const [lead] = name
  if (lead !== undefined && known.includes(lead)) return [lead]
  if (known.some(({ word }) => !QUALIFIERS.has(word))) return known
  if (first !== undefined && first.verbs.length > 0) return [first]
  const rest = name.filter(({ word }) => !QUALIFIERS.has(word))
  const same = rest.find(({ stem }) => stem === first?.stem)
  return same === undefined ? rest.slice(0, 1) : [same]
}

/** Of a tool that updates: what it may set something to, such as `done`, which people say as a verb. */
function settingsOf(
  verbs: readonly Word[],
  params: readonly Param[],
): Map<string, string | number | boolean> {
  const settings = new Map<string, string | number | boolean>()
  if (verbs.some((verb) => verb.verbs.includes('!finish'))) settings.set('!finish', true)
  if (!verbs.some((verb) => verb.verbs.includes('!change'))) return settings
  for (const { choices = [], choiceWords = [] } of params)
    for (const [at, choice] of choices.entries()) {
      const [word, more] = choiceWords[at] ?? []
      if (word === undefined || more !== undefined) continue
      if (word.verbs.includes('!finish')) settings.set('!finish', choice)
      if (word.keys.includes('=open')) settings.set('!reopen', choice)
    }
  return settings
}

function putParam(param: Param, put: (word: Pick<Word, 'keys' | 'verbs'>, weight: number) => void): void {
  for (const keys of param.keys) put({ keys, verbs: [] }, WEIGHT.param)
  for (const choice of param.choiceWords ?? []) for (const word of choice) put(word, WEIGHT.choice)
  for (const word of param.about) if (!STOP.has(word)) put({ keys: [stemOf(word)], verbs: [] }, WEIGHT.about)
}

/**
 * Tools about the same thing share the words that describe it: `Lists the events of the calendar.` Not a tool that
 * needs nothing to change something: `done` of another tool does not explain `delete all tasks that are done`.
 */
export function withShared(profiles: readonly Profile[]): Profile[] {
  return profiles.map((profile) => {
    if (!profile.looks && !profile.tool.params.some(({ required }) => required)) return profile
    const weights = new Map(profile.weights)
    const related = profiles.filter((other) =>
      other.nouns.some(({ keys }) => profile.nouns.some((noun) => shares(keys, noun.keys))),
    )
    for (const other of related)
      for (const [key, weight] of other.weights)
        if (weight === WEIGHT.description && !weights.has(key)) weights.set(key, WEIGHT.shared)
    return { ...profile, weights }
  })
}

/** Whether a word may stand for what the tool does. */
export function isAlike({ verbs }: Profile, word: Word): boolean {
  return verbs.some(
    (verb) => verb.stem === word.stem || verb.verbs.some((family) => word.verbs.includes(family)),
  )
}

/** Tools that look for such things: those that list many first, and those that have the noun in their name. */
export function lookupsFor(nouns: readonly string[], goal: Profile, profiles: readonly Profile[]): Profile[] {
  const rate = ({ name, weights, lists, tool }: Profile): number => {
    const named = name.some(({ keys }) => shares(keys, nouns))
    if (!named && !(lists && nouns.some((noun) => (weights.get(noun) ?? 0) >= 0.35))) return 0
    const needs = tool.params.filter(({ required }) => required).length
    return (named ? 4 : 1) + (lists ? 2 : 0) - Math.min(needs, 3) / 2
  }
  return profiles
    .filter((profile) => profile.looks && profile.tool.name !== goal.tool.name && rate(profile) > 0)
    .sort((a, b) => rate(b) - rate(a))
}
