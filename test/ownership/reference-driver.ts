/**
 * A driver reduced to ownership: it claims, takes, starts, settles, posts late results and releases, exactly by
 * rules R1 to R7. It has no hooks, prompts or streams, and its model is a function. `flaws` makes it break one rule at
 * a time, to show that the exploration notices.
 */
import type { Clock, Ids } from '../../src/base/index.ts'
import { type Call, fold, newSession, type OpenTurn, type Session } from '../../src/journal/index.ts'
import {
  type ContextKey,
  type Entry,
  HoldfastError,
  type Json,
  LOCAL_OWNER,
  type NewEntry,
  NO_USAGE,
  type OutcomeReason,
  type SettledStatus,
} from '../../src/protocol/index.ts'
import { type AppendRequest, persist, type Receipt, type Store } from '../../src/store/index.ts'

export interface DriverPorts {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  /** The tools that the model calls; none ends the turn. */
  readonly model: (at: { turn: number; iteration: number }) => Promise<readonly string[]>
  readonly effect: (call: Call) => Promise<Json>
}

export interface DriverOptions {
  readonly key: ContextKey
  readonly driver: string
  readonly leaseMs: number
  /** Claims without progress before the turn fails (R7). */
  readonly maxClaims: number
  /** Renewals while effects run. */
  readonly heartbeats?: number
  /** Starts again as a new driver after a loss. */
  readonly returns?: boolean | undefined
  readonly flaws?: readonly Flaw[]
}

export type Flaw =
  | 'acts on an input without taking it'
  | 'cancels without taking the cancel'
  | 'starts the effect before its intent is durable'
  | 'runs a started never-call again'
  | 'ignores the age of its acknowledgement'
  | 'counts the age from when it heard'
  | 'starts effects although fenced'
  | 'drops late results'
  | 'retries under a new id'
  | 'never gives up'

/** Tools named `look…` may run again; everything else may not. */
export function replayOf(tool: string): 'safe' | 'never' {
  return tool.startsWith('look') ? 'safe' : 'never'
}

/** Drives until there is nothing to do (`idle`), another driver owns it (`owned`), or the turn is lost (`lost`). */
export async function drive(ports: DriverPorts, options: DriverOptions): Promise<'idle' | 'owned' | 'lost'> {
  for (;;) {
    const ended = await new ReferenceDriver(ports, options).run()
    if (ended !== 'lost' || !options.returns) return ended
  }
}

class ReferenceDriver {
  readonly #ports: DriverPorts
  readonly #options: DriverOptions
  #session: Session = newSession()
  /** Inbox entries that no entry takes, as far as this driver has seen. */
  readonly #waiting = new Map<string, Entry>()
  readonly #settled = new Map<string, SettledStatus>()
  /** Results of effects that are not in the journal yet. */
  readonly #held = new Map<string, Json>()
  #epoch = 0
  #ackAt = 0

  constructor(ports: DriverPorts, options: DriverOptions) {
    this.#ports = ports
    this.#options = options
  }

  async run(): Promise<'idle' | 'owned' | 'lost'> {
    try {
      for (;;) {
        await this.#load()
        if (this.#session.open === undefined && this.#waiting.size === 0) return 'idle'
        const claimed = await this.#claim()
        if (claimed === 'owned') return 'owned'
        while (claimed === 'mine' && this.#session.open !== undefined) await this.#advance(this.#session.open)
      }
    } catch (error) {
      if (!HoldfastError.is(error, 'fenced')) throw error
      await this.#postResults()
      return 'lost'
    }
  }

  /** One read gives both the position and the inbox, so the two cannot disagree. */
  async #load(): Promise<void> {
    const entries = await this.#ports.store.read(this.#options.key)
    this.#session = fold(entries)
    this.#waiting.clear()
    for (const entry of entries) {
      if (entry.key !== undefined) this.#waiting.set(entry.key, entry)
      this.#note(entry)
    }
    const taken = new Set(entries.flatMap(({ takes = [] }) => takes))
    for (const [key, { seq }] of this.#waiting) if (taken.has(seq)) this.#waiting.delete(key)
  }

  #note({ type, data }: Entry): void {
    if (type === 'tool.end') this.#settled.set(data['callId'] as string, data['status'] as SettledStatus)
  }

  async #claim(): Promise<'mine' | 'owned' | 'moved'> {
    const { driver, leaseMs } = this.#options
    const before = this.#session.seq
    try {
      const receipt = await this.#append(this.#opening(), { claim: { driver, leaseMs } })
      if (receipt.first === before + 1) return 'mine'
    } catch (error) {
      if (HoldfastError.is(error, 'owned')) return 'owned'
      if (HoldfastError.is(error, 'moved')) return 'moved'
      throw error
    }
    // A bare claim is granted at any position; from now on only this driver moves it.
    await this.#load()
    const entries = this.#opening()
    if (entries.length > 0) await this.#append(entries)
    return 'mine'
  }

