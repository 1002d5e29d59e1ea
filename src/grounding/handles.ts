/**
 * Handles: short codes for long ids in prompts, such as `p~k7m2`, which a model copies easily and which cost few tokens. A
 * code depends on its id alone, so it is the same in every prompt, and an invented one maps to nothing. The sign keeps
 * codes apart from people's texts.
 */
import { ENTITY_MARK, type Json, type JsonObject, type Sighting } from '../protocol/index.ts'
import type { Entities } from './entity.ts'
import { type FoundId, idsIn, withIds, writtenAt } from './marks.ts'
import { textOf } from './rows.ts'

export interface Handles {
  /** The code of an id; the id itself if it was never seen. */
  readonly encode: (entity: string, id: string) => string
  /** The id of a code; undefined for other texts. */
  readonly decode: (entity: string, handle: string) => string | undefined
  /**
   * Replaces ids in a result by codes: the given sightings, or all known ones. A numeric value counts as an id only where
   * the field's name ends with id.
   */
  readonly encodeOutput: (output: Json, seen?: readonly Sighting[]) => Json
  /** Replaces ids in arguments by codes, at every marked path. */
  readonly encodeArgs: (parameters: JsonObject, args: Json) => Json
  /** The reverse. A number sent as a text becomes a number again where the schema wants one. */
  readonly decodeArgs: (parameters: JsonObject, args: Json) => Json
  /** Replaces codes by ids anywhere in texts. */
  readonly decodeTexts: (value: Json) => Json
}

/**
 * `sightings` oldest first. More of them add codes and change none. No two things of an entity share a code, and no code
 * equals an id seen before it. Of two ids with the same hash, one in half a million, the later one gets another code.
 */
export function handleTable(entities: Entities, sightings: Iterable<Sighting>): Handles {
  const tables = new Map<string, Table>()
  const prefixes = prefixesOf(entities)
  for (const { entity, id } of sightings) {
    const table = tables.get(entity) ?? new Table(prefixes.get(entity) ?? `${entity}~`)
    tables.set(entity, table)
    table.add(id)
  }
  const encode = (entity: string, id: string): string => tables.get(entity)?.handles.get(id) ?? id
  const decode = (entity: string, handle: string): string | undefined => tables.get(entity)?.ids.get(handle)
  const all = new Map<string, string>()
  const back = new Map<string, string>()
  for (const { handles } of tables.values())
    for (const [id, handle] of handles) {
      all.set(id, handle)
      back.set(handle, id)
    }
  return {
    encode,
    decode,
    encodeOutput: (output, seen) => {
      const codes = seen && new Map(seen.map(({ entity, id }) => [id, encode(entity, id)]))
      return encoded(output, codes ?? all, false)
    },
    encodeArgs: (parameters, args) =>
      changedIds(parameters, args, ({ entities: kinds }, text) => {
        const kind = kinds.find((each) => encode(each, text) !== text)
        return kind === undefined ? undefined : encode(kind, text)
      }),
    decodeArgs: (parameters, args) =>
      changedIds(parameters, args, (found, text) => {
        const ids = found.entities.map((entity) => decode(entity, text))
        const id = ids.find((each) => each !== undefined) ?? (found.wants === 'number' ? text : undefined)
        return id === undefined ? undefined : writtenAt(found, id)
      }),
    decodeTexts: (value) => decoded(value, back),
  }
}

function changedIds(
  parameters: JsonObject,
  args: Json,
  change: (found: FoundId, text: string) => string | number | undefined,
): Json {
  const changes = idsIn(parameters, args).flatMap((found) => {
    const text = textOf(found.given)?.trim()
    const to = text === undefined ? undefined : change(found, text)
    return to === undefined ? [] : [{ found, to }]
  })
  return changes.length === 0 ? args : withIds(args, changes)
}

class Table {
  readonly handles: Map<string, string> = new Map()
  readonly ids: Map<string, string> = new Map()
  readonly #prefix: string

