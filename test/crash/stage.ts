/**
 * What a conversation gets to be played with, in a process that is going to be killed: a store that kills before or
 * after an append, effects that are written down outside of the process and kill before, in or after themselves, as do
 * calls of the file system, and an ear for everything that readers are told.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { AgentConfig, Turn } from '../../src/agent/index.ts'
import { type Clock, type Ids, systemClock } from '../../src/base/index.ts'
import type { Channels, GraphRun } from '../../src/graph/index.ts'
import { isDelta, LOCAL_OWNER, type Owner } from '../../src/protocol/index.ts'
import type { Store } from '../../src/store/index.ts'
import { CountingIds, faultyStore } from '../../src/testing/index.ts'
import { killSelf } from '../../src/testing/kill-self.ts'
import type { Body, Effect, SurroundingsWithFolder } from '../recovery/world.ts'
import type { FileSteps } from './file-steps.ts'
import { type Line, type Place, readLines, write } from './record.ts'

/** Where a process is killed, counted from its first append, or its first effect, in this conversation. */
export type Point =
  | { readonly of: 'append'; readonly at: number; readonly when: 'before' | 'after' }
  | { readonly of: 'effect'; readonly at: number; readonly when: 'before' | 'during' | 'after' }

export interface Counts {
  readonly append: number
  readonly effect: number
}

export interface StageOptions {
  readonly store: Store
  /** Where to write down what happens outside of the store. */
  readonly record: Place
  readonly kill?: Point
}

export class Stage implements SurroundingsWithFolder, Body, FileSteps {
  readonly owner: Owner
  readonly clock: Clock = systemClock
  readonly store: Store
  readonly ids: Ids
  /** A process that dies here says nothing more. */
  readonly died: Promise<never> = new Promise(() => {})
  /** Deaths that nobody had time to do anything between are no sign that a turn cannot be played. */
  readonly config: Partial<AgentConfig> = { maxClaims: 1000 }
  readonly #record: Place
  readonly #kill: Point | undefined
  readonly #happened: Set<string>
  #asked: number
  #appends = 0
  #effects = 0

  constructor({ store, record, kill }: StageOptions) {
    this.owner = { ...LOCAL_OWNER, actor: record.actor }
    this.#record = record
    this.#kill = kill
    const counting = new CountingIds()
    this.ids = { next: (prefix) => `p${process.pid}.${counting.next(prefix)}` }
    const lines = readLines(record)
    this.#asked = lines.filter(({ what }) => what === 'asked').length
    this.#happened = new Set(lines.flatMap((line) => (isDone(line) ? [line.callId] : [])))
    this.store = this.#deadly(store)
  }

  get asked(): number {
    return this.#asked
  }

  get counts(): Counts {
    return { append: this.#appends, effect: this.#effects }
  }

  countAsked(): void {
    this.write({ what: 'asked' })
    this.#asked += 1
  }

  hasHappened(callId: string): boolean {
    return this.#happened.has(callId)
  }

  async effect({ tool, callId, key }: Omit<Effect, 'process'>): Promise<void> {
    this.#effects += 1
    this.#strike('before')
    this.write({ what: 'effect', phase: 'begin', tool, callId, key })
    this.#strike('during')
    this.write({ what: 'effect', phase: 'end', tool, callId, key })
    this.#happened.add(callId)
    this.#strike('after')
  }

  async fileStep<T>(step: () => Promise<T>, half?: () => Promise<unknown>): Promise<T> {
    this.#effects += 1
    this.#strike('before')
    if (this.#isNext('during')) await half?.()
    this.#strike('during')
    const done = await step()
    this.#strike('after')
    return done
  }

  /** The same for every process of the conversation. */
  get folder(): string {
    const folder = join(this.#record.folder, `${this.#record.actor}-files`)
    mkdirSync(folder, { recursive: true })
    return folder
  }

  listen(turn: Turn): void {
    turn.subscribe((event) => {
      if (!isDelta(event) && event.seq !== undefined) this.write({ what: 'told', event })
    })
  }

  /** Its events say where they happened, not in which journal. */
  async follow(run: GraphRun<Channels>): Promise<void> {
    for await (const event of run)
      if (!isDelta(event) && event.seq !== undefined) this.write({ what: 'told', event, anywhere: true })
  }

  write(line: Line): void {
    write(this.#record, line)
  }

  #strike(when: Point['when']): void {
    if (this.#isNext(when)) killSelf()
  }

  #isNext(when: Point['when']): boolean {
    const kill = this.#kill
    return kill?.of === 'effect' && kill.at === this.#effects && kill.when === when
  }

  #deadly(store: Store): Store {
    const kill = this.#kill
    const at = (_: unknown, n: number): boolean => {
      this.#appends = n
      return kill?.of === 'append' && kill.at === n
    }
    const when = kill?.of === 'append' ? kill.when : 'before'
    return faultyStore(store, [{ at, how: 'kill', when }])
  }
}

function isDone(line: Line): line is Extract<Line, { what: 'effect' }> {
  return line.what === 'effect' && line.phase === 'end'
}
