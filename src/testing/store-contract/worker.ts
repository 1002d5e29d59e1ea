/**
 * A child process of the cases with several processes: runs one job, given on the command line, on a store that the
 * harness's module opens. It writes lines of JSON synchronously, so that no line is lost in a SIGKILL.
 */
import { writeSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { processIdentity } from '../../base/index.ts'
import {
  type ContextKey,
  HoldfastError,
  type JsonObject,
  type NewEntry,
  type NewInboxEntry,
} from '../../protocol/index.ts'
import { persist, type Receipt, type Store } from '../../store/index.ts'
import { faultyStore } from '../faulty-store.ts'

export type Job =
  /** Posts to each conversation, claims it, takes its inbox, appends, releases; so many rounds. */
  | {
      readonly do: 'share'
      readonly name: string
      readonly keys: readonly ContextKey[]
      readonly rounds: number
    }
  /** Claims, then appends once for every line of its input. */
  | { readonly do: 'hold'; readonly key: ContextKey; readonly leaseMs: number }
  /** Posts once for every line of its input. */
  | { readonly do: 'post'; readonly key: ContextKey }
  /** Writes to all conversations at once, until it is killed. */
  | { readonly do: 'write'; readonly keys: readonly ContextKey[] }
  /** Claims, then dies with its next append. */
  | { readonly do: 'die'; readonly key: ContextKey; readonly when: 'before' | 'after' }
  /** Claims and watches; for a line of its input, does everything that a driver does, from its state at the claim. */
  | { readonly do: 'late'; readonly key: ContextKey }
  /** Watches, stops reading, closes the store; then nothing keeps it alive. */
  | { readonly do: 'leave'; readonly key: ContextKey }

/** A line of a child's output. */
export type Message =
  | { readonly epoch: number; readonly driver: string }
  | { readonly result: string }
  | { readonly wrote: Written }

/** One acknowledged append: the positions of its entries, and the mark that each of them has. */
export interface Written {
  readonly contextId: string
  readonly first: number
  readonly last: number
  readonly mark: string
}

/** The main function of a child. `open` is the harness's. */
export async function work(open: (argument: string) => Store | Promise<Store>): Promise<void> {
  const [argument = '', job = ''] = process.argv.slice(1)
  const store = await open(argument)
  const task = JSON.parse(job) as Job
  await (jobs[task.do] as (store: Store, task: Job) => Promise<void>)(store, task)
  await store.close()
}

/** The request of a `die` job; another process may repeat it. */
export function finalRequest(key: ContextKey, epoch: number): Parameters<Store['append']>[0] {
  const data = { text: 'last words', from: 'contract' }
  return { key, id: 'last-words', since: 1, epoch, entries: [{ type: 'note', turn: 0, data }] }
}

type JobOf<K extends Job['do']> = Extract<Job, { do: K }>

const jobs: { readonly [K in Job['do']]: (store: Store, job: JobOf<K>) => Promise<void> } = {
  share,
  hold,
  post,
  write,
  die,
  late,
  leave,
}

async function share(store: Store, { name, keys, rounds }: JobOf<'share'>): Promise<void> {
  for (let round = 1; round <= rounds; round++) {
    for (const key of keys) await shareOnce(new Writer(store, key, name), `${name}-${round}`)
  }
}

async function shareOnce(writer: Writer, mark: string): Promise<void> {
  const input: NewInboxEntry = { type: 'input', key: mark, data: { message: mark, mark: `${mark}-post` } }
  await writer.append({ inbox: [input] }, `${mark}-post`)
  const { inbox } = await writer.claim(60_000)
  const takes = inbox.map(({ key = '' }) => key)
  await writer.write([{ ...writer.note(`${mark}-take`), takes }, writer.note(`${mark}-take`)], `${mark}-take`)
  const release: NewEntry = {
    type: 'release',
    turn: 0,
    data: { reason: 'done', ...writer.sign(`${mark}-end`) },
  }
  await writer.write([writer.note(`${mark}-end`), release], `${mark}-end`)
}

async function hold(store: Store, { key, leaseMs }: JobOf<'hold'>): Promise<void> {
  const writer = new Writer(store, key, 'hold')
  const { epoch } = await writer.claim(leaseMs)
  report({ epoch, driver: writer.driver })
  let n = 0
  for await (const _ of createInterface({ input: process.stdin })) {
    n += 1
    const mark = `hold-${n}`
    const result = await writer.write([writer.note(mark)], mark).then(() => 'written', codeOf)
    report({ result })
  }
}

async function post(store: Store, { key }: JobOf<'post'>): Promise<void> {
  const writer = new Writer(store, key, 'post')
  report({ result: 'ready' })
  let n = 0
  for await (const _ of createInterface({ input: process.stdin })) {
    n += 1
    const mark = `post-${n}`
    await writer.append({ inbox: [{ type: 'input', key: mark, data: { message: mark, mark } }] }, mark)
  }
}

async function write(store: Store, { keys }: JobOf<'write'>): Promise<void> {
  await Promise.all(
    keys.map(async (key, stream) => {
      const writer = new Writer(store, key, `writer-${stream}`)
      await writer.claim(60_000)
      for (let n = 1; ; n++) {
        const mark = `${process.pid}-${stream}-${n}`
        const size = n % 7 === 0 ? 70_000 : 100
        const of = 1 + (n % 3)
        const entries = Array.from({ length: of }, (_, i) =>
          writer.note(mark, { text: 'x'.repeat(size + i), of }),
        )
        await writer.write(entries, mark)
      }
    }),
  )
}

async function die(store: Store, { key, when }: JobOf<'die'>): Promise<void> {
  const writer = new Writer(store, key, 'die')
  const { epoch } = await writer.claim(60_000)
  report({ epoch, driver: writer.driver })
  await faultyStore(store, [{ at: 1, how: 'kill', when }]).append(finalRequest(key, epoch))
}

async function late(store: Store, { key }: JobOf<'late'>): Promise<void> {
  const writer = new Writer(store, key, 'late')
  const { epoch, last: since } = await writer.claim(60_000)
  const watch = store.watch(key, { since })[Symbol.asyncIterator]()
  const seen = watch.next()
  const reports = { epoch, driver: writer.driver }
  report(reports)
  for await (const _ of createInterface({ input: process.stdin })) {
    const claim = { driver: writer.driver, leaseMs: 1000 }
    const input: NewInboxEntry = { type: 'input', key: 'late', data: { message: 'late' } }
    const child = { ...key, contextId: `${key.contextId}/late` }
    const refs = [await store.putBlob(key, Buffer.from('late'))]
    const tries = [
      () => store.append({ key, id: 'late-1', since, epoch, entries: [{ ...writer.note('late'), refs }] }),
      () => store.append({ key, id: 'late-2', since, inbox: [input] }),
      () => store.append({ key, id: 'late-3', since, claim, entries: [writer.note('late')] }),
      () => store.append({ key, id: 'late-4', since: 0, claim, inbox: [input] }),
      () => store.renew({ key, epoch, since }),
      () =>
        store.append({
          key: child,
          id: 'late-5',
          since: 0,
          parent: key.contextId,
          parentSince: since,
          inbox: [input],
        }),
    ]
    await store.saveSnapshot(key, { seq: since, format: 1, state: { late: true } })
    for (const attempt of tries) report({ result: await attempt().then(() => 'written', codeOf) })
    report({ result: (await seen).done ? 'watched to the end' : 'saw more' })
  }
}

async function leave(store: Store, { key }: JobOf<'leave'>): Promise<void> {
  const watch = store.watch(key)[Symbol.asyncIterator]()
  await watch.next()
  report({ result: 'leaving' })
}

/** One driver of one conversation. Its entries have its name and epoch, and each acknowledged append is reported. */
class Writer {
  readonly driver: string
  readonly #store: Store
  readonly #key: ContextKey
  #epoch = 0
  #seen = 0

  constructor(store: Store, key: ContextKey, name: string) {
    this.#store = store
    this.#key = key
    this.driver = `${processIdentity()}#${name}`
  }

  /** Waits until the conversation is free. */
  async claim(leaseMs: number): Promise<Receipt> {
    for (let attempt = 1; ; attempt++) {
      try {
        const claim = { driver: this.driver, leaseMs }
        const receipt = await this.#append({ id: `claim-${process.pid}-${Math.random()}`, claim, since: 0 })
        this.#epoch = receipt.epoch
        return receipt
      } catch (error) {
        if (!HoldfastError.is(error, 'owned')) throw error
        await sleep(Math.random() * Math.min(attempt, 10))
      }
    }
  }

  sign(mark: string): JsonObject {
    return { mark, driver: this.driver, epoch: this.#epoch }
  }

  note(mark: string, data: JsonObject = {}): NewEntry {
    return { type: 'note', turn: 0, data: { text: mark, from: 'contract', ...this.sign(mark), ...data } }
  }

  write(entries: readonly NewEntry[], mark: string): Promise<void> {
    return this.append({ epoch: this.#epoch, entries }, mark)
  }

  async append(
    what: { inbox?: readonly NewInboxEntry[]; epoch?: number; entries?: readonly NewEntry[] },
    mark: string,
  ): Promise<void> {
    const { first, last } = await this.#append({ id: `${this.driver.slice(-200)}-${mark}`, ...what })
    report({ wrote: { contextId: this.#key.contextId, first, last, mark } })
  }

  async #append(
    request: Omit<Parameters<Store['append']>[0], 'key' | 'since'> & { since?: number },
  ): Promise<Receipt> {
    const receipt = await persist(this.#store, { since: this.#seen, ...request, key: this.#key })
    this.#seen = Math.max(this.#seen, receipt.last)
    return receipt
  }
}

function report(message: Message): void {
  const line = Buffer.from(`${JSON.stringify(message)}\n`)
  for (let written = 0; written < line.length; ) {
    try {
      written += writeSync(1, line, written)
    } catch (error) {
      // The reader is slow; the line must be out before anything else happens.
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
    }
  }
}

function codeOf(error: unknown): string {
  return HoldfastError.is(error) ? error.code : String(error)
}
