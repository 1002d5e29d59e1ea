/**
 * Things in the results of tools: rows with an id and a label, and which of them a text names. It never
 * makes an id; it only finds those that a tool has given.
 */
import { editDistance } from '../protocol/index.ts'
import type { Done } from './conversation.ts'
import { ID_WORDS, NAME_WORDS, STOP } from './lexicon.ts'
import { shares, type Token, type Word, wordsOf } from './request.ts'
import type { Param } from './schema.ts'
import { stemsOf, tokenise } from './words.ts'

export type Scalar = string | number | boolean

export interface Row {
  readonly id: string | number | undefined
  /** The name that a person would use. */
  readonly label: string
  readonly fields: ReadonlyMap<string, Scalar>
  /** Stems of the words under which it was found: the name of the tool and the keys around it. */
  readonly nouns: ReadonlySet<string>
  /** The tool that told of it. */
  readonly tool: string
  /** Rows of one result have one number; whether they were shown as a list. */
  readonly list: number
  readonly isListed: boolean
  /** The kind of thing, if the tool has marked it. */
  readonly entity?: string
  /** The id of what it is a part of, if that is known. */
  readonly parent?: string
}

const MOST_ROWS = 2000
const DEEPEST = 5
const LONGEST_LABEL = 120

/** The rows of one result: those that the tool has marked, and those that are found in its output. */
export function rowsOf({ tool, output, failed, seen = [] }: Done, list: number): Row[] {
  if (failed || output === undefined) return []
  const found: Row[] = []
  collect(output, { nouns: nounsIn(tool), tool, list, depth: 0, isListed: false, isOuter: true }, found)
  const ids = new Set(seen.map(({ id }) => id))
  const isListed = seen.length > 1 || Array.isArray(output)
  const marked = seen.map(({ entity, id, label = id, parent }): Row => {
    const nouns = new Set(nounsIn(entity))
    const owner = parent === undefined ? {} : { parent }
    const fields = found.find((row) => String(row.id) === id)?.fields ?? new Map<string, Scalar>()
    return { id, label, fields, nouns, tool, list, isListed, entity, ...owner }
  })
  return [...found.filter(({ id }) => !ids.has(String(id))), ...marked]
}

interface Place {
  readonly nouns: readonly string[]
  readonly tool: string
  readonly list: number
  readonly depth: number
  readonly isListed: boolean
  /** Whether it is part of no other thing. */
  readonly isOuter: boolean
}

function collect(value: unknown, place: Place, rows: Row[]): void {
  if (typeof value !== 'object' || value === null || place.depth > DEEPEST || rows.length >= MOST_ROWS) return
  const below = { ...place, depth: place.depth + 1 }
  if (Array.isArray(value)) {
    for (const each of value) {
      if (typeof each === 'string' && place.isOuter) rows.push(...namedRow(each, place))
      else collect(each, { ...below, isListed: true }, rows)
    }
    return
  }
  const row = rowOf(value as Readonly<Record<string, unknown>>, place)
  if (row) rows.push(row)
  for (const [key, each] of Object.entries(value)) {
    // A thing inside of another is of another kind.
    const nouns = row?.id === undefined ? [...place.nouns, ...nounsIn(key)] : nounsIn(key)
    collect(each, { ...below, nouns, isListed: false, isOuter: place.isOuter && row?.id === undefined }, rows)
  }
}

/** A thing that has nothing but a name. */
function namedRow(name: string, { nouns, tool, list }: Place): Row[] {
  if (name === '' || name.length > LONGEST_LABEL) return []
  return [{ id: name, label: name, fields: new Map(), nouns: new Set(nouns), tool, list, isListed: true }]
}

function rowOf(value: Readonly<Record<string, unknown>>, place: Place): Row | undefined {
  const { nouns, tool, list, isListed } = place
  const { fields, idKey, label } = fieldsOf(value)
  if (idKey === undefined && label === '') return undefined
  const id = idKey === undefined ? undefined : (fields.get(idKey) as string | number)
  return { id, label: label || String(id), fields, nouns: new Set(nouns), tool, list, isListed }
}

