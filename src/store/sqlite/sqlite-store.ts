/**
 * The Store in a SQLite file, through Node's own driver. Several processes may use one file at once.
 *
 * A commit of this process wakes its watchers at once. Commits of other processes are detected by polling SQLite's
 * `data_version`, a counter in shared memory, every `pollMs` while there are watchers.
 */

import { resolve } from 'node:path'
import { type Clock, type Liveness, processLiveness, systemClock } from '../../base/index.ts'
import {
  type ContextKey,
  checkOptions,
  checkOwner,
  type Entry,
  HoldfastError,
  invalidOption,
  keyText,
  type OptionSet,
  type Owner,
  shown,
} from '../../protocol/index.ts'
import { type Derivation, derivationsByType, STANDARD_DERIVATIONS } from '../derive.ts'
import { encodeRequest, hashOf } from '../encode.ts'
import { KeyCheck } from '../key-check.ts'
import type * as Port from '../port.ts'
import {
  bytesOf,
  checkErase,
  checkList,
  checkLookup,
  checkRead,
  checkScan,
  checkWatch,
  limitOf,
  requestOf,
} from '../query.ts'
import { checkRequest, refuseRenewal } from '../rules.ts'
import { isWatchOver, Notifier, watchEntries } from '../watch.ts'
import { Backlogs } from './backlog.ts'
import { backupFile } from './copy.ts'
import { Database } from './database.ts'
import { catchUp, freshRows, isBehind, setName } from './derived.ts'
import { HeadCache } from './head-cache.ts'
import { pendingInbox } from './inbox.ts'
import { prune, sweep } from './prune.ts'
import * as reader from './reader.ts'
import { rebuild } from './rebuild.ts'
import { type ContextRow, findContext } from './rows.ts'
import * as writer from './writer.ts'

export interface SqliteStoreOptions {
  /**
   * `FULL` (the default): acknowledged writes survive a power cut. `NORMAL`: they survive any crash of the process, but
   * a power cut may lose the last moments; several times faster.
   */
  readonly synchronous?: 'FULL' | 'NORMAL'
  readonly readOnly?: boolean
  /** Timeout for other processes before `store-busy`. 10 seconds if not given. */
  readonly busyMs?: number
  /** The largest size of the file; writes beyond it are refused. */
  readonly maxBytes?: number
  /** Poll interval for other processes' commits while there are watchers. 100 ms if not given. */
  readonly pollMs?: number
  readonly clock?: Clock
  readonly liveness?: (driver: string) => Liveness
  /** Indexes beside the standard ones. */
  readonly derivations?: readonly Derivation[]
}

/** `await using store = sqliteStore(…)` closes it, too. */
export interface SqliteStore extends Port.Store, AsyncDisposable {
  readonly path: string
  /**
   * Copies the whole file as a consistent snapshot, while reads and writes continue. The target must not exist
   * (`exists`); until the copy is complete it is called `<target>.partial-…`.
   */
  backup(target: string): Promise<void>
  /**
   * Rewrites the file to clear the unused parts of its pages, where SQLite may have left copies of erased data when it
   * moved rows. `erase` does so by itself in files of up to 8 MB; in larger ones it takes about 10 ms per MB, blocks
   * all writers, and needs as much free disk as the file is large.
   */
  scrub(): Promise<void>
}

const SCRUBBED_AT_ONCE = 8 * 1024 * 1024

export function sqliteStore(path: string, options: SqliteStoreOptions = {}): SqliteStore {
  return new FileStore(path, options)
}

class FileStore implements SqliteStore {
  readonly path: string
  /** The path as it was when the store was opened: the process may change its folder. */
  readonly #file: string
  readonly #db: Database
  readonly #writing: writer.WriteContext
  readonly #notifier = new Notifier()
  readonly #keys = new KeyCheck()
  readonly #pollMs: number
  #watchers = 0
  #poll: NodeJS.Timeout | undefined
  #closed = false

