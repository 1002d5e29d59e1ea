/**
 * Plays every schedule of a scenario, within its budgets: a depth-first search over what could happen next, without a
 * seed and without saved states. A state is reached by playing its schedule from the start, and is expanded once.
 */
import type { Report, Scenario, Violation } from './scenario.ts'
import { type Choice, type Knowledge, Schedule } from './stage.ts'

export interface ExploreOptions {
  /** Stop after this many states; the report then says that it is not exhaustive. A million if not given. */
  readonly maxStates?: number
  /** Stop at this many violations. 1 if not given. */
  readonly maxViolations?: number
  /** `breadth` finds a shortest counterexample first, and repeats more steps on the way. */
  readonly order?: 'depth' | 'breadth'
  /**
   * False plays every schedule to its end, known states included. Far too slow for most, but on a tiny scope it must find
   * as many states as with pruning; if it finds more, `World.state` leaves out something that matters.
   */
  readonly prune?: boolean
}

interface Node {
  readonly parent: Node | undefined
  readonly choice: Choice | undefined
  readonly depth: number
  /** What the processes knew at the parent. */
  readonly known: Knowledge
}

/**
 * Every schedule of processes, faults and moves that the scenario's budgets allow, each state checked once.
 *
 * A scenario's `setup` makes a fresh world: a store on a `ManualClock`, and processes as async functions. A process gets
 * a port and does everything through it: `storePort` makes a Store of it, `port.point` an effect. The explorer lets one
 * operation happen at a time, or fail, or kills its process, and comes back to each such moment until it has tried all
 * that could happen there.
 *
 * @example
 * const report = await explore({
 *   name: 'two drivers, one dies',
 *   faults: { crash: 1 },
 *   setup: (stage) => {
 *     const clock = new ManualClock()
 *     const liveness = (name: string) => (stage.status(name) === 'dead' ? 'dead' : 'alive')
 *     const store = memoryStore({ clock, liveness })
 *     const run = (port: Port) => drive(storePort(port, store), clock)
 *     return {
 *       clock,
 *       processes: [{ name: 'A', run }, { name: 'B', run }],
 *       moves: [{ label: 'the lease passes', times: 1, run: () => clock.advance(LEASE_MS) }],
 *       state: async () => JSON.stringify([await store.head(key), await store.read(key)]),
 *       finish: async () => {
 *         if ((await store.head(key))?.status === 'running') stage.violate('R6', 'nobody ended the turn')
 *       },
 *     }
 *   },
 * })
 */
export async function explore(scenario: Scenario, options: ExploreOptions = {}): Promise<Report> {
  const search = new Search(scenario, options)
  return search.run()
}

/** Plays one schedule and says what each step led to. Takes the schedule of a violation, or any beginning of one. */
export async function replay(
  scenario: Scenario,
  schedule: readonly string[],
): Promise<{ readonly lines: readonly string[]; readonly violations: readonly Violation[] }> {
  const play = await Schedule.begin(scenario)
  play.replaying = false
  const lines: string[] = []
  for (const label of schedule) {
    const choice = play.choices().find((candidate) => candidate.label === label)
    if (choice === undefined)
      throw new Error(
        `"${label}" cannot happen here; only: ${play
          .choices()
          .map((other) => other.label)
          .join(', ')}`,
      )
    await play.take(choice)
    lines.push(play.said === '' ? label : `${label} → ${play.said}`)
  }
  await inspect(play)
  const violations = play.violations.map((violation) => ({ ...violation, schedule }))
  await play.world.close?.()
  return { lines, violations }
}

const NOTHING: Knowledge = { histories: [], origins: [] }

class Search {
  readonly #scenario: Scenario
  readonly #options: Required<ExploreOptions>
  readonly #seen = new Set<string>()
  readonly #violations: Violation[] = []
  readonly #count = { transitions: 0, paths: 0, pruned: 0, longest: 0 }
  #work: Node[] = []
  #next = 0
  #play: Schedule | undefined
  #at: Node | undefined

  constructor(scenario: Scenario, options: ExploreOptions) {
    this.#scenario = scenario
    this.#options = { maxStates: 1_000_000, maxViolations: 1, order: 'depth', prune: true, ...options }
  }

  async run(): Promise<Report> {
    const started = performance.now()
    this.#work = [{ parent: undefined, choice: undefined, depth: 0, known: NOTHING }]
    let capped = false
    for (let node = this.#take(); node !== undefined; node = this.#take()) {
      if (
        this.#seen.size >= this.#options.maxStates ||
        this.#violations.length >= this.#options.maxViolations
      ) {
        capped = true
        break
      }
      await this.#visit(node)
    }
    await this.#leave()
    return {
      scenario: this.#scenario.name,
      states: this.#seen.size,
      ...this.#count,
      exhaustive: !capped,
      violations: this.#violations,
      seconds: (performance.now() - started) / 1000,
    }
  }

  #take(): Node | undefined {
    if (this.#options.order === 'depth') return this.#work.pop()
    return this.#work[this.#next++]
  }

  async #visit(node: Node): Promise<void> {
    const play = await this.#reach(node)
    this.#count.longest = Math.max(this.#count.longest, node.depth)
    if (play.violations.length > 0) return this.#report(play, node)
    const key = await play.key()
    if (this.#seen.has(key)) {
      this.#count.pruned += 1
      if (this.#options.prune) return
    }
    this.#seen.add(key)
    const choices = await inspect(play)
    if (choices.length === 0) {
      this.#count.paths += 1
      // Whatever looks at the end may use the world up.
      this.#at = undefined
    }
    if (play.violations.length > 0) return this.#report(play, node)
    const known = play.knowledge()
    const children = choices.map((choice) => ({ parent: node, choice, depth: node.depth + 1, known }))
    this.#work.push(...(this.#options.order === 'depth' ? children.toReversed() : children))
  }

  /** Goes one step on where the last one ended, or plays everything from the start. */
  async #reach(node: Node): Promise<Schedule> {
    this.#count.transitions += 1
    if (this.#play === undefined || this.#at !== node.parent || node.parent === undefined) {
      await this.#leave()
      this.#play = await Schedule.begin(this.#scenario)
      for (const choice of pathTo(node.parent)) await this.#play.take(choice)
      this.#play.restore(node.known)
      this.#play.replaying = false
    }
    this.#at = node
    if (node.choice !== undefined) await this.#play.take(node.choice)
    return this.#play
  }

  async #leave(): Promise<void> {
    await this.#play?.world.close?.()
    this.#play = undefined
  }

  #report(play: Schedule, node: Node): void {
    const schedule = pathTo(node).map(({ label }) => label)
    for (const violation of play.violations) this.#violations.push({ ...violation, schedule })
    this.#at = undefined
  }
}

/** Looks at a new state and returns its choices; without any, the path has ended. */
async function inspect(play: Schedule): Promise<Choice[]> {
  await play.world.check?.()
  const choices = play.choices()
  if (choices.length > 0 || play.violations.length > 0) return choices
  const stuck = play.stuck()
  if (stuck !== undefined) play.violate('stuck', `${stuck} waits for something that nobody will do`)
  else await play.world.finish?.()
  return choices
}

function pathTo(node: Node | undefined): Choice[] {
  const path: Choice[] = []
  for (let at = node; at?.choice !== undefined; at = at.parent) path.push(at.choice)
  return path.reverse()
}
