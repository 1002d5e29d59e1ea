/**
 * One run: begins a turn, or finds the one that this run has begun before, and follows it to its end.
 *
 * The id of the run is the idempotency key of its message or answers. So a run that is sent again, to this process or
 * another, begins nothing: its events come from the journal, from the first on.
 */
import type { Host, HostEvent, HostedTurn } from '../../host/index.ts'
import type { ContextKey, Json, JsonObject, RequestData, TurnEvent } from '../../protocol/index.ts'
import { authOf } from '../caller.ts'
import { ConversationParts } from '../conversation-parts.ts'
import type { MountCall } from '../mount.ts'
import type { OpenStream } from '../open-streams.ts'
import { badRequest, HttpProblem, notFound, problemOf, problemWith } from '../problem.ts'
import type { StreamItem } from './event-stream.ts'
import { messagesBefore } from './history.ts'
import { answerOf, isClientCall } from './interrupts.ts'
import { RunEvents } from './run-events.ts'
import type { RunInput } from './run-input.ts'
import { type AgUiEvent, PROTOCOL_VERSION } from './wire.ts'

export interface Run {
  readonly call: MountCall
  readonly key: ContextKey
  readonly input: RunInput
  readonly graphInput: (input: RunInput) => JsonObject
}

/** A run that the journal has. */
export interface BegunRun extends Run {
  /** The position of its message or first answer; of the beginning of its turn, if that is known. */
  readonly at: number
  readonly turn?: number
  /** True if the client has to get the messages before this run. */
  readonly needsHistory: boolean
}

export async function beginRun(run: Run): Promise<BegunRun> {
  const { call, key, input } = run
  const before = await call.host.reads.info(key)
  const turn = await begin(run, before !== undefined)
  const first = await firstEvent(turn)
  if (first?.type === 'turn.refused') throw new HttpProblem(problemWith(first.data.code, first.data.message))
  if (first?.seq === undefined) throw await outcomeProblem(turn)
  const isRepeated = first.seq <= (before?.seq ?? 0)
  const isNew = before === undefined
  const needsHistory = isRepeated || (!isNew && !input.hasHistory)
  return { ...run, at: first.seq, needsHistory, ...(first.turn > 0 ? { turn: first.turn } : {}) }
}

async function begin({ call, key, input, graphInput }: Run, exists: boolean): Promise<HostedTurn> {
  const { host, caller } = call
  const { runId, message, metadata } = input
  const options = { auth: authOf(caller), key: runId, metadata }
  if (input.resume.length > 0 || Object.keys(input.results).length > 0) {
    if (!exists) throw notFound()
    const answers = await answersOf(host, key, input)
    if (Object.keys(answers).length > 0) return host.answer(key, answers, options)
  }
  if (message === undefined)
    throw badRequest('A run needs a message of the user, or entries in resume that answer interrupts.')
  const isGraph = host.graphs.includes(host.nameOf(key.contextId))
  return host.send(key, isGraph ? graphInput(input) : message, options)
}

async function answersOf(host: Host, key: ContextKey, input: RunInput): Promise<Record<string, Json>> {
  const open = await host.requests(key)
  const answers: Record<string, Json> = {}
  for (const [callId, result] of Object.entries(input.results))
    answers[clientRequest(open, callId)?.requestId ?? `${callId}/answer`] = result
  if (input.resume.some(({ status }) => status === 'cancelled') && (await wasMessage(host, key, input)))
    return answers
  for (const entry of input.resume) {
    const request = open.find(({ requestId }) => requestId === entry.interruptId)
    const answer = answerOf(entry, request)
    if (answer !== undefined) answers[entry.interruptId] = answer
  }
  return answers
}

function clientRequest(open: readonly RequestData[], callId: string): RequestData | undefined {
  return open.find((request) => isClientCall(request) && request.requestId.split('/').includes(callId))
}

const RECENT_ENTRIES = 500

/** True if this run was sent before, as a message that dismissed its interrupts. */
async function wasMessage(host: Host, key: ContextKey, { runId }: RunInput): Promise<boolean> {
  const { seq = 0 } = (await host.reads.info(key)) ?? {}
  const recent = await host.reads.entries(key, { from: Math.max(1, seq - RECENT_ENTRIES) })
  return recent.some((entry) => entry.type === 'input' && entry.key === runId)
}

async function firstEvent(turn: HostedTurn): Promise<TurnEvent | undefined> {
  for await (const event of turn) return event
  return undefined
}

