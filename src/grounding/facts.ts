/**
 * The facts by which a call is judged: active values, sightings, the person's words. Facts are read by key only, so a long
 * history costs the same as a short one. `MemoryFacts` holds them in maps.
 */
import {
  type ActiveValue,
  defined,
  type Entry,
  type Json,
  normalLabel,
  personsWords,
  pickedWords,
  type Sighting,
} from '../protocol/index.ts'
import type { Entities, Entity } from './entity.ts'

/** The newest sighting of a thing in this conversation. */
export interface Seen {
  readonly id: string
  readonly label?: string
  readonly detail?: string
  readonly parent?: string
  /** The normal form of its id, where it differs. */
  readonly normal?: string
  /** By the store's clock. */
  readonly at: number
  /** The entry that showed it. */
  readonly seq?: number
}

/** The person's words in one message. */
export interface PersonWords {
  readonly text: string
  /** By the store's clock. */
  readonly at: number
  /** The entry that holds them. */
  readonly seq?: number
  /** Picked options of a question: they mention things, but ground no id, because the asker wrote them. */
  readonly isPicked?: true
}

/** The person's words in one entry. */
export function saidIn(entry: Entry): readonly PersonWords[] {
  const { at, seq } = entry
  const picked = pickedWords(entry)
  return [
    { text: personsWords(entry), at, seq },
    ...(picked === '' ? [] : [{ text: picked, at, seq, isPicked: true } as const]),
  ]
}

/** A result that showed several things of an entity. */
export interface ShownList {
  /** The entities of which it showed several. */
  readonly entities: readonly string[]
  readonly at: number
  /** True for a result of the current turn. */
  readonly isThisTurn: boolean
}

/** An answer to a question of the guard. Only a person's answer decides. */
export interface AskedAnswer {
  readonly value: Json
  readonly isPersons: boolean
}

/** An active value, with the entry that selected it if that is in this conversation. */
export type Chosen = ActiveValue & { readonly sinceSeq?: number }

type Maybe<T> = T | Promise<T>

/** Facts include expired ones: the caller compares with `now` and the entity's ttl. `entity` is always a name. */
export interface Facts {
  /** The active value. */
  readonly active: (entity: string) => Maybe<Chosen | undefined>
  readonly seen: (entity: string, id: string) => Maybe<Seen | undefined>
  /** True if a tool result of this turn showed it. */
  readonly seenThisTurn: (entity: string, id: string) => Maybe<boolean>
  /** Every sighting under a label, given in the form of `normalLabel`. */
  readonly byLabel: (entity: string, normal: string) => Maybe<readonly Seen[]>
  /** Every sighting whose id has this normal form. */
  readonly alike: (entity: string, normal: string) => Maybe<readonly Seen[]>
  /**
   * Results that showed several things of any entity, newest first: at least the newest of all, and the newest before this
   * turn.
   */
  readonly lists: () => Maybe<readonly ShownList[]>
  /**
   * The newest result that showed several of them, in its order; without one, the newest that showed any. With `before`,
   * the newest before those words, as far as the messages at hand go back.
   */
  readonly listing: (entity: string, before?: PersonWords) => Maybe<readonly Seen[]>
  /** The last seen things, newest first, each once; at most `most`. */
  readonly recent: (entity: string, most: number) => Maybe<readonly Seen[]>
  /** The person's messages in this turn, steering included, oldest first. */
  readonly personMessages: readonly PersonWords[]
  /** The text of all of them. */
  readonly userText: string
  /**
   * The person's other words in this conversation, answers included, newest first: the messages at hand, and with an id
   * those of any age that may contain it.
   */
  readonly saidBefore: (id?: string) => Maybe<readonly PersonWords[]>
  /** The answer to the question about a path of this call, such as `items[2].taskId`. */
  readonly asked?: (path: string) => Maybe<AskedAnswer | undefined>
}

/** The shared input of all decisions about one call. */
export interface JudgeContext {
  readonly entities: Entities
  readonly facts: Facts
  /** By the store's clock. */
  readonly now: number
  /** The lookup tool of each entity, by the entity's name. */
  readonly lookups?: () => Readonly<Record<string, string>>
  /** The ids of an entity beside the judged one, in the same call. */
  readonly beside?: (entity: string) => readonly string[]
}

