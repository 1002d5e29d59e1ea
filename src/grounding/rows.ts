/** Reads sightings from the rows of a result: ids with their labels and parents. */
import {
  checkOptions,
  defined,
  invalidOption,
  type OptionRules,
  quote,
  type Sighting,
  shown,
} from '../protocol/index.ts'
import { matchesIn } from './mentions.ts'

/**
 * A field of a row: a name, a path such as `project.id`, several of these for a composite key, or a function. `$key` is the
 * row's key in a record, `$value` is the row itself, and `$input.orderId` is a field of the call's input.
 */
export type RowField<Row> = string | readonly string[] | ((row: Row) => unknown)

export interface RowFields<Row> {
  readonly id: RowField<Row>
  readonly label?: RowField<Row>
  /** Tells rows with the same label apart, for people: a town, a date. */
  readonly detail?: RowField<Row>
  readonly parent?: RowField<Row>
  /** `id` is a text, and each part of it that fits the entity's `pattern` is an id. */
  readonly matches?: true
}

const FIELDS: OptionRules<RowFields<unknown>> = {
  id: null,
  label: null,
  detail: null,
  parent: null,
  matches: 'true or false',
}

/** Throws `invalid-option` for fields that no row can be read by, which would show nothing. */
export function checkFields(place: string, fields: unknown): void {
  checkOptions(fields, { place, options: FIELDS, foreign: { key: 'id', name: 'label', title: 'label' } })
  const { matches: _, ...named } = fields as Partial<RowFields<unknown>>
  if (named.id === undefined) throw invalidOption(place, "needs an `id`, such as { id: 'id', label: 'name' }")
  for (const [name, field] of Object.entries(named))
    if (field !== undefined && !isField(field))
      throw invalidOption(
        `\`${name}\` of ${place}`,
        `must be the name of a field, a list of names, or a function of the row, not ${shown(field)}`,
      )
}

function isField(field: unknown): boolean {
  if (typeof field === 'function') return true
  const names: unknown[] = [field].flat()
  return names.length > 0 && names.every((name) => typeof name === 'string' && name !== '')
}

/** The entity of the rows: its name and pattern. */
export interface RowEntity {
  readonly name: string
  readonly pattern?: RegExp
}

/** Rows in a list, in a record by key, or one text. */
export type Rows<Row> = Iterable<Row> | { readonly [key: string]: Row }

/** The separator between the fields of a composite key. */
const KEY_JOINT = '|'

/** Joins values into a composite id. The separator is escaped inside of a value. */
export function joinedKey(values: readonly string[]): string {
  return values.map((value) => value.replace(/[\\|]/g, '\\$&')).join(KEY_JOINT)
}

/** A separator that no backslash escapes. */
const JOINT = /(?<=(?:^|[^\\])(?:\\\\)*)\|/

/** The values of a composite id. */
export function keyValues(id: string): readonly string[] {
  return id.split(JOINT).map((value) => value.replace(/\\([\\|])/g, '$1'))
}

/** The sightings of rows, in order. Rows without an id are skipped. */
export function sightingsIn<Row>(
  entity: RowEntity,
  rows: Rows<Row>,
  { input, ...fields }: RowFields<Row> & { readonly input?: unknown },
): readonly Sighting[] {
  const rowsOf = `rows() of the entity ${quote(entity.name)}`
  checkFields(rowsOf, fields)
  if (typeof rows !== 'string' && (typeof rows !== 'object' || (rows as unknown) === null))
    throw invalidOption(rowsOf, `needs rows, not ${shown(rows)}`)
  const placed = placedRows(rows)
  if (typeof rows !== 'string') noteMissingField(entity, placed, fields.id as RowField<unknown>)
  return sightingsAt(entity, placed, { ...fields, input } as RowFields<unknown>)
}

/** Runs `read` and collects a problem for each list of rows in which no row has the id field. */
export function withRowProblems<T>(read: () => T): {
  readonly result: T
  readonly problems: readonly string[]
} {
  const before = problemsSoFar
  const problems: string[] = []
  problemsSoFar = problems
  try {
    return { result: read(), problems }
  } finally {
    problemsSoFar = before
  }
}

/** The problems of the current read. Reads are synchronous, so there is one at a time. */
let problemsSoFar: string[] | undefined

function noteMissingField({ name }: RowEntity, rows: readonly PlacedRow[], id: RowField<unknown>): void {
  if (problemsSoFar === undefined || rows.length === 0 || typeof id === 'function') return
  const missing = [id]
    .flat()
    .find((field) => !field.startsWith('$') && rows.every(({ row }) => lacks(row, field)))
  if (missing === undefined) return
  const names = [...new Set(rows.flatMap(({ row }) => Object.keys(row as object)))].slice(0, MOST_NAMES)
  problemsSoFar.push(
    `none of ${rows.length} rows of ${JSON.stringify(name)} has the field ${JSON.stringify(missing)}; they have: ${names.join(', ')}`,
  )
}

