/**
 * The work that is measured: a turn with two model calls and one tool between them, as a driver would write it, ten
 * entries in four commits. Texts are filler, sizes are those of an ordinary support conversation.
 */
import { type ContextKey, LOCAL_OWNER, type Store } from 'holdfast'
import { type EntryData, type NewEntry, processIdentity, systemIds } from 'holdfast/journal'

/** A conversation as its writer remembers it. */
export interface Talk {
  readonly key: ContextKey
  seq: number
  turn: number
}

export const ENTRIES_PER_TURN = 10
export const COMMITS_PER_TURN = 4
export const CLAIM: { readonly driver: string; readonly leaseMs: number } = {
  driver: `${processIdentity()}#bench`,
  leaseMs: 30_000,
}

export function newTalk(contextId: string): Talk {
  return { key: { ...LOCAL_OWNER, contextId }, seq: 0, turn: 0 }
}

/** One whole turn, every commit waited for. */
export async function playTurn(store: Store, talk: Talk, shape: Shape = {}): Promise<void> {
  const { key } = talk
  const { input, commits } = scriptOf(talk.turn + 1, shape)
  const [opening = [], ...others] = commits
  const id = systemIds.next('append')
  const claimed = { key, id, since: talk.seq, inbox: [input], claim: CLAIM, entries: opening }
  const { epoch, last } = await store.append(claimed)
  talk.seq = last
  for (const entries of others) {
    const receipt = await store.append({
      key,
      id: systemIds.next('append'),
      since: talk.seq,
      epoch,
      entries,
    })
    talk.seq = receipt.last
  }
  talk.turn += 1
}

/** How a turn may differ from the usual one. */
export interface Shape {
  readonly outcome?: EntryData['turn.end']['outcome']
  /** How many rows the tool returns, about 110 bytes each; 4 if not given. */
  readonly rows?: number
}

export interface Script {
  readonly input: { readonly type: 'input'; readonly key: string; readonly data: NewEntry['data'] }
  /** Driver entries, commit by commit. The first commit also brings the input and the claim. */
  readonly commits: readonly (readonly NewEntry[])[]
}

/** The texts of a turn. */
export function scriptOf(turn: number, { outcome = 'stop', rows = 4 }: Shape = {}): Script {
  const key = `input-${turn}`
  const callId = `call_${turn}_1`
  const args = { projectId: `prj-${1000 + (turn % 97)}`, status: 'open', limit: 20, note: filler(60, turn) }
  const entry = (type: string, data: NewEntry['data']): NewEntry => ({ type, turn, data })
  const opening = [
    { ...entry('turn.start', { principal: LOCAL_OWNER, limits: LIMITS, metadata: METADATA }), takes: [key] },
    entry('model.start', { model: MODEL, iteration: 1 }),
  ]
  const asking = [
    entry('model.end', {
      content: [
        { type: 'text', text: filler(120, turn) },
        { type: 'tool-call', callId, providerId: `toolu_${turn}_x8Kq`, tool: 'list_tasks', args },
      ],
      finish: 'tool-calls',
      usage: usage(1800),
    }),
    entry('tool.start', {
      callId,
      tool: 'list_tasks',
      args,
      idempotencyKey: `idem_${callId}`,
      replay: 'never',
    }),
  ]
  const settling = [
    entry('tool.end', { callId, status: 'ok', output: { rows: tasks(turn, rows), total: rows } }),
    entry('model.start', { model: MODEL, iteration: 2 }),
  ]
  const closing = [
    entry('model.end', {
      content: [{ type: 'text', text: filler(420, turn) }],
      finish: 'stop',
      usage: usage(2100),
    }),
    entry('turn.end', { outcome, usage: usage(3900), durationMs: 2345 }),
  ]
  const input = { type: 'input', key, data: { message: filler(240, turn), principal: LOCAL_OWNER } } as const
  return { input, commits: [opening, asking, settling, closing] }
}

const MODEL = 'anthropic/claude-sonnet-5'
const LIMITS = { maxIterations: 20, maxTokens: 200_000, maxCostUsd: 1.5 }
const METADATA = { channel: 'web', locale: 'de-CH', requestId: '0f8f6f6e-7a0d-4c6e-9b55-2f7f4b1f9b3a' }
const PROSE =
  'The quarterly report for the northern region is due on Friday and two of the open tasks have no owner yet, so please check which of them block the release and tell me who could take them over before the end of the week. '.repeat(
    4,
  )

function filler(length: number, turn: number): string {
  return `${turn}: ${PROSE.slice(turn % 50, (turn % 50) + length)}`
}

function usage(inputTokens: number): NewEntry['data'] {
  return { inputTokens, outputTokens: 140, cachedTokens: 1024, costUsd: 0.0081 }
}

function tasks(turn: number, length: number): NewEntry['data'][] {
  return Array.from({ length }, (_, i) => ({
    id: `tsk-${turn * 4 + i}`,
    title: filler(40, turn + i),
    status: i % 2 === 0 ? 'open' : 'blocked',
    assignee: i === 0 ? null : `person-${i}`,
  }))
}
