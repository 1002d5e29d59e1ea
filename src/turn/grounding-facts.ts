/** The facts that an id is judged by: from the window, and from indexes of the journal. */
import {
  type AskedAnswer,
  type Chosen,
  type Entity,
  type Facts,
  type PersonWords,
  type Seen,
  type ShownList,
  saidIn,
  unexpired,
} from '../grounding/index.ts'
import type { Call } from '../journal/index.ts'
import { dataOf } from '../loop/index.ts'
import {
  type Entry,
  type EntryData,
  normalLabel,
  personsEntries,
  personsWords,
  type Sighting,
} from '../protocol/index.ts'
import { sightingsSoFar } from './context-fill.ts'
import type { Sightings } from './scope.ts'
import type { TurnRun } from './turn-run.ts'

/** The `from` of a request that asks which thing is meant. */
export const FROM_GROUNDING = 'grounding'

export async function factsOf(run: TurnRun, { answers = [] }: Call): Promise<Facts> {
  const { results, entries } = await sightingsSoFar(run)
  const now = run.scope.clock.now()
  const showings = results.map((entry) => showingOf(entry, now)).reverse()
  return new TurnFacts(run, { answers, showings, entries })
}

interface Sources {
  readonly answers: NonNullable<Call['answers']>
  /** Newest first. */
  readonly showings: readonly Showing[]
  readonly entries: () => readonly Entry[]
}

class TurnFacts implements Facts {
  readonly asked?: (path: string) => AskedAnswer | undefined
  readonly #run: TurnRun
  readonly #sources: Sources
  #entries: readonly Entry[] | undefined
  #isWhole: boolean | undefined
  #taken: readonly Entry[] | undefined
  #before: readonly PersonWords[] | undefined

  constructor(run: TurnRun, sources: Sources) {
    this.#run = run
    this.#sources = sources
    if (sources.answers.length > 0) this.asked = (path) => this.#answerTo(path)
  }

  active(entity: string): Chosen | undefined {
    const { session, scope } = this.#run
    const { entities } = scope.definition.grounding
    const value = unexpired(session.active ?? [], entities, scope.clock.now()).find(
      (one) => one.entity === entity,
    )
    const { activeSince = {} } = session
    const sinceSeq = Object.hasOwn(activeSince, entity) ? activeSince[entity] : undefined
    return value === undefined || sinceSeq === undefined ? value : { ...value, sinceSeq }
  }

