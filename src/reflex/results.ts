/**
 * What earlier results of tools tell about things: rows with an id and labels, and which of them a text speaks of.
 * It never makes an id; it only finds those that a tool has given.
 */
import type { Done } from './conversation.ts'
import { ID_WORDS, NAME_WORDS, STOP } from './grammar.ts'
import type { Param } from './schema.ts'
import { stemsOf, tokenise } from './words.ts'

export type Scalar = string | number | boolean

export interface Row {
  readonly id: string | number | undefined
  /** Under which key the id was found. */
  readonly idKey: string
  /** What a person would call it. */
  readonly label: string
  readonly fields: ReadonlyMap<string, Scalar>
  /** Stems of the words under which it was found: the name of the tool and the keys around it. */
  readonly nouns: ReadonlySet<string>
  /** The tool that told of it. */
  readonly tool: string
  /** Rows of one result have one number. */
  readonly list: number
  /** The id of what it is a part of, if that is known. */
  readonly parent?: string
}

const MOST_ROWS = 2000
const DEEPEST = 5
const LONGEST_LABEL = 120

/** All rows of all results, oldest first. */
export function rowsOf(calls: readonly Done[]): Row[] {
  const rows: Row[] = []
  for (const [list, { tool, output, failed }] of calls.entries()) {
    if (failed || output === undefined) continue
    collect(output, { nouns: stemsOf(tool), tool, list, depth: 0 }, rows)
  }
  return rows
}

interface Place {
  readonly nouns: readonly string[]
  readonly tool: string
  readonly list: number
  readonly depth: number
}

function collect(value: unknown, place: Place, rows: Row[]): void {
  if (typeof value !== 'object' || value === null || place.depth > DEEPEST || rows.length >= MOST_ROWS) return
  const below = { ...place, depth: place.depth + 1 }
  if (Array.isArray(value)) {
    for (const each of value) collect(each, below, rows)
    return
  }
  const row = rowOf(value as Readonly<Record<string, unknown>>, place)
  if (row) rows.push(row)
  for (const [key, each] of Object.entries(value)) {
    // What a thing holds is another kind of thing.
    const nouns = row?.id === undefined ? [...place.nouns, ...stemsOf(key)] : stemsOf(key)
    if (typeof each === 'object') collect(each, { ...below, nouns }, rows)
  }
}

function rowOf(value: Readonly<Record<string, unknown>>, { nouns, tool, list }: Place): Row | undefined {
  const fields = new Map<string, Scalar>()
  for (const [key, each] of Object.entries(value)) {
    if (typeof each === 'string' || typeof each === 'number' || typeof each === 'boolean')
      fields.set(key, each)
  }
  const idKey = idKeyOf(fields)
  const label = labelOf(fields, idKey)
  if (idKey === undefined && label === '') return undefined
  const id = idKey === undefined ? undefined : (fields.get(idKey) as string | number)
  return { id, idKey: idKey ?? '', label: label || String(id), fields, nouns: new Set(nouns), tool, list }
}

/** `id` itself, or else the first key that ends with it. */
function idKeyOf(fields: ReadonlyMap<string, Scalar>): string | undefined {
  const ids = [...fields.keys()].filter((key) => {
    return ID_WORDS.has(tokenise(key).at(-1)?.word ?? '') && typeof fields.get(key) !== 'boolean'
  })
  return ids.find((key) => tokenise(key).length === 1) ?? ids[0]
}

/** The name of a thing among its fields, or an empty text. */
export function labelOf(fields: ReadonlyMap<string, Scalar>, idKey: string | undefined): string {
  const texts = [...fields].filter(
    ([key, value]) => key !== idKey && typeof value === 'string' && value !== '',
  )
  const named = texts.find(([key]) => tokenise(key).some(({ word }) => NAME_WORDS.has(word)))
  const short = named ?? texts.find(([, value]) => String(value).length <= LONGEST_LABEL)
  return String(short?.[1] ?? '').slice(0, LONGEST_LABEL)
}

/** Every thing once, as it was seen last. */
export function latestOf(rows: readonly Row[]): Row[] {
  const latest = new Map<string, Row>()
  for (const row of rows) {
    const key = `${row.id ?? ''} ${row.label}`
    const before = latest.get(key)
    latest.delete(key)
    latest.set(key, before ? { ...row, nouns: new Set([...before.nouns, ...row.nouns]) } : row)
  }
  return [...latest.values()]
}

