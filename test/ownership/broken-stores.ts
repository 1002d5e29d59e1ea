/** Stores that break one rule each, by a plausible mistake. */
import { HoldfastError } from '../../src/protocol/index.ts'
import type { AppendRequest, Head, Store } from '../../src/store/index.ts'
import { decorate } from './decorate.ts'

export type Spoil = (store: Store) => Store

/** R1: any epoch passes as the current one. */
export const fenceStripped: Spoil = (store) =>
  decorate(store, {
    append: async (request) => {
      if (request.epoch === undefined) return store.append(request)
      const head = await store.head(request.key)
      return store.append({ ...request, epoch: head?.epoch ?? 0 })
    },
  })

/** R1: a claim first releases in the owner's name. */
export const leaseIgnored: Spoil = (store) =>
  decorate(store, {
    append: async (request) => {
      const { key, claim, since } = request
      const head = await store.head(key)
      if (claim === undefined || head?.lease === undefined) return store.append(request)
      const release = { type: 'release', turn: head.turn, data: { reason: 'somebody else wants it' } }
      const { last } = await store.append({
        key,
        id: `${request.id}.0`,
        since: head.seq,
        epoch: head.epoch,
        entries: [release],
      })
      return store.append({ ...request, since: since === head.seq ? last : since })
    },
  })

/** R1: a repeated append returns the current epoch instead of its own. */
export const newestEpochTold: Spoil = (store) =>
  decorate(store, {
    append: async (request) => {
      const receipt = await store.append(request)
      return { ...receipt, epoch: (await store.head(request.key))?.epoch ?? 0 }
    },
  })

/** R2: a driver's append is refused if an inbox entry came in since its last read. */
export const positionExpected: Spoil = (store) =>
  decorate(store, {
    append: async (request) => {
      const head = await store.head(request.key)
      const moved = request.epoch !== undefined && head?.epoch === request.epoch && head.seq !== request.since
      if (moved) throw new HoldfastError('fenced', { message: 'The journal is not where you think.' })
      return store.append(request)
    },
  })

/** R2: posts are acknowledged and thrown away. */
export const postsDropped: Spoil = (store) =>
  decorate(store, {
    append: async (request) => {
      const { inbox = [] } = request
      if (inbox.length === 0 || inbox.some(({ type }) => type === 'input')) return store.append(request)
      const { seq = 0, at = 0, epoch = 0 } = (await store.head(request.key)) ?? {}
      return { first: seq + 1, last: seq, at, epoch, entries: [], inbox: [], repeated: false }
    },
  })

/** R2: neither the position of a claim nor the state of an inbox entry is checked, so it can be taken twice. */
export function takenTwice(): Spoil {
  const forged = new Map<number, number[]>()
  return (store) =>
    decorate(store, {
      append: async (request) => {
        const entries = await store.read(request.key)
        const at = new Map(
          entries.flatMap(({ key, seq }) => (key === undefined ? [] : [[key, seq] as const])),
        )
        const taken = new Set(entries.flatMap(({ takes = [] }) => takes))
        const again = (key: string) => taken.has(at.get(key) ?? 0)
        const since =
          request.claim === undefined ? request.since : ((await store.head(request.key))?.seq ?? 0)
        const stripped = request.entries?.map((entry) => ({
          ...entry,
          takes: entry.takes?.filter((key) => !again(key)) ?? [],
        }))
        const receipt = await store.append({ ...request, since, ...(stripped && { entries: stripped }) })
        for (const [index, entry] of (request.entries ?? []).entries()) {
          const twice = (entry.takes ?? []).filter(again).flatMap((key) => at.get(key) ?? [])
          if (twice.length > 0) forged.set(receipt.last - (request.entries?.length ?? 0) + 1 + index, twice)
        }
        return receipt
      },
      read: async (key, range) => {
        const entries = await store.read(key, range)
        return entries.map((entry) => {
          const takes = forged.get(entry.seq)
          return takes === undefined ? entry : { ...entry, takes: [...(entry.takes ?? []), ...takes] }
        })
      },
    })
}

/** R5: the id of an append is forgotten as soon as it is written. */
export function idsForgotten(): Spoil {
  let count = 0
  return (store) =>
    decorate(store, {
      append: (request: AppendRequest) => store.append({ ...request, id: `${request.id}.${++count}` }),
    })
}

/** R6: the head row is written once a turn and not with every append. */
export function headLeftBehind(): Spoil {
  let kept: Head | undefined
  return (store) =>
    decorate(store, {
      head: async (key) => {
        const head = await store.head(key)
        if (kept === undefined || head?.status !== 'running' || kept.status !== 'running') kept = head
        return kept
      },
    })
}
