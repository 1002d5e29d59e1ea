/**
 * Many processes on one conversation, and bad luck: they are killed and started again, frozen for longer than a lease and
 * let go. Whatever was said by one that died is said again under the same key by the one that comes after it.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { programFile } from '../build/programs.ts'
import type { Membership, Say, Told } from './member.ts'

export interface CrowdOptions {
  readonly folder: string
  readonly processes: number
  /** How many things are said. */
  readonly turns: number
  readonly seed: number
  readonly leaseMs: number
  /** About how long it is from one misfortune to the next. */
  readonly everyMs: number
  /** After so many there are no more, so that a slow machine comes to an end too. No limit if not given. */
  readonly most?: number
  /** Nothing has come to its end for this long: it is stuck. */
  readonly patienceMs: number
  readonly onProgress?: (answered: number) => void
}

export interface Answer {
  readonly key: string
  readonly turn: number
  readonly reason: string
}

export interface CrowdReport {
  readonly kills: number
  readonly killsInATool: number
  readonly freezes: number
  readonly freezesInATool: number
  /** Things that were said again because whoever said them was killed. */
  readonly saidAgain: number
  /** Turned away with nothing stored, by code; said again later. */
  readonly refused: Readonly<Record<string, number>>
  readonly answers: readonly Answer[]
  /** What was said and never answered. */
  readonly unanswered: readonly string[]
  readonly trouble: string
  readonly seconds: number
}

const MEMBER = programFile('test/many/member.ts')
/** What one process says before it waits for answers. */
const AT_ONCE = 2

export async function runCrowd(options: CrowdOptions): Promise<CrowdReport> {
  return new Crowd(options).run()
}

