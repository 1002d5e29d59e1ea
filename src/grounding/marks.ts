/**
 * Finds the ids in the arguments of a call: every path whose schema carries an entity mark, at any depth. Does not judge
 * them.
 */
import { defined, ENTITY_MARK, isObject, type Json, type JsonObject } from '../protocol/index.ts'
import { itemSchemas, refOf, type SchemaNode, schemaNode } from '../tool/index.ts'
import { type Entities, type MarkMeaning, readMark } from './entity.ts'
import { listOf, matchesSchema } from './schema-match.ts'

export type Path = readonly (string | number)[]

/** A value at a marked path. */
export interface FoundId {
  readonly path: Path
  /** Its entity; several if the schema leaves that open. */
  readonly entities: readonly string[]
  readonly given: Json
  /** The name of a property, not its value. */
  readonly isKey?: true
  /** Taken literally: no label and no position is read into it. */
  readonly isLiteral?: true
  /** The type that the schema declares here. */
  readonly wants?: 'number' | 'text'
  /** The part of a composite id. */
  readonly part?: string
  /** A destination: parts of other things may be beside it. */
  readonly isDestination?: true
}

/**
 * In the order of the arguments. Null and absent values are no ids. Any other value at a marked path is one, even if the
 * schema would reject it, so that a later conversion cannot create an unjudged id.
 */
export function idsIn(schema: JsonObject, args: Json): readonly FoundId[] {
  return [...walkArgs(schema, args).found.values()]
}

/** The ids and the undeclared fields of arguments, found in one walk. */
export interface Survey {
  readonly ids: readonly FoundId[]
  /** Fields of objects whose schema names its fields and does not name these. */
  readonly undeclared: () => readonly Path[]
  /**
   * Unmarked texts that fit the patterns of the given entities: values, and property names in objects without named fields.
   * Numbers, words and fixed values of the schema are excluded.
   */
  readonly unmarked: (entities: Entities) => readonly FoundId[]
}

export function surveyOf(schema: JsonObject, args: Json): Survey {
  const walk = walkArgs(schema, args)
  return {
    ids: [...walk.found.values()],
    undeclared: () => undeclaredIn(walk),
    unmarked: (entities) => unmarkedIn(walk, args, entities),
  }
}

function undeclaredIn({ objects }: Walk): readonly Path[] {
  return [...objects.values()].flatMap(({ value, path, declared, hasNames }) =>
    Object.keys(value)
      .filter((name) => hasNames && value[name] !== undefined && !declared.has(name))
      .map((name) => [...path, name]),
  )
}

function unmarkedIn({ found, fixed, objects }: Walk, args: Json, all: Entities): readonly FoundId[] {
  const candidates: FoundId[] = []
  const add = (value: Json, path: Path, isKey: boolean): void => {
    // Blanks around an id do not hide it: many tools trim.
    const given = typeof value === 'string' ? value.trim() : ''
    if (!looksLikeId(given)) return
    const key = keyOf(path, isKey)
    const isNamed = isKey && objects.get(keyOf(path.slice(0, -1)))?.hasNames === true
    if (isNamed || found.has(key) || fixed.has(key)) return
    const entities = [...all.values()]
      .filter(({ pattern, policy }) => policy !== 'off' && pattern?.test(given))
      .map(({ name }) => name)
    if (entities.length > 0)
      candidates.push({ path, entities, given, isLiteral: true, ...(isKey ? { isKey } : {}) })
  }
  const look = (value: Json, path: Path): void => {
    add(value, path, false)
    if (typeof value !== 'object' || value === null || path.length > DEEPEST) return
    const isList = Array.isArray(value)
    for (const [name, inner] of Object.entries(value)) {
      const at = [...path, isList ? Number(name) : name]
      if (!isList) add(name, at, true)
      if (inner !== undefined) look(inner, at)
    }
  }
  look(args, [])
  return candidates
}

