/**
 * Parameters by JSON Schema, and whether a value fits one. Schemas come from strangers: whatever is strange in one is left
 * out, nothing throws, and patterns are left to the tool.
 */
import type { ToolDeclaration } from '../model/language-model.ts'
import { ENTITY_MARK, type Json } from '../protocol/index.ts'
import { DATE_WORDS, EMAIL_WORDS, FALSE, ID_WORDS, NAME_WORDS, TRUE, URL_WORDS } from './lexicon.ts'
import type { Word } from './request.ts'
import type { Span } from './values.ts'
import { foldText, stemOf, stemsOf, tokenise } from './words.ts'

export type ParamType = 'string' | 'number' | 'integer' | 'boolean' | 'array' | 'object' | 'any'

export interface Param {
  readonly name: string
  /** Of the name: its stems, and for each word all keys that mean it. */
  readonly stems: readonly string[]
  readonly keys: readonly (readonly string[])[]
  /** Of name and description, small letters. */
  readonly about: ReadonlySet<string>
  readonly description: string
  readonly type: ParamType
  readonly required: boolean
  /** Whether it names one of several things that another tool may know. */
  readonly isId: boolean
  /** The kind of things that it is an id of, if the schema says so. */
  readonly entity?: string
  readonly choices?: readonly (string | number | boolean)[]
  /** For each choice its words, without those that say nothing. */
  readonly choiceWords?: readonly (readonly Word[])[]
  readonly format?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly default?: Json
  /** Of an array. */
  readonly items?: Param
  /** Of an object. */
  readonly params?: readonly Param[]
}

export interface ToolInfo {
  readonly name: string
  readonly description: string
  readonly params: readonly Param[]
}

type Shape = Readonly<Record<string, unknown>>

const MOST_PARAMS = 100
const DEEPEST = 4
const LONGEST_TEXT = 2000

/** A tool as it was declared. */
export function toolOf({ name, description, inputSchema }: ToolDeclaration): ToolInfo {
  const root = isShape(inputSchema) ? inputSchema : {}
  return { name, description: textOf(description), params: paramsOf(root, root, 0) }
}

function paramsOf(schema: Shape, root: Shape, depth: number): Param[] {
  const shape = settle(schema, root)
  const { properties } = shape
  if (!isShape(properties) || depth > DEEPEST) return []
  const required = new Set(Array.isArray(shape['required']) ? (shape['required'] as unknown[]) : [])
  return Object.entries(properties)
    .slice(0, MOST_PARAMS)
    .map(([name, value]) => paramOf({ name, value, required: required.has(name) }, root, depth))
}

interface Property {
  readonly name: string
  readonly value: unknown
  readonly required: boolean
}

function paramOf({ name, value, required }: Property, root: Shape, depth: number): Param {
  const own: Shape = isShape(value) ? value : {}
  const shape = settle(own, root)
  const description = textOf(own['description']) || textOf(shape['description']) || textOf(shape['title'])
  const tokens = tokenise(name)
  const about = new Set([...tokens, ...tokenise(description)].map(({ word }) => word))
  const type = typeOf(shape)
  const choices = choicesOf(shape)
  const nested: { items?: Param; params?: readonly Param[] } = {}
  if (type === 'array' && depth < DEEPEST) {
    nested.items = paramOf({ name, value: shape['items'], required: false }, root, depth + 1)
  }
  if (type === 'object') nested.params = paramsOf(shape, root, depth + 1)
  const last = tokens.at(-1)?.word ?? ''
  const entity = shape[ENTITY_MARK] ?? own[ENTITY_MARK]
  const scalar = type === 'string' || type === 'integer' || type === 'number' || type === 'any'
  return {
    name,
    stems: tokens.map(({ word }) => stemOf(word)),
    keys: [],
    about,
    description,
    type,
    required,
    isId: scalar && choices === undefined && (isText(entity) || ID_WORDS.has(last) || saysId(description)),
    ...(scalar && isText(entity) ? { entity } : {}),
    ...(choices === undefined ? {} : { choices }),
    ...limitsOf(shape),
    ...nested,
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

function saysId(description: string): boolean {
  return /^(?:the )?(?:unique )?(?:id|identifier|uuid)\b|\b(?:id|identifier|uuid) of\b/.test(
    foldText(description),
  )
}

function limitsOf(shape: Shape): Pick<Param, 'format' | 'minimum' | 'maximum' | 'default'> {
  const minimum = lowest(shape['minimum'], shape['exclusiveMinimum'], 1)
  const maximum = lowest(shape['maximum'], shape['exclusiveMaximum'], -1)
  return {
    ...(typeof shape['format'] === 'string' ? { format: shape['format'] } : {}),
    ...(minimum === undefined ? {} : { minimum }),
    ...(maximum === undefined ? {} : { maximum }),
    ...(shape['default'] === undefined ? {} : { default: shape['default'] as Json }),
  }
}

function lowest(inclusive: unknown, exclusive: unknown, step: number): number | undefined {
  if (typeof inclusive === 'number') return inclusive
  return typeof exclusive === 'number' ? exclusive + step * Number.EPSILON : undefined
}

/** The schema itself, with references followed, the first real alternative taken and parts put together. */
function settle(schema: Shape, root: Shape, depth = 0): Shape {
  if (depth > 8) return {}
  const ref = schema['$ref']
  if (typeof ref === 'string') return settle(refer(ref, root), root, depth + 1)
  const parts = listOf(schema['allOf'])
  if (parts.length > 0) {
    const { allOf: _all, ...rest } = schema
    return [rest, ...parts.slice(0, 20)].map((part) => settle(part, root, depth + 1)).reduce(merge)
  }
  const either = [...listOf(schema['anyOf']), ...listOf(schema['oneOf'])]
  if (either.length === 0) return schema
  const real = either.map((each) => settle(each, root, depth + 1)).filter((each) => each['type'] !== 'null')
  const constants = real.flatMap((each) => choicesOf(each) ?? [])
  const { anyOf: _any, oneOf: _one, ...rest } = schema
  const first =
    real.length > 0 && constants.length >= real.length
      ? { ...real[0], const: undefined, enum: constants }
      : real[0]
  return merge(first ?? {}, rest)
}

function merge(one: Shape, other: Shape): Shape {
  const properties = { ...(one['properties'] as object), ...(other['properties'] as object) }
  const required = [...arrayOf(one['required']), ...arrayOf(other['required'])]
  return {
    ...one,
    ...other,
    ...(Object.keys(properties).length > 0 ? { properties } : {}),
    ...(required.length > 0 ? { required } : {}),
  }
}

function refer(ref: string, root: Shape): Shape {
  if (!ref.startsWith('#')) return {}
  let at: unknown = root
  for (const step of ref.slice(1).split('/').filter(Boolean)) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~')
    at = isShape(at) && Object.hasOwn(at, key) ? at[key] : undefined
  }
  return isShape(at) ? at : {}
}

const TYPES: ReadonlySet<unknown> = new Set<ParamType>([
  'string',
  'number',
  'integer',
  'boolean',
  'array',
  'object',
])

function typeOf(shape: Shape): ParamType {
  const given = shape['type']
  const type: unknown = Array.isArray(given) ? given.find((each) => each !== 'null') : given
  if (TYPES.has(type)) return type as ParamType
  if (isShape(shape['properties'])) return 'object'
  return shape['items'] === undefined ? 'any' : 'array'
}

function choicesOf(shape: Shape): Param['choices'] {
  if (isChoice(shape['const'])) return [shape['const']]
  if (!Array.isArray(shape['enum'])) return undefined
  const choices = shape['enum'].filter(isChoice).slice(0, 500)
  return choices.length > 0 ? choices : undefined
}

function isChoice(value: unknown): value is string | number | boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, LONGEST_TEXT) : ''
}

