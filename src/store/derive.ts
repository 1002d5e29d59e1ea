/**
 * Derived indexes: data that grows with a conversation and must be found without reading it (R13). A derivation is a
 * pure function from an entry to rows; a store keeps the rows, catches up on entries of processes that did not know the
 * derivation, and can recompute everything. A row never replaces an older one of the same key: each is filed under its
 * entry, so a fork sees the rows up to its fork point and no later ones.
 */
import {
  type ArtifactChange,
  artifactInfo,
  type Entry,
  type EntryData,
  HoldfastError,
  idTokens,
  type JsonObject,
  normalLabel,
  PERSONS_TYPES,
  personsWords,
  pickedWords,
  quote,
  type Sighting,
} from '../protocol/index.ts'
import type { IndexRow } from './port.ts'

export interface Derivation {
  /** Lower-case name. Rename the index when `rows` changes its result for old entries. */
  readonly index: string
  /** The entry types that may have rows. Without it, every entry is read. */
  readonly types?: readonly string[]
  readonly rows: (entry: Entry) => readonly { readonly key: string; readonly value: JsonObject }[]
}

const INDEX_NAME = /^[a-z][a-z0-9.-]*$/

/** Finds the derivations that read entries of a type. Throws `invalid-option` for an index without a plain name. */
export function derivationsByType(
  derivations: readonly Derivation[],
): (type: string) => readonly Derivation[] {
  for (const { index } of derivations) {
    if (typeof index === 'string' && INDEX_NAME.test(index)) continue
    throw new HoldfastError('invalid-option', {
      message: `${quote(index)} cannot be the name of a derived index: use a-z, 0-9, dots and dashes, a letter first.`,
    })
  }
  const known = new Map<string, readonly Derivation[]>()
  return (type) => {
    let found = known.get(type)
    if (found === undefined) {
      found = derivations.filter(({ types }) => types?.includes(type) ?? true)
      known.set(type, found)
    }
    return found
  }
}

/** The rows of an entry. Throws `invalid-entry` for a key that databases change: some readers of SQLite end text at a NUL. */
export function checkedRows({ index, rows }: Derivation, entry: Entry): ReturnType<Derivation['rows']> {
  const found = rows(entry)
  for (const { key } of found) {
    if (typeof key === 'string' && key.isWellFormed() && !key.includes('\0')) continue
    throw new HoldfastError('invalid-entry', {
      message: `The derived index ${quote(index)} made the key ${quote(key)} from entry ${entry.seq}; a key must be text without NUL and without broken characters.`,
      details: { index, seq: entry.seq },
    })
  }
  return found
}

const NO_ROWS: ReturnType<Derivation['rows']> = []

/** The start of each turn, by turn number. */
export const turnStarts: Derivation = {
  index: 'turn',
  types: ['turn.start'],
  rows: (entry) => {
    if (entry.type !== 'turn.start') return NO_ROWS
    return [{ key: turnKey(entry.turn), value: { first: Math.min(entry.seq, ...(entry.takes ?? [])) } }]
  },
}

/** The end and outcome of each turn, by turn number. */
export const turnEnds: Derivation = {
  index: 'outcome',
  types: ['turn.end'],
  rows: (entry) => {
    if (entry.type !== 'turn.end') return NO_ROWS
    const { outcome, usage, durationMs } = entry.data as EntryData['turn.end']
    return [
      { key: turnKey(entry.turn), value: { last: entry.seq, outcome, usage: { ...usage }, durationMs } },
    ]
  },
}

/** The state of each artifact (`a:<id>`), and the positions of its changes (`c:<id>:<version>:<chunk>`). */
export const artifactChanges: Derivation = {
  index: 'artifact',
  types: ['artifact'],
  rows: (entry) => {
    if (entry.type !== 'artifact') return NO_ROWS
    const change = entry.data as ArtifactChange
    const info = {
      key: artifactKey(change.artifactId),
      value: { ...artifactInfo(change), updatedAt: entry.at },
    }
    if (change.chunk === undefined) return [info]
    const key = `${changesPrefix(change.artifactId, change.version)}${digits(change.chunk)}`
    return [info, { key, value: { op: change.op, bytes: change.bytes } }]
  },
}

/**
 * Things that tool outputs showed: each by its id and its sighting's fields (`i:`), by its label and id (`l:`), by the
 * normal form of its id (`m:`), and per entity the newest result with several (`n:`). Sightings with fewer and with
 * more fields have rows of their own, so that neither hides the other.
 */
