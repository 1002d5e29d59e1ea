/**
 * One world being played, step by step. Exactly one process runs at a time: after each step the stage waits until
 * every process has come to its next operation or its end. It uses no timers and no real time; a process that waits
 * for anything but its port looks idle to it.
 */
import { hash } from 'node:crypto'
import type { Faults, Operation, Port, Process, ProcessStatus, Scenario, Stage, World } from './scenario.ts'

/** A step that can be taken: plain data, good for every run that has taken the same steps before. */
export interface Choice {
  readonly label: string
  readonly mode: Mode
  /** Index of the process, the move or the stray operation. */
  readonly who: number
  /** Which of the process's waiting operations. */
  readonly slot: number
}

type Mode =
  | 'go'
  | 'hear'
  | 'unheard'
  | 'fail'
  | 'fail-done'
  | 'stray'
  | 'die'
  | 'done-die'
  | 'move'
  | 'arrive'

export interface Knowledge {
  readonly histories: readonly string[]
  readonly origins: readonly string[]
}

interface Waiting {
  readonly label: string
  readonly operation: Operation<unknown>
  readonly answer: (outcome: Outcome) => void
  /** Set when the operation was done and its answer is still on its way. */
  outcome?: Outcome
}

type Outcome =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly error: unknown }

interface Stray {
  readonly label: string
  readonly perform: () => unknown
  /** Who asked for it, knowing what: the same origin means the same request. */
  origin: string
}

interface Actor {
  readonly name: string
  status: ProcessStatus
  waiting: Waiting[]
  /** Digest of all that it has learnt so far. */
  history: string
  begun: boolean
}

export class Schedule implements Stage {
  replaying = true
  readonly violations: { rule: string; message: string }[] = []
  /** What the last step led to, in words. */
  said = ''
  #world: World | undefined
  readonly #actors: Actor[] = []
  readonly #strays: Stray[] = []
  readonly #left: { -readonly [K in keyof Faults]-?: NonNullable<Faults[K]> }
  #moves: number[] = []
  /** The one process that goes on before anything else happens. */
  #hot: Actor | undefined

  private constructor(faults: Faults = {}) {
    this.#left = { crash: 0, ambiguous: 0, stray: 0, unheard: 0, ...faults }
  }

  static async begin(scenario: Scenario): Promise<Schedule> {
    const play = new Schedule(scenario.faults)
    const world = await scenario.setup(play)
    play.#world = world
    play.#moves = (world.moves ?? []).map(({ times }) => times)
    for (const process of world.processes) play.#enter(process)
    await play.#quiet()
    return play
  }