/** The same numbers for the same seed (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

interface Member {
  readonly process: ChildProcess
  readonly exited: Promise<unknown>
  readonly saying: Map<string, Say>
  isReady: boolean
  isFrozen: boolean
}

class Crowd {
  readonly #options: CrowdOptions
  readonly #random: () => number
  readonly #members: (Member | undefined)[] = []
  readonly #waiting: Say[]
  readonly #answers: Answer[] = []
  readonly #refused: Record<string, number> = {}
  readonly #counts = { kills: 0, killsInATool: 0, freezes: 0, freezesInATool: 0, saidAgain: 0 }
  #bell = Promise.withResolvers<void>()
  #trouble = ''
  #born = 0
  #acting: { readonly member: Member; readonly at: number } | undefined
  #lastAnswer = 0

  constructor(options: CrowdOptions) {
    this.#options = options
    this.#random = randomFrom(options.seed)
    this.#waiting = Array.from({ length: options.turns }, (_, index) => this.#sentence(index + 1))
  }

  async run(): Promise<CrowdReport> {
    const { processes, turns, patienceMs, onProgress } = this.#options
    const started = performance.now()
    this.#lastAnswer = started
    for (let place = 0; place < processes; place++) this.#spawn(place)
    const over = new AbortController()
    const misfortune = this.#misfortune(over.signal)
    while (this.#answers.length < turns && performance.now() - this.#lastAnswer < patienceMs) {
      this.#handOut()
      await Promise.race([this.#bell.promise, sleep(200)])
      this.#bell = Promise.withResolvers<void>()
      onProgress?.(this.#answers.length)
    }
    over.abort()
    await misfortune
    // Whoever finishes an effect late has a moment to hand its result in.
    await sleep(this.#options.leaseMs * 3)
    await Promise.all(this.#members.map((_, place) => this.#kill(place)))
    const answered = new Set(this.#answers.map(({ key }) => key))
    const keys = Array.from({ length: turns }, (_, index) => `say-${index + 1}`)
    return {
      ...this.#counts,
      refused: this.#refused,
      answers: this.#answers,
      unanswered: keys.filter((key) => !answered.has(key)),
      trouble: this.#trouble,
      seconds: (performance.now() - started) / 1000,
    }
  }

  #sentence(number: number): Say {
    const kinds = ['pay', 'pay look', 'look', 'pay pay then look', 'slow', 'pay slow', 'hello']
    const words = this.#pick(kinds)
    const whileBusy = this.#random() < 0.1 ? 'steer' : 'queue'
    return { key: `say-${number}`, text: `Number ${number} ${words}`, whileBusy }
  }

  #pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.#random() * list.length)] as T
  }

  #spawn(place: number, again: readonly Say[] = []): void {
    const { folder, leaseMs } = this.#options
    const membership: Membership = {
      name: `p${place}-${++this.#born}`,
      path: join(folder, 'store.db'),
      log: join(folder, 'effects.log'),
      leaseMs,
    }
    const child = fork(MEMBER, [JSON.stringify(membership)], { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] })
    const exited = once(child, 'exit')
    const member = { process: child, exited, saying: new Map<string, Say>(), isReady: false, isFrozen: false }
    this.#members[place] = member
    child.stderr?.on('data', (text: Buffer) => {
      this.#trouble = `${this.#trouble}${membership.name}: ${text.toString()}`.slice(-4000)
    })
    child.on('message', (told: Told) => this.#hear(member, told))
    this.#waiting.unshift(...again)
  }

  #hear(member: Member, told: Told): void {
    if (told.what === 'ready') member.isReady = true
    if (told.what === 'acting') this.#acting = { member, at: performance.now() }
    if (told.what === 'outcome') this.#answered(member, told)
    this.#bell.resolve()
  }

  #answered(member: Member, { key, turn, reason, code = '' }: Extract<Told, { what: 'outcome' }>): void {
    const said = member.saying.get(key)
    if (said === undefined) return
    member.saying.delete(key)
    if (turn === 0) {
      this.#refused[code] = (this.#refused[code] ?? 0) + 1
      this.#waiting.push(said)
      return
    }
    this.#lastAnswer = performance.now()
    this.#answers.push({ key, turn, reason })
  }

  /** To whoever has least to say, so that all of them take part. */
  #handOut(): void {
    for (;;) {
      const free = this.#able()
        .filter(({ saying }) => saying.size < AT_ONCE)
        .toSorted((a, b) => a.saying.size - b.saying.size)
      const [member] = free
      const next = member === undefined ? undefined : this.#waiting.shift()
      if (member === undefined || next === undefined) return
      member.saying.set(next.key, next)
      member.process.send(next)
    }
  }

  #able(): Member[] {
    return this.#members.filter((member) => member?.isReady === true && !member.isFrozen) as Member[]
  }

  /** Strikes only while half of them are there: a slow machine would else be busy with starting processes. */
  async #misfortune(over: AbortSignal): Promise<void> {
    const { everyMs, most = Number.POSITIVE_INFINITY } = this.#options
    const thawing: Promise<void>[] = []
    for (let times = 0; times < most && !over.aborted; times++) {
      do await sleep(everyMs * (0.3 + 1.4 * this.#random()), undefined, { signal: over }).catch(() => {})
      while (!over.aborted && this.#able().length * 2 < this.#members.length)
      if (over.aborted) break
      const kills = this.#random() < 0.5
      const { place, inATool } = await this.#victim()
      if (kills) await this.#killAndReplace(place, inATool)
      else thawing.push(this.#freeze(place, inATool))
    }
    await Promise.all(thawing)
  }

  /** Mostly one in the middle of a tool, if one comes by soon. */
  async #victim(): Promise<{ place: number; inATool: boolean }> {
    const anybody = Math.floor(this.#random() * this.#members.length)
    if (this.#random() < 0.4) return { place: anybody, inATool: false }
    const since = performance.now()
    for (let looks = 0; looks < 100; looks++) {
      const { member, at = 0 } = this.#acting ?? {}
      const place = this.#members.indexOf(member)
      if (at > since && place >= 0) return { place, inATool: true }
      await sleep(4)
    }
    return { place: anybody, inATool: false }
  }

  async #killAndReplace(place: number, inATool: boolean): Promise<void> {
    const again = [...(this.#members[place]?.saying.values() ?? [])]
    await this.#kill(place)
    this.#counts.kills += 1
    if (inATool) this.#counts.killsInATool += 1
    this.#counts.saidAgain += again.length
    this.#spawn(place, again)
  }

  async #kill(place: number): Promise<void> {
    const member = this.#members[place]
    if (member === undefined) return
    this.#members[place] = undefined
    member.process.kill('SIGKILL')
    await member.exited
  }

  async #freeze(place: number, inATool: boolean): Promise<void> {
    const member = this.#members[place]
    if (member === undefined || member.isFrozen || !member.isReady) return
    member.isFrozen = true
    member.process.kill('SIGSTOP')
    this.#counts.freezes += 1
    if (inATool) this.#counts.freezesInATool += 1
    await sleep(this.#options.leaseMs * (1.3 + 1.5 * this.#random()))
    member.process.kill('SIGCONT')
    member.isFrozen = false
    this.#bell.resolve()
  }
}
