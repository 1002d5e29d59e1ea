/**
 * Checks the entity marks in a tool's input schema. A mark that no value reaches guards nothing, so it is an error at
 * definition. Does not know the entities.
 */
import { ENTITY_MARK, type Json, type JsonObject, quote } from '../protocol/index.ts'
import { itemSchemas, refOf, refTarget, schemaNode } from './schema-node.ts'

/** Why one of the marks is useless; undefined if none is. */
export function markProblem(root: JsonObject): string | undefined {
  const nodes = nodesIn(root)
  const marked = nodes.filter(({ node }) => node[ENTITY_MARK] !== undefined)
  if (marked.length === 0) return undefined
  const reached = closure(root, (node) => valueSchemas(node).map(({ schema }) => schema))
  const used = closure(root, (node) => parts(node).flatMap((part) => (part.isSpare ? [] : [part.schema])))
  for (const { node, where } of marked) {
    const mark = node[ENTITY_MARK]
    const here = `${ENTITY_MARK} at ${where === '' ? 'the top' : where}`
    if (!isNames(mark)) return `${here} must be the name of an entity or a list of names, not ${quote(mark)}`
    // A definition need not be used.
    if (!reached.has(node) && used.has(node))
      return `${here} is where no argument is looked at; put it on the schema of a value`
    if (reached.has(node) && !holdsId(node, root))
      return `${here} is on something that cannot be an id; put it on a text, a number or a list of these`
  }
  return referenceProblem(root, nodes)
}

/** A mark behind a reference that cannot be followed would guard nothing. */
function referenceProblem(root: JsonObject, nodes: readonly SchemaPlace[]): string | undefined {
  const hasIds = nodes.some(({ node }) => typeof (node['$id'] ?? node['id']) === 'string')
  for (const { node, where, base } of nodes) {
    const { $ref: ref } = node
    const other = ['$dynamicRef', '$recursiveRef'].find((word) => typeof node[word] === 'string')
    const isLost =
      typeof ref === 'string' &&
      (ref.startsWith('#')
        ? refTarget(root, ref) === undefined || (base !== root && refTarget(base, ref) !== undefined)
        : hasIds)
    if (other === undefined && !isLost) continue
    const shown = quote(other === undefined ? ref : node[other])
    return `the reference ${shown} at ${where === '' ? 'the top' : where} is not followed, and an ${ENTITY_MARK} behind it would guard nothing; write a \`$ref\` from the top of the schema, such as #/$defs/name, and no \`$id\` around it`
  }
  return undefined
}

/**
 * The place of a mark that only the output side of the schema has; undefined if there is none. Ids are judged by the marks
 * of the input side, so such a mark would guard nothing.
 */
export function markAfterConversion(written: JsonObject, converted: JsonObject): string | undefined {
  if (markNames(converted).length === 0) return undefined
  const known = new Set(markedPlaces(written))
  const isKnown = (place: string): boolean => {
    if (known.has(place)) return true
    const list = place.replace(/\[\d*\](?= \S+$)/, '')
    return list !== place && isKnown(list)
  }
  const late = markedPlaces(converted).find((place) => !isKnown(place))
  return late?.replace(/ \S+$/, '').replace(/^\./, '')
}

/** All entity names in the marks of a schema. */
export function markNames(root: JsonObject): readonly string[] {
  let names = NAMES_OF.get(root)
  if (names === undefined) {
    const marks = nodesIn(root).flatMap(({ node }) => node[ENTITY_MARK] ?? [])
    names = [...new Set(marks as readonly string[])]
    NAMES_OF.set(root, names)
  }
  return names
}

/** Read in every turn and every call. */
const NAMES_OF = new WeakMap<JsonObject, readonly string[]>()

interface SchemaPlace {
  readonly node: JsonObject
  readonly where: string
  /** The nearest schema around it with an `$id`, from which its references start; else the root. */
  readonly base: JsonObject
}

const NAMES = ['properties', 'patternProperties', 'dependentSchemas', '$defs', 'definitions']
/** Keywords whose values are no schemas. */
const DATA = ['default', 'const', 'enum', 'examples', 'required', ENTITY_MARK]

/** All nodes of a schema, reachable by a value or not. */
function nodesIn(root: JsonObject): readonly SchemaPlace[] {
  const found: SchemaPlace[] = []
  const look = (schema: Json | undefined, where: string, around: JsonObject): void => {
    const node = schemaNode(schema)
    if (node === undefined) return
    const id = node['$id'] ?? node['id']
    const base = typeof id === 'string' && !id.startsWith('#') ? node : around
    found.push({ node, where, base })
    for (const part of parts(node)) look(part.schema, where === '' ? part.at : `${where}.${part.at}`, base)
  }
  look(root, '', root)
  return found
}

interface SchemaPart {
  readonly at: string
  readonly schema: Json | undefined
  /** A definition, which need not be used. */
  readonly isSpare: boolean
}

/** Everything right inside of a node that may be a schema, by any keyword. */
function parts(node: JsonObject): readonly SchemaPart[] {
  return Object.entries(node).flatMap(([word, inner]) => {
    if (DATA.includes(word)) return []
    const isSpare = word === '$defs' || word === 'definitions'
    const named = NAMES.includes(word) ? schemaNode(inner) : undefined
    if (named === undefined) return listed(inner, word).map((part) => ({ ...part, isSpare }))
    return Object.entries(named).map(([name, schema]) => ({ at: `${word}.${name}`, schema, isSpare }))
  })
}

