/** What a turn knows of things and their ids when a call is judged: from its window, and from indexes of the journal. */
import {
  type Entities,
  type Facts,
  type Said,
  type Seen,
  type ShownList,
  unexpired,
} from '../grounding/index.ts'
import type { Call } from '../journal/index.ts'
import {
  type Entry,
  type EntryData,
  isPersonsInput,
  normalLabel,
  personsWords,
  type Sighting,
} from '../protocol/index.ts'
import { entriesSoFar } from './context.ts'
import type { Play } from './play.ts'
import type { View } from './scope.ts'
import { dataOf } from './stage.ts'

/** Who asks when the person has to say which thing is meant. */
export const GROUNDING = 'grounding'

export async function factsOf(play: Play, { answers = [] }: Call): Promise<Facts> {
  const { view, definition, clock } = play.scope
  const { entities } = definition.grounding
  const entries = await entriesSoFar(play)
  const active = unexpired(play.session.active ?? [], entities, clock.now())
  const { turn } = play.open
  const isWhole = hasEvery(entries, { from: play.session.cleared ?? 0, to: view.session.seq })
  const reading: Reading = { showings: showingsIn(entries, clock.now()).reverse(), turn, view, isWhole }
  const words = { entries, ...reading }
  return {
    active: (entity) => {
      const value = active.find((one) => one.entity === entity)
      const sinceSeq = play.session.activeSince?.[entity]
      return value === undefined || sinceSeq === undefined ? value : { ...value, sinceSeq }
    },
    ...thingFacts(reading, entities),
    ...listFacts(reading),
    get heard() {
      return heardIn(words).map(saidIn)
    },
    get userText() {
      return heardIn(words).map(personsWords).join('\n')
    },
    saidBefore: saidBefore(words),
    asked: (path) => {
      const answer = answers.findLast(({ from, name }) => from === GROUNDING && name === path)
      const { value, origin } = answer ?? {}
      return value === undefined ? undefined : { value, isPersons: origin === undefined }
    },
  }
}

/** A window may begin with an input whose turn it shows only the end of, so the first entry says nothing. */
function hasEvery(entries: readonly Entry[], { from, to }: { from: number; to: number }): boolean {
  let count = 0
  for (const { seq } of entries) if (seq > from && seq <= to) count += 1
  return count >= to - from
}

interface Reading {
  /** Newest first. */
  readonly showings: readonly Showing[]
  readonly turn: number
  readonly view: View
  /** The window has all there is: no index knows more. */
  readonly isWhole: boolean
}

/** A result that showed things. */
interface Showing {
  readonly turn: number
  readonly at: number
  readonly seq: number
  readonly seen: readonly Sighting[]
  readonly kinds: ReadonlyMap<string, Shown>
}

/** What a result showed of one kind, in its order. */
interface Shown {
  /** A thing that stands in the list twice has two places. */
  readonly rows: readonly Sighting[]
  readonly byId: ReadonlyMap<string, Sighting>
  readonly byLabel: () => ReadonlyMap<string, readonly Sighting[]>
}

/** Results among entries that showed things, oldest first. */
function showingsIn(entries: readonly Entry[], now: number): Showing[] {
  const found: Showing[] = []
  for (const entry of entries) {
    if (entry.type !== 'tool.end') continue
    const { seen = [] } = dataOf(entry, 'tool.end')
    if (seen.length === 0) continue
    const { turn, at, seq } = entry
    found.push({ turn, at: at || now, seq, seen, kinds: kindsOf(entry, seen) })
  }
  return found
}

/** A result is looked at again with every call, and never changes. */
const KINDS = new WeakMap<object, ReadonlyMap<string, Shown>>()

function kindsOf({ data }: Entry, seen: readonly Sighting[]): ReadonlyMap<string, Shown> {
  const known = KINDS.get(data)
  if (known !== undefined) return known
  const made = new Map<string, Shown>()
  for (const [entity, rows] of Map.groupBy(seen, (one) => one.entity)) {
    const byId = new Map<string, Sighting>()
    for (const one of rows) if (!byId.has(one.id)) byId.set(one.id, one)
    made.set(entity, { rows, byId, byLabel: labelsOf(byId) })
  }
  KINDS.set(data, made)
  return made
}

function labelsOf(byId: ReadonlyMap<string, Sighting>): Shown['byLabel'] {
  let made: ReadonlyMap<string, readonly Sighting[]> | undefined
  return () => {
    made ??= Map.groupBy(byId.values(), ({ label }) => (label === undefined ? '' : normalLabel(label)))
    return made
  }
}

