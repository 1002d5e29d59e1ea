/**
 * A session during a fold: a writable copy of the fields that steps change. All drafts have all fields in one order, so
 * that the engine sees one shape; absent fields are undefined.
 */
import type { Call, OpenTurn, Request, Session } from './session.ts'

export type Writable<T> = {
  -readonly [K in keyof T]: Partial<Pick<T, K>> extends Pick<T, K> ? T[K] | undefined : T[K]
}
export type OpenDraft = Omit<Writable<OpenTurn>, 'calls' | 'requests'> & {
  calls: Writable<Call>[]
  requests: Request[]
}
export type Draft = Omit<Writable<Session>, 'open' | 'window' | 'totals'> & {
  open?: OpenDraft | undefined
  window: Writable<Session['window']>
  totals: Writable<Session['totals']>
}

/** Copies the fields that steps change. The rest, such as arguments, is shared and immutable. */
export function draftOf(session: Session): Draft {
  const { window, totals } = session
  return {
    seq: session.seq,
    at: session.at,
    createdAt: session.createdAt,
    activeAt: session.activeAt,
    turn: session.turn,
    epoch: session.epoch,
    claims: session.claims,
    open: session.open === undefined ? undefined : openDraftOf(session.open),
    outcome: session.outcome,
    stopped: session.stopped,
    outputSchema: session.outputSchema,
    parked: session.parked,
    window: {
      from: window.from,
      messages: window.messages,
      summary: window.summary,
      trimmedUpTo: window.trimmedUpTo,
      nearFull: window.nearFull,
      overMessages: window.overMessages,
    },
    totals: {
      turns: totals.turns,
      messages: totals.messages,
      modelCalls: totals.modelCalls,
      toolCalls: totals.toolCalls,
      usage: totals.usage,
    },
    unknown: session.unknown,
    imports: session.imports,
    active: session.active,
    activeSince: session.activeSince,
    grants: session.grants,
    graph: session.graph,
    erasedUpTo: session.erasedUpTo,
    cleared: session.cleared,
    metadata: session.metadata,
    closed: session.closed,
    origin: session.origin,
  }
}

export function openDraftOf(open: OpenTurn): OpenDraft {
  const calls: Writable<Call>[] = []
  for (const call of open.calls) calls.push(callDraftOf(call))
  return {
    turn: open.turn,
    startSeq: open.startSeq,
    startedAt: open.startedAt,
    principal: open.principal,
    limits: open.limits,
    metadata: open.metadata,
    credentials: open.credentials,
    iteration: open.iteration,
    thinking: open.thinking,
    phase: open.phase,
    fresh: open.fresh,
    failed: open.failed,
    replied: open.replied,
    prompt: open.prompt,
    stop: open.stop,
    ended: open.ended,
    overCalls: open.overCalls,
    calls,
    requests: [...open.requests],
    usage: open.usage,
    toolCalls: open.toolCalls,
    failures: open.failures,
    invalidOutputs: open.invalidOutputs,
    retry: open.retry,
  }
}

export function callDraftOf(call: Call): Writable<Call> {
  return {
    callId: call.callId,
    tool: call.tool,
    state: call.state,
    args: call.args,
    malformed: call.malformed,
    offered: call.offered,
    replay: call.replay,
    idempotencyKey: call.idempotencyKey,
    argsKey: call.argsKey,
    inputKey: call.inputKey,
    checked: call.checked,
    grounds: call.grounds,
    answers: call.answers,
    used: call.used,
  }
}

/** Drops absent fields, for storing or showing a session. */
export function withoutAbsent(session: Session): Session {
  const plain = present(session)
  return {
    ...plain,
    window: present(session.window),
    ...(session.open === undefined ? {} : { open: withPlainCalls(session.open) }),
    ...(session.parked === undefined ? {} : { parked: withPlainCalls(session.parked) }),
  }
}

function withPlainCalls<T extends { readonly calls: readonly Call[] }>(holder: T): T {
  return { ...present(holder), calls: holder.calls.map(present) }
}

function present<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as T
}
