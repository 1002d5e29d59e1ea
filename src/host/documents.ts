/**
 * Small JSON documents that a protocol keeps with a conversation, each in a journal below it: erased with it, shared by all
 * processes. A write replaces the document only if nobody has changed it meanwhile, and can ask to be found again later: so
 * a document is also a job that survives its process. Knows no protocol.
 */
import { type Ids, processIdentity } from '../base/index.ts'
import { recreateContext } from '../journal/index.ts'
import { type ContextKey, childKey, defined, HoldfastError, type JsonObject } from '../protocol/index.ts'
import { MAX_LIMIT, persist, type Store } from '../store/index.ts'

export interface HostDocument {
  readonly key: ContextKey
  readonly name: string
  /** Undefined if it was never written. */
  readonly value: JsonObject | undefined
  /** The version to pass to `write`. */
  readonly version: number
}

export interface DocumentWrite {
  readonly value: JsonObject
  /** The time from which on `due` finds it, in milliseconds since 1970. Default: never. */
  readonly wakeAt?: number
}

const LEASE_MS = 5000
const NEWEST = 10
const PAGE = 1000
const MARK = '/~'
/** The refusals of a write whose document another writer was faster to change. */
const CHANGED = ['moved', 'owned', 'exists'] as const

export class Documents {
  readonly #store: Store
  readonly #ids: Ids

  constructor(store: Store, ids: Ids) {
    this.#store = store
    this.#ids = ids
  }

  async read(key: ContextKey, name: string): Promise<HostDocument> {
    const entries = await this.#store.read(childKey(key, `~${name}`), { order: 'newest', limit: NEWEST })
    const data = entries.find(({ type }) => type === 'state')?.data as { metadata?: JsonObject } | undefined
    return { key, name, value: data?.metadata, version: entries[0]?.seq ?? 0 }
  }

  /** Replaces a document. Undefined if somebody else has changed it since it was read: read it again. */
  async write(document: HostDocument, write: DocumentWrite): Promise<HostDocument | undefined> {
    try {
      const version = document.version > 0 ? document.version : await this.#firstVersion(document)
      return await this.#append({ ...document, version }, write)
    } catch (error) {
      if (CHANGED.some((code) => HoldfastError.is(error, code))) return undefined
      if (HoldfastError.is(error, 'erased') && !(await this.#isErased(document.key))) return undefined
      throw error
    }
  }

  async #append(
    { key, name, version }: HostDocument,
    { value, wakeAt }: DocumentWrite,
  ): Promise<HostDocument> {
    const { last } = await persist(this.#store, {
      key: childKey(key, `~${name}`),
      id: this.#ids.next('append'),
      since: version,
      claim: { driver: `${processIdentity()}#document`, leaseMs: LEASE_MS },
      entries: [
        { type: 'state', turn: 0, data: { metadata: value } },
        { type: 'release', turn: 0, data: { reason: 'document', ...defined({ wakeAt }) } },
      ],
      ...(version === 0 ? { parent: key.contextId } : {}),
    })
    return { key, name, value, version: last }
  }

  /** A document that was erased begins anew with its conversation. */
  async #firstVersion({ key, name }: HostDocument): Promise<number> {
    const own = childKey(key, `~${name}`)
    const head = await this.#store.head(own)
    if (head?.status !== 'erased' || (await this.#isErased(key))) return 0
    await recreateContext(this.#store, own)
    // Not the head's position: another writer may have been faster.
    return head.seq + 1
  }

  async #isErased(key: ContextKey): Promise<boolean> {
    return (await this.#store.head(key))?.status === 'erased'
  }

  /** The names of a conversation's documents that begin with `prefix`. */
  async names(key: ContextKey, prefix: string): Promise<readonly string[]> {
    const { tenant, actor, contextId } = key
    const start = `${contextId}${MARK}`
    const page = { owner: { tenant, actor }, parent: contextId, prefix: `${start}${prefix}`, limit: PAGE }
    const { heads } = await this.#store.list(page)
    return heads.map((head) => head.key.contextId.slice(start.length))
  }

  /** Documents whose time has come, of all owners, with names that begin with `prefix`. */
  async due(prefix: string): Promise<readonly { readonly key: ContextKey; readonly name: string }[]> {
    // Conversations that no process here drives stay due, and come first: they must not hide the documents.
    for (let limit = PAGE; ; limit = Math.min(2 * limit, MAX_LIMIT)) {
      const heads = await this.#store.due(limit)
      const found = heads.flatMap(({ key }) => {
        const [contextId = '', name, ...rest] = key.contextId.split(MARK)
        const isOurs = name?.startsWith(prefix) && rest.length === 0
        return isOurs ? [{ key: { ...key, contextId }, name: name ?? '' }] : []
      })
      if (found.length > 0 || heads.length < limit || limit === MAX_LIMIT) return found
    }
  }
}