/** The plain fields of an object, which of them is its id, and what it is called. */
export function fieldsOf(value: Readonly<Record<string, unknown>>): {
  readonly fields: ReadonlyMap<string, Scalar>
  readonly idKey: string | undefined
  readonly label: string
} {
  const plain = Object.entries(value).filter(([, each]) => /^(?:string|number|boolean)$/.test(typeof each))
  const fields = new Map(plain as [string, Scalar][])
  const ids = [...fields]
    .filter(([key, each]) => isIdKey(key) && typeof each !== 'boolean')
    .map(([key]) => key)
  const idKey = ids.find((key) => tokenise(key).length === 1) ?? ids[0]
  const texts = [...fields].filter(([key, each]) => key !== idKey && typeof each === 'string' && each !== '')
  const named = texts.find(([key]) => tokenise(key).some(({ word }) => NAME_WORDS.has(word)))
  const short = named ?? texts.find(([, each]) => String(each).length <= LONGEST_LABEL)
  return { fields, idKey, label: String(short?.[1] ?? '').slice(0, LONGEST_LABEL) }
}

function nounsIn(name: string): string[] {
  return wordsOf(name, 'en').flatMap(({ keys }) => keys)
}

function isIdKey(key: string): boolean {
  return ID_WORDS.has(tokenise(key).at(-1)?.word ?? '')
}

/** Every thing once, as it was seen last. */
export function latestOf(rows: readonly Row[]): Row[] {
  const latest = new Map<string, Row>()
  for (const row of rows) {
    const key = row.entity === undefined ? `${row.id ?? ''} ${row.label}` : `${row.entity} ${row.id}`
    const before = latest.get(key)
    latest.delete(key)
    latest.set(key, before ? { ...row, nouns: new Set([...before.nouns, ...row.nouns]) } : row)
  }
  return [...latest.values()]
}

/** The value of a row for a parameter, in its type: the field of that name, or the row's own id. */
export function idFor(row: Row, { name, type }: Pick<Param, 'name' | 'type'>): Scalar | undefined {
  const wanted = stemsOf(name).join(' ')
  const like = [...row.fields].find(([key]) => stemsOf(key).join(' ') === wanted)?.[1]
  const id = row.entity === undefined ? (row.fields.get(name) ?? like ?? row.id) : row.id
  if (type === 'string' && typeof id === 'number') return String(id)
  const digits = (type === 'integer' || type === 'number') && typeof id === 'string' && /^\d{1,15}$/.test(id)
  return digits ? Number(id) : id
}

export interface Mention {
  readonly row: Row
  readonly score: number
  /** Whether a whole label was said. */
  readonly whole: boolean
}

/**
 * The rows that a text names, best first and only the best. A whole label beats parts of one; words that all rows share
 * say nothing. A token that means something else is undefined; `ignored` are stems that count for no part of a label.
 */