/** A clock that was set back expires nothing. */
export function isExpired(
  { at }: { readonly at: number },
  { ttlMs }: Pick<Entity, 'ttlMs'>,
  now: number,
): boolean {
  return now - at >= ttlMs
}

/** The time of a selection, uses not counted; and its entry, if it is in this conversation. */
export interface ChosenAt {
  readonly at: number
  readonly seq?: number
}

export function chosenAt({ since, at, sinceSeq }: Chosen): ChosenAt {
  return { at: since ?? at, ...defined({ seq: sinceSeq }) }
}

/** True if something was shown or said after a selection: by journal order, or by time without positions. */
export function isSince(
  { at, seq }: { readonly at: number; readonly seq?: number },
  chosen: ChosenAt,
): boolean {
  return seq === undefined || chosen.seq === undefined ? at > chosen.at : seq > chosen.seq
}

/** All ids of a selection. */
export function activeIds(active: ActiveValue | undefined): readonly string[] {
  return active === undefined ? [] : [...new Set([active.id, ...(active.ids ?? [])])]
}

/** The sightings of one tool result, in its order. */
export interface SightingBatch {
  readonly at: number
  readonly seq?: number
  /** True for a result of the current turn. */
  readonly isThisTurn?: boolean
  readonly seen: readonly Sighting[]
}

export interface MemoryFactsOptions {
  readonly active?: readonly ActiveValue[]
  /** Oldest first. */
  readonly batches?: readonly SightingBatch[]
  readonly userText?: string
  /** The person's earlier words, oldest first. */
  readonly said?: readonly PersonWords[]
  /** Normalizes ids, by the entity's name. */
  readonly normal?: Readonly<Record<string, (id: string) => string>>
  /** By path, such as `items[2].taskId`. */
  readonly answers?: Readonly<Record<string, Json>>
}

export class MemoryFacts implements Facts {
  readonly personMessages: readonly PersonWords[]
  readonly userText: string
  readonly #active = new Map<string, ActiveValue>()
  readonly #seen = new Map<string, Map<string, Seen>>()
  /** In order of arrival, oldest first. */
  readonly #order = new Map<string, Seen[]>()
  readonly #labels = new Map<string, Map<string, Seen>>()
  readonly #listings = new Map<string, readonly Seen[]>()
  /** Those from before this turn. */
  readonly #earlier = new Map<string, readonly Seen[]>()
  readonly #thisTurn = new Set<string>()
  readonly #lists: ShownList[] = []
  readonly #options: MemoryFactsOptions

  constructor(options: MemoryFactsOptions = {}) {
    const { active = [], batches = [], userText = '' } = options
    this.userText = userText
    this.personMessages = userText === '' ? [] : [{ text: userText, at: 0 }]
    this.#options = options
    for (const value of active) this.#active.set(value.entity, value)
    for (const batch of batches) this.add(batch)
  }

  /** Adds the sightings of one more result. */
  add({ at, seq, isThisTurn, seen }: SightingBatch): void {
    const listed = new Map<string, Seen[]>()
    for (const { entity, id, label, detail, parent } of seen) {
      const before = this.#seen.get(entity)?.get(id)
      const one: Seen = {
        ...before,
        id,
        ...defined({ label, detail, parent }),
        at,
        ...defined({ seq }),
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

  saidBefore(): readonly PersonWords[] {
    return (this.#options.said ?? []).toReversed()
  }

  listing(entity: string, before?: PersonWords): readonly Seen[] {
    return (before === undefined ? this.#listings : this.#earlier).get(entity) ?? []
  }

  recent(entity: string, most: number): readonly Seen[] {
    const known = this.#seen.get(entity)
    const order = this.#order.get(entity) ?? []
    const newest: Seen[] = []
    for (let at = order.length - 1; at >= 0 && newest.length < most; at--) {
      const one = order[at]
      // A thing that was seen again has a later entry in the order.
      if (one !== undefined && known?.get(one.id) === one) newest.push(one)
    }
    return newest
  }

  asked(path: string): AskedAnswer | undefined {
    const value = this.#options.answers?.[path]
    return value === undefined ? undefined : { value, isPersons: true }
  }
}

/** A single row does not replace a list: the person still refers to the list before. */
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