function listed(schema: Json | undefined, at: string): readonly Omit<SchemaPart, 'isSpare'>[] {
  if (!Array.isArray(schema)) return [{ at, schema }]
  return (schema as readonly Json[]).flatMap((item, index) => listed(item, `${at}[${index}]`))
}

/** The nodes that can be reached from the root by references and by the given step. */
function closure(
  root: JsonObject,
  inner: (node: JsonObject) => readonly (Json | undefined)[],
): ReadonlySet<JsonObject> {
  const reached = new Set<JsonObject>()
  const look = (schema: Json | undefined): void => {
    const node = schemaNode(schema)
    if (node === undefined || reached.has(node)) return
    reached.add(node)
    for (const each of inner(node)) look(each)
    if (typeof node['$ref'] === 'string') look(refOf(root, node['$ref']))
  }
  look(root)
  return reached
}

/** A schema that validates a value, or a part of it. `step` is the way to that part; empty for the value itself. */
interface ValueSchema {
  readonly step: string
  readonly schema: Json | undefined
}

function valueSchemas(node: JsonObject): readonly ValueSchema[] {
  const { first, rest } = itemSchemas(node)
  const at = (step: string, schemas: readonly (Json | undefined)[]): readonly ValueSchema[] =>
    schemas.map((schema) => ({ step, schema }))
  const fields = Object.entries(schemaNode(node['properties']) ?? {})
  const patterns = Object.entries(schemaNode(node['patternProperties']) ?? {})
  return [
    ...fields.map(([name, schema]) => ({ step: `.${name}`, schema })),
    ...patterns.flatMap(([source, schema]) => (isPattern(source) ? [{ step: `.${source}`, schema }] : [])),
    ...first.map((schema, index) => ({ step: `[${index}]`, schema })),
    ...at('[]', [rest, node['contains'], node['unevaluatedItems']]),
    ...at('.*', [node['additionalProperties'], node['unevaluatedProperties']]),
    ...at(' (names)', [node['propertyNames']]),
    ...at('', [...listOf(node['allOf']), node['then'], node['else']]),
    ...at('', Object.values(schemaNode(node['dependentSchemas']) ?? {})),
    ...alternatives(node['anyOf']),
    ...alternatives(node['oneOf']),
  ]
}

/** Null beside a single schema makes no alternative of it. */
function alternatives(choices: Json | undefined): readonly ValueSchema[] {
  const schemas = listOf(choices).filter((each) => schemaNode(each)?.['type'] !== 'null')
  return schemas.map((schema, index) => ({ step: schemas.length === 1 ? '' : `|${index}`, schema }))
}

/** `.items[].taskId task` for every mark that a value reaches, without the alternatives of the marked value itself. */
function markedPlaces(root: JsonObject): readonly string[] {
  const places: string[] = []
  const above = new Set<JsonObject>()
  const look = (schema: Json | undefined, place: string): void => {
    const node = schemaNode(schema)
    if (node === undefined || above.has(node)) return
    above.add(node)
    const marks = [node[ENTITY_MARK] ?? []].flat() as readonly string[]
    for (const mark of marks) places.push(`${place.replace(/(\|\d+)+$/, '')} ${mark}`)
    for (const { step, schema: inner } of valueSchemas(node)) look(inner, place + step)
    if (typeof node['$ref'] === 'string') look(refOf(root, node['$ref']), place)
    above.delete(node)
  }
  look(root, '')
  return places
}

/** Schemas may refer to themselves. */
const DEEPEST = 24

/** True if a fitting value can be a text, a number, or a list of these. */
function holdsId(schema: Json | undefined, root: JsonObject, left = DEEPEST): boolean {
  if (schema === false) return false
  const node = schemaNode(schema)
  if (node === undefined || left === 0) return true
  const holds = (inner: Json | undefined): boolean => holdsId(inner, root, left - 1)
  const { type, enum: values, anyOf, oneOf } = node
  if (type !== undefined && !types(type).some((name) => isIdType(name, node, holds))) return false
  if (type === undefined && node['properties'] !== undefined) return false
  if (Array.isArray(values) && !values.some(isIdValue)) return false
  if ('const' in node && !isIdValue(node['const'])) return false
  if (typeof node['$ref'] === 'string' && !holds(refOf(root, node['$ref']))) return false
  if ([anyOf, oneOf].some((all) => Array.isArray(all) && !all.some(holds))) return false
  return listOf(node['allOf']).every(holds)
}

function isIdType(name: Json, node: JsonObject, holds: (inner: Json | undefined) => boolean): boolean {
  if (name !== 'array') return name === 'string' || name === 'number' || name === 'integer'
  const { first, rest } = itemSchemas(node)
  return first.length === 0 ? holds(rest) : [...first, rest ?? false].some(holds)
}

function isIdValue(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'number' || Array.isArray(value)
}

function isNames(mark: Json | undefined): boolean {
  const names = Array.isArray(mark) ? (mark as readonly Json[]) : [mark]
  return names.length > 0 && names.every((name) => typeof name === 'string' && name !== '')
}

function isPattern(source: string): boolean {
  try {
    return new RegExp(source, 'u') instanceof RegExp
  } catch {
    return false
  }
}

function types(type: Json): readonly Json[] {
  return Array.isArray(type) ? (type as readonly Json[]) : [type]
}

function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? (value as readonly Json[]) : []
}
