/** Small conversations, said in one line. */
import type { ContextKey, NewEntry } from '../../src/protocol/index.ts'
import type { Receipt, Store } from '../../src/store/index.ts'

export const OWNER = { tenant: 'acme', actor: 'ada' } as const

export function keyOf(contextId: string): ContextKey {
  return { ...OWNER, contextId }
}

let count = 0

export function newId(): string {
  count += 1
  return `append-${count}`
}

export function post(store: Store, key: ContextKey, text: string): Promise<Receipt> {
  const message = {
    type: 'input',
    key: `in-${text.slice(0, 40)}-${newId()}`,
    data: { message: text },
  } as const
  return store.append({ key, id: newId(), since: 0, inbox: [message] })
}

/** One whole turn: input, claim, start, some notes, end. Returns the position of its end. */
export async function turn(
  store: Store,
  key: ContextKey,
  { number, notes = [] }: { number: number; notes?: readonly string[] },
): Promise<number> {
  const head = await store.head(key)
  const input = { type: 'input', key: `input-${number}`, data: { message: `question ${number}` } } as const
  const start: NewEntry = {
    type: 'turn.start',
    turn: number,
    takes: [input.key],
    data: { principal: { ...OWNER } },
  }
  const lines = notes.map((text): NewEntry => ({ type: 'note', turn: number, data: { text, from: 'test' } }))
  const usage = { inputTokens: 1, outputTokens: 2, cachedTokens: 0, costUsd: 0 }
  const end: NewEntry = { type: 'turn.end', turn: number, data: { outcome: 'stop', usage, durationMs: 5 } }
  const receipt = await store.append({
    key,
    id: newId(),
    since: head?.seq ?? 0,
    inbox: [input],
    claim: { driver: 'driver', leaseMs: 10_000 },
    entries: [],
  })
  const last = await store.append({
    key,
    id: newId(),
    since: receipt.last,
    epoch: receipt.epoch,
    entries: [start, ...lines, end],
  })
  return last.last
}