  get world(): World {
    if (this.#world === undefined) throw new Error('The world is not set up yet.')
    return this.#world
  }

  violate(rule: string, message: string): void {
    this.violations.push({ rule, message })
  }

  status(process: string): ProcessStatus {
    return this.#actors.find(({ name }) => name === process)?.status ?? 'ended'
  }

  /** The steps that can be taken now. None: the path has ended. */
  choices(): Choice[] {
    const found: Choice[] = []
    for (const [who, actor] of this.#actors.entries()) {
      if (actor.status !== 'running' || (this.#hot ?? actor) !== actor) continue
      for (const [slot, waiting] of actor.waiting.entries()) {
        const line = `${actor.name}: ${waiting.label}`
        for (const [mode, suffix] of this.#modes(waiting)) {
          found.push({ label: `${line}${suffix}`, mode, who, slot })
        }
      }
      if (this.#left.crash > 0 && actor.begun && actor.waiting.length > 0)
        found.push({ label: `${actor.name} dies`, mode: 'die', who, slot: 0 })
    }
    if (this.#hot !== undefined || (found.length === 0 && this.#strays.length === 0)) return found
    for (const [who, { label }] of this.#strays.entries())
      found.push({ label: `late: ${label}`, mode: 'arrive', who, slot: 0 })
    for (const [who, { label }] of (this.world.moves ?? []).entries())
      if ((this.#moves[who] ?? 0) > 0) found.push({ label, mode: 'move', who, slot: 0 })
    return found
  }

  async take(choice: Choice): Promise<void> {
    this.said = ''
    if (choice.mode === 'move') {
      this.#moves[choice.who] = (this.#moves[choice.who] ?? 0) - 1
      this.world.moves?.[choice.who]?.run()
    } else if (choice.mode === 'arrive') {
      const [stray] = this.#strays.splice(choice.who, 1)
      if (stray === undefined) throw drifted(choice)
      this.said = tell(await outcomeOf(stray.perform))
    } else {
      await this.#step(choice)
    }
    await this.#quiet()
  }

  /** The same for two moments exactly if they have the same future. */
  async key(): Promise<string> {
    const actors = this.#actors.map(({ status, history, waiting }) => [
      status,
      // What the dead knew is of no use to anyone.
      status === 'dead' ? '' : history,
      // An answer on its way says how things were when the operation was done, which the state may no longer show.
      waiting.map(({ label, outcome }) => [label, outcome === undefined ? '' : describe(outcome)]),
    ])
    const strays = this.#strays.map(({ origin }) => origin)
    return digest(
      JSON.stringify([await this.world.state(), actors, strays, this.#left, this.#moves, this.#hot?.name]),
    )
  }

  /** A process that never came to its end, once there is nothing left to do. */
  stuck(): string | undefined {
    return this.#actors.find(({ status }) => status === 'running')?.name
  }

  /** What each process knows; handing it back to a replay spares the work of computing it again. */
  knowledge(): Knowledge {
    return {
      histories: this.#actors.map(({ history }) => history),
      origins: this.#strays.map(({ origin }) => origin),
    }
  }

  restore({ histories, origins }: Knowledge): void {
    for (const [who, actor] of this.#actors.entries()) actor.history = histories[who] ?? actor.history
    for (const [index, stray] of this.#strays.entries()) stray.origin = origins[index] ?? stray.origin
  }

  #modes({ operation, outcome }: Waiting): [Mode, string][] {
    if (operation.deadly) return [['die', ' · dies of it']]
    if (outcome !== undefined) return [['hear', ' · the answer arrives']]
    const modes: [Mode, string][] = [['go', '']]
    if (operation.reads) return modes
    if (this.#left.unheard > 0) modes.push(['unheard', ' · done, the answer is on its way'])
    if (operation.ambiguous !== undefined) {
      if (this.#left.ambiguous > 0)
        modes.push(['fail', ' · error, it was not done'], ['fail-done', ' · error, but it was done'])
      if (this.#left.stray > 0) modes.push(['stray', ' · error, it is still on its way'])
    }
    if (this.#left.crash > 0) modes.push(['done-die', ' · done, then dies'])
    return modes
  }

  async #step(choice: Choice): Promise<void> {
    const actor = this.#actors[choice.who]
    const waiting = actor?.waiting[choice.slot]
    if (actor === undefined || waiting === undefined) throw drifted(choice)
    if (choice.mode !== 'die' && !choice.label.startsWith(`${actor.name}: ${waiting.label}`))
      throw drifted(choice)
    const { operation } = waiting
    this.#hot = operation.joined ? actor : undefined
    if (['go', 'unheard', 'fail-done', 'done-die'].includes(choice.mode))
      waiting.outcome = await outcomeOf(operation.perform)
    if (waiting.outcome !== undefined) this.said = tell(waiting.outcome, operation)
    this.#pay(choice.mode, operation)
    if (choice.mode === 'unheard') return
    if (choice.mode === 'die' || choice.mode === 'done-die') {
      this.#kill(actor)
      return
    }
    if (choice.mode === 'stray')
      this.#strays.push({
        label: waiting.label,
        perform: operation.perform,
        origin: `${actor.name} ${actor.history} ${waiting.label}`,
      })
    const failed = ['fail', 'fail-done', 'stray'].includes(choice.mode)
    const outcome = failed ? ({ ok: false, error: operation.ambiguous?.() } as const) : waiting.outcome
    if (outcome === undefined) throw drifted(choice)
    actor.waiting = actor.waiting.filter((other) => other !== waiting)
    this.#learn(actor, waiting.label, outcome)
    waiting.answer(outcome)
  }

  #pay(mode: Mode, operation: Operation<unknown>): void {
    if (mode === 'unheard') this.#left.unheard -= 1
    if (mode === 'fail' || mode === 'fail-done') this.#left.ambiguous -= 1
    if (mode === 'stray') this.#left.stray -= 1
    if (mode === 'done-die' || (mode === 'die' && !operation.deadly)) this.#left.crash -= 1
  }

  #kill(actor: Actor): void {
    actor.status = 'dead'
    actor.waiting = []
    this.world.died?.(actor.name)
  }

  #enter(process: Process): void {
    const actor: Actor = { name: process.name, status: 'running', waiting: [], history: '', begun: false }
    this.#actors.push(actor)
    const end = (outcome: Outcome) => {
      if (actor.status === 'dead') return
      actor.status = 'ended'
      actor.history = digest(describe(outcome))
      if (!outcome.ok) this.violate('uncaught', `${actor.name} failed: ${String(outcome.error)}`)
    }
    process.run(this.#port(actor)).then(
      (value) => end({ ok: true, value }),
      (error: unknown) => end({ ok: false, error }),
    )
  }

  #port(actor: Actor): Port {
    const point = <T>(operation: Operation<T>) =>
      new Promise<T>((resolve, reject) => {
        const answer = (outcome: Outcome) => {
          actor.begun = true
          if (outcome.ok) resolve(outcome.value as T)
          else reject(outcome.error)
        }
        const label = unused(operation.label, actor.waiting)
        actor.waiting.push({ label, operation: operation as Operation<unknown>, answer })
      })
    return { process: actor.name, point }
  }

  #learn(actor: Actor, label: string, outcome: Outcome): void {
    if (this.replaying) return
    const { clock } = this.world
    const time = clock === undefined ? '' : `${clock.now()} ${clock.elapsed()}`
    actor.history = digest(`${actor.history} ${time} ${label} ${describe(outcome)}`)
  }

  /** All microtasks have run when an immediate does, so whoever could go on has come to its next operation. */
  async #quiet(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve))
    if (this.#hot !== undefined && this.#hot.waiting.length === 0) this.#hot = undefined
  }
}

/** The label, or the label with a number if it is taken. */
function unused(wanted: string, waiting: readonly Waiting[]): string {
  const taken = new Set(waiting.map(({ label }) => label))
  let label = wanted
  for (let count = 2; taken.has(label); count++) label = `${wanted} (${count})`
  return label
}

async function outcomeOf(perform: () => unknown): Promise<Outcome> {
  try {
    return { ok: true, value: await perform() }
  } catch (error) {
    return { ok: false, error }
  }
}

/** What a process can tell one outcome from another by. Messages are for people and may name what differs by run. */
function describe(outcome: Outcome): string {
  if (outcome.ok) return JSON.stringify(outcome.value) ?? ''
  const { code, message, details } = outcome.error as { code?: unknown; message?: string; details?: unknown }
  return JSON.stringify(['error', code ?? message, details])
}

function tell(outcome: Outcome, operation?: Operation<unknown>): string {
  if (outcome.ok) return operation?.tell?.(outcome.value) ?? ''
  const { code, message } = outcome.error as { code?: string; message?: string }
  return code ?? message ?? 'failed'
}

function digest(text: string): string {
  return hash('md5', text, 'base64')
}

function drifted({ label }: Choice): Error {
  return new Error(
    `The scenario is not deterministic: "${label}" was possible here before and is not now. Let ids count, time stand still and nothing be random.`,
  )
}