/** The turn has ended without any entry. */
async function outcomeProblem(turn: HostedTurn): Promise<HttpProblem> {
  const { error } = await turn.outcome
  return new HttpProblem(problemWith(error?.code ?? 'shutdown', error?.message ?? 'The run did not begin.'))
}

/** A failure after the first event is an event, too. */
export async function* runEvents(
  run: BegunRun,
  stream: OpenStream,
): AsyncGenerator<StreamItem, void, undefined> {
  const { threadId, runId } = run.input
  yield { type: 'RUN_STARTED', threadId, runId, protocolVersion: PROTOCOL_VERSION }
  try {
    yield* begunEvents(run, stream)
  } catch (error) {
    const { code, detail } = problemOf(error)
    yield { type: 'RUN_ERROR', code, message: detail }
  }
}

async function* begunEvents(
  run: BegunRun,
  { signal }: OpenStream,
): AsyncGenerator<StreamItem, void, undefined> {
  const { call, key, at } = run
  if (run.needsHistory)
    yield { type: 'MESSAGES_SNAPSHOT', messages: await messagesBefore(call.host, key, at) }
  const turn = run.turn ?? (yield* untilTaken(run, signal))
  if (turn !== undefined) yield* turnEvents(run, turn, signal)
}

/** Waits for the turn that takes the message or answer: other turns may come first. */
async function* untilTaken(
  { call: { host, heartbeatMs }, key, at }: BegunRun,
  signal: AbortSignal,
): AsyncGenerator<StreamItem, number | undefined, undefined> {
  for await (const event of host.events(key, { since: at, heartbeatMs, signal })) {
    if (event.type === 'heartbeat') yield null
    if (event.type !== 'entry' || event.entry.takes?.includes(at) !== true) continue
    const { turn, type, data } = event.entry
    if (type !== 'take' || data['as'] !== 'nothing') return turn
    const { reason = 'The message was not taken.' } = data as { readonly reason?: string }
    yield { type: 'RUN_ERROR', code: 'not-taken', message: reason }
    return undefined
  }
  return undefined
}

async function* turnEvents(
  run: BegunRun,
  turn: number,
  signal: AbortSignal,
): AsyncGenerator<StreamItem, void, undefined> {
  const { call, key, at, input } = run
  const { host, heartbeatMs } = call
  const parts = new ConversationParts()
  const events = new RunEvents(input)
  const states = new States(host, key, events)
  yield* await states.changed()
  for await (const event of host.events(key, { since: at - 1, heartbeatMs, signal })) {
    if (event.type === 'heartbeat') yield null
    if (!isOf(event, turn)) continue
    for (const part of parts.take(event)) {
      yield* events.part(part)
      if (CHANGES_STATE.has(part.type)) yield* await states.changed()
      if (part.type !== 'turn.end') continue
      yield* await states.changed()
      yield* events.end(part.end, await openAfter(run, turn, events))
      return
    }
  }
}

/** Those of the conversation if this turn is its newest; of an older turn, those that it has asked. */
async function openAfter(
  { call: { host }, key }: BegunRun,
  turn: number,
  events: RunEvents,
): Promise<readonly RequestData[]> {
  const info = await host.reads.info(key)
  return info?.turn === turn ? host.requests(key) : events.requests
}

function isOf(event: HostEvent, turn: number): boolean {
  if (event.type === 'entry') return event.entry.turn === turn || event.entry.type === 'input'
  if (event.type === 'text') return event.turn === turn
  return event.type === 'delta' && event.event.turn === turn
}

const CHANGES_STATE: ReadonlySet<string> = new Set(['selection', 'result', 'step.end'])

/** Snapshots of the state, each time that it has changed. */
class States {
  readonly #host: Host
  readonly #key: ContextKey
  readonly #events: RunEvents
  #last = ''

  constructor(host: Host, key: ContextKey, events: RunEvents) {
    this.#host = host
    this.#key = key
    this.#events = events
  }

  async changed(): Promise<readonly AgUiEvent[]> {
    const snapshot = await this.#read()
    const text = JSON.stringify(snapshot)
    if (text === this.#last) return []
    this.#last = text
    return [{ type: 'STATE_SNAPSHOT', snapshot }]
  }

  /** The channels of a graph; of an agent, the selection and the things that its tools have shown in this run. */
  async #read(): Promise<unknown> {
    const state = ((await this.#host.reads.state(this.#key)) ?? {}) as {
      readonly state?: unknown
      readonly active?: unknown
    }
    const isGraph = this.#host.graphs.includes(this.#host.nameOf(this.#key.contextId))
    return isGraph ? (state.state ?? {}) : { active: state.active ?? [], shown: this.#events.shown }
  }
}
