/**
 * Delivers the changes of tasks to the receivers that clients have named.
 *
 * N1  A notification comes from an entry of the journal, so that every process sends the same under the same id.
 * N2  A config is a document: the process that has written `notBefore` into it last delivers, until then. It renews it
 *     while it works; if it is gone, the document becomes due, and another process goes on.
 * N3  The position in the document, an entry and a change of it, moves with each notification that the receiver has
 *     accepted or that was given up: at least once, and in order.
 * N4  A failed attempt is in the document, with the time of the next: a restart neither forgets nor hurries it.
 */
import { createHash } from 'node:crypto'
import { debugThrown, systemClock, systemTimer, warnOnce } from '../../base/index.ts'
import type { Host, HostDocument } from '../../host/index.ts'
import { type PostFailure, signedPost, waitAfter } from '../../net/index.ts'
import { type ContextKey, defined, type Entry, keyText } from '../../protocol/index.ts'
import { addEntry } from './flow-reply.ts'
import { isWaitingState } from './outcome-state.ts'
import type { Sdk } from './packages.ts'
import type { PushOptions } from './push-options.ts'
import { type PushRecord, pushPrefix } from './push-record.ts'
import type { Seal } from './seal.ts'
import { type TaskChange, TaskFold } from './task-fold.ts'
import { taskOf, updateOf } from './task-view.ts'

/** A task that waits for a person is looked at again after so long, unless a message of this protocol continues it. */
const PARKED_MS = 30_000
const MOST_FAILURES = 20

export interface DeliveryParts {
  readonly host: Host
  readonly sdk: Sdk
  readonly options: PushOptions
  readonly secret: Uint8Array
  readonly seal: Seal
}

export class PushDelivery {
  readonly #parts: DeliveryParts
  readonly #running = new Set<string>()
  /** Documents that were woken while their delivery ran: it may have missed the reason. */
  readonly #again = new Set<string>()
  readonly #timers = new Set<() => void>()
  readonly #stop = new AbortController()

  constructor(parts: DeliveryParts) {
    this.#parts = parts
  }

  /** Finds what other processes have left, from now on. */
  start(): void {
    void this.#poll()
  }