/** A short number is a count, and a word is a word, whatever pattern they fit. */
function looksLikeId(text: string): boolean {
  return (/\d/.test(text) && !/^\d{1,4}$/.test(text)) || /[\p{L}\p{N}][-_.:/@#][\p{L}\p{N}]/u.test(text)
}

function walkArgs(schema: JsonObject, args: Json): Walk {
  const walk: Walk = { root: schema, found: new Map(), fixed: new Set(), objects: new Map() }
  visit(walk, schema, { value: args, path: [], visited: [] })
  return walk
}

/** A unique key per path. */
function keyOf(path: Path, isKey = false): string {
  let key = isKey ? 'name' : ''
  for (const step of path) key += typeof step === 'number' ? `[${step}` : `.${step.length}:${step}`
  return key
}

/** All entity names in the marks of a schema. */
export function entitiesIn(schema: JsonObject): readonly string[] {
  const names = new Set<string>()
  const look = (value: Json | undefined): void => {
    if (typeof value !== 'object' || value === null) return
    for (const mark of marksOf(value as JsonObject)) names.add(readMark(mark).entity)
    for (const inner of Object.values(value)) look(inner)
  }
  look(schema)
  return [...names]
}

/** The paths of a schema that take ids of an entity: `taskId`, `items[].taskId`. */
export function placesOf(schema: JsonObject, entity: string): readonly string[] {
  const places = new Set<string>()
  const above = new Set<JsonObject>()
  const look = (given: Json | undefined, place: string): void => {
    const node = schemaNode(given)
    if (node === undefined || above.has(node)) return
    above.add(node)
    if (marksOf(node).some((mark) => readMark(mark).entity === entity)) places.add(place)
    for (const [name, inner] of Object.entries(schemaNode(node['properties']) ?? {}))
      look(inner, place === '' ? name : `${place}.${name}`)
    const { first, rest } = itemSchemas(node)
    for (const inner of [...first, rest]) look(inner, `${place}[]`)
    for (const word of ['anyOf', 'oneOf', 'allOf'] as const)
      for (const inner of listOf(node[word])) look(inner, place)
    if (typeof node['$ref'] === 'string') look(refOf(schema, node['$ref']), place)
    above.delete(node)
  }
  look(schema, '')
  return [...places]
}

/** A copy without marks, for a service that rejects unknown keywords. */
export function withoutMarks(schema: JsonObject): JsonObject {
  const copy = (value: Json): Json => {
    if (Array.isArray(value)) return (value as readonly Json[]).map(copy)
    if (typeof value !== 'object' || value === null) return value
    const kept = Object.entries(value).filter(
      // A property may be named like the mark.
      ([key, inner]) => inner !== undefined && (key !== ENTITY_MARK || !isMark(inner)),
    )
    return Object.fromEntries(kept.map(([key, inner]) => [key, copy(inner as Json)]))
  }
  return copy(schema) as JsonObject
}

/** `['items', 2, 'taskId']` as `items[2].taskId`. */
export function placeText(path: Path): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === 'number') return `${text}[${step}]`
    if (!/^[\p{L}_$][\p{L}\p{N}_$-]*$/u.test(step)) return `${text}[${JSON.stringify(step)}]`
    return text === '' ? step : `${text}.${step}`
  }, '')
}

/** An id in the type of its path: a number if the schema wants one, or if one was given and the schema is open. */
export function writtenAt({ wants, given }: FoundId, id: string): string | number {
  const isNumber = wants === 'number' || (wants === undefined && typeof given === 'number')
  return isNumber && isNumeric(id) ? Number(id) : id
}

/** True if an id is a number that round-trips as one. */
export function isNumeric(id: string): boolean {
  return String(Number(id)) === id
}

/** A copy of the arguments with other values at some paths. A key is renamed in place, unless its new name is taken. */
export function withIds(
  args: Json,
  changes: readonly { readonly found: FoundId; readonly to: string | number }[],
): Json {
  const values = changes.filter(({ found }) => !found.isKey)
  // Keys last and inner ones first: each change uses the original path.
  const keys = changes
    .filter(({ found }) => found.isKey)
    .toSorted((a, b) => b.found.path.length - a.found.path.length)
  const changed = values.reduce((value, { found, to }) => changedAt(value, found.path, () => to), args)
  return keys.reduce(
    (value, { found, to }) =>
      changedAt(value, found.path.slice(0, -1), (owner) => renamed(owner, found.path.at(-1), String(to))),
    changed,
  )
}

/** Deeper arguments are refused by their validator. */
const DEEPEST = 250

interface Walk {
  readonly root: JsonObject
  readonly found: Map<string, FoundId>
  /** Paths whose value is one of those that the schema lists. */
  readonly fixed: Set<string>
  /** Objects with the fields that their schemas declare; `hasNames`: one of them names its fields. */
  readonly objects: Map<string, WalkedObject>
}

interface WalkedObject {
  readonly value: JsonObject
  readonly path: Path
  readonly declared: Set<string>
  hasNames: boolean
}

interface WalkedValue {
  readonly value: Json
  readonly path: Path
  /** The name of a property, not its value. */
  readonly isKey?: true
  /** The schemas already applied to this very value: schemas may refer to themselves, and alternatives to the same. */
  readonly visited: JsonObject[]
  /** The values in it, each made once for all schemas of this one. */
  inside?: Map<string | number, WalkedValue>
}

