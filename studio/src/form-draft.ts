/** Forms made from JSON Schema: what a person typed, and the value that it makes. Pure. */
import { isObject, type Json, type JsonObject, nameIn } from './types.ts'

export type Schema = JsonObject

/** Texts of inputs, booleans of checkboxes, and lists and objects of them. */
export type Draft = string | boolean | undefined | readonly Draft[] | { readonly [name: string]: Draft }

export type FieldKind = 'choice' | 'boolean' | 'number' | 'text' | 'object' | 'list' | 'json'

export interface Field {
  readonly kind: FieldKind
  readonly schema: Schema
  /** Of a choice. */
  readonly options: readonly Json[]
  /** Of an object: its fields in order. */
  readonly fields: readonly { readonly name: string; readonly schema: Schema; readonly isRequired: boolean }[]
  /** Of a list. */
  readonly item: Schema
}

/** `root`: where references begin. */
export function fieldOf(given: Schema, root: Schema): Field {
  const schema = resolved(given, root)
  const options = optionsOf(schema)
  const properties = isObject(schema['properties']) ? schema['properties'] : {}
  const required = Array.isArray(schema['required']) ? (schema['required'] as readonly Json[]) : []
  const fields = Object.entries(properties).map(([name, each]) => ({
    name,
    schema: isObject(each) ? each : {},
    isRequired: required.includes(name),
  }))
  const item = isObject(schema['items']) ? schema['items'] : {}
  return { schema, options, fields, item, kind: kindOf(schema, options) }
}

function kindOf(schema: Schema, options: readonly Json[]): FieldKind {
  if (options.length > 0) return 'choice'
  const types = [schema['type'] ?? null].flat().filter((type) => type !== 'null')
  if (types.length !== 1) return 'json'
  switch (nameIn(types[0])) {
    case 'boolean':
      return 'boolean'
    case 'number':
    case 'integer':
      return 'number'
    case 'string':
      return 'text'
    case 'object':
      return isObject(schema['properties']) ? 'object' : 'json'
    case 'array':
      return isObject(schema['items']) ? 'list' : 'json'
    default:
      return 'json'
  }
}

function optionsOf(schema: Schema): readonly Json[] {
  if (Array.isArray(schema['enum'])) return schema['enum'] as readonly Json[]
  if ('const' in schema) return [schema['const'] ?? null]
  const variants = variantsOf(schema)
  const constants = variants.flatMap((each) => ('const' in each ? [each['const'] ?? null] : []))
  return constants.length === variants.length ? constants : []
}

function variantsOf(schema: Schema): readonly Schema[] {
  const variants = schema['anyOf'] ?? schema['oneOf']
  return Array.isArray(variants) ? (variants as readonly Json[]).filter(isObject) : []
}