export function mentioned(
  rows: readonly Row[],
  tokens: readonly (Token | undefined)[],
  ignored: ReadonlySet<string> = new Set(),
): Mention[] {
  if (rows.length === 0) return []
  const places = new Map<string, readonly number[]>()
  const saidAt = (part: Word): readonly number[] => {
    const known = places.get(part.stem) ?? placesOf(part, tokens)
    places.set(part.stem, known)
    return known
  }
  const texts = rows.map(textsOf)
  const spread = new Map<string, number>()
  for (const each of texts)
    for (const stem of new Set(each.flatMap(({ parts }) => parts.map((part) => part.stem))))
      spread.set(stem, (spread.get(stem) ?? 0) + 1)
  const weigh = (part: Word): number => {
    if (STOP.has(part.word) || part.keys.some((key) => ignored.has(key)) || saidAt(part).length === 0)
      return 0
    return rows.length === 1
      ? 1
      : Math.log(rows.length / (spread.get(part.stem) ?? 1)) / Math.log(rows.length)
  }
  const isSaid = (parts: readonly Word[]): boolean =>
    parts.some(({ word }) => !STOP.has(word)) &&
    saidAt(parts[0] as Word).some((at) => parts.every((part, step) => saidAt(part).includes(at + step)))
  const found = rows.map((row, at): Mention => {
    const whole = (texts[at] ?? []).find(({ parts, main }) => main && isSaid(parts))
    if (whole) return { row, score: 10 + whole.parts.length, whole: true }
    const scores = (texts[at] ?? []).map(({ parts, main }) => {
      const sum = [...new Map(parts.map((part) => [part.stem, part])).values()].reduce(
        (total, part) => total + weigh(part),
        0,
      )
      return main ? sum : sum / 2
    })
    return { row, score: Math.max(0, ...scores), whole: false }
  })
  const whole = found.filter((mention) => mention.whole)
  if (whole.length > 0) return whole.filter(({ row }) => !whole.some((other) => isPartOf(row, other.row)))
  const best = Math.max(...found.map(({ score }) => score), 0)
  return best < 0.2 ? [] : found.filter(({ score }) => score >= best - 0.05)
}

/** Whether a word is another one but for a letter or two. */
function isTypo(said: string, stem: string): boolean {
  const most = stem.length > 7 ? 2 : 1
  return stem.length > 4 && said[0] === stem[0] && editDistance(said, stem, most) <= most
}

/** Where a word of a label was said, in the same letters, in another language, or with a typing error. */
function placesOf({ stem, keys }: Word, tokens: readonly (Token | undefined)[]): readonly number[] {
  const at = (isSame: (token: Token) => boolean): number[] =>
    tokens.flatMap((token, place) => (token !== undefined && isSame(token) ? [place] : [])).slice(0, 50)
  const same = at(({ said }) => said === stem)
  if (same.length > 0) return same
  const families = keys.filter((key) => key.startsWith('='))
  const alike = families.length === 0 ? [] : at((token) => shares(token.keys, families))
  if (alike.length > 0 || stem.length < 5 || tokens.length > 60) return alike
  return at(({ said, word }) => !STOP.has(word) && isTypo(said, stem))
}

/** Whether a label is only a part of another one that was said. */
function isPartOf(row: Row, other: Row): boolean {
  const [parts, whole] = [stemsOf(row.label), stemsOf(other.label)]
  return parts.length < whole.length && parts.every((part) => whole.includes(part))
}

/** The label, by which people call a thing, and other fields, which only describe it. */
function textsOf({ label, id, fields }: Row): { readonly parts: readonly Word[]; readonly main: boolean }[] {
  const others = [...fields.values()].filter(
    (value) => typeof value === 'string' && value.length <= LONGEST_LABEL && value !== label && value !== id,
  )
  return [
    { parts: labelWords(label), main: true },
    ...others.map((value) => ({ parts: labelWords(String(value)), main: false })),
  ]
}

const MOST_LABELS = 5000
const LABELS = new Map<string, readonly Word[]>()

/** Reading words costs more than comparing them, and labels come again and again. */
function labelWords(label: string): readonly Word[] {
  const known = LABELS.get(label) ?? wordsOf(label, 'en')
  if (LABELS.size > MOST_LABELS) LABELS.clear()
  LABELS.set(label, known)
  return known
}

/** Whether a word describes a row: as a part of its label, or of a field that is a text. */
export function describes(row: Row, { said, keys }: Token): boolean {
  return textsOf(row).some(({ parts, main }) =>
    parts.some(
      (part) =>
        part.stem === said ||
        (main && isTypo(said, part.stem)) ||
        part.keys.some((key) => key.startsWith('=') && keys.includes(key)),
    ),
  )
}
