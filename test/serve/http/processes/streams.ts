/**
 * One conversation with many turns on two servers that share a SQLite file. The stream of its reader is cut again and
 * again at random places, half of its resumes go to the server that did not get the turn's message, and servers are killed.
 * Beside it, conversations are written to at each server and read at both, by streams that only kills break.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { createClient } from '../../../../src/client/index.ts'
import type { Entry } from '../../../../src/protocol/index.ts'
import { Random } from '../../../reflex/random.ts'
import { effectCounts, entryProblems, storedEntries, withStore } from './checks.ts'
import { EntryReader } from './entry-reader.ts'
import { CuttingProxy, ServerProcess } from './fleet.ts'
import { type HeldReport, HeldStreams } from './held-streams.ts'

export interface StreamsOptions {
  readonly folder: string
  /** The built server. */
  readonly program: string
  readonly cuts: number
  /** A server is killed after so many cuts. */
  readonly cutsPerKill: number
  readonly seed: number
  readonly onCut?: (cuts: number) => void
}

export interface StreamsReport {
  readonly cuts: number
  readonly kills: number
  readonly turns: number
  readonly entries: number
  readonly connections: number
  /** Connections to a server that did not get the message of the turn under way. */
  readonly elsewhere: number
  /** Turns of conversations that are read at both servers all the time, and breaks of those streams. */
  readonly heldTurns: number
  readonly heldBreaks: number
  readonly problems: readonly string[]
}

const ID = 'a:1'

export async function runStreams(options: StreamsOptions): Promise<StreamsReport> {
  const servers = [await ServerProcess.start(options), await ServerProcess.start(options)]
  const run = new StreamsRun(options, servers)
  try {
    return await run.run()
  } finally {
    for (const server of servers) await server.kill().catch(() => {})
  }
}

class StreamsRun {
  readonly #options: StreamsOptions
  readonly #servers: ServerProcess[]
  readonly #random: Random
  readonly #dead = new Set<number>()
  /** The server that got the message of the turn under way. */
  #at = 0
  #cuts = 0
  #kills = 0
  #turns = 0
  #connections = 0
  #elsewhere = 0

  constructor(options: StreamsOptions, servers: ServerProcess[]) {
    this.#options = options
    this.#servers = servers
    this.#random = new Random(options.seed)
  }

  async run(): Promise<StreamsReport> {
    const proxy = await CuttingProxy.start({
      target: () => this.#target(),
      bytes: () => (this.#isOver() ? undefined : 100 + this.#random.below(4000)),
      onCut: () => {
        this.#cuts += 1
        this.#options.onCut?.(this.#cuts)
      },
    })
    const held = await HeldStreams.start((index) => this.#portOf(index))
    try {
      await this.#say()
      const reading = new EntryReader(createClient({ url: proxy.url }).conversation(ID))
      const killing = this.#killAgain()
      while (!this.#isOver()) {
        await this.#say()
        // The reader is never far behind, so that cuts and resumes are in the turn under way.
        await reading.reached(this.#turns - 2)
      }
      await killing
      await this.#say()
      await reading.reached(this.#turns)
      await reading.stop()
      return await this.#judge(reading.seen, await held.stop(this.#options.folder))
    } finally {
      proxy.close()
      held.close()
    }
  }

  #isOver(): boolean {
    return this.#cuts >= this.#options.cuts
  }

  #target(): number | undefined {
    const index = this.#random.below(2)
    if (this.#dead.has(index)) return undefined
    this.#connections += 1
    if (index !== this.#at) this.#elsewhere += 1
    return this.#portOf(index)
  }

  #portOf(index: number): number | undefined {
    return this.#dead.has(index) ? undefined : this.#servers[index]?.port
  }

  /** Sends the next message, to whichever server is there, until its turn has ended. */
  async #say(): Promise<void> {
    this.#turns += 1
    const toAny: typeof fetch = (input, init) => {
      const living = [0, 1].filter((index) => !this.#dead.has(index))
      this.#at = living[this.#random.below(living.length)] ?? 0
      const { pathname, search } = new URL(input instanceof Request ? input.url : input)
      return fetch(`${this.#servers[this.#at]?.url}${pathname}${search}`, init)
    }
    const client = createClient({ url: 'http://any', fetch: toAny, retryForMs: 300_000 })
    const outcome = await client
      .conversation(ID)
      .ask({ message: `Please do act-${this.#turns}`, key: `k${this.#turns}` })
    if (outcome.status !== 'completed') throw new Error(`Turn ${this.#turns}: ${JSON.stringify(outcome)}`)
  }

  async #killAgain(): Promise<void> {
    let next = this.#options.cutsPerKill
    while (!this.#isOver()) {
      await sleep(5 + this.#random.below(20))
      if (this.#cuts < next) continue
      next += this.#options.cutsPerKill
      const index = this.#random.below(2)
      this.#dead.add(index)
      await this.#servers[index]?.kill()
      this.#kills += 1
      this.#servers[index] = await ServerProcess.start(this.#options)
      this.#dead.delete(index)
    }
  }

  async #judge(seen: readonly Entry[], held: HeldReport): Promise<StreamsReport> {
    const stored = await withStore(this.#options.folder, (store) => storedEntries(store, ID))
    return {
      cuts: this.#cuts,
      kills: this.#kills,
      turns: this.#turns,
      entries: stored.length,
      connections: this.#connections,
      elsewhere: this.#elsewhere,
      heldTurns: held.turns,
      heldBreaks: held.breaks,
      problems: [
        ...entryProblems(seen, stored),
        ...effectProblems(this.#options.folder, this.#turns),
        ...held.problems,
      ],
    }
  }
}

function effectProblems(folder: string, turns: number): string[] {
  const counts = effectCounts(folder)
  return Array.from({ length: turns }, (_, at) => `act-${at + 1}`).flatMap((name) => {
    const times = counts.get(name) ?? 0
    return times === 1 ? [] : [`${name} was done ${times} times`]
  })
}