/** Follows references inside of the schema, and takes the one variant that is not null. */
function resolved(schema: Schema, root: Schema, depth = 0): Schema {
  const reference = schema['$ref']
  if (typeof reference === 'string' && depth < 20) {
    const found = reference
      .replace(/^#\/?/, '')
      .split('/')
      .filter((name) => name !== '')
      .map((name) => decodeURIComponent(name).replaceAll('~1', '/').replaceAll('~0', '~'))
      .reduce<Json | undefined>((place, name) => (isObject(place) ? place[name] : undefined), root)
    return isObject(found) ? resolved(found, root, depth + 1) : {}
  }
  const others = variantsOf(schema).filter(({ type }) => type !== 'null')
  const [only] = others
  if (others.length !== 1 || only === undefined || depth >= 20) return schema
  const { anyOf: _, oneOf: __, ...rest } = schema
  return { ...resolved(only, root, depth + 1), ...rest }
}

/** An optional object begins as undefined: nothing of it is shown or sent until it is added. So a schema may contain itself. */
export function draftOf(given: Schema, root: Schema, depth = 0): Draft {
  const { kind, schema, fields } = fieldOf(given, root)
  const preset = schema['default']
  if (preset !== undefined) return draftWith(given, root, preset)
  if (kind === 'list') return []
  if (kind === 'boolean') return undefined
  if (kind !== 'object') return ''
  if (depth > DEEPEST) return undefined
  return Object.fromEntries(
    fields.map((each) => [
      each.name,
      isOptionalObject(each, root) ? undefined : draftOf(each.schema, root, depth + 1),
    ]),
  )
}

const DEEPEST = 8

function isOptionalObject({ schema, isRequired }: Field['fields'][number], root: Schema): boolean {
  const field = fieldOf(schema, root)
  return !isRequired && field.kind === 'object' && field.schema['default'] === undefined
}

function draftWith(given: Schema, root: Schema, value: Json): Draft {
  const { kind, fields, options, item } = fieldOf(given, root)
  if (kind === 'choice')
    return String(options.findIndex((each) => JSON.stringify(each) === JSON.stringify(value))).replace(
      '-1',
      '',
    )
  if (kind === 'boolean') return value === true
  if (kind === 'list' && Array.isArray(value))
    return (value as readonly Json[]).map((each) => draftWith(item, root, each))
  if (kind === 'object' && isObject(value))
    return Object.fromEntries(
      fields.map((each) => {
        const part = value[each.name]
        if (part !== undefined) return [each.name, draftWith(each.schema, root, part)]
        return [each.name, isOptionalObject(each, root) ? undefined : draftOf(each.schema, root, DEEPEST)]
      }),
    )
  return kind === 'json'
    ? JSON.stringify(value, null, 2)
    : typeof value === 'string'
      ? value
      : JSON.stringify(value)
}

export interface Filled {
  /** Absent if nothing was given. */
  readonly value?: Json
  /** By the path of the field: `address.lines.0`. */
  readonly errors: Readonly<Record<string, string>>
}

export interface Place {
  readonly root: Schema
  readonly path: string
  readonly isRequired: boolean
}

export function filled(given: Schema, draft: Draft, place: Place): Filled {
  const field = fieldOf(given, place.root)
  if (field.kind === 'object') return filledObject(field, draft, place)
  if (field.kind === 'list') return filledList(field, draft, place)
  if (field.kind === 'boolean')
    return draft === undefined && !place.isRequired ? { errors: {} } : { value: draft === true, errors: {} }
  const text = typeof draft === 'string' ? draft : ''
  const [only, ...others] = field.options
  if (text === '' && place.isRequired && only !== undefined && others.length === 0)
    return { value: only, errors: {} }
  if (text.trim() === '') return place.isRequired ? failed(place, 'This is required.') : { errors: {} }
  if (field.kind === 'choice') return { value: field.options[Number(text)] ?? null, errors: {} }
  if (field.kind === 'number') return filledNumber(field, text, place)
  if (field.kind === 'json') return filledJson(text, place)
  return { value: text, errors: {} }
}

function filledNumber({ schema }: Field, text: string, place: Place): Filled {
  const value = Number(text.trim())
  if (!Number.isFinite(value)) return failed(place, 'Enter a number.')
  if (schema['type'] === 'integer' && !Number.isInteger(value)) return failed(place, 'Enter a whole number.')
  return { value, errors: {} }
}

function filledJson(text: string, place: Place): Filled {
  try {
    return { value: JSON.parse(text) as Json, errors: {} }
  } catch {
    return failed(place, 'Enter valid JSON.')
  }
}

function filledList({ item }: Field, draft: Draft, place: Place): Filled {
  const list = Array.isArray(draft) ? (draft as readonly Draft[]) : []
  const all = list.map((each, at) =>
    filled(item, each, { root: place.root, path: inner(place, String(at)), isRequired: true }),
  )
  const errors = Object.assign({}, ...all.map((each) => each.errors)) as Record<string, string>
  if (list.length === 0 && !place.isRequired) return { errors }
  return { value: all.map(({ value = null }) => value), errors }
}

function filledObject({ fields }: Field, draft: Draft, place: Place): Filled {
  const drafts = (typeof draft === 'object' ? draft : {}) as { readonly [name: string]: Draft }
  if (draft === undefined) return place.isRequired ? failed(place, 'This is required.') : { errors: {} }
  const all = fields.map(({ name, schema, isRequired }) => ({
    name,
    ...filled(schema, drafts[name], { root: place.root, path: inner(place, name), isRequired }),
  }))
  const given = all.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value] as const]))
  return {
    value: Object.fromEntries(given),
    errors: Object.assign({}, ...all.map((each) => each.errors)) as Record<string, string>,
  }
}

function failed({ path }: Place, message: string): Filled {
  return { errors: { [path]: message } }
}

export function inner({ path }: Pick<Place, 'path'>, name: string): string {
  return path === '' ? name : `${path}.${name}`
}
