/** Forms made from JSON Schema: what a person typed, and the value that it makes. Pure. */
import { isObject, type Json, type JsonObject, nameIn, textIn } from './types.ts'

export type Schema = JsonObject

/** Texts of inputs, booleans of checkboxes, and lists and objects of them. */
export type Draft = string | boolean | undefined | readonly Draft[] | { readonly [name: string]: Draft }

export type FieldKind = 'choice' | 'boolean' | 'number' | 'text' | 'object' | 'list' | 'json'

export interface Field {
  readonly kind: FieldKind
  readonly schema: Schema
  /** Of a choice. */
  readonly options: readonly Json[]
  /** The titles of the options, where the schema gives them one. */
  readonly labels: readonly (string | undefined)[]
  /** Null is a value, too: of a required field that is left empty. */
  readonly isNullable: boolean
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
  const labels = schema['enum'] === undefined ? variantsOf(schema).map(({ title }) => textIn(title)) : []
  const isNullable = schema['nullable'] === true || typesOf(schema).includes('null')
  return { schema, options, labels, fields, item, isNullable, kind: kindOf(schema, options) }
}

function typesOf(schema: Schema): readonly Json[] {
  return [schema['type'] ?? []].flat()
}

function kindOf(schema: Schema, options: readonly Json[]): FieldKind {
  if (options.length > 0) return 'choice'
  const types = typesOf(schema).filter((type) => type !== 'null')
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

/** A name of a reference; one that is not encoded stays as it is. */
function decoded(name: string): string {
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}

/** Follows references inside of the schema, and takes the one variant that is not null: `nullable` says that there was one. */
function resolved(schema: Schema, root: Schema, depth = 0): Schema {
  const reference = schema['$ref']
  if (typeof reference === 'string' && depth < 20) {
    const found = reference
      .replace(/^#\/?/, '')
      .split('/')
      .filter((name) => name !== '')
      .map((name) => decoded(name).replaceAll('~1', '/').replaceAll('~0', '~'))
      .reduce<Json | undefined>((place, name) => (isObject(place) ? place[name] : undefined), root)
    return isObject(found) ? resolved(found, root, depth + 1) : {}
  }
  const variants = variantsOf(schema)
  const others = variants.filter(({ type }) => type !== 'null')
  const [only] = others
  if (others.length !== 1 || only === undefined || depth >= 20) return schema
  const { anyOf: _, oneOf: __, ...rest } = schema
  const nullable = others.length < variants.length ? { nullable: true } : {}
  return { ...resolved(only, root, depth + 1), ...rest, ...nullable }
}

/** An object that may be absent or null begins as undefined: nothing of it is shown until it is added. So a schema may contain itself. */
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
  const isLeftOut = !isRequired || field.isNullable
  return isLeftOut && field.kind === 'object' && field.schema['default'] === undefined
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
        const part = Object.hasOwn(value, each.name) ? value[each.name] : undefined
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
    return draft === undefined && (field.isNullable || !place.isRequired)
      ? missing(field, place)
      : { value: draft === true, errors: {} }
  const text = typeof draft === 'string' ? draft : ''
  const [only, ...others] = field.options
  if (text === '' && place.isRequired && only !== undefined && others.length === 0)
    return { value: only, errors: {} }
  if (text.trim() === '') return missing(field, place)
  if (field.kind === 'choice') return { value: field.options[Number(text)] ?? null, errors: {} }
  if (field.kind === 'number') return filledNumber(field, text, place)
  if (field.kind === 'json') return filledJson(text, place)
  return { value: text, errors: {} }
}

function missing({ isNullable }: Field, place: Place): Filled {
  if (!place.isRequired) return { errors: {} }
  return isNullable ? { value: null, errors: {} } : failed(place, 'This is required.')
}

function filledNumber({ schema }: Field, text: string, place: Place): Filled {
  const value = Number(text.trim())
  if (!Number.isFinite(value)) return failed(place, 'Enter a number.')
  if (schema['type'] === 'integer' && !Number.isInteger(value)) return failed(place, 'Enter a whole number.')
  // It would be sent as another one.
  if (Number.isInteger(value) && !Number.isSafeInteger(value))
    return failed(place, 'This number has too many digits.')
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
  const errors = errorsOf(all)
  if (list.length === 0 && !place.isRequired) return { errors }
  return { value: all.map(({ value = null }) => value), errors }
}

function filledObject(field: Field, draft: Draft, place: Place): Filled {
  const drafts = (typeof draft === 'object' ? draft : {}) as { readonly [name: string]: Draft }
  if (draft === undefined) return missing(field, place)
  const all = field.fields.map(({ name, schema, isRequired }) => ({
    name,
    ...filled(schema, drafts[name], { root: place.root, path: inner(place, name), isRequired }),
  }))
  const given = all.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value] as const]))
  return { value: Object.fromEntries(given), errors: errorsOf(all) }
}

/** Without a prototype: a field may have any name. */
function errorsOf(all: readonly Filled[]): Filled['errors'] {
  return Object.assign(Object.create(null) as object, ...all.map(({ errors }) => errors)) as Filled['errors']
}

export function errorAt(errors: Filled['errors'], path: string): string | undefined {
  return Object.hasOwn(errors, path) ? errors[path] : undefined
}

function failed({ path }: Place, message: string): Filled {
  return { errors: { [path]: message } }
}

export function inner({ path }: Pick<Place, 'path'>, name: string): string {
  return path === '' ? name : `${path}.${name}`
}
