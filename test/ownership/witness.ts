/**
 * Observes every step of an explored world and its actor: on the store's side the applied writes, on the process's side
 * the requests and replies. Rules about a single step are judged here; `properties.ts` holds the rules about states and
 * ends. Judging is skipped while a known prefix is repeated, recording never is.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '../../src/base/index.ts'
import type { Call } from '../../src/journal/index.ts'
import {
  type ContextKey,
  type Entry,
  type EntryData,
  HoldfastError,
  isInboxType,
  type Json,
} from '../../src/protocol/index.ts'
import type { AppendRequest, Head, Receipt, Store } from '../../src/store/index.ts'
import type { Port, Stage } from '../explore/scenario.ts'
import { decorate } from './decorate.ts'

export interface Scene {
  readonly stage: Stage
  readonly key: ContextKey
  readonly clock: Clock
  readonly leaseMs: number
  readonly maxClaims: number
  /** A connection of its own, for observation. */
  readonly store: Store
  /** Counts of events over all schedules. */
  readonly coverage: Map<string, number>
  /** True if no other run uses the store. */
  readonly alone: boolean
  readonly isSeenDead: (driver: string) => boolean
  /** The wall clock was set: leases may lapse before their holders expect it. */
  readonly clockWasSet: () => boolean
}

export interface View {
  readonly head: Head | undefined
  readonly entries: readonly Entry[]
}

export interface Writer {
  readonly process: string
  readonly epoch: number
}

interface Knowledge {
  /** The epoch that the process believes to hold. */
  epoch?: number
  lost: boolean
  /** When the request of its newest acknowledgement was sent. */
  ackAt: number
}

export class Witness {
  readonly scene: Scene
  /** The driver that appended the entry at a position. */
  readonly writers: Map<number, Writer> = new Map()
  readonly heard: { process: string; request: AppendRequest; receipt: Receipt }[] = []
  readonly effects: { process: string; call: Call; heard: boolean }[] = []
  readonly #known = new Map<string, Knowledge>()
  readonly #sentAt = new Map<string, number>()
  readonly #ids = new Set<string>()
  readonly #contents = new Set<string>()

  constructor(scene: Scene) {
    this.scene = scene
  }

  /** Counts an event: an exploration in which nothing happens proves nothing. */
  seen(what: string): void {
    this.scene.coverage.set(what, (this.scene.coverage.get(what) ?? 0) + 1)
  }

  async look(): Promise<View> {
    const { store, key } = this.scene
    return { head: await store.head(key), entries: await store.read(key) }
  }

  /** The store's side: under a process's port. */
  applying(process: string, store: Store): Store {
    return decorate(store, {
      append: async (request) => {
        const before = this.scene.stage.replaying ? undefined : await this.look()
        const outcome = await settle(store.append(request))
        if (before !== undefined) this.#judge({ process, request, before, outcome })
        if (outcome.ok && !outcome.value.repeated) this.#remember(process, request, outcome.value)
        if (before !== undefined) this.#judgeAfter(process, { request, before, outcome }, await this.look())
        return unwrap(outcome)
      },
      renew: async (request) => {
        const before = this.scene.stage.replaying ? undefined : await this.look()
        const outcome = await settle(store.renew(request))
        if (before === undefined) return unwrap(outcome)
        const holds = before.head?.epoch === request.epoch && before.head.lease !== undefined
        if (outcome.ok !== holds)
          this.#violate('R1', `${process} ${holds ? 'could not' : 'could'} renew epoch ${request.epoch}`)
        if (outcome.ok) {
          this.#judgeInbox(process, request.since, { shown: outcome.value.inbox, view: before })
          this.#judgeLease(process, await this.look(), this.scene.leaseMs / 4)
        }
        return unwrap(outcome)
      },
    })
  }

  /** The process's side: over its port. */
  hearing(process: string, store: Store): Store {
    return decorate(store, {
      append: async (request) => {
        const sentAt = this.#sentAt.get(request.id) ?? this.scene.clock.elapsed()
        this.#sentAt.set(request.id, sentAt)
        // A driver that sends a release starts nothing after it, with or without the receipt.
        if (request.entries?.some(endsOwnership)) delete this.#known.get(process)?.epoch
        const outcome = await settle(store.append(request))
        const byDriver = request.claim !== undefined || request.epoch !== undefined
        if (outcome.ok) this.heard.push({ process, request, receipt: outcome.value })
        if (byDriver) this.#learn(process, outcome, { sentAt, request })
        return unwrap(outcome)
      },
      renew: async (request) => {
        const sentAt = this.scene.clock.elapsed()
        const outcome = await settle(store.renew(request))
        this.#learn(process, outcome, { sentAt, request: {} })
        return unwrap(outcome)
      },
    })
  }