/** The value of a row for a parameter, in its type: the field of that name, or the row's own id. */
export function idFor(row: Row, { name, type }: Pick<Param, 'name' | 'type'>): Scalar | undefined {
  const id = row.fields.get(name) ?? fieldLike(row, name) ?? row.id
  if (type === 'string' && typeof id === 'number') return String(id)
  const digits = (type === 'integer' || type === 'number') && typeof id === 'string' && /^\d{1,15}$/.test(id)
  return digits ? Number(id) : id
}

function fieldLike(row: Row, name: string): Scalar | undefined {
  const wanted = stemsOf(name).join(' ')
  for (const [key, value] of row.fields) if (stemsOf(key).join(' ') === wanted) return value
  return undefined
}

export interface Mention {
  readonly row: Row
  readonly score: number
  /** Whether a whole label or id was said. */
  readonly whole: boolean
}

/**
 * The rows that a text speaks of, best first and only the best. A whole label beats parts of one; words that all rows
 * share say nothing. `stems` are the words of the text in order, `ignored` the ones that mean something else.
 */
export function mentioned(
  rows: readonly Row[],
  stems: readonly string[],
  ignored: ReadonlySet<string>,
): Mention[] {
  if (rows.length === 0) return []
  const said = new Map<string, number[]>()
  for (const [at, stem] of stems.entries()) {
    const places = said.get(stem)
    if (places) places.push(at)
    else said.set(stem, [at])
  }
  const labels = rows.map((row) => textsOf(row))
  const spread = new Map<string, number>()
  for (const texts of labels) {
    for (const stem of new Set(texts.flatMap(({ parts }) => parts)))
      spread.set(stem, (spread.get(stem) ?? 0) + 1)
  }
  const weigh = (stem: string): number => {
    if (STOP.has(stem) || ignored.has(stem) || !said.has(stem)) return 0
    return rows.length === 1 ? 1 : Math.log(rows.length / (spread.get(stem) ?? 1)) / Math.log(rows.length)
  }
  const found = rows.map((row, at) => scoreRow(row, labels[at] ?? [], { stems, said, weigh }))
  const whole = found.filter((mention) => mention.whole)
  if (whole.length > 0)
    return distinct(whole.filter(({ row }) => !whole.some((other) => isPartOf(row, other.row))))
  const best = Math.max(...found.map(({ score }) => score), 0)
  return best < 0.2 ? [] : distinct(found.filter(({ score }) => score >= best - 0.05))
}

/** Whether a label is only a part of another one that was said. */
function isPartOf(row: Row, other: Row): boolean {
  const [parts, whole] = [stemsOf(row.label), stemsOf(other.label)]
  return parts.length < whole.length && parts.every((part) => whole.includes(part))
}

interface Said {
  readonly stems: readonly string[]
  readonly said: ReadonlyMap<string, readonly number[]>
  readonly weigh: (stem: string) => number
}

function scoreRow(row: Row, texts: readonly Text[], { stems, said, weigh }: Said): Mention {
  let score = 0
  let whole = false
  for (const { parts, main } of texts) {
    if (parts.length === 0) continue
    if (
      main &&
      parts.some((part) => !STOP.has(part)) &&
      containsRun(stems, said.get(parts[0] ?? ''), parts)
    ) {
      score = Math.max(score, 10 + parts.length)
      whole = true
    } else {
      const sum = [...new Set(parts)].reduce((total, part) => total + weigh(part), 0)
      score = Math.max(score, main ? sum : sum / 2)
    }
  }
  return { row, score, whole }
}

function containsRun(
  stems: readonly string[],
  starts: readonly number[] | undefined,
  parts: readonly string[],
): boolean {
  return (starts ?? []).slice(0, 50).some((at) => parts.every((part, step) => stems[at + step] === part))
}

interface Text {
  readonly parts: readonly string[]
  /** The label or the id, by which people call a thing; other fields only describe it. */
  readonly main: boolean
}

function textsOf(row: Row): Text[] {
  const texts: Text[] = [{ parts: stemsOf(row.label), main: true }]
  if (row.id !== undefined) texts.push({ parts: stemsOf(String(row.id)), main: true })
  for (const value of row.fields.values()) {
    if (
      typeof value === 'string' &&
      value.length <= LONGEST_LABEL &&
      value !== row.label &&
      value !== row.id
    ) {
      texts.push({ parts: stemsOf(value), main: false })
    }
  }
  return texts
}

/** One thing may have been seen many times. */
function distinct(mentions: readonly Mention[]): Mention[] {
  const seen = new Map<string, Mention>()
  for (const mention of mentions)
    seen.set(`${mention.row.idKey} ${mention.row.id ?? mention.row.label}`, mention)
  return [...seen.values()]
}
