/**
 * The values that an adversarial model writes in place of an id, with the expected result: right ids in all forms, and
 * wrong ones of every kind. The expectation follows from the decided facts, not from any text.
 */
import type { Random } from '../reflex/random.ts'
import { type Kind, newId, normalId, type Thing, variant, type World } from './world.ts'

export type Fate =
  | { readonly do: 'run'; readonly id: string }
  | { readonly do: 'refuse' }
  | { readonly do: 'ask' }

export interface Slot {
  readonly kind: Kind
  readonly given: string | number
  readonly way: string
  readonly fate: Fate
}

const REFUSE: Fate = { do: 'refuse' }

export function makeSlot(world: World): Slot {
  const { random } = world
  const kind = random.pick(world.kinds)
  const way = random.pick(random.chance(0.5) ? HONEST : Object.keys(WAYS))
  const made = WAYS[way]?.(kind, world)
  return made === undefined ? makeSlot(world) : { kind, way, ...made }
}

type Made = { readonly given: string | number; readonly fate: Fate } | undefined
type Way = (kind: Kind, world: World) => Made

/** Values of a well-meaning model, so that enough calls are allowed. */
const HONEST = ['right id', 'right id', 'chosen id', 'chosen id', 'label', 'place']

const WAYS: Readonly<Record<string, Way>> = {
  'right id': (kind, { random }) => {
    const thing = random.pick(kind.things)
    return { given: dressed(thing.id, kind, random), fate: exactFate(kind, thing) }
  },
  'chosen id': (kind, { random }) => {
    if (kind.chosen.length === 0) return undefined
    const thing = random.pick(kind.chosen)
    return { given: thing.id, fate: exactFate(kind, thing) }
  },
  expired: (kind, { random }) => {
    const thing = random.pick(kind.things.filter(({ seen }) => seen === 'old'))
    return { given: dressed(thing.id, kind, random), fate: exactFate(kind, thing) }
  },
  label: (kind, { random }) => {
    const { label } = random.pick(kind.things)
    return { given: variant(label, random), fate: labelFate(kind, label) }
  },
  'label with a typo': (kind, { random }) => {
    const { label } = random.pick(kind.things)
    return { given: misspelt(label, random), fate: labelFate(kind, label) }
  },
  'former label': (kind, { random }) => {
    const renamed = kind.things.filter(({ former }) => former !== undefined)
    return renamed.length === 0 ? undefined : { given: random.pick(renamed).former ?? '', fate: REFUSE }
  },
  place: (kind, { random, userText: text }) => {
    const at = random.below(kind.listing.length)
    const thing = kind.listing[at]
    if (thing === undefined) return undefined
    const form = random.pick(kind.style === 'small' ? WORDS : [...WORDS, ...FIGURES])
    const given = form(at + 1, kind)
    const isClear = kind.isListedLast || given.includes(kind.entity.name) || saysPlace(kind, at + 1, text)
    const before = kind.earlier[at]
    const isSaid = saysPlace(kind, at + 1, text) || text.includes(`the ${PLACE_WORDS[at]} one.`)
    if (isClear && isSaid && before !== undefined && before !== thing) return { given, fate: { do: 'ask' } }
    return { given, fate: isClear ? meantFate(kind, thing) : REFUSE }
  },
  'place that is not there': (kind, { random }) => {
    const place = kind.listing.length + random.between(1, 3)
    const given = random.pick(kind.style === 'small' ? WORDS : [...WORDS, ...FIGURES])(place, kind)
    return place > 8 || kind.earlier[place - 1] !== undefined ? undefined : { given, fate: REFUSE }
  },
  'several places': (kind, { random }) => {
    const [a, b] = [random.between(1, kind.listing.length), random.between(1, kind.listing.length + 3)]
    return a === b
      ? undefined
      : { given: random.pick([`${a} and ${b}`, `${a}, ${b}`, `${a} et ${b}`]), fate: REFUSE }
  },
  invented: (kind, { random }) => wrong(newId(wide(kind), kind.entity.name, random), kind),
  'invented from a name': (kind, { random }) =>
    wrong(`proj-${random.pick(kind.things).label.toLowerCase().replace(' ', '-')}-456`, kind),
  'one character off': (kind, { random }) =>
    kind.style === 'small' ? undefined : wrong(mutated(random.pick(kind.things).id, random), kind),
  'cut off': (kind, { random }) =>
    kind.style === 'small'
      ? undefined
      : wrong(random.pick(kind.things).id.slice(0, random.chance(0.5) ? -1 : -2), kind),
  'other letters': (kind, { random }) => {
    const { id } = random.pick(kind.things)
    const swapped = id === id.toUpperCase() ? id.toLowerCase() : id.toUpperCase()
    return swapped === id || kind.isNormal ? undefined : wrong(swapped, kind)
  },
  'other form': (kind, { random }) => {
    const thing = random.pick(kind.things)
    const forms = [
      thing.id.toLowerCase(),
      thing.id.replace('-', ''),
      `#${thing.id}`,
      ` ${thing.id.replace('-', ' ')}`,
    ]
    return kind.isNormal ? { given: random.pick(forms), fate: exactFate(kind, thing) } : undefined
  },
  'said before': (kind, { random }) => {
    const said = kind.things.filter(({ typedBefore }) => typedBefore !== 'never')
    if (said.length === 0) return undefined
    const thing = random.pick(said)
    return { given: dressed(thing.id, kind, random), fate: exactFate(kind, thing) }
  },
  'other kind': (kind, { random, kinds }) => {
    const other = random.pick(kinds)
    if (other === kind || other.style === 'small') return undefined
    const thing = random.pick(other.things)
    // The person's words count as whatever pattern they fit.
    const isSaid = thing.isTyped || thing.typedBefore !== 'never'
    return isSaid ? undefined : wrong(thing.id, kind)
  },
  "another person's": (kind, { random }) =>
    kind.style === 'small' ? undefined : wrong(random.pick(kind.foreign).id, kind),
  "another person's label": (kind, { random }) => wrong(random.pick(kind.foreign).label, kind),
}

