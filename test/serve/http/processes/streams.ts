/**
 * One conversation with many turns on two servers that share a SQLite file. The stream of its reader is cut again and
 * again at random places, half of its resumes go to the server that did not get the turn's message, and servers are killed.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ClientEvent, createClient } from '../../../../src/client/index.ts'
import { type Entry, LOCAL_OWNER } from '../../../../src/protocol/index.ts'
import { sqliteStore } from '../../../../src/store/sqlite/index.ts'
import { Random } from '../../../reflex/random.ts'
import { CuttingProxy, ServerProcess } from './fleet.ts'

export interface StreamsOptions {
  readonly folder: string
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
  readonly problems: readonly string[]
}

const ID = 'a:1'

export async function runStreams(options: StreamsOptions): Promise<StreamsReport> {
  const servers = [await ServerProcess.start(options.folder), await ServerProcess.start(options.folder)]
  const run = new StreamsRun(options, servers)
  try {
    return await run.run()
  } finally {
    for (const server of servers) await server.kill().catch(() => {})
  }
}

interface Reading {
  /** Resolves when the end of this turn was seen. */
  readonly reached: (turn: number) => Promise<void>
  readonly stop: () => Promise<readonly Entry[]>
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
    try {
      await this.#say()
      const reading = this.#read(proxy.url)
      const killing = this.#killAgain()
      while (!this.#isOver()) {
        await this.#say()
        // The reader is never far behind, so that cuts and resumes are in the turn under way.
        await reading.reached(this.#turns - 2)
      }
      await killing
      await this.#say()
      await reading.reached(this.#turns)
      const seen = await reading.stop()
      return await this.#judge(seen)
    } finally {
      proxy.close()
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
    return this.#servers[index]?.port
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
    const client = createClient({ url: 'http://any', fetch: toAny, retries: 50 })
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
      this.#servers[index] = await ServerProcess.start(this.#options.folder)
      this.#dead.delete(index)
    }
  }

  #read(url: string): Reading {
    const seen: Entry[] = []
    const stop = new AbortController()
    let last = 0
    const take = (event: ClientEvent): void => {
      if (event.type !== 'entry') return
      seen.push(event.entry)
      if (event.entry.type === 'turn.end') last = event.entry.turn
    }
    const events = createClient({ url }).conversation(ID).events({ signal: stop.signal })
    const reading = (async () => {
      for await (const event of events) take(event)
    })()
    return {
      reached: async (turn) => {
        while (last < turn) await Promise.race([sleep(10), reading])
      },
      stop: async () => {
        stop.abort()
        await reading
        return seen
      },
    }
  }

  async #judge(seen: readonly Entry[]): Promise<StreamsReport> {
    const store = sqliteStore(join(this.#options.folder, 'store.db'))
    const stored: Entry[] = []
    for (let page: readonly Entry[] | undefined; page === undefined || page.length > 0; stored.push(...page))
      page = await store.read({ ...LOCAL_OWNER, contextId: ID }, { from: stored.length + 1 })
    await store.close()
    return {
      cuts: this.#cuts,
      kills: this.#kills,
      turns: this.#turns,
      entries: stored.length,
      connections: this.#connections,
      elsewhere: this.#elsewhere,
      problems: [...entryProblems(seen, stored), ...effectProblems(this.#options.folder, this.#turns)],
    }
  }
}

function entryProblems(seen: readonly Entry[], stored: readonly Entry[]): string[] {
  const problems: string[] = []
  for (const [at, entry] of seen.entries())
    if (JSON.stringify(entry) !== JSON.stringify(stored[at]))
      problems.push(
        `event ${at} is entry ${entry.seq} ${entry.type}, stored is ${stored[at]?.seq} ${stored[at]?.type}`,
      )
  const rest = stored.slice(seen.length).filter(({ type }) => type !== 'release')
  if (rest.length > 0) problems.push(`${rest.length} entries were not seen, from ${rest[0]?.seq} on`)
  return problems
}

function effectProblems(folder: string, turns: number): string[] {
  const path = join(folder, 'effects.log')
  const done = existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : []
  const expected = Array.from({ length: turns }, (_, at) => `act-${at + 1}`)
  return expected.flatMap((name) => {
    const times = done.filter((line) => line === name).length
    return times === 1 ? [] : [`${name} was done ${times} times`]
  })
}
