/** Facts in memory, from lists of sightings. What a store finds by keys, it finds in maps. */
import { type ActiveValue, type Json, normalLabel, type Sighting } from '../protocol/index.ts'
import type { AskedAnswer, Facts, Said, Seen, ShownList } from './facts.ts'

/** What one tool result showed, in its order. */
export interface SightingBatch {
  readonly at: number
  readonly seq?: number
  /** It is a result of the turn that is going on. */
  readonly isThisTurn?: boolean
  readonly seen: readonly Sighting[]
}

export interface MemoryFactsOptions {
  readonly active?: readonly ActiveValue[]
  /** Oldest first. */
  readonly batches?: readonly SightingBatch[]
  readonly userText?: string
  /** What the person said before, oldest first. */
  readonly said?: readonly Said[]
  /** The normal form of ids, by the name of the entity. */
  readonly normal?: Readonly<Record<string, (id: string) => string>>
  /** By place, such as `items[2].taskId`. */
  readonly answers?: Readonly<Record<string, Json>>
}

export class MemoryFacts implements Facts {
  readonly heard: readonly Said[]
  readonly userText: string
  readonly #active = new Map<string, ActiveValue>()
  readonly #seen = new Map<string, Map<string, Seen>>()
  /** As they came, oldest first. */
  readonly #order = new Map<string, Seen[]>()
  readonly #labels = new Map<string, Map<string, Seen>>()
  readonly #listings = new Map<string, readonly Seen[]>()
  /** Those that came before this turn. */
  readonly #earlier = new Map<string, readonly Seen[]>()
  readonly #thisTurn = new Set<string>()
  readonly #lists: ShownList[] = []
  readonly #options: MemoryFactsOptions

  constructor(options: MemoryFactsOptions = {}) {
    const { active = [], batches = [], userText = '' } = options
    this.userText = userText
    this.heard = userText === '' ? [] : [{ text: userText, at: 0 }]
    this.#options = options
    for (const value of active) this.#active.set(value.entity, value)
    for (const batch of batches) this.add(batch)
  }

  /** What one more result showed. */
  add({ at, seq, isThisTurn, seen }: SightingBatch): void {
    const listed = new Map<string, Seen[]>()
    for (const { entity, id, label, detail, parent } of seen) {
      const before = this.#seen.get(entity)?.get(id)
      const one: Seen = {
        ...before,
        id,
        ...(label === undefined ? {} : { label }),
        ...(detail === undefined ? {} : { detail }),
        ...(parent === undefined ? {} : { parent }),
        at,
        ...(seq === undefined ? {} : { seq }),
      }
      const all = valueIn(this.#seen, entity)
      all.set(id, one)
      const order = this.#order.get(entity)
      if (order === undefined) this.#order.set(entity, [one])
      else order.push(one)
      const rows = listed.get(entity) ?? []
      listed.set(entity, rows)
      rows.push(one)
      if (label !== undefined) valueIn(this.#labels, keyOf(entity, normalLabel(label))).set(id, one)
      if (isThisTurn) this.#thisTurn.add(keyOf(entity, id))
    }
    const isSeveral = (rows: readonly Seen[]): boolean => rows.some(({ id }) => id !== rows[0]?.id)
    const entities = [...listed].filter(([, rows]) => isSeveral(rows)).map(([entity]) => entity)
    if (entities.length > 0) this.#lists.unshift({ entities, at, isThisTurn: isThisTurn ?? false })
    for (const listings of isThisTurn ? [this.#listings] : [this.#listings, this.#earlier])
      for (const [entity, rows] of listed) replaceListing(listings, entity, rows)
  }

  active(entity: string): ActiveValue | undefined {
    return this.#active.get(entity)
  }

  seen(entity: string, id: string): Seen | undefined {
    return this.#seen.get(entity)?.get(id)
  }

  seenThisTurn(entity: string, id: string): boolean {
    return this.#thisTurn.has(keyOf(entity, id))
  }

  byLabel(entity: string, normal: string): readonly Seen[] {
    return [...(this.#labels.get(keyOf(entity, normal))?.values() ?? [])]
  }

  alike(entity: string, form: string): readonly Seen[] {
    const normal = this.#options.normal?.[entity]
    if (normal === undefined) return []
    return [...(this.#seen.get(entity)?.values() ?? [])].filter(({ id }) => normal(id) === form)
  }

  lists(): readonly ShownList[] {
    return this.#lists
  }

  saidBefore(): readonly Said[] {
    return (this.#options.said ?? []).toReversed()
  }

  listing(entity: string, before?: Said): readonly Seen[] {
    return (before === undefined ? this.#listings : this.#earlier).get(entity) ?? []
  }

  recent(entity: string, most: number): readonly Seen[] {
    const known = this.#seen.get(entity)
    const order = this.#order.get(entity) ?? []
    const newest: Seen[] = []
    for (let at = order.length - 1; at >= 0 && newest.length < most; at--) {
      const one = order[at]
      // What was seen again since then has a later place.
      if (one !== undefined && known?.get(one.id) === one) newest.push(one)
    }
    return newest
  }

  asked(path: string): AskedAnswer | undefined {
    const value = this.#options.answers?.[path]
    return value === undefined ? undefined : { value, isPersons: true }
  }
}

/** One row is a look at one thing; the list that the person has in mind is still the one before. */
function replaceListing(listings: Map<string, readonly Seen[]>, entity: string, rows: readonly Seen[]): void {
  const before = listings.get(entity) ?? []
  if (rows.length > 1 || before.length < 2) listings.set(entity, rows)
}

function keyOf(entity: string, name: string): string {
  return `${entity}\n${name}`
}

function valueIn<V>(map: Map<string, Map<string, V>>, key: string): Map<string, V> {
  const known = map.get(key) ?? new Map<string, V>()
  map.set(key, known)
  return known
}
