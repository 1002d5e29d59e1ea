/** Long and plain conversations, written many turns to an append, for tests of costs that must not grow with their length. */
import {
  type ContextKey,
  type Entry,
  LOCAL_OWNER,
  type NewEntry,
  NO_USAGE,
} from '../../src/protocol/index.ts'
import type { Store } from '../../src/store/index.ts'

const TURNS_AN_APPEND = 10
/** Messages of one `plainTurn`: an input, two replies, two results. */
export const MESSAGES_A_TURN = 5

export function conversationKey(contextId: string): ContextKey {
  return { ...LOCAL_OWNER, contextId }
}

/** Appends turns `from` to `to`, nothing left open. */
export async function converse(
  store: Store,
  key: ContextKey,
  span: { from: number; to: number },
): Promise<void> {
  for (let first = span.from; first <= span.to; first += TURNS_AN_APPEND) {
    const last = Math.min(span.to, first + TURNS_AN_APPEND - 1)
    const turns = Array.from({ length: last - first + 1 }, (_, index) => first + index)
    await store.append({
      key,
      id: `turns-${first}`,
      since: (await store.head(key))?.seq ?? 0,
      inbox: turns.map((turn) => ({
        type: 'input',
        key: `input-${turn}`,
        data: { message: `question ${turn}` },
      })),
      claim: { driver: `driver-${first}`, leaseMs: 1000 },
      entries: turns.flatMap(plainTurn),
    })
  }
}

/** One turn with a round of two calls. */
export function plainTurn(turn: number): NewEntry[] {
  const calls = [1, 2].map((n) => ({ callId: `call-${turn}-${n}`, tool: 'look', args: { n } }))
  const entry = (type: string, data: NewEntry['data']): NewEntry => ({ type, turn, data })
  const usage = { inputTokens: 100, outputTokens: 10, cachedTokens: 0, costUsd: 0.001 }
  return [
    { ...entry('turn.start', { principal: { ...LOCAL_OWNER } }), takes: [`input-${turn}`] },
    entry('model.start', { model: 'test/model', iteration: 1 }),
    entry('model.end', {
      content: calls.map((call) => ({ type: 'tool-call', ...call })),
      finish: 'tools',
      usage,
    }),
    ...calls.map((call) => entry('tool.start', { ...call, idempotencyKey: call.callId, replay: 'never' })),
    ...calls.map(({ callId }) => entry('tool.end', { callId, status: 'ok', output: `found ${turn}` })),
    entry('phase', { name: 'afterTools' }),
    entry('model.start', { model: 'test/model', iteration: 2 }),
    entry('model.end', { content: [{ type: 'text', text: `answer ${turn}` }], finish: 'stop', usage }),
    entry('turn.end', { outcome: 'stop', usage: { ...NO_USAGE }, durationMs: 5 }),
  ]
}

/** The entries of turns 1 to `turns` as a store would keep them. */
export function plainJournal(turns: number): Entry[] {
  const entries: Entry[] = []
  const push = (entry: Omit<Entry, 'seq' | 'at' | 'v'>) => {
    const seq = entries.length + 1
    entries.push({ seq, at: 1_767_225_600_000 + seq, v: 1, ...entry })
  }
  for (let turn = 1; turn <= turns; turn++) {
    const key = `input-${turn}`
    push({ type: 'input', turn: 0, key, data: { message: `question ${turn}` } })
    push({ type: 'claim', turn: 0, data: { epoch: turn, driver: 'd', leaseMs: 1000, attempt: 1 } })
    const [input] = entries.slice(-2)
    for (const { takes, ...entry } of plainTurn(turn))
      push(takes === undefined ? entry : { ...entry, takes: [input?.seq ?? 0] })
  }
  return entries
}

/** A store that counts the entries and index rows read from it. */
export function counting(store: Store): Pick<Store, 'read' | 'lookup'> & { rows: number } {
  const counted = {
    rows: 0,
    async read(...args: Parameters<Store['read']>): Promise<readonly Entry[]> {
      const entries = await store.read(...args)
      counted.rows += entries.length
      return entries
    },
    async lookup(...args: Parameters<Store['lookup']>): ReturnType<Store['lookup']> {
      const rows = await store.lookup(...args)
      counted.rows += rows.length
      return rows
    },
  }
  return counted
}
