/**
 * The knowledge by which a call is judged: the active things, the things that tools have shown, the words of the person.
 * Facts are asked for by key only, so that a long history answers as fast as a short one. `MemoryFacts` holds them in maps.
 */
import {
  type ActiveValue,
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
  /** The normal form of its id, where that is another one. */
  readonly normal?: string
  /** When, by the clock of the store. */
  readonly at: number
  /** The entry that showed it. */
  readonly seq?: number
}

/** Words of the person in one message. */
export interface Said {
  readonly text: string
  /** When, by the clock of the store. */
  readonly at: number
  /** The entry that holds them. */
  readonly seq?: number
  /** Options of a question that the person picked: they speak of things, but make no id good, because the asker wrote them. */
  readonly isPicked?: true
}

/** The words of the person in one entry of a journal. */
export function saidIn(entry: Entry): readonly Said[] {
  const { at, seq } = entry
  const picked = pickedWords(entry)
  return [
    { text: personsWords(entry), at, seq },
    ...(picked === '' ? [] : [{ text: picked, at, seq, isPicked: true } as const]),
  ]
}

/** A result that showed several things of a kind. */
export interface ShownList {
  /** The kinds of which it showed several. */
  readonly entities: readonly string[]
  readonly at: number
  /** It is a result of the turn that is going on. */
  readonly isThisTurn: boolean
}

/** An answer to a question of the guard. Only a person can say which thing is meant. */
export interface AskedAnswer {
  readonly value: Json
  readonly isPersons: boolean
}

/** An active value, with the entry that chose it if it was chosen in this conversation. */
export type Chosen = ActiveValue & { readonly sinceSeq?: number }

type Maybe<T> = T | Promise<T>

/**
 * Nothing here has to leave out what is too old: that is decided by whoever asks, with `now` and the ttl of the entity.
 * `entity` is always the name of one.
 */
export interface Facts {
  /** The active value. */
  readonly active: (entity: string) => Maybe<Chosen | undefined>
  readonly seen: (entity: string, id: string) => Maybe<Seen | undefined>
  /** Whether a tool result of this turn showed it. */
  readonly seenThisTurn: (entity: string, id: string) => Maybe<boolean>
  /** Everything that was ever shown under a label, which is given in the form of `normalLabel`. */
  readonly byLabel: (entity: string, normal: string) => Maybe<readonly Seen[]>
  /** Everything whose id has this normal form, which is the one of the entity. */
  readonly alike: (entity: string, normal: string) => Maybe<readonly Seen[]>
  /**
   * Results that showed several things of any kind, newest first: at least the newest of all, and the newest of those that
   * came before this turn.
   */
  readonly lists: () => Maybe<readonly ShownList[]>
  /**
   * The newest result that showed several of them, in its order; without one, the newest that showed any. With words, the
   * newest that came before these, as far as the messages at hand go back.
   */
  readonly listing: (entity: string, before?: Said) => Maybe<readonly Seen[]>
  /** The things that were seen last, newest first, each once; at most `most`. */
  readonly recent: (entity: string, most: number) => Maybe<readonly Seen[]>
  /** The messages of the person in this turn, steering included, oldest first. */
  readonly heard: readonly Said[]
  /** The text of all of them. */
  readonly userText: string
  /**
   * What else the person said in this conversation, answers included, newest first: the messages at hand, and with an id
   * those of any age that may have it in them.
   */
  readonly saidBefore: (id?: string) => Maybe<readonly Said[]>
  /** The answer to the question about a place of this call, such as `items[2].taskId`. */
  readonly asked?: (path: string) => Maybe<AskedAnswer | undefined>
}

/** The input that all decisions about one call share. */
export interface Judging {
  readonly entities: Entities
  readonly facts: Facts
  /** By the clock of the store. */
  readonly now: number
  /** The tool that finds things of an entity, by the name of the entity. */
  readonly lookups?: () => Readonly<Record<string, string>>
  /** The ids of an entity that stand beside the one that is judged, in the same call. */
  readonly beside?: (entity: string) => readonly string[]
}

/** A clock that was set back makes nothing old. */
export function isExpired(
  { at }: { readonly at: number },
  { ttlMs }: Pick<Entity, 'ttlMs'>,
  now: number,
): boolean {
  return now - at >= ttlMs
}

/** When a selection was made, being used does not count; and by which entry, if it was made in this conversation. */
export interface ChosenAt {
  readonly at: number
  readonly seq?: number
}

export function chosenAt({ since, at, sinceSeq }: Chosen): ChosenAt {
  return { at: since ?? at, ...(sinceSeq === undefined ? {} : { seq: sinceSeq }) }
}

/** Whether something was shown or said after a choice: by their order in the journal, by time where there is none. */
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
  /** It is a result of the turn that is going on. */
  readonly isThisTurn?: boolean
  readonly seen: readonly Sighting[]
}

export interface MemoryFactsOptions {
  readonly active?: readonly ActiveValue[]
  /** Oldest first. */
  readonly batches?: readonly SightingBatch[]
  readonly userText?: string
  /** Earlier words of the person, oldest first. */
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

  /** Adds the sightings of one more result. */
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
