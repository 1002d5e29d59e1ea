/**
 * Checks the entity marks in a tool's input schema. A mark that no value reaches guards nothing, so it is an error at
 * definition. Does not know the entities.
 */
import { ENTITY_MARK, type Json, type JsonObject, quote } from '../protocol/index.ts'
import { itemSchemas, refOf, schemaNode } from './schema-node.ts'

/** Why one of the marks is useless; undefined if none is. */
export function markProblem(root: JsonObject): string | undefined {
  const reached = new Set<JsonObject>()
  reach({ root, reached }, root)
  const names = new Set<JsonObject>()
  for (const node of reached) {
    const named = schemaNode(node['propertyNames'])
    if (named !== undefined) names.add(named)
  }
  for (const { node, where, isSpare } of markedNodes(root)) {
    const mark = node[ENTITY_MARK]
    const here = `${ENTITY_MARK} at ${where === '' ? 'the top' : where}`
    if (!isNames(mark)) return `${here} must be the name of an entity or a list of names, not ${quote(mark)}`
    if (names.has(node) || isSpare) continue
    if (!reached.has(node))
      return `${here} is where no argument is looked at; put it on the schema of a value`
    if (!holdsId(node, root))
      return `${here} is on something that cannot be an id; put it on a text, a number or a list of these`
  }
  return undefined
}

/** All entity names in the marks of a schema. */
export function markNames(root: JsonObject): readonly string[] {
  let names = NAMES_OF.get(root)
  if (names === undefined) {
    const marks = markedNodes(root).map(({ node }) => node[ENTITY_MARK])
    names = [...new Set(marks.flat() as readonly string[])]
    NAMES_OF.set(root, names)
  }
  return names
}

/** Read in every turn and every call. */
const NAMES_OF = new WeakMap<JsonObject, readonly string[]>()

interface MarkedNode {
  readonly node: JsonObject
  readonly where: string
  /** Part of a definition, which need not be used. */
  readonly isSpare: boolean
}

const NAMES = ['properties', 'patternProperties', 'dependentSchemas', '$defs', 'definitions']
/** Keywords whose values are no schemas. */
const DATA = ['default', 'const', 'enum', 'examples', 'required', ENTITY_MARK]

/** All marked nodes of a schema, reachable by a value or not. */
function markedNodes(root: JsonObject): readonly MarkedNode[] {
  const found: MarkedNode[] = []
  const look = (value: Json | undefined, { where, isSpare }: Omit<MarkedNode, 'node'>): void => {
    if (Array.isArray(value)) {
      for (const [at, item] of (value as readonly Json[]).entries())
        look(item, { where: `${where}[${at}]`, isSpare })
      return
    }
    const node = schemaNode(value)
    if (node === undefined) return
    if (node[ENTITY_MARK] !== undefined) found.push({ node, where, isSpare })
    for (const [word, inner] of Object.entries(node)) {
      if (DATA.includes(word)) continue
      const path = where === '' ? word : `${where}.${word}`
      const spare = isSpare || word === '$defs' || word === 'definitions'
      const named = NAMES.includes(word) ? schemaNode(inner) : undefined
      if (named === undefined) look(inner, { where: path, isSpare: spare })
      else
        for (const [name, each] of Object.entries(named))
          look(each, { where: `${path}.${name}`, isSpare: spare })
    }
  }
  look(root, { where: '', isSpare: false })
  return found
}

interface SchemaWalk {
  readonly root: JsonObject
  readonly reached: Set<JsonObject>
}

/** Collects every schema that some argument is validated by. */
function reach(walk: SchemaWalk, schema: Json | undefined): void {
  const node = schemaNode(schema)
  if (node === undefined || walk.reached.has(node)) return
  walk.reached.add(node)
  const { first, rest } = itemSchemas(node)
  const patterns = Object.entries(schemaNode(node['patternProperties']) ?? {})
  const inner: readonly (Json | undefined)[] = [
    ...Object.values(schemaNode(node['properties']) ?? {}),
    ...patterns.flatMap(([source, each]) => (isPattern(source) ? [each] : [])),
    ...Object.values(schemaNode(node['dependentSchemas']) ?? {}),
    ...first,
    rest,
    ...['allOf', 'anyOf', 'oneOf'].flatMap((word) => listOf(node[word])),
    ...['then', 'else', 'contains', 'additionalProperties', 'unevaluatedProperties', 'unevaluatedItems'].map(
      (word) => node[word],
    ),
    typeof node['$ref'] === 'string' ? refOf(walk.root, node['$ref']) : undefined,
  ]
  for (const each of inner) reach(walk, each)
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
