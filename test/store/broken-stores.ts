/**
 * Stores that break one promise of the port each, as decorators around a correct one. They prove that the contract
 * suite can fail: a case of the subject must catch each.
 */
import { type ContextKey, type Entry, HoldfastError } from '../../src/protocol/index.ts'
import type { Head, Store } from '../../src/store/index.ts'
import type { ManualClock } from '../../src/testing/index.ts'
import { decorate } from '../ownership/decorate.ts'

export interface BrokenStore {
  /** The broken promise. */
  readonly name: string
  /** The subject of the cases that must catch it. */
  readonly subject: string
  readonly spoil: (store: Store, clock: Pick<ManualClock, 'now'>) => Store
}

export const brokenStores: readonly BrokenStore[] = [
  {
    name: 'the fence is ignored',
    subject: 'ownership',
    spoil: (store) =>
      decorate(store, {
        append: async (request) => {
          if (request.epoch === undefined) return store.append(request)
          return store.append({ ...request, epoch: (await store.head(request.key))?.epoch ?? 0 })
        },
      }),
  },
  {
    name: 'a renewal holds nothing',
    subject: 'ownership',
    spoil: (store) =>
      decorate(store, {
        renew: async (request) => {
          const head = await store.head(request.key)
          if (head?.lease === undefined || head.epoch !== request.epoch) return store.renew(request)
          const inbox = await store.inbox(request.key)
          return { seq: head.seq, inbox: inbox.filter(({ seq }) => seq > request.since) }
        },
      }),
  },
  {
    name: 'a repetition is appended again',
    subject: 'append',
    spoil: (store) => {
      let calls = 0
      return decorate(store, {
        append: (request) => store.append({ ...request, id: `${request.id} ${++calls}`.slice(-256) }),
      })
    },
  },
  {
    name: 'a repetition is told the newest epoch',
    subject: 'append',
    spoil: (store) =>
      decorate(store, {
        append: async (request) => {
          const receipt = await store.append(request)
          return { ...receipt, epoch: (await store.head(request.key))?.epoch ?? 0 }
        },
      }),
  },
  {
    name: 'a repetition is told the newest epoch, through faults',
    subject: 'faults',
    spoil: (store) =>
      decorate(store, {
        append: async (request) => {
          const receipt = await store.append(request)
          return { ...receipt, epoch: (await store.head(request.key))?.epoch ?? 0 }
        },
      }),
  },
  {
    name: 'the head row stays where it was',
    subject: 'append',
    spoil: (store) => {
      const kept = new Map<string, Head | undefined>()
      return decorate(store, {
        head: async (key) => {
          const name = JSON.stringify(key)
          const head = kept.get(name) ?? (await store.head(key))
          kept.set(name, head)
          return head
        },
      })
    },
  },
  {
    name: 'half of a refused append is written',
    subject: 'append',
    spoil: (store) =>
      decorate(store, {
        append: async (request) => {
          const { key, id, since, inbox = [] } = request
          try {
            return await store.append(request)
          } catch (error) {
            if (inbox.length > 0) await store.append({ key, id, since, inbox }).catch(() => undefined)
            throw error
          }
        },
      }),
  },
  { name: 'the time goes back with the clock', subject: 'append', spoil: timeGoesBack },
  {
    name: 'an inbox key may be used again for something else',
    subject: 'inbox',
    spoil: (store) =>
      decorate(store, {
        append: async (request) => {
          try {
            return await store.append(request)
          } catch (error) {
            if (!HoldfastError.is(error, 'key-reused')) throw error
            const inbox = request.inbox?.map((entry) => ({ ...entry, key: `${entry.key}'` })) ?? []
            return store.append({ ...request, inbox })
          }
        },
      }),
  },
  {
    name: 'an inbox entry may be taken twice',
    subject: 'inbox',
    spoil: (store) =>
      decorate(store, {
        append: async (request) => {
          try {
            return await store.append(request)
          } catch (error) {
            if (!HoldfastError.is(error, 'not-pending')) throw error
            const entries = request.entries?.map((entry) => ({ ...entry, takes: [] })) ?? []
            return store.append({ ...request, entries })
          }
        },
      }),
  },
  {
    name: 'ranges leave out their last position',
    subject: 'reading',
    spoil: (store) =>
      decorate(store, {
        read: (key, range = {}) =>
          store.read(key, range.to === undefined ? range : { ...range, to: range.to - 1 }),
      }),
  },
  {
    name: 'a watch forgets where it was to start',
    subject: 'watch',
    spoil: (store) =>
      decorate(store, { watch: (key, options = {}) => store.watch(key, { ...options, since: 0 }) }),
  },
  {
    name: 'a watch ends when it has caught up',
    subject: 'watch',
    spoil: (store) =>
      decorate(store, {
        async *watch(key, { since = 0 } = {}) {
          yield* await store.read(key, { from: since + 1 })
        },
      }),
  },
  { name: 'pages are counted and not remembered', subject: 'list', spoil: pagesCounted },
  {
    name: 'a scan goes on behind the name, and misses its other owners',
    subject: 'scan',
    spoil: (store) =>
      decorate(store, {
        scan: async ({ after, ...query } = {}) => {
          if (after === undefined) return store.scan(query)
          const page = await store.scan({ ...query, after })
          return page.filter(({ key }) => key.contextId !== after.contextId)
        },
      }),
  },
  {
    name: 'wake times are forgotten',
    subject: 'due',
    spoil: (store) =>
      decorate(store, {
        due: async (limit) => (await store.due(limit)).filter(({ wakeAt }) => wakeAt === undefined),
      }),
  },
  {
    name: 'text goes through UTF-8',
    subject: 'blobs',
    spoil: (store) =>
      decorate(store, {
        read: async (key, range) => {
          const entries = await store.read(key, range)
          return entries.map((entry) => ({ ...entry, data: throughUtf8(entry.data) }))
        },
      }),
  },
  {
    name: 'a snapshot of any format will do',
    subject: 'snapshots',
    spoil: (store) =>
      decorate(store, {
        saveSnapshot: (key, snapshot) => store.saveSnapshot(key, { ...snapshot, format: 1 }),
        loadSnapshot: async (key, query) => {
          const found = await store.loadSnapshot(key, { ...query, format: 1 })
          return found && { ...found, format: query.format }
        },
      }),
  },
  {
    name: 'an index gives every version of a key',
    subject: 'derived indexes',
    spoil: (store) =>
      decorate(store, {
        lookup: async (key, query) => (await store.lookup(key, query)).flatMap((row) => [row, row]),
      }),
  },
  {
    name: 'a fork shows only its own entries',
    subject: 'fork',
    spoil: (store) =>
      decorate(store, {
        read: async (key, range) => {
          const { parent } = (await store.head(key)) ?? {}
          return (await store.read(key, range)).filter(({ seq }) => seq > (parent?.at ?? 0))
        },
      }),
  },
  { name: 'pruning goes under fork points', subject: 'prune', spoil: prunedUnderForks },
  { name: 'an erased conversation comes back with the next write', subject: 'erase', spoil: revivable },
  {
    name: 'a writer of an erased conversation gets into the one that has begun anew',
    subject: 'recreate',
    spoil: (store) =>
      decorate(store, {
        append: async (request) => {
          const { erasedUpTo = -1 } = (await store.head(request.key)) ?? {}
          return store.append({ ...request, since: Math.max(request.since, erasedUpTo + 1) })
        },
      }),
  },
  {
    name: 'a watch goes on into the conversation that has begun anew',
    subject: 'recreate',
    spoil: (store) =>
      decorate(store, {
        watch: (key, options) => store.watch(key, { ...options, since: 0 }),
      }),
  },
  {
    name: 'erasing leaves forks and children',
    subject: 'erase',
    spoil: (store) => {
      const erased = new Set<string>()
      return decorate(store, {
        erase: async (key) => {
          erased.add(key.contextId)
          return store.erase(key)
        },
        head: async (key) => {
          const head = await store.head(key)
          if (head?.status !== 'erased' || erased.has(key.contextId)) return head
          return { ...head, status: 'idle' }
        },
      })
    },
  },
  {
    name: 'a tenant with nothing of its own reads what another has under the same name',
    subject: 'isolation',
    spoil: (store) =>
      decorate(store, {
        read: async (key, range) => {
          const own = await store.read(key, range)
          return own.length > 0 ? own : store.read({ ...key, tenant: 'acme' }, range)
        },
      }),
  },
  {
    name: 'a tenant is shown the conversations of another',
    subject: 'isolation',
    spoil: (store) =>
      decorate(store, {
        list: async (query) => {
          const own = await store.list(query)
          if (own.heads.length > 0) return own
          return store.list({ ...query, owner: { ...query.owner, tenant: 'acme' } })
        },
      }),
  },
  {
    name: 'actors see blobs of each other',
    subject: 'isolation',
    spoil: (store) =>
      decorate(store, {
        putBlob: (owner, bytes) => store.putBlob({ ...owner, actor: 'everybody' }, bytes),
        getBlob: (owner, hash) => store.getBlob({ ...owner, actor: 'everybody' }, hash),
      }),
  },
  {
    name: 'keys are not checked when reading',
    subject: 'keys',
    spoil: (store) => decorate(store, { inbox: (key) => store.inbox(key).catch(() => []) }),
  },
  {
    name: 'a closed store goes on',
    subject: 'close',
    spoil: (store) => decorate(store, { close: async () => {} }),
  },
  {
    name: 'claims without progress are not counted by a rebuild',
    subject: 'heads',
    spoil: (store) =>
      decorate(store, {
        rebuild: async (key) => {
          const { head, repaired } = await store.rebuild(key)
          return { head: head && { ...head, claims: 0 }, repaired: repaired || (head?.claims ?? 0) > 0 }
        },
      }),
  },
]

