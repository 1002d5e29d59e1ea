/**
 * Two conversations, one written to at each of two servers, and each read at both, while the servers are killed. The
 * addresses stay: a client that is cut off comes back to its own server.
 */
import { createClient, type HoldfastClient } from '../../../../src/client/index.ts'
import { effectCounts, entryProblems, storedEntries, withStore } from './checks.ts'
import { EntryReader } from './entry-reader.ts'
import { CuttingProxy } from './fleet.ts'

const SERVERS = [0, 1] as const

/** The port of a server; undefined while it is away. */
export type PortOf = (index: number) => number | undefined

export interface HeldReport {
  readonly turns: number
  readonly breaks: number
  readonly problems: readonly string[]
}

export class HeldStreams {
  readonly #proxies: readonly CuttingProxy[]
  readonly #clients: readonly HoldfastClient[]
  readonly #readers = new Map<string, EntryReader[]>()
  readonly #turns: number[] = SERVERS.map(() => 0)
  #isStopped = false
  #writing: Promise<unknown> = Promise.resolve()

  private constructor(proxies: readonly CuttingProxy[]) {
    this.#proxies = proxies
    this.#clients = proxies.map(({ url }) => createClient({ url, retryForMs: 300_000 }))
  }

  static async start(portOf: PortOf): Promise<HeldStreams> {
    const held = new HeldStreams(
      await Promise.all(
        SERVERS.map((index) => CuttingProxy.start({ target: () => portOf(index), bytes: () => undefined })),
      ),
    )
    for (const index of SERVERS) await held.#begin(index)
    held.#writing = Promise.all(SERVERS.map((index) => held.#writeOn(index)))
    held.#writing.catch(() => {})
    return held
  }

  /** Ends the turns under way, waits until every reader has them, and compares. */
  async stop(folder: string): Promise<HeldReport> {
    this.#isStopped = true
    await this.#writing
    const problems: string[] = []
    for (const index of SERVERS) problems.push(...(await this.#problemsOf(index, folder)))
    const readers = [...this.#readers.values()].flat()
    return {
      turns: this.#turns.reduce((sum, each) => sum + each, 0),
      breaks: readers.reduce((sum, reader) => sum + reader.breaks, 0),
      problems,
    }
  }

  close(): void {
    for (const proxy of this.#proxies) proxy.close()
  }

  async #begin(index: number): Promise<void> {
    await this.#say(index)
    const contextId = idOf(index)
    this.#readers.set(
      contextId,
      this.#clients.map((client) => new EntryReader(client.conversation(contextId))),
    )
  }

  async #writeOn(index: number): Promise<void> {
    while (!this.#isStopped) {
      await this.#say(index)
      for (const reader of this.#readers.get(idOf(index)) ?? [])
        await reader.reached((this.#turns[index] ?? 0) - 2)
    }
  }

  async #say(index: number): Promise<void> {
    const turn = (this.#turns[index] ?? 0) + 1
    this.#turns[index] = turn
    const effect = effectOf(index, turn)
    const outcome = await this.#clients[index]
      ?.conversation(idOf(index))
      .ask({ message: `Please do ${effect}`, key: effect })
    if (outcome?.status !== 'completed') throw new Error(`${effect}: ${JSON.stringify(outcome)}`)
  }

  async #problemsOf(index: number, folder: string): Promise<string[]> {
    const turns = this.#turns[index] ?? 0
    const stored = await withStore(folder, (store) => storedEntries(store, idOf(index)))
    const counts = effectCounts(folder)
    const problems: string[] = []
    for (let turn = 1; turn <= turns; turn++) {
      const times = counts.get(effectOf(index, turn)) ?? 0
      if (times !== 1) problems.push(`${effectOf(index, turn)} was done ${times} times`)
    }
    for (const [at, reader] of (this.#readers.get(idOf(index)) ?? []).entries()) {
      await reader.reached(turns)
      await reader.stop()
      problems.push(
        ...entryProblems(reader.seen, stored).map((each) => `${idOf(index)} at server ${at}: ${each}`),
      )
    }
    return problems
  }
}

function idOf(index: number): string {
  return `a:held-${index}`
}

function effectOf(index: number, turn: number): string {
  return `act-${index}-${turn}`
}