function thingFacts(
  reading: Reading,
  entities: Entities,
): Pick<Facts, 'seen' | 'seenThisTurn' | 'byLabel' | 'alike' | 'recent'> {
  const { showings: held, turn, view, isWhole } = reading
  const older: View['seen'] = (entity, by) => (isWhole ? Promise.resolve([]) : view.seen(entity, by))
  const seenById = async (entity: string, id: string): Promise<Seen | undefined> => {
    const inWindow = merged(held.flatMap((showing) => seenIn(showing, entity, id)))
    const needsParent = entities.get(entity)?.parent !== undefined
    const hasAll = inWindow?.label !== undefined && (!needsParent || inWindow.parent !== undefined)
    if (isWhole || hasAll) return inWindow
    return merged([...(inWindow === undefined ? [] : [inWindow]), ...(await older(entity, { id }))])
  }
  return {
    seen: seenById,
    seenThisTurn: (entity, id) =>
      held.some((showing) => showing.turn === turn && showing.kinds.get(entity)?.byId.has(id)),
    byLabel: async (entity, label) => [
      ...held.flatMap(({ kinds, at, seq }) =>
        (kinds.get(entity)?.byLabel().get(label) ?? []).map((one) => ({ ...one, at, seq })),
      ),
      ...(await older(entity, { label })),
    ],
    alike: async (entity, form) => {
      const normal = entities.get(entity)?.normal ?? ((id: string) => id)
      const ids = held.flatMap(({ kinds }) =>
        [...(kinds.get(entity)?.byId.keys() ?? [])].filter((id) => normal(id) === form),
      )
      const known = (await older(entity, { normal: form })).map(({ id }) => id)
      const all = await Promise.all([...new Set([...ids, ...known])].map((id) => seenById(entity, id)))
      return all.filter((one) => one !== undefined)
    },
    recent: (entity, most) => {
      const found = new Map<string, Seen>()
      for (const { kinds, at, seq } of held)
        for (const [id, one] of kinds.get(entity)?.byId ?? []) {
          const newer = found.get(id)
          if (newer === undefined && found.size === most) break
          found.set(id, { ...one, at, seq, ...newer })
        }
      return [...found.values()]
    },
  }
}

function seenIn({ kinds, at, seq }: Showing, entity: string, id: string): Seen[] {
  const one = kinds.get(entity)?.byId.get(id)
  return one === undefined ? [] : [{ ...one, at, seq }]
}

/** A thing by all its sightings, newest first: one that says less takes nothing from what older ones said. */
function merged(seen: readonly Seen[]): Seen | undefined {
  return seen.length < 2 ? seen[0] : seen.reduceRight((older, newer) => ({ ...older, ...newer }))
}

function listFacts({ showings: held, turn, view, isWhole }: Reading): Pick<Facts, 'listing' | 'lists'> {
  return {
    listing: async (entity, before) => {
      const { seq: words = Number.POSITIVE_INFINITY } = before ?? {}
      const lists = held
        .filter(({ seq }) => seq < words)
        .map(({ kinds, at, seq }) => (kinds.get(entity)?.rows ?? []).map((one) => ({ ...one, at, seq })))
      return (
        lists.find(({ length }) => length > 1) ??
        (isWhole || before !== undefined ? undefined : await view.listing(entity)) ??
        lists.find(({ length }) => length === 1) ??
        []
      )
    },
    lists: async () => {
      const lists = held.flatMap(({ kinds, at, turn: of }): ShownList[] => {
        const several = [...kinds].filter(([, { byId }]) => byId.size > 1).map(([entity]) => entity)
        return several.length === 0 ? [] : [{ entities: several, at, isThisTurn: of === turn }]
      })
      if (isWhole || lists.some(({ isThisTurn }) => !isThisTurn)) return lists
      const older = await view.lastList()
      return older === undefined ? lists : [...lists, { ...older, isThisTurn: false }]
    },
  }
}

/** The person's messages of a turn. */
function heardIn({ entries, turn }: Pick<Hearing, 'entries' | 'turn'>): readonly Entry[] {
  const taken = new Set<number>()
  for (const entry of entries)
    if (entry.turn === turn && isHeard(entry)) for (const seq of entry.takes ?? []) taken.add(seq)
  return entries.filter(({ seq, type }) => type === 'input' && taken.has(seq))
}

function saidIn(entry: Entry): Said {
  return { text: personsWords(entry), at: entry.at, seq: entry.seq }
}

function isHeard({ type, data }: Entry): boolean {
  return type === 'turn.start' || (type === 'take' && (data as EntryData['take']).as === 'message')
}

interface Hearing extends Reading {
  readonly entries: readonly Entry[]
}

function saidBefore(hearing: Hearing): Facts['saidBefore'] {
  const { entries, view, isWhole } = hearing
  let held: readonly Said[] | undefined
  return async (id) => {
    const heard = heardIn(hearing)
    held ??= entries
      .filter((entry) => isPersonsInput(entry) && !heard.includes(entry))
      .map(saidIn)
      .reverse()
    if (id === undefined || isWhole) return held
    const known = new Set([...held, ...heard].map(({ seq }) => seq))
    return [...held, ...(await view.said(id)).filter(({ seq }) => seq === undefined || !known.has(seq))]
  }
}
