/** What the rows of a result show: ids with their labels and parents. */
import type { Sighting } from '../protocol/index.ts'

/** Where a row has its value: the name of a field, a path such as `project.id`, or a function. */
export type RowField<Row> = string | ((row: Row) => unknown)

export interface RowFields<Row> {
  readonly id: RowField<Row>
  readonly label?: RowField<Row>
  readonly parent?: RowField<Row>
}

/** In their order; each thing once. Rows without an id are left out. */
export function sightingsIn<Row>(
  entity: string,
  rows: Iterable<Row>,
  { id, label, parent }: RowFields<Row>,
): readonly Sighting[] {
  const seen = new Map<string, Sighting>()
  for (const row of rows) {
    const known = textOf(valueOf(row, id))
    if (known === undefined || seen.has(known)) continue
    const name = label === undefined ? undefined : textOf(valueOf(row, label))
    const above = parent === undefined ? undefined : textOf(valueOf(row, parent))
    seen.set(known, {
      entity,
      id: known,
      ...(name === undefined ? {} : { label: name }),
      ...(above === undefined ? {} : { parent: above }),
    })
  }
  return [...seen.values()]
}

/** Ids and labels are texts; numbers are written as such, and anything else is none. */
export function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value === '' ? undefined : value
  return typeof value === 'number' && Number.isFinite(value) ? String(value) : undefined
}

function valueOf<Row>(row: Row, field: RowField<Row>): unknown {
  if (typeof field === 'function') return field(row)
  const own = valueAt(row, field)
  if (own !== undefined || !field.includes('.')) return own
  return field.split('.').reduce<unknown>((here, step) => valueAt(here, step), row)
}

function valueAt(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
  return (value as Record<string, unknown>)[name]
}