function valueIn(owner: WalkedValue, step: string | number, value: Json): WalkedValue {
  owner.inside ??= new Map()
  const known = owner.inside.get(step)
  if (known !== undefined) return known
  const place: WalkedValue = { value, path: [...owner.path, step], visited: [] }
  owner.inside.set(step, place)
  return place
}

/** A parsed node of a schema. Every call walks the schema and schemas never change, so each node is parsed once. */
interface Node extends Marked {
  readonly isFixed: boolean
  readonly ref: Json | undefined
  /** Schemas of the same value. */
  readonly same: readonly Json[]
  /** Lists of alternatives for the same value. */
  readonly choices: readonly (readonly Json[])[]
  readonly items: ReturnType<typeof itemSchemas>
  readonly anyItem: readonly Json[]
  /** Undefined if it names no fields. */
  readonly properties: JsonObject | undefined
  readonly patterns: readonly { readonly pattern: RegExp; readonly inner: Json }[]
  readonly otherFields: Json | undefined
  readonly anyField: Json | undefined
  readonly names: Json | undefined
  /** True if a non-empty schema covers fields that it does not name. */
  readonly declaresAll: boolean
}

/** The entities whose ids belong there. */
interface Marked {
  readonly marks: readonly MarkMeaning[]
  readonly wants: Pick<FoundId, 'wants'>
}

const NODES = new WeakMap<SchemaNode, Node>()

function nodeOf(schema: SchemaNode): Node {
  const known = NODES.get(schema)
  if (known !== undefined) return known
  const node = readNode(schema)
  NODES.set(schema, node)
  return node
}

function readNode(schema: SchemaNode): Node {
  const { allOf, anyOf, oneOf, contains, unevaluatedItems, additionalProperties } = schema
  const { unevaluatedProperties: anyField, propertyNames, then, else: otherwise } = schema
  const dependent = Object.values(schemaNode(schema['dependentSchemas']) ?? {})
  return {
    ...markedBy(schema),
    isFixed: isFixed(schema),
    ref: schema['$ref'],
    same: [...listOf(allOf), then, otherwise, ...dependent].filter((inner) => inner !== undefined),
    choices: [anyOf, oneOf].map(listOf).filter(({ length }) => length > 0),
    items: itemSchemas(schema),
    anyItem: [contains, unevaluatedItems].filter((inner) => inner !== undefined),
    properties: schemaNode(schema['properties']),
    patterns: Object.entries(schemaNode(schema['patternProperties']) ?? {}).flatMap(([source, inner]) => {
      const pattern = patternOf(source)
      return pattern === undefined || inner === undefined ? [] : [{ pattern, inner }]
    }),
    otherFields: additionalProperties,
    anyField,
    names: propertyNames,
    declaresAll: [additionalProperties, anyField, propertyNames].some(
      (other) => Object.keys(schemaNode(other) ?? {}).length > 0,
    ),
  }
}

function markedBy(schema: SchemaNode): Marked {
  return { marks: marksOf(schema).map(readMark), wants: wantedType(schema['type']) }
}

function visit(walk: Walk, given: Json | undefined, place: WalkedValue): void {
  const schema = schemaNode(given)
  if (schema === undefined || place.visited.includes(schema) || place.path.length > DEEPEST) return
  place.visited.push(schema)
  const node = nodeOf(schema)
  if (node.marks.length > 0) recordId(walk, node, place)
  if (node.isFixed && matchesSchema(schema, place.value, walk.root))
    walk.fixed.add(keyOf(place.path, place.isKey))
  sameValue(walk, node, place)
  if (Array.isArray(place.value)) inList(walk, node, place)
  else if (typeof place.value === 'object' && place.value !== null) inObject(walk, node, place)
}

function marksOf(schema: JsonObject): readonly string[] {
  const mark = schema[ENTITY_MARK]
  if (typeof mark === 'string') return [mark]
  return Array.isArray(mark) ? (mark as readonly Json[]).filter((name) => typeof name === 'string') : []
}

function isMark(value: Json): boolean {
  return (
    typeof value === 'string' || (Array.isArray(value) && value.every((name) => typeof name === 'string'))
  )
}

