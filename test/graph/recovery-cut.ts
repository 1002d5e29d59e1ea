/** Runs a graph with crashes, lets other processes finish it, and reports violations. */
import { isDeepStrictEqual } from 'node:util'
import type { Liveness } from '../../src/base/index.ts'
import type { Channels, GraphSnapshot } from '../../src/graph/index.ts'
import { fold } from '../../src/journal/index.ts'
import { LOCAL_OWNER, type Owner, type ReplayClass } from '../../src/protocol/index.ts'
import type { Store } from '../../src/store/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { ManualClock } from '../../src/testing/index.ts'
import {
  callProblems,
  hanging,
  headProblem,
  type Journals,
  readJournals,
  totalProblems,
  turnProblems,
  unknownProblems,
} from '../recovery/checks.ts'
import { type Death, livenessOf, Mortal } from '../recovery/mortal.ts'
import type { Effect, Surroundings } from '../recovery/world.ts'
import {
  foldProblems,
  graphProblems,
  hangingEffects,
  type Reading,
  readingOf,
  sameReading,
  textOfReading,
  unknownCount,
  unknownEffectProblems,
  usageProblems,
} from './recovery-checks.ts'
import { type GraphPlay, GraphProcess } from './recovery-world.ts'

/** A world inside of this process. */
export class GraphWorld implements Surroundings {
  readonly clock: ManualClock = new ManualClock(1000)
  readonly effects: Effect[] = []
  readonly mortals: Mortal[] = []
  readonly owner: Owner
  readonly asked: number = 0
  readonly #open: (world: GraphWorld) => Store
  readonly #appends = new Set<Promise<unknown>>()

  constructor(open: (world: GraphWorld) => Store = memoryOf, actor: string = LOCAL_OWNER.actor) {
    this.#open = open
    this.owner = { ...LOCAL_OWNER, actor }
  }

  countAsked(): void {}

  hasHappened(callId: string): boolean {
    return this.effects.some((effect) => effect.callId === callId)
  }

  liveness(driver: string): Liveness {
    return livenessOf(this.mortals)(driver)
  }

  open(): Store {
    return this.#open(this)
  }