const MOST_NAMES = 12

/** An empty row or a non-object reveals nothing about its fields. */
function lacks(row: unknown, field: string): boolean {
  if (typeof row !== 'object' || row === null || Object.keys(row).length === 0) return false
  const [first = field] = field.split('.')
  return !Object.hasOwn(row, field) && !Object.hasOwn(row, first)
}

/** A row with its key in a record. */
interface PlacedRow {
  readonly row: unknown
  readonly key?: string
}

/** The sightings of rows at paths of an output, such as `orders[]`, `byId.*` or, for the output itself, the empty text. */
export function sightingsByPlace(
  places: readonly { readonly steps: readonly string[]; readonly mapping: PlaceMapping }[],
  { output, input }: { readonly output: unknown; readonly input?: unknown },
): readonly Sighting[] {
  return places.flatMap(({ steps, mapping: { entity, ...fields } }) => {
    const rows = rowsAt({ row: output }, steps)
    // A single object may be something else, such as an error.
    if (steps.includes('[]') || steps.includes('*')) noteMissingField(entity, rows, fields.id)
    return sightingsAt(entity, rows, { ...fields, input })
  })
}

export interface PlaceMapping extends RowFields<unknown> {
  readonly entity: RowEntity
}

function sightingsAt(
  { name, pattern }: RowEntity,
  rows: readonly PlacedRow[],
  fields: RowFields<unknown> & { readonly input?: unknown },
): readonly Sighting[] {
  // A thing in two rows appears twice: people count rows.
  const seen: Sighting[] = []
  for (const placed of rows) {
    const read = (field: RowField<unknown> | undefined): string | undefined =>
      field === undefined ? undefined : fieldOf(placed, field, fields.input)
    const id = read(fields.id)
    const ids = id === undefined ? [] : fields.matches ? matchesIn(id, pattern) : [id]
    for (const known of ids) {
      const [label, detail, parent] = [fields.label, fields.detail, fields.parent].map(read)
      seen.push({
        entity: name,
        id: known,
        ...defined({ label, detail, parent }),
      })
    }
  }
  return seen
}

function placedRows(rows: Rows<unknown>): readonly PlacedRow[] {
  if (typeof rows === 'string') return [{ row: rows }]
  if (Symbol.iterator in rows) return [...(rows as Iterable<unknown>)].map((row) => ({ row }))
  return Object.entries(rows).map(([key, row]) => ({ row, key }))
}

function rowsAt(placed: PlacedRow, steps: readonly string[]): readonly PlacedRow[] {
  const [step, ...rest] = steps
  const { row } = placed
  if (step === undefined) return [placed]
  if (typeof row !== 'object' || row === null) return []
  if (step === '[]') return Array.isArray(row) ? row.flatMap((item) => rowsAt({ row: item }, rest)) : []
  if (step === '*') return Object.entries(row).flatMap(([key, item]) => rowsAt({ row: item, key }, rest))
  return Object.hasOwn(row, step) ? rowsAt({ row: (row as Record<string, unknown>)[step] }, rest) : []
}

/** Ids and labels are texts; numbers are converted, and other values are none. */
export function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value === '' ? undefined : value
  return typeof value === 'number' && Number.isFinite(value) ? String(value) : undefined
}

/** A composite key is complete or absent. */
function fieldOf(placed: PlacedRow, field: RowField<unknown>, input: unknown): string | undefined {
  if (typeof field === 'function') return textOf(field(placed.row))
  if (typeof field === 'string') return textOf(valueOf(placed, field, input))
  const parts = field.map((each) => textOf(valueOf(placed, each, input)))
  return parts.includes(undefined) ? undefined : joinedKey(parts as readonly string[])
}

function valueOf({ row, key }: PlacedRow, field: string, input: unknown): unknown {
  if (field === '$key') return key
  if (field === '$value') return row
  if (field.startsWith(INPUT)) return pathOf(input, field.slice(INPUT.length))
  return pathOf(row, field)
}

const INPUT = '$input.'

function pathOf(value: unknown, field: string): unknown {
  const own = valueAt(value, field)
  if (own !== undefined || !field.includes('.')) return own
  return field.split('.').reduce<unknown>((here, step) => valueAt(here, step), value)
}

function valueAt(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
  return (value as Record<string, unknown>)[name]
}