function recordId(
  walk: Walk,
  marked: Marked,
  { value, path, isKey }: Pick<WalkedValue, 'value' | 'path' | 'isKey'>,
): void {
  if (value === null) return
  if (Array.isArray(value)) {
    for (const [at, item] of (value as readonly Json[]).entries())
      recordId(walk, marked, { value: item, path: [...path, at] })
    return
  }
  const { marks, wants } = marked
  const part = marks.find((mark) => mark.part !== undefined)?.part
  const key = keyOf(path, isKey)
  const names = [...(walk.found.get(key)?.entities ?? []), ...marks.map(({ entity }) => entity)]
  walk.found.set(key, {
    path,
    entities: names.length < 2 ? names : [...new Set(names)],
    given: value,
    ...(isKey ? { isKey } : {}),
    ...wants,
    ...defined({ part }),
    ...(marks.some(({ isDestination }) => isDestination) ? { isDestination: true } : {}),
  })
}

/** Of a nullable type, the other one. */
function wantedType(type: Json | undefined): Pick<FoundId, 'wants'> {
  const types = (Array.isArray(type) ? (type as readonly Json[]) : [type]).filter((each) => each !== 'null')
  if (types.length > 0 && types.every((each) => each === 'number' || each === 'integer'))
    return { wants: 'number' }
  return types.length === 1 && types[0] === 'string' ? { wants: 'text' } : {}
}

/** Walks the other schemas of the same value; of alternatives, those that it matches. */
function sameValue(walk: Walk, { ref, same, choices }: Node, place: WalkedValue): void {
  if (typeof ref === 'string') visit(walk, refOf(walk.root, ref), place)
  for (const inner of same) visit(walk, inner, place)
  for (const all of choices) {
    const fitting = all.filter((inner) => matchesSchema(inner, place.value, walk.root))
    // One of a few fixed words, such as "all", is no id.
    if (fitting.some((inner) => isFixed(inner) && entitiesIn(inner as JsonObject).length === 0)) continue
    for (const inner of fitting.length > 0 ? fitting : all) visit(walk, inner, place)
  }
}

function isFixed(given: Json): boolean {
  const schema = schemaNode(given)
  return schema !== undefined && ('const' in schema || 'enum' in schema)
}

function inList(walk: Walk, { items: { first, rest }, anyItem }: Node, list: WalkedValue): void {
  for (const [at, item] of (list.value as readonly Json[]).entries()) {
    const place = valueIn(list, at, item)
    visit(walk, at < first.length ? first[at] : rest, place)
    for (const inner of anyItem) visit(walk, inner, place)
  }
}

function inObject(walk: Walk, node: Node, owner: WalkedValue): void {
  const { properties = {}, patterns, otherFields, anyField, names } = node
  const value = owner.value as JsonObject
  const declared = declaredIn(walk, node, { value, path: owner.path })
  for (const [name, inner] of Object.entries(value)) {
    if (inner === undefined) continue
    const place = valueIn(owner, name, inner)
    const matching = patterns.filter(({ pattern }) => pattern.test(name))
    const isNamed = Object.hasOwn(properties, name)
    if (isNamed || matching.length > 0) declared.add(name)
    if (isNamed) visit(walk, properties[name], place)
    for (const each of matching) visit(walk, each.inner, place)
    if (!isNamed && matching.length === 0) visit(walk, otherFields, place)
    visit(walk, anyField, place)
    visit(walk, names, { value: name, path: place.path, isKey: true, visited: [] })
  }
}

/** The set of declared fields of an object. A non-empty schema for other fields declares all of them. */
function declaredIn(
  walk: Walk,
  { properties, declaresAll }: Node,
  { value, path }: { readonly value: JsonObject; readonly path: Path },
): Set<string> {
  const key = keyOf(path)
  const here = walk.objects.get(key) ?? { value, path, declared: new Set<string>(), hasNames: false }
  walk.objects.set(key, here)
  here.hasNames ||= properties !== undefined
  if (declaresAll) for (const name of Object.keys(value)) here.declared.add(name)
  return here.declared
}

function patternOf(source: string): RegExp | undefined {
  try {
    return new RegExp(source, 'u')
  } catch {
    return undefined
  }
}

function changedAt(value: Json, path: Path, change: (old: Json) => Json): Json {
  const [step, ...rest] = path
  if (step === undefined) return change(value)
  if (Array.isArray(value))
    return (value as readonly Json[]).map((item, at) => (at === step ? changedAt(item, rest, change) : item))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      key === step ? changedAt(inner as Json, rest, change) : inner,
    ]),
  )
}

function renamed(owner: Json, from: string | number | undefined, to: string): Json {
  if (!isObject(owner) || Object.hasOwn(owner, to)) return owner
  return Object.fromEntries(Object.entries(owner).map(([key, inner]) => [key === from ? to : key, inner]))
}
