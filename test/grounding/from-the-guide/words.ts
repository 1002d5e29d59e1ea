/** The material of generated conversations: entities, ids of several patterns, labels, and small talk. */
import { type Entity, type EntityOptions, entity } from '../../../src/entry/grounding.ts'
import type { Row } from './conversation.ts'
import type { Dice } from './dice.ts'

const LOWER = 'abcdefghijkmnopqrstuvwxyz'
const UPPER = 'ABCDEFGHJKLMNPQRSTUVWXYZ'
const DIGITS = '0123456789'
const FIRST = '123456789'

/** A pattern of ids. No two fit each other's ids. */
export interface Look {
  readonly pattern: RegExp
  readonly make: (dice: Dice) => string
}

export const LOOKS: readonly Look[] = [
  { pattern: /p-\d{6}/, make: (dice) => `p-${dice.text(DIGITS, 6)}` },
  { pattern: /[A-Z]{2}\d{5}/, make: (dice) => dice.text(UPPER, 2) + dice.text(DIGITS, 5) },
  { pattern: /#W\d{6}/, make: (dice) => `#W${dice.text(DIGITS, 6)}` },
  { pattern: /ord_[a-z0-9]{6}/, make: (dice) => `ord_${dice.text(LOWER, 3)}${dice.text(DIGITS, 3)}` },
  { pattern: /\d{7}/, make: (dice) => dice.text(FIRST, 1) + dice.text(DIGITS, 6) },
  {
    pattern: /[a-z]+_[a-z]+_\d{4}/,
    make: (dice) => `${dice.text(LOWER, 5)}_${dice.text(LOWER, 4)}_${dice.text(DIGITS, 4)}`,
  },
  {
    pattern: /[0-9a-f]{8}-[0-9a-f]{4}/,
    make: (dice) => `${dice.text('0123456789abcdef', 7)}3-${dice.text('0123456789abcdef', 4)}`,
  },
  { pattern: /TCK-\d{4}-\d{3}/, make: (dice) => `TCK-${dice.text(DIGITS, 4)}-${dice.text(DIGITS, 3)}` },
  { pattern: /R\.\d{3}\.\d{3}/, make: (dice) => `R.${dice.text(DIGITS, 3)}.${dice.text(DIGITS, 3)}` },
]

interface Noun {
  readonly en: string
  readonly fr: string
  readonly feminine: boolean
}

const NOUNS: readonly Noun[] = [
  { en: 'project', fr: 'projet', feminine: false },
  { en: 'task', fr: 'tâche', feminine: true },
  { en: 'order', fr: 'commande', feminine: true },
  { en: 'customer', fr: 'client', feminine: false },
  { en: 'invoice', fr: 'facture', feminine: true },
  { en: 'contract', fr: 'contrat', feminine: false },
]

const NAMES = [
  [
    'Champigny',
    'Montreuil',
    'Bellevue',
    'Kingsbury',
    'Élancourt',
    'Ørsted',
    'Valmy',
    'Hampstead',
    'Vincennes',
    'Zürich',
  ],
  ['Roof', 'École', 'Bridge', 'Façade', 'Cellar', 'Garage', 'Terrasse', 'Station', 'Library', 'Piscine'],
] as const

/** Without digits, positions, nouns and labels. */
const SMALL_TALK = [
  'Thanks, that helps.',
  'Merci beaucoup.',
  'How are you today?',
  'Bonjour, tout va bien ?',
  'Please be brief.',
  'What a lovely day.',
]

export function smallTalk(dice: Dice): string {
  return dice.pick(SMALL_TALK)
}

/** An entity of a generated case. */
export class Kind {
  readonly noun: Noun
  readonly look: Look
  readonly entity: Entity
  readonly #dice: Dice
  readonly #made = new Set<string>()

  constructor(dice: Dice, { noun, look }: { noun: Noun; look: Look }, options: EntityOptions = {}) {
    this.#dice = dice
    this.noun = noun
    this.look = look
    this.entity = entity(noun.en, {
      pattern: look.pattern,
      called: { fr: { one: noun.fr, active: noun.fr } },
      ...options,
    })
  }

  get name(): string {
    return this.noun.en
  }

  /** An id that this case has not used. */
  fresh(): string {
    for (;;) {
      const id = this.look.make(this.#dice)
      if (this.#made.has(id)) continue
      this.#made.add(id)
      return id
    }
  }

  /** Rows with new ids and unique labels. */
  rows(count: number, of?: string): Row[] {
    return namesOf(this.#dice, count).map((name) => ({
      id: this.fresh(),
      name,
      ...(of === undefined ? {} : { of }),
    }))
  }
}

/** Entities with their own nouns and patterns; the options are those of each, the later may need the earlier. */
export function kinds(
  dice: Dice,
  ...options: readonly ((before: readonly Kind[]) => EntityOptions)[]
): Kind[] {
  const nouns = dice.shuffle(NOUNS)
  const looks = dice.shuffle(LOOKS)
  const made: Kind[] = []
  for (const option of options) {
    const at = made.length
    made.push(new Kind(dice, { noun: nouns[at] as Noun, look: looks[at] as Look }, option(made)))
  }
  return made
}

export function oneKind(dice: Dice, options: EntityOptions = {}): Kind {
  return kinds(dice, () => options)[0] as Kind
}

export function nounOf(dice: Dice): Noun {
  return dice.pick(NOUNS)
}

/** Labels of two words, no two of them with a word in common. */
export function namesOf(dice: Dice, count: number): string[] {
  const first = dice.shuffle(NAMES[0])
  const second = dice.shuffle(NAMES[1])
  if (count > first.length) throw new Error('Not so many names.')
  return first.slice(0, count).map((word, at) => `${word} ${second[at]}`)
}

const ORDINALS = {
  en: ['first', 'second', 'third', 'fourth', 'fifth'],
  fr: ['premier', 'deuxième', 'troisième', 'quatrième', 'cinquième'],
} as const

export type Language = 'en' | 'fr'

/** The text of a position, from 0 on; with the noun or without. */
export function placeOf(dice: Dice, at: number, { noun, named, language }: PlaceWords): string {
  if (language === 'en') {
    if (named) return dice.pick([`${noun.en} ${at + 1}`, `the ${ORDINALS.en[at]} ${noun.en}`])
    return dice.pick([`${at + 1}`, `the ${ORDINALS.en[at]} one`])
  }
  const word = at === 0 && noun.feminine ? 'première' : ORDINALS.fr[at]
  const article = noun.feminine ? 'la' : 'le'
  if (named) return dice.pick([`${noun.fr} ${at + 1}`, `${article} ${word} ${noun.fr}`])
  return dice.pick([`${at + 1}`, `${article} ${word}`])
}

export interface PlaceWords {
  readonly noun: Noun
  readonly named: boolean
  readonly language: Language
}

/** One or two letters or digits of the id changed into others of their kind. */
export function corrupt(dice: Dice, id: string, known: readonly string[]): string {
  for (;;) {
    const letters = id.split('')
    const places = dice.shuffle([...letters.keys()].filter((at) => /[\da-z]/i.test(letters[at] as string)))
    for (const at of places.slice(0, dice.between(1, 2))) {
      const letter = letters[at] as string
      letters[at] = dice.pick(
        alphabetOf(letter)
          .split('')
          .filter((other) => other !== letter),
      )
    }
    const wrong = letters.join('')
    if (!known.includes(wrong)) return wrong
  }
}

function alphabetOf(letter: string): string {
  if (/\d/.test(letter)) return DIGITS
  return /[a-z]/.test(letter) ? LOWER : UPPER
}
