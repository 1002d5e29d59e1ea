/**
 * Things of the world that have ids: which were seen, which is the chosen one, and where an id came from. How that is
 * decided is not known here.
 */
import type { Json } from './json.ts'

/** In a JSON Schema: this value is an id of the entity of that name, or of one of several. */
export const ENTITY_MARK = 'x-entity'

/** A thing that the output of a tool showed. Ids are texts; numbers are written as such. */
export type Sighting = {
  readonly entity: string
  readonly id: string
  readonly label?: string
  /** For people: what tells it apart from others with the same label, such as a town. */
  readonly detail?: string
  /** The id of the thing that it is a part of, which is of the parent of its entity. */
  readonly parent?: string
  /** The id in the normal form of its entity, where that is another one. */
  readonly normal?: string
}

/** Who chose a thing. What a person or a program chose wins over what tools showed before; a tool's choice does not. */
export type ChosenBy = 'person' | 'program' | 'tool'

/** What is to be the chosen one from now on. Without an id, nothing is. With `ids`, these are chosen together. */
export type Selection = {
  readonly entity: string
  readonly id?: string
  readonly ids?: readonly string[]
  readonly label?: string
  /** Of `ids`, in their order. */
  readonly labels?: readonly string[]
  readonly parent?: string
  /** Whose choice it is; of whoever selects unless said otherwise. */
  readonly by?: ChosenBy
}

/** What is the chosen one, since when or when last used, and which entry of which conversation said so. */
export type ActiveValue = {
  readonly entity: string
  readonly id: string
  /** All of them, if several are chosen; `id` is the first. */
  readonly ids?: readonly string[]
  readonly label?: string
  /** Of `ids`, in their order. */
  readonly labels?: readonly string[]
  readonly parent?: string
  readonly at: number
  /** Who chose it. What was stored without it was chosen by a program. */
  readonly by?: ChosenBy
  /** When it was chosen, however often it was used since. Without it, `at`. */
  readonly since?: number
  readonly origin?: { readonly contextId: string; readonly seq: number }
}

/**
 * Why an id was good enough: it is the chosen one, a tool showed it, the person wrote it, it was found by its label or by
 * its place in the newest listing, or the person was asked.
 */
export type GroundSource = 'state' | 'seen' | 'said' | 'label' | 'ordinal' | 'asked'

/** Where one id among the arguments of a call came from. */
export type Ground = {
  /** Where it stands, such as `items[2].taskId`. */
  readonly path: string
  readonly entity: string
  readonly id: string
  readonly source: GroundSource
  /** What the model wrote, if that was something else. */
  readonly said?: Json
  /** The entry that showed it, chose it, or holds the words of the person. */
  readonly seq?: number
  /** The conversation above that knows it, which runs this one; the entry there that showed or chose it, or began the turn. */
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

/** Lower case without the accents of Latin letters. Marks of other scripts make other letters, so they stay. */
export function foldedText(text: string): string {
  // Nothing else is done to most ids and labels.
  if (ASCII.test(text)) return text.toLowerCase()
  return text
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]/g, '')
    .normalize('NFC')
    .toLowerCase()
    .replace(/[œæßøłđı]/g, (letter) => LETTERS[letter] ?? letter)
}

/**
 * The form by which labels are filed and compared: words in lower case without accents and punctuation, with one blank
 * between them. What is stored by it depends on it, so it never changes.
 */
export function normalLabel(label: string): string {
  const folded = foldedText(label)
  const words = folded.replace(ASCII.test(folded) ? ASCII_GAPS : GAPS, ' ').trim()
  // A label of signs only is still a label.
  return words === '' ? label.trim().toLowerCase() : words
}
