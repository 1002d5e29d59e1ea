/**
 * A Store whose calls are scheduling points, for a process of an exploration. It adds nothing and checks nothing: what
 * the store under it answers is what the process hears.
 */
import { HoldfastError } from '../../src/protocol/index.ts'
import type { AppendRequest, Receipt, Store } from '../../src/store/index.ts'
import type { Operation, Port } from './scenario.ts'

export interface StorePortOptions {
  /**
   * May others act between a read and what its process does next? `each` (the default) misses nothing. `joined` leaves
   * out the schedules in which a process acts on what it read a while ago; that saves many states, and is sound for a
   * process that writes what it concluded from a read on the condition that nothing has moved (a claim with entries,
   * R1), provided that a smaller scope shows what it does when something has.
   */
  readonly reads?: 'each' | 'joined'
}

export function storePort(port: Port, store: Store, options: StorePortOptions = {}): Store {
  const read = <T>(label: string, perform: () => Promise<T>): Promise<T> => {
    const operation: Operation<T> = { label, perform, reads: true, joined: options.reads === 'joined' }
    return port.point(operation)
  }
  const write = <T>(label: string, perform: () => Promise<T>): Promise<T> => port.point({ label, perform })
  return {
    append: (request) =>
      port.point({
        label: appendLabel(request),
        perform: () => store.append(request),
        ambiguous: () => ambiguous(request),
        tell: tellReceipt,
      }),
    renew: (request) =>
      port.point({
        label: `renew epoch ${request.epoch}`,
        perform: () => store.renew(request),
        tell: ({ inbox }) =>
          inbox.length === 0 ? 'ok' : `ok, sees ${inbox.map(({ type }) => type).join(' ')}`,
      }),
    head: (key) => read('head', () => store.head(key)),
    read: (key, range) => read('read', () => store.read(key, range)),
    inbox: (key) => read('inbox', () => store.inbox(key)),
    base: (key) => read('base', () => store.base(key)),
    lookup: (key, query) => read(`lookup ${query.index}`, () => store.lookup(key, query)),
    list: (query) => read('list', () => store.list(query)),
    due: (limit) => read('due', () => store.due(limit)),
    scan: (query) => read('scan', () => store.scan(query)),
    getBlob: (owner, hash) => read('getBlob', () => store.getBlob(owner, hash)),
    loadSnapshot: (key, query) => read('loadSnapshot', () => store.loadSnapshot(key, query)),
    putBlob: (owner, bytes) => write('putBlob', () => store.putBlob(owner, bytes)),
    saveSnapshot: (key, snapshot) => write('saveSnapshot', () => store.saveSnapshot(key, snapshot)),
    dropSnapshots: (key) => write('dropSnapshots', () => store.dropSnapshots(key)),
    fork: (request) => write('fork', () => store.fork(request)),
    prune: (request) => write('prune', () => store.prune(request)),
    erase: (key, how) => write('erase', () => store.erase(key, how)),
    recreate: (request) => write('recreate', () => store.recreate(request)),
    rebuild: (key) => write('rebuild', () => store.rebuild(key)),
    watch: () => {
      throw new Error(
        'A process under exploration cannot watch: waiting for an entry is not an operation. Read instead.',
      )
    },
    close: async () => {},
  }
}

function appendLabel({ inbox = [], claim, entries = [], epoch }: AppendRequest): string {
  const parts = [
    ...inbox.map(({ type, key }) => `post ${type} ${key}`),
    ...(claim === undefined ? [] : ['claim']),
    ...entries.map(({ type, takes = [] }) => (takes.length === 0 ? type : `${type}(${takes.join(' ')})`)),
  ]
  return `${epoch === undefined ? '' : `epoch ${epoch} `}${parts.join(' + ')}`
}

function tellReceipt({ first, last, epoch, repeated, inbox }: Receipt): string {
  const where = last < first ? 'nothing new' : first === last ? `${first}` : `${first}-${last}`
  const seen = inbox.length === 0 ? '' : `, sees ${inbox.map(({ type }) => type).join(' ')}`
  return `${where}, epoch ${epoch}${repeated ? ', repeated' : ''}${seen}`
}

function ambiguous({ id }: AppendRequest): HoldfastError {
  return new HoldfastError('ambiguous', {
    message: `The connection broke while append ${id} was under way.`,
    retry: 'later',
    details: { id },
  })
}