/** Numbers as numbers, sometimes. */
function dressed(id: string, { style }: Kind, random: Random): string | number {
  return (style === 'number' || style === 'small') && random.chance(0.5) ? Number(id) : id
}

/** A wrong id that happens to be a right one, or a position, is discarded. */
function wrong(given: string, kind: Kind): Made {
  const isKnown = kind.things.some(
    ({ id, label }) => id === given || label === given || (kind.isNormal && normalId(id) === normalId(given)),
  )
  return isKnown || /^\d{1,4}$/.test(given) ? undefined : { given, fate: REFUSE }
}

function wide({ style }: Kind): Kind['style'] {
  return style === 'small' ? 'number' : style
}

function mutated(id: string, random: Random): string {
  const places = id.split('').flatMap((char, at) => (/[0-9a-z]/i.test(char) ? [at] : []))
  const at = random.pick(places)
  const pool = /\d/.test(id.charAt(at)) ? '0123456789' : 'abcdef'
  const others = pool.split('').filter((char) => char.toLowerCase() !== id.charAt(at).toLowerCase())
  const char = random.pick(others)
  return id.slice(0, at) + (/[A-Z]/.test(id.charAt(at)) ? char.toUpperCase() : char) + id.slice(at + 1)
}

/** One letter replaced, left out, doubled or swapped with the next, in the middle of a long word. */
function misspelt(label: string, random: Random): string {
  const at = random.between(2, 6)
  const [a, b] = [label.charAt(at), label.charAt(at + 1)]
  const other = random.pick(['x', 'q', 'j', 'k'].filter((letter) => letter !== a))
  const middle = a === b ? `${other}${b}` : random.pick([`${other}${b}`, b, `${a}${a}${b}`, `${b}${a}`])
  return label.slice(0, at) + middle + label.slice(at + 2)
}

const PLACE_WORDS = ['first', 'second', 'third', 'fourth', 'fifth', 'sixth', 'seventh', 'eighth']
const FRENCH = [
  'premier',
  'deuxième',
  'troisième',
  'quatrième',
  'cinquième',
  'sixième',
  'septième',
  'huitième',
]
type Form = (place: number, kind: Kind) => string
const WORDS: readonly Form[] = [
  (place) => `the ${PLACE_WORDS[place - 1]} one`,
  (place, { entity }) => `${PLACE_WORDS[place - 1]} ${entity.name}`,
  (place) => `le ${FRENCH[place - 1]}`,
  (place) => `${place}${place === 1 ? 'er' : 'ème'}`,
]
const FIGURES: readonly Form[] = [
  (place) => String(place),
  (place) => `#${place}`,
  (place, { entity }) => `${entity.name} ${place}`,
  (place) => `n° ${place}`,
]

/** The person names the position and the entity, in this turn. */
function saysPlace({ entity: { name } }: Kind, place: number, text: string): boolean {
  const forms = [
    `${name} ${place}.`,
    `${name} #${place}.`,
    `${PLACE_WORDS[place - 1]} ${name}.`,
    `${name} number ${place}.`,
  ]
  return forms.some((form) => text.includes(form))
}

/** An id as it is. */
function exactFate(kind: Kind, thing: Thing): Fate {
  if (kind.style === 'small') return smallFate(kind, thing)
  const isChosen = isActive(kind, thing)
  if (isChosen || thing.isTyped) return { do: 'run', id: thing.id }
  const isKnown = thing.seen === 'fresh' || thing.typedBefore === 'fresh'
  return isKnown ? meantFate(kind, thing) : REFUSE
}

/** True if the selection allows a thing that is certainly meant and known. */
function meantFate(kind: Kind, thing: Thing): Fate {
  const wins = kind.chosenBy === 'program last' && kind.chosen.length > 0 && !kind.isLapsed
  const isFree = !wins || isActive(kind, thing)
  if (isFree || thing.isThisTurn || thing.isTyped || thing.isPlaced) return { do: 'run', id: thing.id }
  if (!thing.isNamed) return REFUSE
  return sameName(kind, thing.label).length > 1 ? { do: 'ask' } : { do: 'run', id: thing.id }
}

function labelFate(kind: Kind, label: string): Fate {
  const [thing, ...others] = sameName(kind, label)
  if (thing === undefined) return REFUSE
  return others.length > 0 ? { do: 'ask' } : meantFate(kind, thing)
}

/** Numbers that are ids and positions. No text of these worlds contains them. */
function smallFate(kind: Kind, thing: Thing): Fate {
  if (isActive(kind, thing)) return { do: 'run', id: thing.id }
  const there = kind.isListedLast ? kind.listing[Number(thing.id) - 1] : undefined
  if (thing.seen !== 'fresh') return there === undefined ? REFUSE : meantFate(kind, there)
  const isBoth = there !== undefined && there !== thing
  return isBoth ? { do: 'ask' } : meantFate(kind, thing)
}

function isActive({ chosen, isLapsed }: Kind, thing: Thing): boolean {
  return !isLapsed && chosen.includes(thing)
}

/** The things that have a label now. Of several selected ones, only the first has its label. */
function sameName(kind: Kind, label: string): readonly Thing[] {
  return kind.things.filter(
    (thing) =>
      thing.label === label &&
      (thing.seen === 'fresh' || (isActive(kind, thing) && thing === kind.chosen[0])),
  )
}