function listOf(value: unknown): Shape[] {
  return arrayOf(value).filter(isShape)
}

function arrayOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

function isShape(value: unknown): value is Shape {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The kind of text that a parameter takes, if its schema or its words say so. */
export type TextForm = 'email' | 'url' | 'date' | 'datetime' | 'uuid'

export function formOfParam({ format, stems, about, type }: Param): TextForm | undefined {
  if (type !== 'string' && type !== 'any') return undefined
  if (format === 'email') return 'email'
  if (format === 'uri' || format === 'url') return 'url'
  if (format === 'date') return 'date'
  if (format === 'date-time') return 'datetime'
  if (format === 'uuid') return 'uuid'
  const last = stems.at(-1) ?? ''
  if (EMAIL_WORDS.has(last)) return 'email'
  if (URL_WORDS.has(last)) return 'url'
  const speaksOfDate = DATE_WORDS.has(last) || (about.has('date') && (about.has('iso') || about.has('yyyy')))
  return speaksOfDate ? 'date' : undefined
}

/** A found value as the parameter wants it, or undefined if it does not fit. */
export function fitSpan(param: Param, span: Span): Json | undefined {
  const form = formOfParam(param)
  if (form !== undefined && span.kind !== 'quoted' && span.kind !== 'literal' && !fitsForm(form, span.kind))
    return undefined
  return fitText(param, span.raw, span)
}

function fitsForm(form: TextForm, kind: Span['kind']): boolean {
  return form === kind || (form === 'date' && kind === 'datetime')
}

/** A written value as the parameter wants it, or undefined if it does not fit. */
export function fitText(param: Param, raw: string, span?: Span): Json | undefined {
  const text = raw.trim()
  if (text === '') return undefined
  if (param.choices !== undefined) return choiceOf(param.choices, text)
  switch (param.type) {
    case 'number':
    case 'integer':
      return fitNumber(param, span?.kind === 'number' ? Number(span.value) : plainNumber(text))
    case 'boolean': {
      const word = foldText(text)
      return TRUE.has(word) ? true : FALSE.has(word) ? false : undefined
    }
    case 'string':
    case 'any':
      if (param.type === 'any' && span?.kind === 'number') return span.value
      return text
    case 'array':
    case 'object':
    default:
      return undefined
  }
}

function plainNumber(text: string): number {
  return /^[+-]?\d{1,15}(?:\.\d{1,10})?$/.test(text) ? Number(text) : Number.NaN
}

function fitNumber({ type, minimum, maximum }: Param, value: number): number | undefined {
  if (!Number.isFinite(value) || (type === 'integer' && !Number.isInteger(value))) return undefined
  if ((minimum !== undefined && value < minimum) || (maximum !== undefined && value > maximum))
    return undefined
  return value
}

function choiceOf(choices: NonNullable<Param['choices']>, text: string): Json | undefined {
  const wanted = stemsOf(text).join(' ')
  return (
    choices.find((choice) => String(choice) === text) ??
    choices.find((choice) => foldText(String(choice)) === foldText(text)) ??
    choices.find((choice) => wanted !== '' && stemsOf(String(choice)).join(' ') === wanted)
  )
}

/** Whether a parameter takes the name of a thing, by which another tool may know it. */
export function isLabel({ type, required, choices, stems }: Param): boolean {
  return (
    type === 'string' &&
    required &&
    choices === undefined &&
    stems.length === 1 &&
    NAME_WORDS.has(stems[0] ?? '')
  )
}