  /** R3 and R4, where effects begin and end. */
  async effect(port: Port, call: Call): Promise<Json> {
    const { process } = port
    this.#mayStart(process, call.callId)
    const run = { process, call, heard: false }
    const output = await port.point({
      label: `effect ${call.tool} ${call.callId}`,
      perform: () => this.perform(run),
    })
    run.heard = true
    return output
  }

  async perform(run: { process: string; call: Call; heard: boolean }): Promise<Json> {
    const { callId, tool } = run.call
    if (!this.scene.stage.replaying) {
      const { entries } = await this.look()
      const started = entries.find(({ type, data }) => type === 'tool.start' && data['callId'] === callId)
      if (started === undefined)
        this.#violate(
          'R3',
          `${run.process} runs ${tool} ${callId}, which no tool.start in the journal announces`,
        )
      const earlier = this.effects.find(({ call }) => call.callId === callId)
      if (earlier !== undefined && started?.data['replay'] !== 'safe')
        this.#violate('R4', `${run.process} runs ${tool} ${callId} again after ${earlier.process} did`)
    }
    if (this.effects.some(({ call }) => call.callId === callId)) this.seen('a safe call ran again')
    this.effects.push(run)
    return outputOf(run.process, callId)
  }

  #mayStart(process: string, callId: string): void {
    const known = this.#known.get(process)
    const age = this.scene.clock.elapsed() - (known?.ackAt ?? Number.NEGATIVE_INFINITY)
    if (known?.lost)
      this.#violate('R4', `${process} starts ${callId} although it knows that it lost its epoch`)
    else if (age > this.scene.leaseMs / 2)
      this.#violate('R4', `${process} starts ${callId} on an acknowledgement that is ${age} ms old`)
  }

  #judge(step: { process: string; request: AppendRequest; before: View; outcome: Outcome<Receipt> }): void {
    const { process, request, before, outcome } = step
    if (!outcome.ok) return this.#judgeRefusal(process, request, { before, error: outcome.error })
    const { epoch, repeated, first } = outcome.value
    const own = repeated ? this.writers.get(first)?.epoch : (request.epoch ?? (before.head?.epoch ?? 0) + 1)
    const byDriver = request.claim !== undefined || request.epoch !== undefined
    if (byDriver && epoch !== own)
      this.#violate('R1', `${process} was told epoch ${epoch} for an append of epoch ${own ?? 'nobody'}`)
    if (repeated) return this.seen('a repetition was recognised')
    if (request.claim !== undefined) this.#judgeClaim(process, before)
    const bare = request.claim !== undefined && (request.entries?.length ?? 0) === 0
    if (bare && first > request.since + 1) this.seen('a bare claim where the journal had moved')
    if (request.epoch === undefined) return
    const claim = before.entries.findLast(({ type }) => type === 'claim')?.data as
      | EntryData['claim']
      | undefined
    if (claim?.driver !== process || claim.epoch !== request.epoch)
      this.#violate(
        'R1',
        `${process} appended under epoch ${request.epoch} while ${claim?.driver} holds ${claim?.epoch}`,
      )
  }

  #judgeClaim(process: string, { head }: View): void {
    if (this.ownerOf(head) !== undefined)
      this.#violate('R1', `${process} claimed while ${this.ownerOf(head)} holds an unlapsed lease`)
    if (this.scene.clockWasSet()) return
    for (const [other, known] of this.#known) {
      const age = this.scene.clock.elapsed() - known.ackAt
      const may = known.epoch !== undefined && !known.lost && age <= this.scene.leaseMs / 2
      if (other !== process && may && this.scene.stage.status(other) === 'running')
        this.#violate('R1', `${process} claimed while ${other} still has the right to start effects`)
    }
  }

  #judgeRefusal(
    process: string,
    request: AppendRequest,
    { before, error }: { before: View; error: unknown },
  ): void {
    const { head, entries } = before
    const code = HoldfastError.is(error) ? error.code : String(error)
    this.seen(`refused: ${code}`)
    if (this.#ids.has(request.id) || this.#contents.has(contentOf(process, request)))
      return this.#violate('R5', `${process} was refused what it had already appended: ${code}`)
    const came = entries.filter(({ seq }) => seq > request.since)
    if (request.epoch !== undefined && head?.lease !== undefined && head.epoch === request.epoch) {
      const byInbox = came.length > 0 && came.every(({ type }) => isInboxType(type))
      this.#violate(
        byInbox ? 'R2' : 'R1',
        `${process} still holds epoch ${head.epoch} and was refused: ${code}`,
      )
    }
    if (code === 'owned' && this.ownerOf(head) === undefined)
      this.#violate('R1', `${process} was refused a claim although nobody owns the context`)
    if (code === 'moved' && came.length === 0)
      this.#violate('R1', `${process} was told that the journal moved, and it did not`)
    if (request.claim === undefined && request.epoch === undefined)
      this.#violate('R2', `${process} could not post: ${code}`)
  }

  /** By the text of R1, not by the store's code. */
  ownerOf(head: Head | undefined): string | undefined {
    if (head?.lease === undefined) return undefined
    const age = this.scene.clock.now() - head.lease.renewedAt
    const lapsed = age >= head.lease.leaseMs || age < -head.lease.leaseMs
    return lapsed || this.scene.isSeenDead(head.lease.driver) ? undefined : head.lease.driver
  }

  #remember(process: string, request: AppendRequest, receipt: Receipt): void {
    const content = contentOf(process, request)
    if (this.#ids.has(request.id)) this.#violate('R5', `append ${request.id} was applied twice`)
    if (this.#contents.has(content))
      this.#violate('R5', `${process} appended the same entries twice: ${typesOf(request)}`)
    this.#ids.add(request.id)
    if ((request.entries?.length ?? 0) > 0) this.#contents.add(content)
    for (const { seq, type } of receipt.entries)
      if (!isInboxType(type)) this.writers.set(seq, { process, epoch: receipt.epoch })
  }

  #judgeAfter(
    process: string,
    { request, before, outcome }: { request: AppendRequest; before: View; outcome: Outcome<Receipt> },
    after: View,
  ): void {
    const kept = after.entries.slice(0, before.entries.length)
    if (!isDeepStrictEqual(kept, before.entries))
      this.#violate('R5', 'an append changed what was already in the journal')
    const byDriver = request.claim !== undefined || request.epoch !== undefined
    if (outcome.ok && !outcome.value.repeated && byDriver) this.#judgeLease(process, after, 0)
    if (outcome.ok) this.#judgeInbox(process, request.since, { shown: outcome.value.inbox, view: after })
    else if (after.entries.length > before.entries.length)
      this.#violate('R5', `${process} was refused, and something was appended`)
  }

  /** The lease counts from its holder's last request, by the store's clock; a store may skip small steps. */
  #judgeLease(process: string, { head }: View, slack: number): void {
    if (head?.lease?.driver !== process) return
    const age = this.scene.clock.now() - head.lease.renewedAt
    if (Math.abs(age) > slack)
      this.#violate('R1', `the lease of ${process} was just renewed and is ${age} ms old`)
  }

  /** Every append and renewal returns the waiting inbox entries (R2). */
  #judgeInbox(
    process: string,
    since: number,
    { shown, view }: { shown: readonly Entry[]; view: View },
  ): void {
    const taken = new Set(view.entries.flatMap(({ takes = [] }) => takes))
    const waiting = view.entries.filter(({ key, seq }) => key !== undefined && seq > since && !taken.has(seq))
    if (!isDeepStrictEqual(shown, waiting))
      this.#violate('R2', `${process} was shown ${shown.length} waiting inbox entries of ${waiting.length}`)
  }

  #learn(
    process: string,
    outcome: Outcome<unknown>,
    { sentAt, request }: { sentAt: number; request: Pick<AppendRequest, 'claim' | 'entries'> },
  ): void {
    const known = this.#known.get(process) ?? { lost: false, ackAt: Number.NEGATIVE_INFINITY }
    this.#known.set(process, known)
    if (outcome.ok) {
      known.ackAt = Math.max(known.ackAt, sentAt)
      const epoch = (outcome.value as Partial<Receipt>).epoch ?? known.epoch
      if (request.claim !== undefined) known.lost = false
      if (request.entries?.some(endsOwnership)) delete known.epoch
      else if (epoch !== undefined) known.epoch = epoch
    } else if (HoldfastError.is(outcome.error, 'fenced')) {
      known.lost = true
    }
  }

  #violate(rule: string, message: string): void {
    this.scene.stage.violate(rule, message)
  }
}

/** Identifies the run of a call that a result came from. */
export function outputOf(process: string, callId: string): string {
  return `${callId} by ${process}`
}

type Outcome<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: unknown }

async function settle<T>(promise: Promise<T>): Promise<Outcome<T>> {
  try {
    return { ok: true, value: await promise }
  } catch (error) {
    return { ok: false, error }
  }
}

function unwrap<T>(outcome: Outcome<T>): T {
  if (outcome.ok) return outcome.value
  throw outcome.error
}

function contentOf(process: string, { epoch, entries }: AppendRequest): string {
  return JSON.stringify([process, epoch, entries])
}

function endsOwnership({ type }: { type: string }): boolean {
  return type === 'turn.end' || type === 'release'
}

function typesOf({ entries = [] }: AppendRequest): string {
  return entries.map(({ type }) => type).join(' + ')
}
