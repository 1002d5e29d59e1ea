/**
 * What the JSON Schema of a tool says about its parameters, as far as rules can use it. Schemas come from strangers:
 * whatever is strange in one is left out, nothing throws, and no pattern is run that could take long.
 */

import type { ToolDeclaration } from '../model/language-model.ts'
import { ENTITY_MARK, type Json } from '../protocol/index.ts'
import { ID_WORDS, PARTICLES, STOP } from './grammar.ts'
import { foldText, type Token, tokenise } from './words.ts'

export type ParamType = 'string' | 'number' | 'integer' | 'boolean' | 'array' | 'object' | 'any'

export interface Param {
  readonly name: string
  /** Of the name. */
  readonly stems: readonly string[]
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
  readonly format?: string
  readonly pattern?: RegExp
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
  readonly nameTokens: readonly Token[]
  readonly params: readonly Param[]
}

type Shape = Readonly<Record<string, unknown>>

const MOST_PARAMS = 100
const DEEPEST = 4
const LONGEST_TEXT = 2000

/** Marks of entities that nobody has said anything about count for nothing. */
export function toolInfo(
  { name, description, inputSchema }: ToolDeclaration,
  entities: Readonly<Record<string, unknown>> = {},
): ToolInfo {
  const text = typeof description === 'string' ? description.slice(0, LONGEST_TEXT) : ''
  const root = isShape(inputSchema) ? inputSchema : {}
  const nameTokens = tokenise(name).filter(
    ({ word }) => PARTICLES.has(word) || (!STOP.has(word) && !ID_WORDS.has(word)),
  )
  const params = paramsOf(root, root, 0).map(({ entity, ...param }): Param => {
    return entity !== undefined && Object.hasOwn(entities, entity) ? { ...param, entity } : param
  })
  return { name, description: text, nameTokens, params }
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
    stems: tokens.map(({ stem }) => stem),
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

function limitsOf(shape: Shape): Pick<Param, 'format' | 'pattern' | 'minimum' | 'maximum' | 'default'> {
  const pattern = safePattern(shape['pattern'])
  const minimum = lowest(shape['minimum'], shape['exclusiveMinimum'], 1)
  const maximum = lowest(shape['maximum'], shape['exclusiveMaximum'], -1)
  return {
    ...(typeof shape['format'] === 'string' ? { format: shape['format'] } : {}),
    ...(pattern === undefined ? {} : { pattern }),
    ...(minimum === undefined ? {} : { minimum }),
    ...(maximum === undefined ? {} : { maximum }),
    ...(shape['default'] === undefined ? {} : { default: shape['default'] as Json }),
  }
}

function lowest(inclusive: unknown, exclusive: unknown, step: number): number | undefined {
  if (typeof inclusive === 'number') return inclusive
  return typeof exclusive === 'number' ? exclusive + step * Number.EPSILON : undefined
}

const LONGEST_PATTERN = 200

/** Patterns that repeat a repetition can take for ever, so they are not run at all. */
function safePattern(pattern: unknown): RegExp | undefined {
  if (typeof pattern !== 'string' || pattern.length > LONGEST_PATTERN) return undefined
  if (/\)[*+{?]|\\\d|\(\?/.test(pattern) || (pattern.match(/[*+]|\{\d+,/g)?.length ?? 0) > 3) return undefined
  try {
    return new RegExp(pattern, 'u')
  } catch {
    return undefined
  }
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