  constructor(path: string, options: SqliteStoreOptions) {
    checkOptions(options, SQLITE_STORE)
    const { synchronous = 'FULL', readOnly = false, busyMs = 10_000, maxBytes, pollMs = 100 } = options
    const { clock = systemClock, liveness = processLiveness } = options
    this.path = path
    this.#pollMs = pollMs
    const derivations = [...STANDARD_DERIVATIONS, ...(options.derivations ?? [])]
    const derivationsOf = derivationsByType(derivations)
    const derivedBy = setName(derivations)
    this.#db = new Database(path, { synchronous, readOnly, busyMs, maxBytes })
    this.#file = resolve(path)
    const judge = () => ({ now: clock.now(), liveness })
    const backlogs = new Backlogs(this.#db)
    const headCache = new HeadCache(this.#db)
    this.#writing = { db: this.#db, judge, derivations, derivationsOf, derivedBy, backlogs, headCache }
  }

  async append(request: Port.AppendRequest): Promise<Port.Receipt> {
    this.#check(requestOf('append()', request).key)
    if (request.parent !== undefined) this.#check({ ...request.key, contextId: request.parent })
    checkRequest(request)
    const encoded = encodeRequest(request)
    const receipt = await this.#db.write(() => writer.append(this.#writing, request, encoded))
    this.#notifier.notify(keyText(request.key))
    return receipt
  }

  async renew(request: Port.RenewRequest): Promise<Port.Renewal> {
    this.#check(requestOf('renew()', request).key)
    const context = await this.#db.read(() => findContext(this.#db, request.key))
    const refusal = refuseRenewal(request, context?.head)
    if (refusal !== undefined) throw refusal
    if (isStale(context, this.#writing.judge().now))
      await this.#db.write(() => writer.renew(this.#writing, request))
    return this.#db.read(() => {
      const now = findContext(this.#db, request.key)
      return { seq: now?.head.seq ?? 0, inbox: pendingInbox(this.#db, now, request.since) }
    })
  }

  async head(key: ContextKey): Promise<Port.Head | undefined> {
    this.#check(key)
    return this.#db.read(() => findContext(this.#db, key)?.head)
  }

  async read(key: ContextKey, range: Port.ReadRange = {}): Promise<readonly Entry[]> {
    this.#check(key)
    checkRead(range)
    if (range.turn !== undefined) await this.#catchUp(key)
    return this.#db.read(() => {
      const view = this.#view(key, range.turn !== undefined)
      return view === undefined ? [] : reader.readEntries(this.#db, view, range)
    })
  }

  async inbox(key: ContextKey): Promise<readonly Entry[]> {
    this.#check(key)
    return this.#db.read(() => pendingInbox(this.#db, findContext(this.#db, key), 0))
  }

  async base(key: ContextKey): Promise<Entry | undefined> {
    this.#check(key)
    return this.#db.read(() => {
      const context = findContext(this.#db, key)
      const base = context && reader.lineage(this.#db, context).base
      return base && reader.entryAt(this.#db, key, { context: base.id, seq: base.mark.seq })
    })
  }

  async lookup(key: ContextKey, query: Port.LookupQuery): Promise<readonly Port.IndexRow[]> {
    this.#check(key)
    checkLookup(query)
    await this.#catchUp(key)
    return this.#db.read(() => {
      const view = this.#view(key, true)
      return view === undefined ? [] : reader.lookupRows(this.#db, view, query)
    })
  }

  watch(key: ContextKey, options: Port.WatchOptions = {}): AsyncIterable<Entry> {
    this.#check(key)
    checkWatch(options)
    const read = async (from: number, limit: number) => {
      try {
        return await this.#db.read(() => this.#page(key, from, limit))
      } catch (error) {
        if (this.#closed) return { entries: [], ended: true }
        throw error
      }
    }
    // A new watch on a closed store is refused; a running one ends when the store closes.
    const open = async () => {
      await this.head(key)
      this.#startPolling()
    }
    const close = () => this.#stopPolling()
    return watchEntries({ notifier: this.#notifier, key: keyText(key), read, open, close }, options)
  }

  /** Head and entries of one snapshot: a page never mixes an erased conversation with the recreated one. */
  #page(key: ContextKey, from: number, limit: number): { entries: readonly Entry[]; ended: boolean } {
    const view = this.#view(key, false)
    if (view === undefined) return { entries: [], ended: false }
    if (isWatchOver(view.context.head, from)) return { entries: [], ended: true }
    return { entries: reader.readEntries(this.#db, view, { from, limit }), ended: false }
  }

  async list(query: Port.ListQuery): Promise<Port.ListPage> {
    checkList(query)
    checkOwner(query.owner)
    return this.#db.read(() => reader.listContexts(this.#db, query))
  }

  async due(limit?: number): Promise<readonly Port.Head[]> {
    const most = limitOf(limit, 100)
    return this.#db.read(() => reader.dueContexts(this.#db, this.#writing.judge(), most))
  }

  async scan(query: Port.ScanQuery = {}): Promise<readonly Port.Head[]> {
    checkScan(query)
    if (query.after !== undefined) this.#check(query.after)
    return this.#db.read(() => reader.scanContexts(this.#db, query))
  }

  async putBlob(owner: Owner, bytes: Uint8Array): Promise<string> {
    checkOwner(owner)
    const hash = hashOf(bytesOf(bytes))
    await this.#db.write(() =>
      writer.putBlob(this.#db, owner, { hash, bytes, at: this.#writing.judge().now }),
    )
    return hash
  }

  async getBlob(owner: Owner, hash: string): Promise<Uint8Array | undefined> {
    checkOwner(owner)
    if (typeof hash !== 'string') throw invalidOption('getBlob()', `takes a hash, not ${shown(hash)}`)
    return this.#db.read(() => reader.blobReader(this.#db, owner)(hash))
  }

  async saveSnapshot(key: ContextKey, snapshot: Port.Snapshot): Promise<void> {
    this.#check(key)
    requestOf('saveSnapshot()', snapshot)
    await this.#db.write(() => writer.saveSnapshot(this.#writing, key, snapshot))
  }

  async loadSnapshot(key: ContextKey, query: Port.SnapshotQuery): Promise<Port.Snapshot | undefined> {
    this.#check(key)
    requestOf('loadSnapshot()', query)
    return this.#db.read(() => reader.readSnapshot(this.#db, key, query))
  }

  async dropSnapshots(key: ContextKey): Promise<void> {
    this.#check(key)
    await this.#db.write(() => {
      const context = findContext(this.#db, key)
      if (context !== undefined) this.#db.run('DELETE FROM snapshot WHERE context = ?', context.id)
    })
  }

  async fork(request: Port.ForkRequest): Promise<Port.Receipt> {
    this.#check(requestOf('fork()', request).parent)
    this.#check(request.child)
    const receipt = await this.#db.write(() => writer.fork(this.#writing, request))
    this.#notifier.notify(keyText(request.child))
    return receipt
  }

  async prune(request: Port.PruneRequest): Promise<Port.PruneReceipt> {
    this.#check(requestOf('prune()', request).key)
    let slice = await this.#db.write(() => prune(this.#writing, request))
    this.#notifier.notify(keyText(request.key))
    const { base, context } = slice
    let { deleted } = slice
    while (slice.more && !this.#closed) {
      slice = await this.#db.write(() => sweep(this.#db, context))
      deleted += slice.deleted
    }
    return { deleted, base }
  }

  async erase(key: ContextKey, options: Port.EraseOptions = {}): Promise<number> {
    this.#check(key)
    checkErase(options)
    const erased = await this.#db.write(() => writer.erase(this.#writing, key, options.at))
    for (const gone of erased) this.#notifier.notify(keyText(gone))
    // Repeating an erase finishes one that a full disk or another reader interrupted.
    if (erased.length === 0 && (await this.head(key)) === undefined) return 0
    try {
      if (this.#db.size <= SCRUBBED_AT_ONCE) await this.scrub()
      else await this.#db.emptyLog()
    } catch (error) {
      throw HoldfastError.is(error) ? tracesLeft(key, error) : error
    }
    return erased.length
  }

  async recreate(request: Port.RecreateRequest): Promise<Port.Head> {
    this.#check(requestOf('recreate()', request).key)
    const head = await this.#db.write(() => writer.recreate(this.#writing, request))
    this.#notifier.notify(keyText(request.key))
    return head
  }

  async scrub(): Promise<void> {
    await this.#db.rewrite()
    await this.#db.emptyLog()
  }

  async rebuild(key: ContextKey): Promise<{ repaired: boolean; head: Port.Head | undefined }> {
    this.#check(key)
    return this.#db.write(() => rebuild(this.#writing, key))
  }

  async backup(target: string): Promise<void> {
    if (typeof target !== 'string' || target === '')
      throw invalidOption('backup()', `needs the path of the copy, not ${shown(target)}`)
    this.#db.checkFile()
    await backupFile(this.#file, target)
  }

  async close(): Promise<void> {
    this.#closed = true
    // An abandoned watch never ends by itself; its poll must not keep the process alive.
    clearInterval(this.#poll)
    this.#notifier.notifyAll()
    await this.#db.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #check(key: ContextKey): void {
    this.#keys.check(key)
  }

  /** Unstored index rows are buffered in memory; a read-only store computes them each time. */
  #view(key: ContextKey, indexed: boolean): reader.View | undefined {
    const context = findContext(this.#db, key)
    if (context === undefined) return undefined
    const fresh = indexed ? freshRows(this.#writing, context) : []
    return reader.viewOf(this.#db, context, fresh)
  }

  async #catchUp(key: ContextKey): Promise<void> {
    if (this.#db.readOnly) return
    const behind = await this.#db.read(() => {
      const context = findContext(this.#db, key)
      return context !== undefined && isBehind(this.#writing, context)
    })
    if (behind) await this.#db.write(() => catchUp(this.#writing, key))
  }

  #startPolling(): void {
    this.#watchers += 1
    let seen = this.#version()
    this.#poll ??= setInterval(() => {
      const version = this.#version()
      if (version !== seen) this.#notifier.notifyAll()
      seen = version
    }, this.#pollMs)
  }

  #stopPolling(): void {
    this.#watchers -= 1
    if (this.#watchers > 0) return
    clearInterval(this.#poll)
    this.#poll = undefined
  }

  /** A failure counts as a change: the next read reports the reason. */
  #version(): unknown {
    try {
      return this.#closed ? undefined : this.#db.get('PRAGMA data_version')?.[0]
    } catch (error) {
      return error
    }
  }
}

const SQLITE_STORE: OptionSet<SqliteStoreOptions> = {
  place: 'sqliteStore()',
  options: {
    synchronous: ['FULL', 'NORMAL'],
    readOnly: 'true or false',
    busyMs: { leastMs: 0 },
    maxBytes: { least: 1 },
    pollMs: { leastMs: 1 },
    clock: 'an object',
    liveness: 'a function',
    derivations: 'a list',
  },
  foreign: { timeout: 'busyMs', busyTimeout: 'busyMs', maxSize: 'maxBytes' },
}

function tracesLeft(key: ContextKey, { code, retry, details, message, cause }: HoldfastError): HoldfastError {
  return new HoldfastError(code, {
    message: `${keyText(key)} is erased and cannot be read any more, but traces of it may be left in the file or its log. Erase it again to remove them. (${message})`,
    retry,
    details,
    cause,
  })
}

/** A renewal is worth a write only when a good part of the lease is used up. */
function isStale(context: ContextRow | undefined, now: number): boolean {
  const lease = context?.head.lease
  return lease === undefined || Math.abs(now - lease.renewedAt) >= lease.leaseMs / 4
}
