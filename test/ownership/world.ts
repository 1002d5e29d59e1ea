/**
 * The worlds that ownership is explored in: some drivers, some senders, one conversation, one clock, one witness.
 * Builds a scenario from a setting, which says how many of each and what may go wrong.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Clock, Liveness, Timer } from '../../src/base/index.ts'
import type { Transitions } from '../../src/drive/state.ts'
import type { Call } from '../../src/journal/index.ts'
import { type ContextKey, HoldfastError, LOCAL_OWNER, type NewInboxEntry } from '../../src/protocol/index.ts'
import { persist, type Store } from '../../src/store/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { CountingIds, ManualClock } from '../../src/testing/index.ts'
import {
  type Faults,
  type Move,
  type Port,
  type Process,
  type Scenario,
  type Stage,
  type World,
} from '../explore/scenario.ts'
import { storePort } from '../explore/store-port.ts'
import type { Spoil } from './broken-stores.ts'
import { decorate } from './decorate.ts'
import { checkEnd, checkState, checkSurvivors } from './properties.ts'
import type { Caller, RealPorts } from './real-driver.ts'
import { type DriverOptions, drive as driveReference, type Flaw } from './reference-driver.ts'
import { Witness } from './witness.ts'

export interface Setting {
  readonly name: string
  readonly drivers: number
  /** The calls of the model's first reply. `pay` may run once; `look` may run again. */
  readonly tools?: readonly string[]
  /** Senders beside the drivers, active at any time. */
  readonly traffic?: readonly ('input' | 'cancel')[]
  readonly faults?: Faults
  /** `joined`: nothing happens between a driver's read and its claim. */
  readonly reads?: 'each' | 'joined'
  /** Time passes this many times, by a part of the lease each. */
  readonly ticks?: { readonly part: number; readonly times: number }
  /** The wall clock is set back once, by this many leases. */
  readonly setBack?: number
  /** No process can see whether another is dead, as across machines. */
  readonly blind?: true
  readonly heartbeats?: number
  /** A driver that lost the turn starts again as a new one. */
  readonly returns?: true
  /** The model step kills every driver. */
  readonly poison?: true
  readonly flaws?: readonly Flaw[]
  readonly spoil?: () => Spoil
  /** False: the driver buffers what it may, and saves at the end. This and what follows is for the real driver. */
  readonly autoSave?: false
  /** The store refuses driver A one append for each of these entry types: the first that has it. */
  readonly refuses?: readonly string[]
  /** The action of a second caller in the process of driver A, once, at any time. */
  readonly asks?: 'pause' | 'release' | 'note'
  /** Another table of transitions. */
  readonly table?: Transitions
}

/** The stores of a run: `open` gives each process its own. */
export interface Bench {
  readonly begin: (judge: Judge) => { readonly key: ContextKey; readonly open: (process: string) => Store }
  readonly close: () => Promise<void>
  /** Every run has a store to itself. */
  readonly alone: boolean
}

export interface Judge {
  readonly clock: Clock
  readonly liveness: (driver: string) => Liveness
}

const LEASE_MS = 1000
const MAX_CLAIMS = 2

export function memoryBench(): Bench {
  const key = { tenant: 'local', actor: 'local', contextId: 'c' }
  const begin = (judge: Judge) => {
    const store = memoryStore(judge)
    return { key, open: () => store }
  }
  return { begin, close: async () => {}, alone: true }
}

