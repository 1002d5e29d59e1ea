/**
 * One run: begins a turn, or finds the one that this run has begun before, and follows it to its end.
 *
 * The id of the run is the idempotency key of its message or answers. So a run that is sent again, to this process or
 * another, begins nothing: its events come from the journal, from the first on.
 */
import type { Host, HostedTurn } from '../../host/index.ts'
import type { ContextKey, Entry, EntryData, Json, JsonObject, RequestData } from '../../protocol/index.ts'
import { authOf } from '../caller.ts'
import { ConversationParts } from '../conversation-parts.ts'
import type { MountCall } from '../mount.ts'
import type { OpenStream } from '../open-streams.ts'
import { badRequest, notFound } from '../problem.ts'
import { type BegunTurn, begunTurn, turnEvents } from '../turn-events.ts'
import type { StreamItem } from './event-stream.ts'
import { messagesBefore } from './history.ts'
import { answerOf, isClientCall } from './interrupts.ts'
import { RunEvents } from './run-events.ts'
import type { RunInput } from './run-input.ts'
import { StateEvents } from './state-events.ts'
import { type AgUiEvent, PROTOCOL_VERSION } from './wire.ts'

export interface Run {
  readonly call: MountCall
  readonly key: ContextKey
  readonly input: RunInput
  readonly graphInput: (input: RunInput) => JsonObject
}

/** A run that the journal has. */
export interface BegunRun extends Run {
  readonly turn: BegunTurn
  /** True if the client has to get the messages before this run. */
  readonly needsHistory: boolean
}

export async function beginRun(run: Run): Promise<BegunRun> {
  const { call, key, input } = run
  const before = await call.host.reads.info(key)
  const turn = await begunTurn(begin(run, before !== undefined))
  const isRepeated = turn.seq <= (before?.seq ?? 0)
  const isNew = before === undefined
  return { ...run, turn, needsHistory: isRepeated || (!isNew && !input.hasHistory) }
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
  const isGraph = host.graphs.includes(host.nameOf(key.contextId))
  // Clients send all their messages: one that has a reply must not count as new words. A graph may be run on its state.
  const mayBeOld = input.isReplied && (!isGraph || input.resume.length > 0)
  const isOld = mayBeOld && !(await wasMessage(host, key, input))
  if (message === undefined || isOld)
    throw badRequest('A run needs a new message of the user, or entries in resume that answer interrupts.')
  return host.send(key, isGraph ? graphInput(input) : message, options)
}

async function answersOf(host: Host, key: ContextKey, input: RunInput): Promise<Record<string, Json>> {
  const open = await host.requests(key)
  const answers = await resultsOf(host, key, { open, input })
  if (input.resume.some(({ status }) => status === 'cancelled') && (await wasMessage(host, key, input)))
    return answers
  for (const entry of input.resume) {
    const request = open.find(({ requestId }) => requestId === entry.interruptId)
    const answer = answerOf(entry, request)
    if (answer !== undefined) answers[entry.interruptId] = answer
  }
  return answers
}

/**
 * Results as answers. Clients send all their messages, so results of earlier runs may be among them: those for which nothing
 * waits are the answers of this run only if it was sent before, and then as it sent them.
 */
async function resultsOf(
  host: Host,
  key: ContextKey,
  { open, input }: { readonly open: readonly RequestData[]; readonly input: RunInput },
): Promise<Record<string, Json>> {
  const results = Object.entries(input.results)
  const awaited = results.flatMap(([callId, result]) => {
    const request = clientRequest(open, callId)
    return request === undefined ? [] : [[request.requestId, result] as const]
  })
  if (awaited.length > 0 || results.length === 0) return Object.fromEntries(awaited)
  const sent = await entriesOfRun(host, key, ({ type, key: posted, data }) => {
    const { requestId } = data as EntryData['answer']
    return type === 'answer' && posted === `${input.runId}/${requestId}`
  })
  // Results for which nothing waits are refused, unless the run has other answers.
  if (sent.length === 0 && input.resume.length === 0)
    return Object.fromEntries(results.map(([callId, result]) => [`${callId}/answer`, result]))
  const answers = sent.map(({ data }) => data as EntryData['answer'])
  return Object.fromEntries(answers.map(({ requestId, value }) => [requestId, value]))
}

