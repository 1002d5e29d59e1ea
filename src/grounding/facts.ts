/**
 * What is known when a call is judged: what is chosen, what tools have shown, what the person says. Whoever judges asks
 * by key only, so a ledger of any length answers as fast as a short one.
 */
import { type ActiveValue, type Entry, type Json, personsWords, pickedWords } from '../protocol/index.ts'
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

/** What is chosen, with the entry that chose it if that is one of this conversation. */
export type Chosen = ActiveValue & { readonly sinceSeq?: number }

type Maybe<T> = T | Promise<T>

/**
 * Nothing here has to leave out what is too old: that is decided by whoever asks, with `now` and the ttl of the entity.
 * `entity` is always the name of one.
 */
export interface Facts {
  /** What is chosen now. */
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
  /** What was answered to the question about a place of this call, such as `items[2].taskId`. */
  readonly asked?: (path: string) => Maybe<AskedAnswer | undefined>
}

/** What all decisions about one call have in common. */
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
