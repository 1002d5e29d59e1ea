/** Decisions about queries that all adapters share. */
import {
  type ContextKey,
  checkOptions,
  HoldfastError,
  invalidOption,
  isObject,
  type OptionSet,
  shown,
} from '../protocol/index.ts'
import type { EraseOptions, ListQuery, LookupQuery, ReadRange, ScanQuery, WatchOptions } from './port.ts'

/** The most rows that one query may ask for. */
export const MAX_LIMIT = 100_000

export interface Bounds {
  readonly from: number
  readonly to: number
  readonly limit: number
  readonly newest: boolean
}

const LIMIT = { max: 'limit', take: 'limit' }

const READ: OptionSet<ReadRange> = {
  place: 'read()',
  options: {
    from: 'a number',
    to: 'a number',
    turn: 'a number',
    limit: null,
    order: ['oldest', 'newest'],
    damaged: ['throw', 'skip'],
    kept: 'true or false',
  },
  foreign: { ...LIMIT, since: 'from' },
}

const LOOKUP: OptionSet<LookupQuery> = {
  place: 'lookup()',
  options: { index: 'a text', key: null, prefix: null, after: null, limit: null, order: ['first', 'last'] },
  foreign: LIMIT,
}

const WATCH: OptionSet<WatchOptions> = {
  place: 'watch()',
  options: { since: 'a number', signal: 'an AbortSignal' },
  foreign: { from: 'since', abortSignal: 'signal' },
}

const OWNER = 'owner: { tenant, actor }'

const LIST: OptionSet<ListQuery> = {
  place: 'list()',
  options: {
    owner: 'an object',
    status: null,
    prefix: null,
    parent: null,
    activeSince: null,
    limit: null,
    cursor: null,
  },
  foreign: { ...LIMIT, tenant: OWNER, actor: OWNER, next: 'cursor' },
}

const SCAN: OptionSet<ScanQuery> = {
  place: 'scan()',
  options: { after: 'an object', limit: null },
  foreign: { ...LIMIT, cursor: 'after' },
}

const ERASE: OptionSet<EraseOptions> = { place: 'erase()', options: { at: 'a number' } }

/** The request itself. Throws `invalid-option` for one that is no object; fields are checked where they are read. */
export function requestOf<T extends object>(place: string, request: T): T {
  if (isObject(request)) return request
  throw invalidOption(place, `takes an object, not ${shown(request)}`)
}

/** Throws `invalid-option` for anything but bytes. */
export function bytesOf(bytes: Uint8Array): Uint8Array {
  if (bytes instanceof Uint8Array) return bytes
  throw invalidOption('putBlob()', `takes bytes, not ${shown(bytes)}`)
}

export function checkScan(query: ScanQuery): void {
  checkOptions(query, SCAN)
}

export function checkErase(options: EraseOptions): void {
  checkOptions(options, ERASE)
}

export function checkRead(range: ReadRange): void {
  checkOptions(range, READ)
}

export function checkList(query: ListQuery): void {
  checkOptions(query, LIST)
}

export function checkLookup(query: LookupQuery): void {
  checkOptions(query, LOOKUP)
}

export function checkWatch(options: WatchOptions): void {
  checkOptions(options, WATCH)
}

export function boundsOf(range: ReadRange): Bounds {
  return {
    from: range.from ?? 1,
    to: range.to ?? Number.MAX_SAFE_INTEGER,
    limit: limitOf(range.limit, 1000),
    newest: range.order === 'newest',
  }
}

export function limitOf(limit: number | undefined, fallback: number): number {
  if (limit === undefined) return fallback
  if (Number.isSafeInteger(limit) && limit >= 1 && limit <= MAX_LIMIT) return limit
  throw new HoldfastError('invalid-option', {
    message: `limit must be a whole number from 1 to ${MAX_LIMIT}, not ${limit}.`,
  })
}

/** Compares index keys by code point, as databases compare bytes. JavaScript's order differs outside of the BMP. */
export function byCodePoint(a: string, b: string): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const [x, y] = [a.charCodeAt(i), b.charCodeAt(i)]
    if (x !== y) return (isSurrogate(x) ? x + 0x10000 : x) - (isSurrogate(y) ? y + 0x10000 : y)
  }
  return a.length - b.length
}

/** The order of `scan`. */
export function byContextKey(a: ContextKey, b: ContextKey): number {
  return (
    byCodePoint(a.contextId, b.contextId) || byCodePoint(a.actor, b.actor) || byCodePoint(a.tenant, b.tenant)
  )
}

function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff
}

/** End of a listing's last page: activity first, then the adapter's own number of the context. */
export interface ListCursor {
  readonly activeAt: number
  readonly id: number
}

export function toCursor({ activeAt, id }: ListCursor): string {
  return `${activeAt}.${id}`
}

export function fromCursor(cursor: ListQuery['cursor']): ListCursor | undefined {
  if (cursor === undefined) return undefined
  const match = /^(\d{1,16})\.(\d{1,16})$/.exec(cursor)
  if (match !== null) return { activeAt: Number(match[1]), id: Number(match[2]) }
  throw new HoldfastError('invalid-option', {
    message: 'This cursor was not made by this store. Pass back `next` of the page before, unchanged.',
  })
}