function clientRequest(open: readonly RequestData[], callId: string): RequestData | undefined {
  return open.find((request) => isClientCall(request) && request.requestId.split('/').includes(callId))
}

const PAGE = 500

/** True if this run was sent before, as a message. */
async function wasMessage(host: Host, key: ContextKey, { runId }: RunInput): Promise<boolean> {
  const found = await entriesOfRun(host, key, (entry) => entry.type === 'input' && entry.key === runId)
  return found.length > 0
}

/** The entries that a run has posted: one append, so they are side by side. */
async function entriesOfRun(
  host: Host,
  key: ContextKey,
  isOfRun: (entry: Entry) => boolean,
): Promise<readonly Entry[]> {
  for (let to = (await host.reads.info(key))?.seq ?? 0; to > 0; ) {
    const page = await host.reads.entries(key, { to, limit: PAGE, order: 'newest' })
    const found = page.filter(isOfRun)
    if (found.length > 0) return found
    to = (page.at(-1)?.seq ?? 1) - 1
  }
  return []
}

export async function* runEvents(
  run: BegunRun,
  { signal }: OpenStream,
): AsyncGenerator<StreamItem, void, undefined> {
  const { call, key, input, turn } = run
  const { threadId, runId } = input
  yield { type: 'RUN_STARTED', threadId, runId, protocolVersion: PROTOCOL_VERSION }
  const { host, heartbeatMs } = call
  if (run.needsHistory)
    yield { type: 'MESSAGES_SNAPSHOT', messages: await messagesBefore(host, key, turn.seq) }
  const parts = new ConversationParts()
  const events = new RunEvents(input)
  const states = new StateEvents()
  const changes = async (): Promise<readonly AgUiEvent[]> => states.next(await stateOf(run, events))
  for await (const event of turnEvents(host, key, {
    ref: turn.ref,
    since: turn.seq - 1,
    heartbeatMs,
    signal,
  })) {
    if (event.type === 'heartbeat') {
      yield null
      continue
    }
    if (states.isEmpty) yield* await changes()
    for (const part of parts.take(event)) {
      yield* events.part(part)
      if (CHANGES_STATE.has(part.type)) yield* await changes()
      if (part.type !== 'turn.end') continue
      yield* await changes()
      yield* events.end(part.end, await openAfter(run, part.turn, events))
      return
    }
  }
  // To a client that is still there, the end of a stream would be that of its run.
  if (!call.request.signal.aborted) yield { type: 'RUN_ERROR', code: 'shutdown', message: UNFINISHED }
}

const UNFINISHED = 'This server stops before the run has ended. Send it again under the same runId.'

/** Those of the conversation if this turn is its newest; of an older turn, those that it has asked. */
async function openAfter(
  { call: { host }, key }: BegunRun,
  turn: number,
  events: RunEvents,
): Promise<readonly RequestData[]> {
  const info = await host.reads.info(key)
  return info?.turn === turn ? host.requests(key) : events.requests
}

const CHANGES_STATE: ReadonlySet<string> = new Set(['selection', 'result', 'step.end'])

/** The channels of a graph; of an agent, the selection and the things that its tools have shown in this run. */
async function stateOf({ call: { host }, key }: BegunRun, { shown }: RunEvents): Promise<unknown> {
  const { state = {}, active = [] } = ((await host.reads.state(key)) ?? {}) as {
    readonly state?: unknown
    readonly active?: unknown
  }
  return host.graphs.includes(host.nameOf(key.contextId)) ? state : { active, shown }
}