function timeGoesBack(store: Store, clock: Pick<ManualClock, 'now'>): Store {
  const times = new Map<string, number>()
  const timed = (key: ContextKey) => (entry: Entry) => ({
    ...entry,
    at: times.get(`${key.contextId} ${entry.seq}`) ?? entry.at,
  })
  return decorate(store, {
    append: async (request) => {
      const receipt = await store.append(request)
      for (const { seq } of receipt.repeated ? [] : receipt.entries)
        times.set(`${request.key.contextId} ${seq}`, clock.now())
      return { ...receipt, entries: receipt.entries.map(timed(request.key)) }
    },
    read: async (key, range) => (await store.read(key, range)).map(timed(key)),
  })
}

function pagesCounted(store: Store): Store {
  return decorate(store, {
    list: async ({ cursor, limit = 50, ...query }) => {
      if (cursor !== undefined && !/^\d+\.0$/.test(cursor)) return store.list({ ...query, limit, cursor })
      const start = Number(cursor ?? 0)
      const { heads } = await store.list({ ...query, limit: 1000 })
      const more = heads.length > start + limit ? { next: `${start + limit}.0` } : {}
      return { heads: heads.slice(start, start + limit), ...more }
    },
  })
}

function prunedUnderForks(store: Store): Store {
  const pruned = new Map<string, number>()
  return decorate(store, {
    prune: async (request) => {
      const receipt = await store.prune(request)
      pruned.set(request.key.contextId, receipt.base)
      return receipt
    },
    read: async (key, range) => {
      const { parent } = (await store.head(key)) ?? {}
      const base = Math.min(pruned.get(parent?.contextId ?? '') ?? 0, parent?.at ?? 0)
      return (await store.read(key, range)).filter(({ seq }) => seq > base)
    },
  })
}

function revivable(store: Store): Store {
  const revived = new Map<string, string>()
  const now = (key: ContextKey) => ({ ...key, contextId: revived.get(key.contextId) ?? key.contextId })
  return decorate(store, {
    append: async (request) => {
      try {
        return await store.append({ ...request, key: now(request.key) })
      } catch (error) {
        if (!HoldfastError.is(error, 'erased')) throw error
        revived.set(request.key.contextId, `${request.key.contextId}~again`)
        return store.append({ ...request, since: 0, key: now(request.key) })
      }
    },
    head: (key) => store.head(now(key)),
    read: (key, range) => store.read(now(key), range),
  })
}

function throughUtf8<T>(data: T): T {
  const text = JSON.stringify(data, (_, value: unknown) =>
    typeof value === 'string' ? Buffer.from(value).toString('utf8') : value,
  )
  return JSON.parse(text) as T
}
