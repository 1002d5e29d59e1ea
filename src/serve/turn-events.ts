/**
 * The events of one turn, for protocols that answer a request with a turn: found by the request that began it, or by its
 * number, and read from the journal, so any process can follow it. Knows no protocol.
 */
import type { EventsOptions, Host, HostEvent, HostedTurn, HostOutcome } from '../host/index.ts'
import type { ContextKey, Entry, Json } from '../protocol/index.ts'
import { erasedProblem, HttpProblem, problemWith, refusedProblem } from './problem.ts'

/** A turn by its number, or by the position of the input or answer that it takes. */
export type TurnRef = { readonly turn: number } | { readonly input: number }

export interface BegunTurn extends Pick<HostedTurn, 'cancel'> {
  readonly ref: TurnRef
  /** The position of its first known entry. */
  readonly seq: number
  /** Never rejects. */
  readonly outcome: Promise<HostOutcome>
}

/** Waits until a requested turn is stored. Throws a problem if it was refused. */
export async function begunTurn(requested: Promise<HostedTurn>): Promise<BegunTurn> {
  const turn = await requested
  for await (const event of turn) {
    if (event.type === 'turn.refused') throw refusedProblem(event.data)
    const { type, seq, turn: number } = event
    const isPosted = type === 'input' || type === 'answer'
    if (seq === undefined || (number === 0 && !isPosted)) continue
    const ref = isPosted ? { input: seq } : { turn: number }
    return { ref, seq, outcome: turn.outcome, cancel: (reason) => turn.cancel(reason) }
  }
  const { error = NEVER_BEGAN } = await turn.outcome
  throw refusedProblem(error)
}

/** Of a turn that has ended without an event, and without an error. */
export const NEVER_BEGAN = { code: 'internal', message: 'The turn never began.' }

/** The outcome of a turn that ended. Throws a problem if it goes on elsewhere, or its conversation was erased. */
export function checkFinished(outcome: HostOutcome): HostOutcome {
  const { code } = outcome.error ?? {}
  if (code === 'shutdown') throw new HttpProblem(problemWith('shutdown', GOES_ON))
  if (code === 'erased') throw erasedProblem()
  return outcome
}

const GOES_ON =
  'This server is shutting down. The message is stored, and its turn goes on in another process: send the request again under the same Idempotency-Key, or read the conversation.'

export interface TurnEventsOptions extends EventsOptions {
  readonly ref: TurnRef
}

/**
 * The events of a turn up to its `turn.end`, and heartbeats. Ends earlier if the signal aborts. Throws a problem if
 * the input began no turn. Entries and deltas of other turns, and of sub-agents, are left out.
 */
export async function* turnEvents(
  host: Host,
  key: ContextKey,
  { ref, ...options }: TurnEventsOptions,
): AsyncGenerator<HostEvent, void, undefined> {
  let turn = 'turn' in ref ? ref.turn : undefined
  /** Entries of a turn that may be the one: its start comes before the entry that takes an answer. */
  let candidates: Entry[] = []
  for await (const event of host.events(key, options)) {
    if (event.type === 'heartbeat') yield event
    else if (event.type !== 'entry') {
      if (isOfTurn(event, turn)) yield event
    } else if (turn === undefined) {
      const { entry } = event
      if (entry.type === 'turn.start') candidates = []
      candidates.push(entry)
      if (!('input' in ref) || !entry.takes?.includes(ref.input)) continue
      if (isUnused(entry)) throw unusedProblem(entry)
      turn = entry.turn
      for (const each of candidates) if (each.turn === turn) yield { type: 'entry', entry: each }
      if (isEnd(entry)) return
    } else if (event.entry.turn === turn) {
      if (isEnd(event.entry)) yield* flowReply(host, key, event.entry)
      yield event
      if (isEnd(event.entry)) return
    }
  }
}

/** The reply of a flow, which no model gave: from the state that its run had reached at the end of the turn. */
export async function* flowReply(host: Host, key: ContextKey, end: Entry): AsyncGenerator<HostEvent> {
  if (!host.isFlow(host.nameOf(key.contextId)) || !hasReply(end)) return
  const text = await host.reads.reply(key, end.seq)
  if (text !== undefined && text !== '') yield { type: 'text', turn: end.turn, text }
}

const WITHOUT_REPLY: readonly Json[] = ['input-required', 'auth-required', 'failed', 'cancelled']

/** False for the end of a turn whose state may have the reply of an earlier one. */
export function hasReply({ data: { outcome = null } }: Entry): boolean {
  return !WITHOUT_REPLY.includes(outcome)
}

/** The events of a conversation, with the reply of a flow before the end of each turn that gave one. */
export async function* withFlowReplies(
  host: Host,
  key: ContextKey,
  events: AsyncIterable<HostEvent> | Iterable<HostEvent>,
): AsyncGenerator<HostEvent, void, undefined> {
  for await (const event of events) {
    if (event.type === 'entry' && isEnd(event.entry)) yield* flowReply(host, key, event.entry)
    yield event
  }
}

export function* entryEvents(entries: readonly Entry[]): Generator<HostEvent, void, undefined> {
  for (const entry of entries) yield { type: 'entry', entry }
}

function isOfTurn(event: Exclude<HostEvent, { type: 'entry' | 'heartbeat' }>, turn?: number): boolean {
  return event.type === 'text' ? event.turn === turn : event.event.turn === turn && !event.event.path
}

function isEnd({ type }: Entry): boolean {
  return type === 'turn.end'
}

/** An input or answer that a turn has put aside, or that was taken outside of turns. */
function isUnused({ type, turn, data }: Entry): boolean {
  return turn === 0 || (type === 'take' && data['as'] === 'nothing')
}

function unusedProblem({ data: { reason } }: Entry): HttpProblem {
  const why = typeof reason === 'string' ? `: ${reason}` : '.'
  return new HttpProblem(problemWith('not-taken', `The message began no turn${why}`))
}

const PAGE = 200

/**
 * The exchange that a position belongs to: the turns from the newest input up to it. Later turns of an exchange continue the
 * first, after an answer, an expiry or a failure. Undefined if there is none, or it was pruned.
 */
export async function exchangeStart(
  host: Host,
  key: ContextKey,
  last: number,
): Promise<{ readonly turn: number; readonly seq: number } | undefined> {
  for (let to = last; to > 0; ) {
    const page = await host.reads.entries(key, { to, limit: PAGE, order: 'newest' })
    const start = page.find(({ type, takes = [] }) => type === 'turn.start' && takes.length > 0)
    if (start !== undefined) return { turn: start.turn, seq: start.seq }
    to = (page.at(-1)?.seq ?? 1) - 1
  }
  return undefined
}