  stop(): void {
    this.#stop.abort()
    for (const cancel of this.#timers) cancel()
  }

  /** Delivers what there is for a config. */
  wake(key: ContextKey, name: string): void {
    const id = `${keyText(key)} ${name}`
    if (this.#stop.signal.aborted) return
    if (this.#running.has(id)) this.#again.add(id)
    else void this.#run(id, key, name)
  }

  async #run(id: string, key: ContextKey, name: string): Promise<void> {
    this.#running.add(id)
    const delivery = new Delivery(this.#parts, this.#stop.signal)
    const retryMs = await delivery.run(key, name).catch((error: unknown) => {
      // The document becomes due again when the lease has ended.
      debugThrown('A push notification', error)
      return undefined
    })
    this.#running.delete(id)
    if (this.#again.delete(id)) this.wake(key, name)
    else if (retryMs !== undefined) this.#after(retryMs, () => this.wake(key, name))
  }

  #after(ms: number, work: () => void): void {
    if (this.#stop.signal.aborted) return
    const cancel = (this.#parts.options.timer ?? systemTimer).after(ms, () => {
      this.#timers.delete(cancel)
      work()
    })
    this.#timers.add(cancel)
  }

  async #poll(): Promise<void> {
    const { host, options } = this.#parts
    try {
      for (const { key, name } of await host.documents.due(pushPrefix())) this.wake(key, name)
    } catch (error) {
      // The store may be busy or away: the next round asks again.
      debugThrown('A poll for push notifications', error)
    }
    this.#after(options.pollMs ?? 1000, () => void this.#poll())
  }
}

/** One run of a delivery: up to the end of the task, a failure, or a wait. */
class Delivery {
  readonly #parts: DeliveryParts
  readonly #signal: AbortSignal
  #document: HostDocument | undefined
  #record: PushRecord | undefined

  constructor(parts: DeliveryParts, signal: AbortSignal) {
    this.#parts = parts
    this.#signal = signal
  }

  /** The time until the next attempt, in milliseconds, if there is one. */
  async run(key: ContextKey, name: string): Promise<number | undefined> {
    const { host } = this.#parts
    this.#document = await host.documents.read(key, name)
    const record = this.#document.value as PushRecord | undefined
    if (record === undefined || record.closed !== undefined) return undefined
    this.#record = record
    const { now } = this
    if ((record.notBefore ?? 0) > now) return undefined
    if (!(await this.#hold())) return undefined
    const colon = key.contextId.indexOf(':')
    const fold = new TaskFold({ contextId: key.contextId.slice(colon + 1), seq: record.task })
    const heartbeatMs = this.#leaseMs / 3
    const events = host.events(key, { since: record.task - 1, heartbeatMs, signal: this.#signal })
    for await (const event of events) {
      if (event.type === 'heartbeat' && !(await this.#hold())) return undefined
      if (event.type !== 'entry') continue
      const step = await this.#read(fold, event.entry)
      if (step !== 'next') return step.retryMs
    }
    await this.#save({ notBefore: 0 }, this.now).catch(() => false)
    return undefined
  }

  get now(): number {
    return (this.#parts.options.clock ?? systemClock).now()
  }

  get #leaseMs(): number {
    return this.#parts.options.leaseMs ?? 30_000
  }

  /** Sends the changes of an entry. */
  async #read(fold: TaskFold, entry: Entry): Promise<'next' | { readonly retryMs: number | undefined }> {
    const { key } = this.#document as HostDocument
    const changes = await addEntry(fold, entry, { host: this.#parts.host, key })
    const { at, done = 0 } = this.#record as PushRecord
    const sent = entry.seq > at ? done : changes.length
    for (const [index, change] of changes.entries()) {
      if (index < sent) continue
      const failure = await this.#send(fold, change, `${entry.seq}.${index}`)
      if (failure !== undefined && this.#isRepeated(failure)) return { retryMs: await this.#repeatLater() }
      const next = index + 1 < changes.length ? { done: index + 1 } : { at: entry.seq, done: 0 }
      if (!(await this.#pass(next, failure, fold))) return { retryMs: undefined }
    }
    if (fold.isEnded) {
      await this.#save({ closed: 'ended', notBefore: 0 })
      return { retryMs: undefined }
    }
    if (!isWaitingState(fold.state) || !(await this.#isQuiet(entry))) return 'next'
    await this.#save({ notBefore: 0 }, this.now + PARKED_MS)
    return { retryMs: undefined }
  }

  /** True if nothing has come after the entry, and nothing that came before it is to be done. */
  async #isQuiet({ seq }: Entry): Promise<boolean> {
    const { key } = this.#document as HostDocument
    const head = await this.#parts.host.store.head(key)
    return head === undefined || (head.seq <= seq && head.pending === 0 && head.status !== 'running')
  }

  async #send(fold: TaskFold, change: TaskChange, place: string): Promise<PostFailure | undefined> {
    const { host, sdk, options, secret } = this.#parts
    const { id, url, version } = this.#record as PushRecord
    const { key } = this.#document as HostDocument
    const readBlob = (hash: string) => host.store.getBlob(key, hash)
    const update = await updateOf(fold, change, readBlob)
    const isLegacy = version === '0.3'
    const serializer = isLegacy
      ? new sdk.legacy.V03PushNotificationSerializer()
      : new sdk.server.V1PushNotificationSerializer()
    // In 0.3 a notification is the whole task.
    const { body, contentType } = serializer.serialize(
      update,
      isLegacy ? await taskOf(fold, readBlob) : undefined,
    )
    const hash = createHash('sha256').update(JSON.stringify([keyText(key), fold.name.seq, id, place]))
    return signedPost(
      {
        url,
        id: `msg_${hash.digest('hex').slice(0, 32)}`,
        body,
        now: this.now,
        secret,
        headers: { 'content-type': contentType, ...this.#credentials() },
      },
      { ...reachOf(options), timeoutMs: options.timeoutMs ?? 10_000, signal: this.#signal },
    )
  }

  #credentials(): Record<string, string> {
    const { sealed } = this.#record as PushRecord
    const secrets = sealed === undefined ? undefined : this.#parts.seal.open(sealed)
    const { token = '', scheme = '', credentials = '' } = (secrets ?? {}) as Record<string, string>
    return {
      ...(token === '' ? {} : { 'x-a2a-notification-token': token }),
      ...(scheme === '' || credentials === '' ? {} : { authorization: `${scheme} ${credentials}` }),
    }
  }

  #isRepeated({ isFinal = false }: PostFailure): boolean {
    const { attempts: most = 10 } = this.#parts.options
    return this.#signal.aborted || (this.#attempts < most && !isFinal)
  }

  /** Attempts of the notification under way, this one included. */
  get #attempts(): number {
    return ((this.#record as PushRecord).attempts ?? 0) + 1
  }

  /** Stores a failed attempt. The time until the next. */
  async #repeatLater(): Promise<number> {
    if (this.#signal.aborted) return 0
    const attempts = this.#attempts
    const wait = waitAfter(attempts)
    const notBefore = this.now + wait
    await this.#save({ attempts, notBefore }, notBefore)
    return wait
  }

  /** Moves the position past a notification; one with a failure is given up. False as of `#hold`. */
  async #pass(next: Partial<PushRecord>, failure: PostFailure | undefined, fold: TaskFold): Promise<boolean> {
    if (failure === undefined) return this.#hold({ ...next, attempts: 0 })
    const attempts = this.#attempts
    const { reason } = failure
    const { failures = [] } = this.#record as PushRecord
    const given = { at: fold.last, attempts, reason }
    const isHeld = await this.#hold({
      ...next,
      attempts: 0,
      failures: [...failures, given].slice(-MOST_FAILURES),
    })
    if (isHeld) this.#report(fold.id, attempts, reason)
    return isHeld
  }

  #report(taskId: string, attempts: number, reason: string): void {
    const { onFailure } = this.#parts.options
    const { tenant, actor } = (this.#document as HostDocument).key
    const { id: configId, url } = this.#record as PushRecord
    if (onFailure === undefined) {
      warnOnce(`A push notification was given up after ${attempts} attempts: ${reason}`)
      return
    }
    try {
      onFailure({ tenant, actor, taskId, configId, url, attempts, reason })
    } catch {
      // The callback of an embedder fails no delivery.
    }
  }

  /** Goes on delivering here. False if another process does, or the config has changed. */
  #hold(changes: Partial<PushRecord> = {}): Promise<boolean> {
    const notBefore = this.now + this.#leaseMs
    return this.#save({ ...changes, notBefore }, notBefore)
  }

  async #save(changes: Partial<PushRecord>, wakeAt?: number): Promise<boolean> {
    const value = { ...(this.#record as PushRecord), ...changes }
    const written = await this.#parts.host.documents.write(this.#document as HostDocument, {
      value,
      ...(wakeAt === undefined ? {} : { wakeAt }),
    })
    if (written === undefined) return false
    this.#document = written
    this.#record = value
    return true
  }
}

function reachOf({ allowOrigins, ca, resolve, connect }: PushOptions) {
  return defined({ allowOrigins, ca, resolve, connect })
}