  constructor(prefix: string) {
    this.#prefix = prefix
  }

  add(id: string): void {
    if (this.handles.has(id)) return
    let handle = `${this.#prefix}${digest(id)}`
    for (let attempt = 1; handle === id || this.handles.has(handle) || this.ids.has(handle); attempt++)
      handle = `${this.#prefix}${digest(`${id}\n${attempt}`)}`
    this.handles.set(id, handle)
    this.ids.set(handle, id)
  }
}

/** No vowels, so that no words arise, and no easily confused characters. */
const LETTERS = 'bcdfghjkmnpqrstvwxz23456789'
const LENGTH = 4

/** A short hash of the text (FNV-1a, then mixed so that every bit counts). */
function digest(text: string): string {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  let rest = (hash ^ (hash >>> 16)) >>> 0
  let letters = ''
  for (let count = 0; count < LENGTH; count++) {
    letters += LETTERS.charAt(rest % LETTERS.length)
    rest = Math.floor(rest / LETTERS.length)
  }
  return letters
}

/** The shortest distinct prefixes of the entities, and a sign. */
function prefixesOf(entities: Entities): ReadonlyMap<string, string> {
  const names = [...entities.keys()]
  return new Map(names.map((name) => [name, `${shortest(name, names)}~`]))
}

function shortest(name: string, names: readonly string[]): string {
  for (let length = 1; length < name.length; length++) {
    const prefix = name.slice(0, length).toLowerCase()
    const isTaken = names.some((other) => other !== name && other.toLowerCase().startsWith(prefix))
    if (!isTaken && /[a-z]$/.test(prefix)) return prefix
  }
  return name.toLowerCase()
}

function encoded(value: Json, codes: ReadonlyMap<string, string>, isId: boolean): Json {
  if (typeof value === 'string') return (isId || !/^\d+$/.test(value) ? codes.get(value) : undefined) ?? value
  if (typeof value === 'number') return (isId ? codes.get(String(value)) : undefined) ?? value
  if (Array.isArray(value)) return (value as readonly Json[]).map((item) => encoded(item, codes, isId))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      encoded(inner as Json, codes, /(?:^|[^a-z])ids?$|I[dD]s?$/.test(key)),
    ]),
  )
}

const CODE = /(?<![\p{L}\p{N}_~-])[a-z][a-z0-9_-]*~[a-z0-9]+(?![\p{L}\p{N}_~-])/giu

function decoded(value: Json, ids: ReadonlyMap<string, string>): Json {
  if (typeof value === 'string') return value.replace(CODE, (code) => ids.get(code) ?? code)
  if (Array.isArray(value)) return (value as readonly Json[]).map((item) => decoded(item, ids))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, decoded(inner as Json, ids)]))
}

/** Constraints of a schema that a code would not fit. */
const SHAPES: ReadonlySet<string> = new Set([
  'format',
  'pattern',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
])
/** Keywords whose schemas describe the same value, or the items of a list of ids. */
const SAME: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'allOf', 'items', 'prefixItems'])

/** A copy of the schema with text ids; the marks stay. */
export function withTextIds(schema: JsonObject): JsonObject {
  return copied(schema, false) as JsonObject
}

function copied(value: Json, isInside: boolean): Json {
  if (Array.isArray(value)) return (value as readonly Json[]).map((item) => copied(item, isInside))
  if (typeof value !== 'object' || value === null) return value
  const mark = (value as JsonObject)[ENTITY_MARK]
  const isId = isInside || typeof mark === 'string' || Array.isArray(mark)
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, inner]) => {
      if (inner === undefined || (isId && SHAPES.has(key))) return []
      if (isId && key === 'type') return [[key, textType(inner)]]
      return [[key, copied(inner, isId && SAME.has(key))]]
    }),
  )
}

function textType(type: Json): Json {
  if (Array.isArray(type)) return [...new Set((type as readonly Json[]).map(textType))]
  return type === 'number' || type === 'integer' ? 'string' : type
}
