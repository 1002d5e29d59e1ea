/**
 * The subject of a tool: the words of its name and description, and its parameters by JSON Schema. Schemas
 * come from strangers: whatever is strange in one is left out, nothing throws, and patterns are left to the tool.
 */

import type { ToolDeclaration } from '../model/language-model.ts'
import { ENTITY_MARK, type Json } from '../protocol/index.ts'
import { groupsOf, type Language, translated } from './request.ts'
import { CHANGE, ID_WORDS, LOOK, MANY, PARTICLES, QUALIFIERS, STOP } from './vocabulary.ts'
import { foldText, stemOf, stemsOf, type Token, tokenise } from './words.ts'

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

/** The subject of a tool, ready to be compared. */
export interface Profile {
  readonly tool: ToolInfo
  /** Stems of its name, and the forms that the name itself uses. */
  readonly name: readonly string[]
  readonly forms: ReadonlySet<string>
  /** All words by which the tool tells what it does, in its name or first in its description. */
  readonly verbs: readonly string[]
  /** Values that it may set, which people say as verbs. */
  readonly settings: readonly string[]
  /** The rest of its name. */
  readonly nouns: readonly string[]
  /** The best weight of every stem that the tool has anywhere. */
  readonly weights: ReadonlyMap<string, number>
  /** Whether it only looks, and whether it answers with many. */
  readonly looks: boolean
  readonly lists: boolean
}

export const WEIGHT = {
  name: 1,
  synonym: 0.6,
  verb: 0.8,
  description: 0.35,
  choice: 0.4,
  param: 0.3,
  about: 0.12,
  context: 0.5,
} as const

type Shape = Readonly<Record<string, unknown>>

const MOST_PARAMS = 100
const DEEPEST = 4
const LONGEST_TEXT = 2000

interface Around {
  /** Marks of entities that nobody has said anything about count for nothing. */
  readonly entities?: Readonly<Record<string, unknown>> | undefined
  readonly language: Language
}

export function profileOf(declaration: ToolDeclaration, { entities = {}, language }: Around): Profile {
  const { name: title, inputSchema } = declaration
  const description = textOf(declaration.description)
  const root = isShape(inputSchema) ? inputSchema : {}
  const params = paramsOf(root, root, 0).map(({ entity, ...param }): Param => {
    const kind = entity !== undefined && Object.hasOwn(entities, entity) ? { entity } : {}
    if (language === 'en') return { ...param, ...kind }
    const own = translated(tokenise(param.name), language)
    const about = [...own, ...translated(tokenise(param.description), language)]
    return {
      ...param,
      stems: own.map(({ stem }) => stem),
      about: new Set(about.map(({ word }) => word)),
      ...kind,
    }
  })
  const named = translated(tokenise(title), language).filter(
    ({ word }) => PARTICLES.has(word) || (!STOP.has(word) && !ID_WORDS.has(word)),
  )
  const described = translated(tokenise(description), language).filter(({ word }) => !STOP.has(word))
  return profileFrom({ name: title, description, params }, named, described)
}

function profileFrom(tool: ToolInfo, named: readonly Token[], described: readonly Token[]): Profile {
  const name = named.map(({ stem }) => stem)
  const first = described[0]?.stem ?? ''
  const spoken = verbsIn(name, first)
  const nouns = name.filter((stem) => !spoken.includes(stem))
  const verbs = first === '' || nouns.includes(first) ? spoken : [...new Set([...spoken, first])]
  const weights = new Map<string, number>()
  const put = (stem: string, weight: number): void => {
    if (weight > (weights.get(stem) ?? 0)) weights.set(stem, weight)
  }
  for (const stem of name) put(stem, WEIGHT.name)
  for (const stem of verbs) put(stem, WEIGHT.verb)
  for (const { stem } of described) put(stem, WEIGHT.description)
  for (const param of tool.params) putParam(param, put)
  const cues = [...name, ...verbs]
  const looks = cues.some((stem) => lookStems.has(stem)) && !cues.some((stem) => changeStems.has(stem))
  const lists =
    looks && (cues.some((stem) => manyStems.has(stem)) || described.some(({ word }) => MANY.has(word)))
  return {
    tool,
    name,
    forms: new Set(named.map(({ word }) => word)),
    verbs,
    settings: settingVerbs(verbs, tool.params),
    nouns,
    weights,
    looks,
    lists,
  }
}

const lookStems = new Set([...LOOK].map(stemOf))
const manyStems = new Set([...MANY].map(stemOf))
const changeStems = new Set([...CHANGE].map(stemOf))
const qualifierStems = new Set([...QUALIFIERS].map(stemOf))

/** The well-known verbs of a name; without one, the word that the description begins with, or else the first. */
function verbsIn(name: readonly string[], first: string): string[] {
  const known = name.filter((stem) => groupsOf(stem).length > 0)
  const [lead = ''] = name
  // Of several, those behind the first are nouns: `add_note`, `send_mail`, `list_orders`.
  const isLead = known.includes(lead) && !qualifierStems.has(lead)
  const own = isLead ? known.filter((stem) => stem === lead || qualifierStems.has(stem)) : known
  if (own.some((stem) => !qualifierStems.has(stem))) return own
  if (own.length === 0 && groupsOf(first).length > 0) return [first]
  const rest = name.filter((stem) => groupsOf(stem).length === 0)
  if (own.length > 0 && rest.length < 2) return own
  return [...own, ...(rest.includes(first) ? [first] : rest.slice(0, 1))]
}

const COMPLETE = groupsOf(stemOf('complete'))

/** Of a tool that updates: what it may set something to, such as `done`, which people say as a verb. */
function settingVerbs(verbs: readonly string[], params: readonly Param[]): string[] {
  if (!verbs.some((verb) => groupsOf(verb).some((group) => UPDATE.includes(group)))) return []
  const stems = params.flatMap(({ choices = [] }) =>
    choices.map((choice) => stemOf(foldText(String(choice)))),
  )
  return stems.filter((stem) => isCompletion(stem))
}

const UPDATE = groupsOf(stemOf('update'))

/** Whether a word says that something is finished. */
export function isCompletion(stem: string): boolean {
  return groupsOf(stem).some((group) => COMPLETE.includes(group))
}

function putParam(param: Param, put: (stem: string, weight: number) => void): void {
  for (const stem of param.stems) put(stem, WEIGHT.param)
  for (const choice of (param.choices ?? param.items?.choices ?? []).slice(0, 50))
    for (const stem of stemsOf(String(choice))) put(stem, WEIGHT.choice)
  for (const word of param.about) if (!STOP.has(word)) put(stemOf(word), WEIGHT.about)
}

/** Whether a word may stand for what the tool does. */
export function isAlike({ verbs }: Profile, stem: string): boolean {
  const groups = groupsOf(stem)
  return groups.length > 0 && verbs.some((verb) => groupsOf(verb).some((group) => groups.includes(group)))
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