const sightings: Derivation = {
  index: 'thing',
  types: ['tool.end'],
  rows: (entry) => {
    if (entry.type !== 'tool.end') return NO_ROWS
    const { seen = [] } = entry.data as EntryData['tool.end']
    if (seen.length === 0) return NO_ROWS
    const things = new Map(seen.map((one) => [`${one.entity}\n${one.id}`, one]))
    const rows = [...things.values()].flatMap((one) => sightingRows(one, entry.at))
    for (const [entity, group] of Map.groupBy(things.values(), (one) => one.entity))
      if (group.length > 1) rows.push({ key: listingKey(entity), value: { entity, at: entry.at } })
    return rows
  },
}

function sightingRows(
  { id, entity, label, detail, parent, normal }: Sighting,
  at: number,
): { readonly key: string; readonly value: JsonObject }[] {
  const value: JsonObject = {
    id,
    at,
    ...(label === undefined ? {} : { label }),
    ...(detail === undefined ? {} : { detail }),
    ...(parent === undefined ? {} : { parent }),
  }
  const fields = `${label === undefined ? '' : 'l'}${parent === undefined ? '' : 'p'}${detail === undefined ? '' : 'd'}`
  return [
    { key: `${seenPrefix(entity, id)}${fields}`, value },
    ...(label === undefined ? [] : [{ key: `${labelPrefix(entity, label)}${wellFormedKey(id)}`, value }]),
    ...(normal === undefined
      ? []
      : [{ key: `${normalPrefix(entity, normal)}${wellFormedKey(id)}`, value: { id } }]),
  ]
}

/** Messages in which the person wrote or picked a token that may be an id: one row each, by token and position. */
const mentions: Derivation = {
  index: 'mentioned',
  types: PERSONS_TYPES,
  rows: (entry) => {
    const text = `${personsWords(entry)}\n${pickedWords(entry)}`
    if (text === '\n') return NO_ROWS
    return idTokens(text).map((token) => ({
      key: `${mentionPrefix(token)}${turnKey(entry.seq)}`,
      value: {},
    }))
  },
}

/** Prefix of the rows of all things by id. */
export function thingsPrefix(): string {
  return 'i:'
}

/** Prefix of the rows of one thing, at most one for each set of fields that its sightings had. */
export function seenPrefix(entity: string, id: string): string {
  return `i:${entity}:${wellFormedKey(id)}\n`
}

/** Prefix of the rows of all things with this label. */
export function labelPrefix(entity: string, label: string): string {
  return `l:${entity}:${wellFormedKey(normalLabel(label))}:`
}

/** Prefix of the rows of all things whose ids have this normal form. */
export function normalPrefix(entity: string, normal: string): string {
  return `m:${entity}:${wellFormedKey(normal)}\n`
}

/** Key of the newest list of an entity; without one, the prefix of the newest lists of all. */
export function listingKey(entity = ''): string {
  return `n:${entity}`
}

/** Prefix of the rows of all messages with a token of the person, oldest first. */
export function mentionPrefix(token: string): string {
  return `${wellFormedKey(token)}\n`
}

/** SQLite keys hold neither NUL nor lone surrogates. */
function wellFormedKey(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\uFFFD')
}

/** The indexes that every store keeps. */
export const STANDARD_DERIVATIONS: readonly Derivation[] = [
  turnStarts,
  turnEnds,
  artifactChanges,
  sightings,
  mentions,
]

/** Key of the current state of an artifact; without an id, the prefix of all such rows. */
export function artifactKey(artifactId = ''): string {
  return `a:${artifactId}`
}

/** Prefix of the rows of one version's changes, in order. */
export function changesPrefix(artifactId: string, version: number): string {
  return `c:${artifactId}:${digits(version)}:`
}

function digits(value: number): string {
  return String(value).padStart(8, '0')
}

export function turnKey(turn: number): string {
  return String(turn).padStart(12, '0')
}

/** The positions of one turn, from its rows in the two indexes; undefined for an unknown turn. */
export function turnRange(start: IndexRow | undefined, end: IndexRow | undefined): TurnRange | undefined {
  if (start === undefined) return undefined
  const last = end?.value['last']
  return {
    from: start.value['first'] as number,
    to: typeof last === 'number' ? last : Number.MAX_SAFE_INTEGER,
  }
}

export interface TurnRange {
  readonly from: number
  readonly to: number
}
