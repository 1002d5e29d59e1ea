/** Things that have ids: sightings, the active selection, and the ground of an id. Must not know how an id is judged. */
import type { Json } from './json.ts'

/** JSON Schema keyword: the value is an id of this entity, or of one of several. */
export const ENTITY_MARK = 'x-entity'

/** A thing that a tool's output showed. Ids are strings; numbers are converted. */
export type Sighting = {
  readonly entity: string
  readonly id: string
  readonly label?: string
  /** Distinguishes things with the same label for people, such as a town. */
  readonly detail?: string
  /** The id of the thing that contains it, of the parent of its entity. */
  readonly parent?: string
  /** The id in its entity's normal form, if that differs. */
  readonly normal?: string
}

/** The author of a selection. A person's or a program's overrides earlier sightings; a tool's does not. */
export type ChosenBy = 'person' | 'program' | 'tool'

/** The new active selection. Without an id, none; with `ids`, several together. */
export type Selection = {
  readonly entity: string
  readonly id?: string
  readonly ids?: readonly string[]
  readonly label?: string
  /** Labels of `ids`, in their order. */
  readonly labels?: readonly string[]
  readonly parent?: string
  /** Author of the selection; defaults to the caller. */
  readonly by?: ChosenBy
}

/** The active selection of an entity, when it was made or last used, and the entry that made it. */
export type ActiveValue = {
  readonly entity: string
  readonly id: string
  /** All ids of a selection of several; `id` is the first. */
  readonly ids?: readonly string[]
  readonly label?: string
  /** Labels of `ids`, in their order. */
  readonly labels?: readonly string[]
  readonly parent?: string
  readonly at: number
  /** Author of the selection; absent means a program. */
  readonly by?: ChosenBy
  /** Time of selection, regardless of later use. Defaults to `at`. */
  readonly since?: number
  readonly origin?: { readonly contextId: string; readonly seq: number }
}

/**
 * The reason for accepting an id: it is active, a tool showed it, the person wrote it, its label or its place in the
 * newest listing matched it, or the person was asked.
 */
export type GroundSource = 'state' | 'seen' | 'said' | 'label' | 'ordinal' | 'asked'

/** The source of one id among the arguments of a call. */
export type Ground = {
  /** Path in the arguments, such as `items[2].taskId`. */
  readonly path: string
  readonly entity: string
  readonly id: string
  readonly source: GroundSource
  /** The model's value, if it differs. */
  readonly said?: Json
  /** The entry that showed it, selected it, or holds the person's words. */
  readonly seq?: number
  /** The parent conversation that vouches for it, and the entry there that showed or selected it, or began the turn. */
  readonly above?: { readonly contextId: string; readonly seq?: number }
}

const LETTERS: Readonly<Record<string, string>> = {
  œ: 'oe',
  æ: 'ae',
  ß: 'ss',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ı: 'i',
}

const ASCII = /^[\0-\x7f]*$/
const ASCII_GAPS = /[^a-z0-9]+/g
const GAPS = /[^\p{L}\p{N}\p{M}]+/gu

/** Lower case without the accents of Latin letters. Other scripts keep their marks, which distinguish letters. */
export function foldedText(text: string): string {
  // Fast path: most ids and labels are ASCII.
  if (ASCII.test(text)) return text.toLowerCase()
  return text
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]/g, '')
    .normalize('NFC')
    .toLowerCase()
    .replace(/[œæßøłđı]/g, (letter) => LETTERS[letter] ?? letter)
}

/**
 * The form under which labels are filed and compared: words in lower case, without accents and punctuation, joined by
 * single blanks. Stored rows depend on this form, so it never changes.
 */
export function normalLabel(label: string): string {
  const folded = foldedText(label)
  const words = folded.replace(ASCII.test(folded) ? ASCII_GAPS : GAPS, ' ').trim()
  // A label of punctuation only is still a label.
  return words === '' ? label.trim().toLowerCase() : words
}