/** One file for all runs, a connection for each process, and an owner of its own for each run. */
export function sqliteBench(): Bench {
  const dir = mkdtempSync(join(tmpdir(), 'holdfast-ownership-'))
  const stores = new Map<string, Store>()
  let judge: Judge | undefined
  let runs = 0
  const clock = { now: () => judge?.clock.now() ?? 0, elapsed: () => judge?.clock.elapsed() ?? 0 }
  const liveness = (driver: string) => judge?.liveness(driver) ?? 'unknown'
  const open = (process: string) => {
    const store =
      stores.get(process) ?? sqliteStore(join(dir, 'o.db'), { synchronous: 'NORMAL', clock, liveness })
    stores.set(process, store)
    return store
  }
  return {
    alone: false,
    begin: (next) => {
      judge = next
      return { key: { tenant: 'local', actor: `run${++runs}`, contextId: 'c' }, open }
    },
    close: async () => {
      for (const store of stores.values()) await store.close()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

/** The driver: the reference, or the real one. Resolves to `idle`, `owned`, `lost` or `paused`. */
export type DriveFunction = (ports: RealPorts, options: DriverOptions) => Promise<string>

export interface Surroundings {
  readonly bench?: Bench
  /** The reference driver by default. */
  readonly drive?: DriveFunction
  /** Filled with counts of events. */
  readonly coverage?: Map<string, number>
  /** Filled with counts of the real driver's transitions. */
  readonly taken?: Map<string, number>
}

export function scenarioOf(setting: Setting, surroundings: Surroundings = {}): Scenario {
  const {
    bench = memoryBench(),
    drive = driveReference,
    coverage = new Map(),
    taken = new Map(),
  } = surroundings
  return {
    name: setting.name,
    ...(setting.faults === undefined ? {} : { faults: setting.faults }),
    setup: (stage) => new OwnershipWorld(setting, stage, { bench, drive, coverage, taken }).begin(),
  }
}

class OwnershipWorld {
  readonly #setting: Setting
  readonly #stage: Stage
  readonly #driver: DriveFunction
  readonly #clock = new ManualClock()
  readonly #open: (process: string) => Store
  readonly #witness: Witness
  /** Those that the poison killed after the end of the schedule. */
  readonly #killed = new Set<string>()
  readonly #callers = new Map<string, Caller>()
  readonly #taken: Map<string, number>
  #clockSet = false

  constructor(setting: Setting, stage: Stage, { bench, drive, coverage, taken }: Required<Surroundings>) {
    this.#setting = setting
    this.#driver = drive
    this.#taken = taken
    this.#stage = stage
    const isDead = (driver: string) => stage.status(driver) === 'dead' || this.#killed.has(driver)
    const isSeenDead = (driver: string) => !setting.blind && isDead(driver)
    const liveness = (driver: string): Liveness => {
      if (setting.blind) return 'unknown'
      return isDead(driver) ? 'dead' : 'alive'
    }
    const { key, open } = bench.begin({ clock: this.#clock, liveness })
    const spoil = setting.spoil?.()
    this.#open = (process) => (spoil === undefined ? open(process) : spoil(open(process)))
    this.#witness = new Witness({
      stage,
      key,
      clock: this.#clock,
      leaseMs: LEASE_MS,
      maxClaims: MAX_CLAIMS,
      store: this.#open('witness'),
      coverage,
      alone: bench.alone,
      isSeenDead,
      clockWasSet: () => this.#clockSet,
    })
  }

  async begin(): Promise<World> {
    const { key, store } = this.#witness.scene
    await store.append({ key, id: 'first', since: 0, inbox: [post('input', 'in1')] })
    const names = ['A', 'B', 'C'].slice(0, this.#setting.drivers)
    const drivers = names.map((name): Process => ({ name, run: (port) => this.#drive(port) }))
    const senders = (this.#setting.traffic ?? []).map((type): Process => {
      const entry = post(type, type === 'input' ? 'in2' : 'cancel1')
      return { name: `${type} sender`, run: (port) => this.#send(port, entry) }
    })
    return {
      clock: this.#clock,
      processes: [...drivers, ...senders],
      moves: this.#moves(),
      state: () => this.#state(),
      check: () => checkState(this.#witness),
      finish: () => this.#finish(),
    }
  }

  #drive(port: Port): Promise<unknown> {
    const applying = this.#witness.applying(port.process, this.#open(port.process))
    const store = this.#witness.hearing(
      port.process,
      storePort(port, applying, { reads: this.#setting.reads ?? 'each' }),
    )
    const { poison, heartbeats = 0, returns, flaws = [], refuses = [] } = this.#setting
    const think = async () => {
      if (poison) await port.point({ label: 'model', perform: () => {}, deadly: true })
    }
    const effect = (call: Call) => this.#witness.effect(port, call)
    const { key } = this.#witness.scene
    return this.#driver(
      {
        store: port.process === 'A' ? refusing(store, refuses) : store,
        clock: this.#clock,
        ...this.#parts(port.process, think),
        effect,
      },
      { key, driver: port.process, leaseMs: LEASE_MS, maxClaims: MAX_CLAIMS, heartbeats, returns, flaws },
    )
  }

  async #send(port: Port, entry: NewInboxEntry): Promise<void> {
    const applying = this.#witness.applying(port.process, this.#open(port.process))
    const store = this.#witness.hearing(port.process, storePort(port, applying))
    const request = { key: this.#witness.scene.key, id: entry.key, since: 0, inbox: [entry] }
    await persist(store, request, { wait: async () => {} })
  }

  #moves(): Move[] {
    const { ticks, setBack, asks } = this.#setting
    const moves: Move[] = []
    if (asks !== undefined) moves.push({ label: `A is asked: ${asks}`, times: 1, run: () => this.#ask(asks) })
    if (ticks !== undefined)
      moves.push({
        label: ticks.part === 1 ? 'the lease passes' : `${ticks.part} of the lease passes`,
        times: ticks.times,
        run: () => this.#clock.advance(LEASE_MS * ticks.part),
      })
    if (setBack !== undefined)
      moves.push({
        label: `the wall clock is set back ${setBack} leases`,
        times: 1,
        run: () => {
          this.#clockSet = true
          this.#clock.set(this.#clock.now() - LEASE_MS * setBack)
        },
      })
    return moves
  }

  #ask(what: 'pause' | 'release' | 'note'): void {
    if (this.#stage.status('A') !== 'running') return
    const caller = this.#callers.get('A')
    if (what === 'note') caller?.note()
    else caller?.stop(what)
  }

  async #state(): Promise<string> {
    const { head, entries } = await this.#witness.look()
    const { key: _, ...row } = head ?? { key: undefined }
    const effects = this.#witness.effects.map(({ process, call, heard }) => {
      const known = heard && this.#stage.status(process) !== 'dead'
      return `${process} ${call.callId} ${known}`
    })
    return JSON.stringify([row, entries, effects.sort(), this.#clock.now(), this.#clock.elapsed()])
  }

  /** All have ended or died: one more, undisturbed driver must complete everything. */
  async #finish(): Promise<void> {
    await checkSurvivors(this.#witness)
    const { blind, setBack, faults } = this.#setting
    // Only where a dead driver may have left a lease, or a lost reply a claim.
    if (blind || setBack !== undefined || faults?.stray) this.#clock.advance(LEASE_MS)
    if (this.#setting.poison) await this.#poisonMore()
    const ended = await this.#endOf(this.#driveAlone('last', async () => {}))
    if (ended !== 'idle') this.#stage.violate('R1', `the last driver could not finish: ${ended}`)
    await checkState(this.#witness)
    await checkEnd(this.#witness)
  }

  /** In memory nothing takes time, so a driver that has not ended now never will. */
  async #endOf(driving: Promise<string>): Promise<string> {
    if (!this.#witness.scene.alone) return driving
    const quiet = new Promise<string>((resolve) => setImmediate(() => resolve('it waits for ever')))
    return Promise.race([driving, quiet])
  }

  /** As many victims as it takes, and a few more. */
  async #poisonMore(): Promise<void> {
    const die = async () => {
      throw new Error('poisoned')
    }
    for (let count = 1; count <= MAX_CLAIMS + 3; count++) {
      const name = `victim${count}`
      try {
        await this.#driveAlone(name, die)
      } catch {
        this.#killed.add(name)
      }
    }
    const { head } = await this.#witness.look()
    if (head?.status === 'running') this.#stage.violate('R7', 'a turn that kills every driver never ends')
  }

  async #driveAlone(name: string, think: () => Promise<void>): Promise<string> {
    const { store, key } = this.#witness.scene
    const effect = (call: Call) => this.#witness.perform({ process: name, call, heard: true })
    return this.#driver(
      {
        store: this.#witness.hearing(name, this.#witness.applying(name, store)),
        clock: this.#clock,
        ...this.#parts(name, think),
        effect,
      },
      { key, driver: name, leaseMs: LEASE_MS, maxClaims: MAX_CLAIMS, flaws: this.#setting.flaws ?? [] },
    )
  }

  /** Delays between attempts take no time here; longer waits are for the clock, and those of the dead never end. */
  #timer(name: string): Timer {
    return {
      wait: async (ms, options) => {
        if (ms < LEASE_MS / 4) return
        await this.#clock.wait(ms, options)
        if (this.#stage.status(name) === 'dead' || this.#killed.has(name)) await new Promise(() => {})
      },
      after: (ms, act) =>
        this.#clock.after(ms, () => {
          if (this.#stage.status(name) !== 'dead' && !this.#killed.has(name)) act()
        }),
    }
  }

  #parts(name: string, think: () => Promise<void>): Omit<RealPorts, 'store' | 'clock' | 'effect'> {
    const counting = new CountingIds()
    const { tools = ['pay'], autoSave = true, table } = this.#setting
    return {
      ...{ autoSave, table },
      report: {
        violate: (rule, message) => this.#stage.violate(rule, message),
        taken: (transition) => {
          if (!this.#stage.replaying) this.#taken.set(transition, (this.#taken.get(transition) ?? 0) + 1)
        },
      },
      meet: (caller) => this.#callers.set(name, caller),
      ids: { next: (prefix) => `${name}.${counting.next(prefix)}` },
      timer: this.#timer(name),
      // A second turn matters for what it takes, not for what it does.
      model: async ({ turn, iteration }) => {
        await think()
        return turn === 1 && iteration === 1 ? tools : []
      },
    }
  }
}

/** Refuses the first entry of these types, without a request to the store. */
function refusing(store: Store, types: readonly string[]): Store {
  const left = new Set(types)
  return decorate(store, {
    append: async (request) => {
      const type = request.entries?.find((entry) => left.has(entry.type))?.type
      if (type === undefined) return store.append(request)
      left.delete(type)
      throw new HoldfastError('store-full', { message: `There is no room for ${type}.` })
    },
  })
}

function post(type: 'input' | 'cancel', key: string): NewInboxEntry {
  return { type, key, data: type === 'input' ? { message: key, principal: LOCAL_OWNER } : { turn: 1 } }
}
