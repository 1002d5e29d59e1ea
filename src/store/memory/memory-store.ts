/**
 * The Store in the memory of one process, for tests and for conversations that need not survive it. Keeps the same
 * encoded rows as a database, so both behave alike.
 */
import { type Clock, type Liveness, processLiveness, systemClock } from '../../base/index.ts'
import {
  type ContextKey,
  checkOptions,
  checkOwner,
  type Entry,
  HoldfastError,
  keyText,
  type OptionSet,
  type Owner,
} from '../../protocol/index.ts'
import { type Derivation, derivationsByType, STANDARD_DERIVATIONS } from '../derive.ts'
import {
  type Encoded,
  type EncodedData,
  encode,
  encodeRequest,
  inboxDigest,
  isShared,
  readerData,
} from '../encode.ts'
import { advanceHead, copyHead } from '../head.ts'
import {
  baseEntry,
  checkUnused,
  forkEntry,
  forkHead,
  forkReceipt,
  headFrom,
  isForkedBelow,
  KEPT_SNAPSHOTS,
  outlivesPrune,
  recreatedHead,
  recreateEntry,
  sameHead,
} from '../history.ts'
import { KeyCheck } from '../key-check.ts'
import { isDue, type LeaseJudge } from '../lease.ts'
import { lineageOf, segmentsIn } from '../lineage.ts'
import type * as Port from '../port.ts'
import {
  boundsOf,
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
import {
  checkParent,
  checkRequest,
  decideAppend,
  epochOf,
  type InboxFact,
  isOfErased,
  missingBlob,
  refuseRenewal,
} from '../rules.ts'
import { isWatchOver, Notifier, watchEntries } from '../watch.ts'
import { Blobs } from './blobs.ts'
import { type Context, Contexts, derive, hashesOf, isLivingFork, type PreparedEntry } from './context.ts'

export interface MemoryStoreOptions {
  readonly clock?: Clock
  /** Liveness of a driver's process. By default, looks up ids made by `processIdentity`. */
  readonly liveness?: (driver: string) => Liveness
  readonly derivations?: readonly Derivation[]
}

const MEMORY_STORE: OptionSet<MemoryStoreOptions> = {
  place: 'memoryStore()',
  options: { clock: 'an object', liveness: 'a function', derivations: 'a list' },
}

export function memoryStore(options: MemoryStoreOptions = {}): Port.Store {
  return new MemoryStore(options)
}

const NONE: readonly number[] = []
const EMPTY_INBOX: ReadonlyMap<string, InboxFact> = new Map()

const NO_REFS: readonly string[] = []

class MemoryStore implements Port.Store {
  readonly #clock: Clock
  readonly #liveness: (driver: string) => Liveness
  readonly #derivations: (type: string) => readonly Derivation[]
  readonly #contexts = new Contexts()
  readonly #blobs = new Blobs()
  readonly #notifier = new Notifier()
  readonly #keys = new KeyCheck()
  #closed = false

  constructor(options: MemoryStoreOptions) {
    checkOptions(options, MEMORY_STORE)
    this.#clock = options.clock ?? systemClock
    this.#liveness = options.liveness ?? processLiveness
    this.#derivations = derivationsByType([...STANDARD_DERIVATIONS, ...(options.derivations ?? [])])
  }

  async append(request: Port.AppendRequest): Promise<Port.Receipt> {
    this.#check(requestOf('append()', request).key)
    if (request.parent !== undefined) this.#check({ ...request.key, contextId: request.parent })
    checkRequest(request)
    const encoded = encodeRequest(request)
    const context = this.#find(request.key)
    const earlier = context?.positionsOf(request.id, request.since) ?? NONE
    const facts = { head: context?.head, earlier: earlier.length > 0, inbox: context?.inbox ?? EMPTY_INBOX }
    const decision = decideAppend(request, facts, {
      now: this.#clock.now(),
      liveness: this.#liveness,
      digestOf: (type, data) => inboxDigest(type, encoded.get(data) as Encoded),
    })
    if (decision.kind === 'refused') throw decision.error
    if (decision.kind === 'repeated') {
      const entries = earlier.map((seq) => context?.entry(seq, this.#blobs.reader(request.key)) as Entry)
      const epoch = epochOf(request, entries, (context as Context).head)
      return this.#receipt(context as Context, request.since, { entries, epoch, repeated: true })
    }
    this.#checkRefs(request.key, decision.entries)
    const prepared = decision.entries.map((entry) => this.#prepare(entry, request.id, encoded))
    const written = context ?? this.#contexts.create(decision.head, this.#parentFor(request))
    this.#write(written, prepared, decision.head)
    const shared = isShared(encoded, request)
    const { entries } = decision
    for (const [at, entry] of entries.entries())
      entry.data = readerData((prepared[at] as PreparedEntry).encoded, shared)
    const epoch = request.epoch ?? decision.head.epoch
    return this.#receipt(written, request.since, { entries, epoch, repeated: false })
  }

  async renew(request: Port.RenewRequest): Promise<Port.Renewal> {
    this.#check(requestOf('renew()', request).key)
    const context = this.#find(request.key)
    const refusal = refuseRenewal(request, context?.head)
    if (refusal !== undefined) throw refusal
    const { head } = context as Context
    if (head.lease !== undefined) {
      ;(context as Context).head = { ...head, lease: { ...head.lease, renewedAt: this.#clock.now() } }
    }
    return { seq: head.seq, inbox: this.#pending(context, request.since) }
  }

  async head(key: ContextKey): Promise<Port.Head | undefined> {
    this.#check(key)
    const context = this.#find(key)
    return context && copyHead(context.head)
  }

  async read(key: ContextKey, range: Port.ReadRange = {}): Promise<readonly Entry[]> {
    this.#check(key)
    checkRead(range)
    const bounds = boundsOf(range)
    const context = this.#find(key)
    if (context === undefined) return []
    const turn =
      range.turn === undefined ? { from: 1, to: Number.MAX_SAFE_INTEGER } : context.turn(range.turn)
    if (turn === undefined) return []
    const part = {
      from: Math.max(bounds.from, turn.from),
      to: Math.min(bounds.to, turn.to),
      newest: bounds.newest,
      kept: range.kept,
    }
    const found: Entry[] = []
    for (const { id, from, to, isPruned } of segmentsIn(lineageOf(context.line()), part)) {
      const last = Math.min(to, id.head.seq)
      for (let i = 0; i <= last - from && found.length < bounds.limit; i++) {
        const entry = id.entry(bounds.newest ? last - i : from + i, this.#blobs.reader(key))
        if (entry !== undefined && (!isPruned || entry.type === 'artifact')) found.push(entry)
      }
    }
    return found
  }

  async inbox(key: ContextKey): Promise<readonly Entry[]> {
    this.#check(key)
    return this.#pending(this.#find(key), 0)
  }

  async base(key: ContextKey): Promise<Entry | undefined> {
    this.#check(key)
    const base = lineageOf(this.#find(key)?.line() ?? []).base
    return base?.id.entry(base.mark.seq, this.#blobs.reader(key))
  }

  async lookup(key: ContextKey, query: Port.LookupQuery): Promise<readonly Port.IndexRow[]> {
    this.#check(key)
    checkLookup(query)
    const context = this.#find(key)
    return context === undefined ? [] : context.lookup(query)
  }

  watch(key: ContextKey, options: Port.WatchOptions = {}): AsyncIterable<Entry> {
    this.#check(key)
    checkWatch(options)
    const read = async (from: number, limit: number) => {
      const head = this.#find(key)?.head
      if (this.#closed || (head !== undefined && isWatchOver(head, from))) return { entries: [], ended: true }
      return { entries: await this.read(key, { from, limit }), ended: false }
    }
    return watchEntries({ notifier: this.#notifier, key: keyText(key), read }, options)
  }

  async list(query: Port.ListQuery): Promise<Port.ListPage> {
    this.#check()
    checkList(query)
    checkOwner(query.owner)
    return this.#contexts.list(query)
  }

  async due(limit?: number): Promise<readonly Port.Head[]> {
    this.#check()
    const judge = this.#judge()
    const due = [...this.#contexts.values()].map(({ head }) => head).filter((head) => isDue(head, judge))
    due.sort((a, b) => a.activeAt - b.activeAt)
    return due.slice(0, limitOf(limit, 100)).map(copyHead)
  }

  async putBlob(owner: Owner, bytes: Uint8Array): Promise<string> {
    this.#check()
    return this.#blobs.put(checkOwner(owner), bytesOf(bytes))
  }

  async getBlob(owner: Owner, hash: string): Promise<Uint8Array | undefined> {
    this.#check()
    return this.#blobs.get(checkOwner(owner), hash)
  }

  async saveSnapshot(key: ContextKey, snapshot: Port.Snapshot): Promise<void> {
    this.#check(key)
    const { seq, format, state } = requestOf('saveSnapshot()', snapshot)
    const context = this.#find(key)
    if (context === undefined || context.head.status === 'erased' || seq > context.head.seq) return
    if (isOfErased(context.head, seq)) return
    const others = context.snapshots.filter((other) => other.seq !== seq)
    context.snapshots = [...others, { seq, format, json: JSON.stringify(state) }]
      .sort((a, b) => b.seq - a.seq)
      .slice(0, KEPT_SNAPSHOTS)
  }

  async loadSnapshot(key: ContextKey, query: Port.SnapshotQuery): Promise<Port.Snapshot | undefined> {
    this.#check(key)
    const { format, atMost } = requestOf('loadSnapshot()', query)
    const { segments } = lineageOf(this.#find(key)?.line() ?? [])
    for (const { id, from, to } of segments) {
      const limit = Math.min(to, atMost ?? to)
      const found = id.snapshots.find(
        (snapshot) => snapshot.format === format && snapshot.seq <= limit && snapshot.seq >= from,
      )
      if (found !== undefined)
        return { seq: found.seq, format, state: JSON.parse(found.json) as Port.Snapshot['state'] }
    }
    return undefined
  }

  async dropSnapshots(key: ContextKey): Promise<void> {
    this.#check(key)
    const context = this.#find(key)
    if (context !== undefined) context.snapshots = []
  }

  async fork(request: Port.ForkRequest): Promise<Port.Receipt> {
    this.#check(requestOf('fork()', request).parent)
    this.#check(request.child)
    const parent = this.#find(request.parent)
    const parentBase = lineageOf(parent?.line() ?? []).base?.mark.upTo ?? 0
    const facts = { parent: parent?.head, child: this.#find(request.child)?.head, parentBase }
    const entry = forkEntry(request, facts, this.#clock.now())
    const prepared = this.#prepare(entry)
    const child = this.#contexts.create(forkHead(request, entry), parent)
    this.#write(child, [prepared], child.head)
    return forkReceipt(entry, child.head)
  }

  async prune(request: Port.PruneRequest): Promise<Port.PruneReceipt> {
    this.#check(requestOf('prune()', request).key)
    const context = this.#find(request.key)
    const forkedAt = context?.line()[0]?.forkedAt ?? 0
    const needed = context?.needed(request.upTo)
    const kept = context?.forkPoint(this.#contexts.values()) ?? 0
    const entry = baseEntry(request, { head: context?.head, forkedAt, needed, kept }, this.#clock.now())
    if (context === undefined || entry === undefined) return { deleted: 0, base: context?.head.base ?? 0 }
    this.#write(context, [this.#prepare(entry)], advanceHead(context.head, entry))
    context.bases.push({ upTo: request.upTo, seq: entry.seq, kept })
    const gone = context.rows
      .all()
      .filter(({ seq, type }) => seq <= request.upTo && seq > kept && !outlivesPrune(type))
    const hashes = gone.flatMap(hashesOf)
    context.rows.remove(gone)
    this.#dropBlobs(request.key, hashes)
    return { deleted: gone.length, base: context.head.base }
  }

  async scan(query: Port.ScanQuery = {}): Promise<readonly Port.Head[]> {
    checkScan(query)
    this.#check(...(query.after === undefined ? [] : [query.after]))
    return this.#contexts.scan(query)
  }

  async erase(key: ContextKey, options: Port.EraseOptions = {}): Promise<number> {
    this.#check(key)
    checkErase(options)
    const context = this.#find(key)
    if (context === undefined || context.head.status === 'erased') return 0
    const all = [...this.#contexts.values()]
    const children = all.filter(({ parent }) => parent === context)
    checkUnused(context.head, options.at, () => children.some(isLivingFork))
    children.push(...all.filter(({ head }) => isForkedBelow(head, key)))
    const hashes = context.rows.all().flatMap(hashesOf)
    context.wipe(this.#clock.now())
    this.#dropBlobs(key, hashes)
    this.#notifier.notify(keyText(key))
    let count = 1
    for (const child of children) count += await this.erase(child.head.key)
    return count
  }

  async recreate(request: Port.RecreateRequest): Promise<Port.Head> {
    this.#check(requestOf('recreate()', request).key)
    const context = this.#find(request.key)
    const facts = { head: context?.head, parent: context?.parent?.head }
    const entry = recreateEntry(request, facts, this.#clock.now())
    const target = context as Context
    if (entry === undefined) return copyHead(target.head)
    const prepared = this.#prepare(entry)
    const head = recreatedHead(target.head, entry)
    target.recreate({ upTo: request.upTo, seq: entry.seq, kept: 0 }, head)
    this.#write(target, [prepared], head)
    return copyHead(head)
  }

  async rebuild(key: ContextKey): Promise<{ repaired: boolean; head: Port.Head | undefined }> {
    this.#check(key)
    const context = this.#find(key)
    if (context === undefined || context.head.status === 'erased')
      return { repaired: false, head: context && copyHead(context.head) }
    const mark = context.bases.reduce((best, { upTo, seq }) => (upTo > best.upTo ? { upTo, seq } : best), {
      upTo: 0,
      seq: 0,
    })
    const own = context.rows.all().filter(({ seq }) => seq > mark.upTo)
    const entries = own.map(({ seq }) => context.entry(seq, this.#blobs.reader(key)) as Entry)
    const head = headFrom(
      context.head,
      mark.seq === 0 ? undefined : context.entry(mark.seq, this.#blobs.reader(key)),
      entries,
    )
    const derived = entries.flatMap((entry) => derive(entry, this.#derivations(entry.type)))
    context.dropDerived(mark.upTo)
    context.addDerived(derived)
    const repaired = head !== undefined && !sameHead(head, context.head)
    if (repaired) context.head = head
    return { repaired, head: copyHead(context.head) }
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#notifier.notifyAll()
  }

  #check(...keys: readonly ContextKey[]): void {
    if (this.#closed)
      throw new HoldfastError('store-closed', { message: 'This memory store was closed; create another.' })
    for (const key of keys) this.#keys.check(key)
  }

  #find(key: ContextKey): Context | undefined {
    return this.#contexts.find(key)
  }

  #judge(): LeaseJudge {
    return { now: this.#clock.now(), liveness: this.#liveness }
  }

  #parentFor(request: Port.AppendRequest): Context | undefined {
    if (request.parent === undefined) return undefined
    const parent = this.#find({ ...request.key, contextId: request.parent })
    checkParent(request, parent?.head)
    return parent
  }

  #checkRefs(key: ContextKey, entries: readonly Entry[]): void {
    for (const { refs = NO_REFS } of entries)
      for (const hash of refs) if (!this.#blobs.of(key).has(hash)) throw missingBlob(hash, key)
  }

  /** Everything that can fail about an entry happens here, before any write. */
  #prepare(entry: Entry, append = '', known?: EncodedData): PreparedEntry {
    const encoded = known?.get(entry.data) ?? encode(entry.type, entry.data)
    return { entry, encoded, append, derived: derive(entry, this.#derivations(entry.type)) }
  }

  #write(context: Context, prepared: readonly PreparedEntry[], head: Port.Head): void {
    for (const one of prepared) {
      for (const [hash, bytes] of one.encoded.blobs) this.#blobs.of(head.key).set(hash, bytes)
      context.write(one)
    }
    context.head = head
    if (this.#notifier.size > 0) this.#notifier.notify(keyText(head.key))
  }

  #receipt(
    context: Context,
    since: number,
    { entries, epoch, repeated }: Pick<Port.Receipt, 'entries' | 'epoch' | 'repeated'>,
  ): Port.Receipt {
    const { seq, at } = context.head
    return {
      first: entries[0]?.seq ?? seq + 1,
      last: entries.at(-1)?.seq ?? seq,
      at: entries[0]?.at ?? at,
      epoch,
      entries,
      inbox: this.#pending(context, since),
      repeated,
    }
  }

  #pending(context: Context | undefined, since: number): Entry[] {
    if (context === undefined || context.untaken.size === 0) return []
    const waiting = [...context.untaken.keys()].filter((seq) => seq > since)
    return waiting.map((seq) => context.entry(seq, this.#blobs.reader(context.head.key)) as Entry)
  }

  /** Drops the owner's blobs that no entry references. */
  #dropBlobs(owner: Owner, hashes: readonly string[]): void {
    const isOwners = ({ head: { key } }: Context) => key.tenant === owner.tenant && key.actor === owner.actor
    const rows = [...this.#contexts.values()].filter(isOwners).flatMap((one) => one.rows.all())
    const used = new Set(rows.flatMap(hashesOf))
    for (const hash of hashes) if (!used.has(hash)) this.#blobs.of(owner).delete(hash)
  }
}