  /** The first entries, from the folded position. */
  #opening(): NewEntry[] {
    const { open, turn, claims } = this.#session
    if (open !== undefined) {
      const hopeless = claims >= this.#options.maxClaims && !this.#has('never gives up')
      return hopeless ? this.#ending(open, 'failed') : this.#resuming(open)
    }
    const input = [...this.#waiting.values()].find(({ type }) => type === 'input')
    if (input?.key === undefined)
      return [...this.#accounts(), { type: 'release', turn: 0, data: { reason: 'idle' } }]
    const takes = this.#has('acts on an input without taking it') ? [] : [input.key]
    const begin = { type: 'turn.start', turn: turn + 1, takes, data: { principal: LOCAL_OWNER } }
    return [...this.#accounts(turn + 1), begin, modelStart(turn + 1, 1)]
  }

  /** Requested calls continue; a started one runs again only if that is safe. */
  #resuming(open: OpenTurn): NewEntry[] {
    if (this.#cancelOf(open.turn) !== undefined) return this.#ending(open, 'cancelled')
    const rerun = (call: Call) => call.replay === 'safe' || this.#has('runs a started never-call again')
    const started = open.calls.filter(({ state }) => state === 'started')
    const requested = open.calls.filter(({ state }) => state === 'requested')
    const unknown = started.filter((call) => !rerun(call))
    const said = [...unknown.map((call) => this.#settle(call, open.turn)), ...requested.map(start(open.turn))]
    if (requested.length > 0 || started.some(rerun)) return said
    // Hooks run at least once: a repeated phase is no progress (R7).
    said.push({ type: 'phase', turn: open.turn, data: { name: 'beforeLlm' } })
    return [...said, modelStart(open.turn, open.thinking ? open.iteration : open.iteration + 1)]
  }

  async #advance(open: OpenTurn): Promise<void> {
    const started = open.calls.filter(({ state }) => state === 'started')
    if (started.length > 0) return this.#work(open, started)
    const asked = await this.#ports.model({ turn: open.turn, iteration: open.iteration })
    const calls = asked.map((tool) => ({ callId: this.#ports.ids.next('call'), tool, args: {} }))
    const content = calls.map((call) => ({ type: 'tool-call' as const, ...call }))
    const reply: NewEntry = { type: 'model.end', turn: open.turn, data: { content, finish: 'stop' } }
    const requested = calls.map((call): Call => ({ ...call, state: 'requested' }))
    if (this.#cancelOf(open.turn) !== undefined)
      await this.#append([reply, ...this.#ending({ ...open, calls: requested }, 'cancelled')])
    else if (calls.length === 0) await this.#append([reply, ...this.#ending({ ...open, calls: [] }, 'stop')])
    else await this.#start([reply, ...requested.map(start(open.turn))], requested)
  }

  /** The intent becomes durable here; the effects follow it (R3). */
  async #start(entries: NewEntry[], calls: readonly Call[]): Promise<void> {
    if (this.#has('starts the effect before its intent is durable')) await this.#effects(calls)
    try {
      await this.#append(entries)
    } catch (error) {
      if (this.#has('starts effects although fenced')) await this.#effects(calls)
      throw error
    }
  }

  async #work(open: OpenTurn, calls: readonly Call[]): Promise<void> {
    await this.#freshen()
    const beat = this.#heartbeat()
    await this.#effects(calls.filter(({ callId }) => !this.#held.has(callId)))
    // A driver that loses the turn while effects run still waits for their results.
    const lost = await beat
    if (lost !== undefined) throw lost
    const ends = calls.map((call) => toolEnd(open.turn, call.callId, this.#held.get(call.callId)))
    const cancelled = this.#cancelOf(open.turn) !== undefined
    const rest = cancelled
      ? this.#ending({ ...open, calls: [] }, 'cancelled')
      : [modelStart(open.turn, open.iteration + 1)]
    await this.#append([...ends, ...rest])
    this.#held.clear()
  }

  async #effects(calls: readonly Call[]): Promise<void> {
    const run = async (call: Call) => this.#held.set(call.callId, await this.#ports.effect(call))
    await Promise.all(calls.map(run))
  }

  /** No effect starts on an acknowledgement older than half the lease (R4). */
  async #freshen(): Promise<void> {
    if (this.#has('ignores the age of its acknowledgement')) return
    while (this.#ports.clock.elapsed() - this.#ackAt > this.#options.leaseMs / 2) await this.#renew()
  }

  async #heartbeat(): Promise<HoldfastError | undefined> {
    try {
      for (let beat = 0; beat < (this.#options.heartbeats ?? 0); beat++) await this.#renew()
    } catch (error) {
      if (!HoldfastError.is(error)) throw error
      return error
    }
    return undefined
  }

  async #renew(): Promise<void> {
    const { key } = this.#options
    const sentAt = this.#ports.clock.elapsed()
    const renewal = await this.#ports.store.renew({ key, epoch: this.#epoch, since: this.#session.seq })
    this.#acknowledged(sentAt)
    for (const entry of renewal.inbox) this.#waiting.set(entry.key ?? '', entry)
  }

  /** Ends the turn: settles open calls, accounts for the inbox, and takes the cancel if there is one (R2). */
  #ending(open: OpenTurn, outcome: OutcomeReason): NewEntry[] {
    const rest = open.calls.filter(({ state }) => state !== 'settled')
    const settled = rest.map((call) => this.#settle(call, open.turn))
    const cancel = this.#cancelOf(open.turn)
    const takes = cancel === undefined || this.#has('cancels without taking the cancel') ? [] : [cancel]
    const used = new Set([...takes, ...settled.flatMap((entry) => entry.takes ?? [])])
    const data = { outcome, usage: NO_USAGE, durationMs: 0 }
    const accounts = this.#accounts().filter((entry) => !used.has(entry.takes?.[0] ?? ''))
    return [...settled, ...accounts, { type: 'turn.end', turn: open.turn, takes, data }]
  }

  /** Settles a call that this driver does not run: with its late result, or by its state. */
  #settle(call: Call, turn: number): NewEntry {
    if (call.state === 'requested') return toolEnd(turn, call.callId, null, 'not-run')
    const late = [...this.#waiting.values()].find(
      ({ type, data }) => type === 'late-result' && data['callId'] === call.callId,
    )
    if (late?.key === undefined) return toolEnd(turn, call.callId, null, 'unknown')
    return { ...toolEnd(turn, call.callId, late.data['output']), takes: [late.key] }
  }

  /** Takes late results and cancels that match nothing. A cancel of the next turn is kept. */
  #accounts(next?: number): NewEntry[] {
    return [...this.#waiting.values()].flatMap(({ type, key, data }): NewEntry[] => {
      if (key === undefined || type === 'input' || (type === 'cancel' && data['turn'] === next)) return []
      const { turn } = this.#session
      if (type === 'late-result' && this.#settled.get(data['callId'] as string) === 'unknown')
        return [{ type: 'tool.late', turn, data, takes: [key] }]
      return [{ type: 'take', turn, data: { as: 'nothing', reason: 'too late' }, takes: [key] }]
    })
  }

  #cancelOf(turn: number): string | undefined {
    const waiting = [...this.#waiting.values()]
    return waiting.find(({ type, data }) => type === 'cancel' && data['turn'] === turn)?.key
  }

  async #append(
    entries: readonly NewEntry[],
    right: Pick<AppendRequest, 'claim' | 'epoch'> = { epoch: this.#epoch },
  ): Promise<Receipt> {
    const { key } = this.#options
    const sentAt = this.#ports.clock.elapsed()
    const receipt = await this.#persist({ key, since: this.#session.seq, ...right, entries })
    this.#acknowledged(sentAt)
    this.#epoch = receipt.epoch
    this.#session = fold(receipt.entries, this.#session)
    for (const entry of receipt.inbox) this.#waiting.set(entry.key ?? '', entry)
    for (const { takes = [] } of entries) for (const taken of takes) this.#waiting.delete(taken)
    for (const entry of receipt.entries) this.#note(entry)
    return receipt
  }

  /** The lease runs from the store's receipt of the request, which is not before it was sent. */
  #acknowledged(sentAt: number): void {
    this.#ackAt = this.#has('counts the age from when it heard') ? this.#ports.clock.elapsed() : sentAt
  }

  async #persist(request: Omit<AppendRequest, 'id'>): Promise<Receipt> {
    const { store, ids } = this.#ports
    if (!this.#has('retries under a new id'))
      return persist(store, { ...request, id: ids.next('append') }, { wait: async () => {} })
    for (;;) {
      try {
        return await store.append({ ...request, id: ids.next('append') })
      } catch (error) {
        if (!HoldfastError.is(error, 'ambiguous')) throw error
      }
    }
  }

  /** Posts the results that it may not settle to the inbox (R4). */
  async #postResults(): Promise<void> {
    if (this.#held.size === 0 || this.#has('drops late results')) return
    const inbox = [...this.#held].map(([callId, output]) => ({
      type: 'late-result' as const,
      key: `late:${callId}:${this.#epoch}`,
      data: { callId, status: 'ok', output },
    }))
    await this.#persist({ key: this.#options.key, since: this.#session.seq, inbox })
  }

  #has(flaw: Flaw): boolean {
    return this.#options.flaws?.includes(flaw) ?? false
  }
}

function modelStart(turn: number, iteration: number): NewEntry {
  return { type: 'model.start', turn, data: { model: 'pretend', iteration } }
}

function start(turn: number): (call: Call) => NewEntry {
  return ({ callId, tool, args }) => {
    const data = { callId, tool, args, idempotencyKey: callId, replay: replayOf(tool) }
    return { type: 'tool.start', turn, data }
  }
}

function toolEnd(
  turn: number,
  callId: string,
  ...[output = null, status = 'ok']: [Json?, SettledStatus?]
): NewEntry {
  return { type: 'tool.end', turn, data: { callId, status, output } }
}