  seen(entity: string, id: string): Seen | undefined | Promise<Seen | undefined> {
    const inWindow = merged(this.#sources.showings.flatMap((showing) => seenIn(showing, entity, id)))
    const needsParent = this.#entityOf(entity)?.parent !== undefined
    const hasAll = inWindow?.label !== undefined && (!needsParent || inWindow.parent !== undefined)
    if (hasAll || this.#hasAll) return inWindow
    const held = inWindow === undefined ? [] : [inWindow]
    return this.#older(entity, { id }).then((older) => merged([...held, ...older]))
  }

  seenThisTurn(entity: string, id: string): boolean {
    const { turn } = this.#run.open
    return this.#sources.showings.some(
      (showing) => showing.turn === turn && showing.kinds.get(entity)?.byId.has(id),
    )
  }

  async byLabel(entity: string, label: string): Promise<readonly Seen[]> {
    const held = this.#sources.showings.flatMap(({ kinds, at, seq }) =>
      (kinds.get(entity)?.byLabel().get(label) ?? []).map((one) => ({ ...one, at, seq })),
    )
    return [...held, ...(await this.#older(entity, { label }))]
  }

  async alike(entity: string, form: string): Promise<readonly Seen[]> {
    const normal = this.#entityOf(entity)?.normal ?? ((id: string) => id)
    const ids = this.#sources.showings.flatMap(({ kinds }) =>
      [...(kinds.get(entity)?.byId.keys() ?? [])].filter((id) => normal(id) === form),
    )
    const known = (await this.#older(entity, { normal: form })).map(({ id }) => id)
    const all = await Promise.all([...new Set([...ids, ...known])].map(async (id) => this.seen(entity, id)))
    return all.filter((one) => one !== undefined)
  }

  recent(entity: string, most: number): readonly Seen[] {
    const found = new Map<string, Seen>()
    for (const { kinds, at, seq } of this.#sources.showings)
      for (const [id, one] of kinds.get(entity)?.byId ?? []) {
        const newer = found.get(id)
        if (newer === undefined && found.size === most) break
        found.set(id, { ...one, at, seq, ...newer })
      }
    return [...found.values()]
  }

  async listing(entity: string, before?: PersonWords): Promise<readonly Seen[]> {
    const { seq: words = Number.POSITIVE_INFINITY } = before ?? {}
    const lists = this.#sources.showings
      .filter(({ seq }) => seq < words)
      .map(({ kinds, at, seq }) => (kinds.get(entity)?.rows ?? []).map((one) => ({ ...one, at, seq })))
    const isHeld = before !== undefined || this.#hasAll
    return (
      lists.find(({ length }) => length > 1) ??
      (isHeld ? undefined : await this.#run.scope.sightings.listing(entity)) ??
      lists.find(({ length }) => length === 1) ??
      []
    )
  }

  async lists(): Promise<readonly ShownList[]> {
    const { turn } = this.#run.open
    const lists = this.#sources.showings.flatMap(({ kinds, at, turn: of }): ShownList[] => {
      const several = [...kinds].filter(([, { byId }]) => byId.size > 1).map(([entity]) => entity)
      return several.length === 0 ? [] : [{ entities: several, at, isThisTurn: of === turn }]
    })
    if (this.#hasAll || lists.some(({ isThisTurn }) => !isThisTurn)) return lists
    const older = await this.#run.scope.sightings.lastList()
    return older === undefined ? lists : [...lists, { ...older, isThisTurn: false }]
  }

  get personMessages(): readonly PersonWords[] {
    return this.#inputs.flatMap(saidIn)
  }

  get userText(): string {
    return this.#inputs.map(personsWords).join('\n')
  }

  async saidBefore(id?: string): Promise<readonly PersonWords[]> {
    const inputs = this.#inputs
    const now = this.#run.scope.clock.now()
    this.#before ??= personsEntries(this.#all)
      .filter((entry) => !inputs.includes(entry))
      // An answer that is taken but not durable yet has no time of its own.
      .flatMap((entry) => saidIn(entry.at === 0 ? { ...entry, at: now } : entry))
      .reverse()
    if (id === undefined || this.#hasAll) return this.#before
    const known = new Set([...this.#before, ...inputs].map(({ seq }) => seq))
    const older = await this.#run.scope.sightings.said(id)
    return [...this.#before, ...older.filter(({ seq }) => seq === undefined || !known.has(seq))]
  }

  #answerTo(path: string): AskedAnswer | undefined {
    const answer = this.#sources.answers.findLast(
      ({ from, name }) => from === FROM_GROUNDING && name === path,
    )
    const { value, origin } = answer ?? {}
    return value === undefined ? undefined : { value, isPersons: origin === undefined }
  }

  #entityOf(name: string): Entity | undefined {
    return this.#run.scope.definition.grounding.entities.get(name)
  }

  get #all(): readonly Entry[] {
    this.#entries ??= this.#sources.entries()
    return this.#entries
  }

  get #inputs(): readonly Entry[] {
    this.#taken ??= inputsOf(this.#all, this.#run.open.turn)
    return this.#taken
  }

  /** True if the window has every entry, so that no index knows more. */
  get #hasAll(): boolean {
    const { session, scope } = this.#run
    this.#isWhole ??= hasEvery(this.#all, { from: session.cleared ?? 0, to: scope.view.session.seq })
    return this.#isWhole
  }

  async #older(...[entity, by]: Parameters<Sightings['seen']>): Promise<readonly Seen[]> {
    return this.#hasAll ? [] : this.#run.scope.sightings.seen(entity, by)
  }
}

/** Counts, because the first entry does not tell: a window inside a turn also has that turn's input, before a gap. */
function hasEvery(entries: readonly Entry[], { from, to }: { from: number; to: number }): boolean {
  let count = 0
  for (const { seq } of entries) if (seq > from && seq <= to) count += 1
  return count >= to - from
}

/** A result with sightings. */
interface Showing {
  readonly turn: number
  readonly at: number
  readonly seq: number
  readonly seen: readonly Sighting[]
  readonly kinds: ReadonlyMap<string, Shown>
}

/** The sightings of one kind in a result, in its order. */
interface Shown {
  /** A thing that is in the list twice has two positions. */
  readonly rows: readonly Sighting[]
  readonly byId: ReadonlyMap<string, Sighting>
  readonly byLabel: () => ReadonlyMap<string, readonly Sighting[]>
}

function showingOf(entry: Entry, now: number): Showing {
  const { seen = [] } = dataOf(entry, 'tool.end')
  const { turn, at, seq } = entry
  return { turn, at: at || now, seq, seen, kinds: kindsOf(entry, seen) }
}

/** Results never change, and are read again with every call. */
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

function seenIn({ kinds, at, seq }: Showing, entity: string, id: string): Seen[] {
  const one = kinds.get(entity)?.byId.get(id)
  return one === undefined ? [] : [{ ...one, at, seq }]
}

/** Merges all sightings of a thing, newest first: a newer one without a field keeps the older value. */
function merged(seen: readonly Seen[]): Seen | undefined {
  return seen.length < 2 ? seen[0] : seen.reduceRight((older, newer) => ({ ...older, ...newer }))
}

/** The person's messages of a turn. */
function inputsOf(entries: readonly Entry[], turn: number): readonly Entry[] {
  const taken = new Set<number>()
  for (const entry of entries)
    if (entry.turn === turn && takesMessage(entry)) for (const seq of entry.takes ?? []) taken.add(seq)
  return entries.filter(({ seq, type }) => type === 'input' && taken.has(seq))
}

function takesMessage({ type, data }: Entry): boolean {
  return type === 'turn.start' || (type === 'take' && (data as EntryData['take']).as === 'message')
}