  /** An append that a process sent before its crash may arrive after it. */
  async arrived(): Promise<void> {
    while (this.#appends.size > 0) await Promise.allSettled(this.#appends)
  }

  process(play: GraphPlay, death?: Death): GraphProcess {
    const name = `p${this.mortals.length + 1}`
    const mortal = new Mortal(name, overheard(this.open(), this.#appends), death)
    this.mortals.push(mortal)
    const { store, ids, died } = mortal
    const effect = (done: Omit<Effect, 'process'>) =>
      mortal.act('effect', () => void this.effects.push({ process: name, ...done }))
    return new GraphProcess(this, play, { store, ids, died, effect })
  }
}

/** `under`: the appends that are under way. */
function overheard(store: Store, under: Set<Promise<unknown>>): Store {
  const append: Store['append'] = async (request) => {
    const appending = store.append(request)
    under.add(appending)
    try {
      return await appending
    } finally {
      under.delete(appending)
    }
  }
  return withAppend(store, append)
}

/** A store with another append. */
export function withAppend(store: Store, append: Store['append']): Store {
  return new Proxy(store, {
    get: (target, name): unknown => {
      if (name === 'append') return append
      const found: unknown = Reflect.get(target, name)
      return typeof found === 'function' ? (found.bind(target) as unknown) : found
    },
  })
}

const memories = new WeakMap<GraphWorld, Store>()

function memoryOf(world: GraphWorld): Store {
  const known = memories.get(world)
  if (known !== undefined) return known
  const store = memoryStore({ clock: world.clock, liveness: (driver) => world.liveness(driver) })
  memories.set(world, store)
  return store
}

export interface Cut {
  readonly journals: Journals
  readonly readings: Readonly<Record<string, Reading>>
  readonly counts: readonly Mortal['counts'][]
  readonly effects: readonly Effect[]
  /** Effects and calls that were under way at a crash. */
  readonly unsettled: ReadonlyMap<string, ReplayClass>
  readonly problems: readonly string[]
}

/** One process per crash, and one more. */
export async function cutOff(
  play: GraphPlay,
  deaths: readonly Death[],
  world: GraphWorld = new GraphWorld(),
): Promise<Cut> {
  const store = world.open()
  const unsettled = new Map<string, ReplayClass>()
  let last: GraphProcess | undefined
  for (const death of [...deaths, undefined]) {
    last = world.process(play, death)
    if ((await last.run()) === 'ended') break
    await world.arrived()
    const journals = await readJournals(store, world.owner)
    for (const [name, replay] of [...hanging(journals), ...hangingEffects(journals)])
      unsettled.set(name, replay)
  }
  const journals = await readJournals(store, world.owner)
  const readings = Object.fromEntries(
    Object.entries(journals).map(([id, entries]) => [id, readingOf(entries)]),
  )
  const problems = await problemsOf(world, { journals, unsettled, last: last as GraphProcess })
  const counts = world.mortals.map((mortal) => mortal.counts)
  return { journals, readings, counts, effects: world.effects, unsettled, problems }
}

async function problemsOf(
  world: GraphWorld,
  { journals, unsettled, last }: Pick<Cut, 'journals' | 'unsettled'> & { readonly last: GraphProcess },
): Promise<string[]> {
  const { effects, owner } = world
  const store = world.open()
  const lookedUp = new Set(effects.flatMap(({ tool, key }) => (tool === 'send' ? [key] : [])))
  const problems = [
    ...unknownProblems(journals, unsettled),
    ...unknownEffectProblems(journals, unsettled, lookedUp),
    ...usageProblems(journals),
  ]
  for await (const problem of foldProblems(store, owner, journals)) problems.push(problem)
  for (const [contextId, entries] of Object.entries(journals)) {
    const found = [
      ...turnProblems(entries),
      ...callProblems(entries, effects),
      ...graphProblems(entries, effects),
      ...totalProblems(entries),
    ]
    const head = await headProblem(store, { ...owner, contextId })
    if (head !== undefined) found.push(head)
    problems.push(...found.map((problem) => `${contextId}: ${problem}`))
  }
  problems.push(...(await historyProblems(last, owner, journals)))
  return problems
}

/** The graph's history matches the journal, and ends at the graph's current state. */
async function historyProblems({ graph }: GraphProcess, owner: Owner, journals: Journals): Promise<string[]> {
  const entries = journals['talk'] ?? []
  const where = { contextId: 'talk', owner }
  const told: GraphSnapshot<Channels>[] = []
  for await (const snapshot of graph.history(where)) told.push(snapshot)
  const seqs = entries.flatMap(({ type, seq }) =>
    type === 'graph.start' || type === 'graph.step' ? [seq] : [],
  )
  const problems: string[] = []
  if (told.map(({ seq }) => seq).join() !== seqs.join()) problems.push('history does not tell every step')
  for (const snapshot of told)
    if (!isDeepStrictEqual(snapshot, await graph.getState({ ...where, at: snapshot.seq })))
      problems.push(`history and getState differ at ${snapshot.seq}`)
  const now = await graph.getState(where)
  if (!isDeepStrictEqual(now?.state, told.at(-1)?.state)) problems.push('it stands elsewhere than it says')
  if (fold(entries).outcome === 'stop' && now?.next.length !== 0)
    problems.push('it is over, and more is next')
  return problems
}

/** Every point at which a process can crash; by default the first process. */
export function deathsIn({ counts }: Cut, process = 0): Death[] {
  const of = (what: Death['of']) =>
    Array.from({ length: counts[process]?.[what] ?? 0 }, (_, index) => index + 1).flatMap((at): Death[] => [
      { of: what, at, when: 'before' },
      { of: what, at, when: 'after' },
    ])
  return [...of('append'), ...of('effect')]
}

/** All violations, with the crashes that lead to them. */
export function wrongWith(here: Cut, whole: Cut, deaths: readonly Death[]): string[] {
  const when = deaths.map((death) => `${death.when} ${death.of} ${death.at}`).join(', ')
  const found = [...here.problems]
  const isKnown = unknownCount(here.journals) === 0
  for (const [contextId, reading] of Object.entries(here.readings)) {
    const other = whole.readings[contextId]
    if (other === undefined) found.push(`${contextId} is there now`)
    else if (!(isKnown ? isDeepStrictEqual(reading, other) : sameReading(reading, other)))
      found.push(`${contextId} reads:\n${textOfReading(reading)}\ninstead of:\n${textOfReading(other)}`)
  }
  const failed = here.readings['talk']?.ends.some((end) => end.includes('unknown-outcome'))
  for (const contextId of Object.keys(whole.readings))
    if (!failed && here.readings[contextId] === undefined) found.push(`${contextId} is not there any more`)
  return found.map((problem) => `death ${when}: ${problem}`)
}
