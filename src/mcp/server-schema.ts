/** JSON Schemas of servers: bounded, closed, and without anything that would act here. Knows no tools. */
import { ENTITY_MARK, type Json, type JsonObject, quote } from '../protocol/index.ts'
import { refOf, schemaNode, toJson } from '../tool/index.ts'
import { isHeavy } from './schema-work.ts'
import { seenText } from './seen-text.ts'

/** The schema that models read, and the one that arguments are checked by. */
export interface ServerSchema {
  readonly shown: JsonObject
  readonly checked: JsonObject
}

/** Of a tool, and of each part of its schema. */
export const LONGEST_DESCRIPTION = 8000
const LARGEST = 64 * 1024
const MOST_VALUES = 5000

/** The usable form of a schema, or why there is none. */
export function serverSchema(given: unknown): ServerSchema | string {
  const json = toJson(given, { values: MOST_VALUES, bytes: LARGEST })
  if (json instanceof Error) return json.message
  const schema = schemaNode(json)
  if (schema === undefined) return 'it is no object'
  if (schema['type'] !== 'object') return 'its top level is not of type object'
  const shown = cleaned(schema, SHOWN) as JsonObject
  const problem = refProblem(shown)
  if (problem !== undefined) return problem
  const checked = cleaned(shown, CHECKED) as JsonObject
  // Every object would take as long as the empty one, or longer.
  if (isHeavy(checked, {})) return 'its parts refer to each other so often that a check takes too many steps'
  return { shown, checked }
}

/** Keywords that are removed: marks of entities are the config's to make. */
const SHOWN: ReadonlySet<string> = new Set([ENTITY_MARK])
/** A regular expression of another program can stop this one for ever, so the server itself checks these. */
const EXPRESSIONS = ['pattern', 'patternProperties', 'propertyNames', 'format']
/** Words by which the validator would follow a reference to another place than the one that was looked at. */
const PLACES = ['$id', 'id', '$recursiveRef', '$recursiveAnchor']
const OWN_PLACES = ['__absolute_uri__', '__absolute_ref__', '__absolute_recursive_ref__']
const CHECKED: ReadonlySet<string> = new Set([...EXPRESSIONS, ...PLACES, ...OWN_PLACES])
const NAMED: ReadonlySet<string> = new Set([
  'properties',
  '$defs',
  'definitions',
  'dependentSchemas',
  'dependencies',
])
/** Keywords whose values are read by models and people. */
const TEXTS: ReadonlySet<string> = new Set(['title', 'description', '$comment'])
/** Keywords whose values are data. */
const DATA: ReadonlySet<string> = new Set([
  'default',
  'const',
  'enum',
  'examples',
  'required',
  'dependentRequired',
])

function cleaned(value: Json, removed: ReadonlySet<string>): Json {
  if (Array.isArray(value)) return (value as readonly Json[]).map((each) => cleaned(each, removed))
  const node = schemaNode(value)
  if (node === undefined) return value
  const isOpen = removed.has('patternProperties') && node['patternProperties'] !== undefined
  const entries = Object.entries(node as Record<string, Json>).flatMap(([word, inner]): [string, Json][] => {
    if (removed.has(word)) return []
    if (isOpen && (word === 'additionalProperties' || word === 'unevaluatedProperties')) return []
    if (DATA.has(word)) return [[word, inner]]
    if (TEXTS.has(word) && typeof inner === 'string') return [[word, seenText(inner, LONGEST_DESCRIPTION)]]
    const named = NAMED.has(word) ? schemaNode(inner) : undefined
    if (named === undefined) return [[word, cleaned(inner, removed)]]
    const each = Object.entries(named as Record<string, Json>).map(([name, of]) => [
      name,
      cleaned(of, removed),
    ])
    return [[word, Object.fromEntries(each) as JsonObject]]
  })
  return Object.fromEntries(entries)
}

interface RefWalk {
  readonly root: JsonObject
  /** Nodes that are being visited, over references. */
  readonly above: Set<JsonObject>
  /** Nodes without a cycle. */
  readonly done: Set<JsonObject>
  readonly targets: Map<string, JsonObject | undefined>
}

/** The first reference that leads nowhere, outside, or only back to itself. Nothing is ever fetched. */
function refProblem(root: JsonObject): string | undefined {
  const walk: RefWalk = { root, above: new Set(), done: new Set(), targets: new Map() }
  const look = (value: Json): string | undefined => {
    if (Array.isArray(value)) return firstOf(value as readonly Json[], look)
    const node = schemaNode(value)
    if (node === undefined) return undefined
    const inner = Object.entries(node as Record<string, Json>).filter(([word]) => !DATA.has(word))
    return (
      cycleProblem(walk, node) ??
      firstOf(
        inner.map(([, each]) => each),
        look,
      )
    )
  }
  return look(root)
}

/** Keywords that apply another schema to the same value: a cycle of these never ends. */
const LISTS = ['allOf', 'anyOf', 'oneOf']
const SINGLES = ['not', 'if', 'then', 'else']

function cycleProblem(walk: RefWalk, node: JsonObject): string | undefined {
  if (walk.done.has(node)) return undefined
  if (walk.above.has(node)) return 'a $ref in it leads back to itself'
  walk.above.add(node)
  const next = nextOf(walk, node)
  const problem = typeof next === 'string' ? next : firstOf(next, (each) => cycleProblem(walk, each))
  walk.above.delete(node)
  walk.done.add(node)
  return problem
}

function nextOf(walk: RefWalk, node: JsonObject): readonly JsonObject[] | string {
  const lists = LISTS.flatMap((word) => (Array.isArray(node[word]) ? (node[word] as readonly Json[]) : []))
  const same = [...lists, ...SINGLES.map((word) => node[word])].flatMap((each): readonly JsonObject[] => {
    const inner = schemaNode(each)
    return inner === undefined ? [] : [inner]
  })
  const ref = node['$ref'] ?? node['$dynamicRef']
  if (ref === undefined) return same
  const target = typeof ref === 'string' ? targetOf(walk, ref) : undefined
  return target === undefined ? `its $ref ${quote(ref)} leads to nothing in it` : [...same, target]
}

function targetOf({ root, targets }: RefWalk, ref: string): JsonObject | undefined {
  if (!targets.has(ref)) targets.set(ref, refOf(root, ref))
  return targets.get(ref)
}

function firstOf<T>(values: readonly T[], problemOf: (value: T) => string | undefined): string | undefined {
  for (const value of values) {
    const problem = problemOf(value)
    if (problem !== undefined) return problem
  }
  return undefined
}
