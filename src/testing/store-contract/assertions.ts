/** Assertions that several subjects share. */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { type ContextKey, type Entry, type ErrorCode, HoldfastError } from '../../protocol/index.ts'
import type { Head, Store } from '../../store/index.ts'

/** The call is refused with this code and a message. Returns the error. */
export function refused(code: ErrorCode, call: Promise<unknown>): Promise<HoldfastError> {
  return watched(refusal(code, call))
}

async function refusal(code: ErrorCode, call: Promise<unknown>): Promise<HoldfastError> {
  const error = await call.then(
    () => assert.fail(`it was accepted, and should have been refused as "${code}"`),
    (reason: unknown) => reason,
  )
  if (!HoldfastError.is(error)) throw error
  assert.equal(error.code, code, `refused as "${error.code}" (${error.message}), not as "${code}"`)
  assert.ok(error.message.length > 10, 'the message of the error says what happened')
  return error
}

/** Entries as `position type`. */
export function lines(entries: readonly Entry[]): string[] {
  return entries.map(({ seq, type }) => `${seq} ${type}`)
}

export function positions(entries: readonly Entry[]): number[] {
  return entries.map(({ seq }) => seq)
}

/** Inbox entries by their keys. */
export function keys(entries: readonly Entry[]): (string | undefined)[] {
  return entries.map(({ key }) => key)
}

/** The head row equals the journal (R6); only a lease's time may differ, since renewals leave no entry. */
export async function headIsRebuilt(store: Store, key: ContextKey, when = 'now'): Promise<void> {
  const before = await store.head(key)
  const { repaired, head } = await store.rebuild(key)
  assert.equal(
    repaired,
    false,
    `${when}: the head row of ${key.contextId} was wrong: ${JSON.stringify({ before, rebuilt: head })}`,
  )
  assert.deepEqual(await store.head(key), before, `${when}: a rebuild that repairs nothing changes nothing`)
}

/** The contextIds of heads, as `list` and `due` return them. */
export function names(heads: readonly Head[]): string[] {
  return heads.map(({ key }) => key.contextId)
}

/** The next `count` entries of a watch, or a failure if they do not come in time. */
export function take(watch: AsyncIterator<Entry, unknown>, count: number): Promise<Entry[]> {
  return watched(taken(watch, count))
}

async function taken(watch: AsyncIterator<Entry, unknown>, count: number): Promise<Entry[]> {
  const found: Entry[] = []
  while (found.length < count) {
    const next = await inTime(watch.next(), `entry ${found.length + 1} of ${count}`)
    if (next.done === true) assert.fail(`the watch ended after ${found.length} of ${count} entries`)
    found.push(next.value)
  }
  return found
}

/** The watch ends, in time and without an error. */
export function ends(watch: AsyncIterator<Entry, unknown>): Promise<void> {
  return watched(ended(watch))
}

async function ended(watch: AsyncIterator<Entry, unknown>): Promise<void> {
  const { done, value } = await inTime(watch.next(), 'the end of the watch')
  assert.equal(done, true, `the watch went on with ${JSON.stringify(value)}`)
}

/** Equal; the failure message is short, also for a megabyte. */
export function same(found: unknown, expected: unknown, what = 'what was stored'): void {
  if (isDeepStrictEqual(found, expected)) return
  const size = (value: unknown) => JSON.stringify(value)?.length ?? 0
  assert.fail(`${what} came back different: ${size(found)} bytes of JSON, not ${size(expected)}`)
}

/** If a case fails elsewhere meanwhile, this promise has no waiter, and its rejection must not be fatal. */
function watched<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {})
  return promise
}

const PATIENCE_MS = 120_000

export async function inTime<T>(promise: Promise<T>, what: string, ms: number = PATIENCE_MS): Promise<T> {
  const patience = new AbortController()
  const late = sleep(ms, undefined, { signal: patience.signal }).then(
    () => assert.fail(`${what} did not come within ${ms} ms`),
    () => undefined as never,
  )
  try {
    return await Promise.race([promise, late])
  } finally {
    patience.abort()
  }
}
