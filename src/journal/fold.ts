/**
 * The fold: entries to a session, and nothing else (R12). It reads no clock and knows no store. It throws for an
 * entry that it does not understand (R21); one that is invalid at its position changes nothing.
 *
 * Inbox entries are ignored here: they take effect through the entry that takes them (R2).
 */
import {
  type ActiveValue,
  addUsage,
  beforePrompt,
  ENTRY_KINDS,
  type Entry,
  type EntryOf,
  type EntryType,
  hookKind,
  type InboxType,
  isWaiting,
  type JsonObject,
  type KnownEntry,
  LAST_BEFORE_TOOLS,
  NO_USAGE,
  type Usage,
} from '../protocol/index.ts'
import { callDraftOf, type Draft, draftOf, type OpenDraft, openDraftOf, withoutAbsent } from './fold-draft.ts'
import { changeArgs, passCall, passPhase } from './fold-phases.ts'
import { setUnknown, trackUnknown } from './fold-unknown.ts'
import { understand } from './format.ts'
import {
  adoptChannels,
  answerTask,
  beginRun,
  beginStep,
  clearRun,
  countBelow,
  dropQueued,
  endEffect,
  endNode,
  forkRun,
  INPUT_DROPPED,
  queueRun,
  resumeRun,
  startEffect,
} from './graph-position.ts'
import { countOf } from './message-count.ts'
import {
  type Answer,
  beginsAnew,
  hasRound,
  MAX_IMPORTS,
  newSession,
  type OpenTurn,
  OUTPUT_NOTE,
  OVER_MESSAGES,
  type Parked,
  type Session,
  SHUTDOWN_RELEASE,
} from './session.ts'

/**
 * Entries must follow `from` in order. Only inbox entries may be missing: they change nothing but the position. Throws
 * `entry-not-understood` (R21).
 */
export function fold(entries: Iterable<Entry>, from: Session = newSession()): Session {
  return withoutAbsent(advance(entries, from))
}

/** The same for repeated folding: absent fields stay undefined. */
export function advance(entries: Iterable<Entry>, from: Session): Session {
  let draft = draftOf(from)
  for (const entry of entries) {
    if (beginsAnew(entry)) draft = draftOf(entry.data.session as Session)
    step(draft, entry)
  }
  return draft as Session
}

function step(draft: Draft, entry: Entry): void {
  const kind = ENTRY_KINDS.get(entry.type)
  const known = understand(entry, kind)
  draft.seq = entry.seq
  draft.at = entry.at
  if (draft.createdAt === 0) {
    draft.createdAt = entry.at
    draft.activeAt = entry.at
  }
  if (kind?.inbox || entry.type === 'base') return
  // By type alone, even if this version cannot read the rest: the head row counts the same way.
  if (kind?.progress) draft.claims = 0
  if (known === undefined) return
  const count = countOf(known)
  draft.window.messages += count
  draft.totals.messages += count
  const apply = steps[known.type as FoldedType] as (draft: Draft, entry: KnownEntry) => void
  apply(draft, known)
}

/** Inbox entries and bases have no step. The compiler asks for one of every other type. */
type FoldedType = Exclude<EntryType, InboxType | 'base'>

const changesNothing = (): void => {}

const steps: { [T in FoldedType]: (draft: Draft, entry: EntryOf<T>) => void } = {
  artifact: changesNothing,
  claim(draft, { data }) {
    draft.epoch = data.epoch
    draft.claims = data.attempt
    if (data.drives === false) return
    draft.closed = undefined
    if (draft.open?.thinking !== true) return
    // The call died with its process; the repeated call counts once.
    draft.open.thinking = false
    draft.open.iteration = Math.max(0, draft.open.iteration - 1)
  },
  release(draft, { data }) {
    if (data.pause) draft.claims = 0
    if (data.pause) draft.closed = 'paused'
    else if (data.reason === SHUTDOWN_RELEASE) draft.closed = 'shutdown'
  },
  'turn.start'(draft, entry) {
    const { principal, limits, metadata, credentials, trimmedUpTo, outputSchema } = entry.data
    if (trimmedUpTo !== undefined) draft.window.trimmedUpTo = trimmedUpTo
    draft.turn = entry.turn
    draft.activeAt = entry.at
    draft.totals.turns += 1
    const open = openDraftOf({
      turn: entry.turn,
      startSeq: entry.seq,
      startedAt: entry.at,
      principal,
      iteration: 0,
      thinking: false,
      calls: draft.parked?.calls ?? [],
      requests: draft.parked?.requests ?? [],
      usage: NO_USAGE,
      toolCalls: 0,
      failures: 0,
    })
    // A turn that resumes parked calls inherits their limits, metadata and credentials; one with a new input does not.
    const inherited = entry.takes?.length ? undefined : draft.parked
    open.limits = merged(inherited?.limits, limits)
    open.metadata = merged(inherited?.metadata, metadata)
    if (credentials || (resumesWithCredentials(draft) && !entry.takes?.length)) open.credentials = true
    if (entry.takes?.length || draft.parked?.fresh) open.fresh = true
    if (open.calls.length > 0) open.phase = LAST_BEFORE_TOOLS
    // Only a turn that continues another has the schema of the other.
    if (outputSchema !== undefined || entry.takes?.length) draft.outputSchema = outputSchema
    draft.open = open
    draft.parked = undefined
    if (draft.graph !== undefined) draft.graph = resumeRun(draft.graph, draft.outcome)
  },
  take({ open }, { data, takes }) {
    if (data.as !== 'message' || !takes?.length || open === undefined) return
    open.fresh = true
    // The new message is answered before the turn ends.
    open.replied = undefined
    // Hooks that change the prompt see the message first.
    if (open.phase !== undefined) open.phase = beforePrompt(open.phase)
  },
  note({ open }, { data }) {
    if (data.from !== OUTPUT_NOTE || open === undefined) return
    // The model replies once more before the turn ends.
    open.replied = undefined
    open.invalidOutputs = (open.invalidOutputs ?? 0) + 1
  },
  phase({ open }, { data: { name, callId, changes = {} } }) {
    if (open === undefined) return
    const hook = hookKind(name)
    if (callId !== undefined) passCall(open, { hook, callId, grounds: changes.grounds })
    else passPhase(open, name, hook)
    for (const call of open.calls) changeArgs(call, changes.args?.[call.callId])
    if (changes.prompt !== undefined) open.prompt = changes.prompt
    // The hooks ran again and dropped their changes.
    else if (hook?.change === 'prompt') open.prompt = undefined
    // Closing hooks still run; the first stop counts.
    if (changes.stop !== undefined) open.stop ??= changes.stop
  },
  warning(draft, { data }) {
    if (data.code === 'toolCalls' && draft.open !== undefined) draft.open.overCalls = true
    if (data.code === 'context-near-full' && data.tokens !== undefined) draft.window.nearFull = data.tokens
    if (data.code === OVER_MESSAGES) draft.window.overMessages = true
    if (data.code === INPUT_DROPPED && draft.graph !== undefined) draft.graph = dropQueued(draft.graph)
    countUsage(draft, data.usage)
  },
  'model.start'(draft, { data }) {
    draft.totals.modelCalls += 1
    if (draft.open === undefined) return
    const { open } = draft
    open.fresh = undefined
    open.failed = undefined
    open.replied = undefined
    open.ended = undefined
    open.iteration = data.iteration
    open.thinking = true
  },
  'model.end'(draft, { at, data }) {
    if (data.usage !== undefined) draft.totals.usage = addUsage(draft.totals.usage, data.usage)
    rearmNearFull(draft, data)
    if (draft.open === undefined) return
    draft.open.thinking = false
    if (data.usage !== undefined) draft.open.usage = addUsage(draft.open.usage, data.usage)
    if (data.error !== undefined) draft.open.failed = true
    planRetry(draft.open, at, data)
    if (draft.open.retry !== undefined) return
    draft.open.phase = 'model'
    const offered = draft.open.prompt?.tools
    draft.open.prompt = undefined
    const requested = data.content.filter((part) => part.type === 'tool-call')
    draft.open.calls = requested.map(({ callId, tool, args, malformed }) => {
      const call = callDraftOf({ callId, tool, state: 'requested', args })
      call.malformed = malformed
      if (offered !== undefined && !offered.includes(tool)) call.offered = offered
      return call
    })
    if (requested.length === 0) draft.open.replied = true
  },
  'tool.start'(draft, { data }) {
    const call = draft.open?.calls.find(({ callId }) => callId === data.callId)
    if (draft.open === undefined || call?.state !== 'requested') return
    // A call that runs again with an answer is still one call.
    const again = call.idempotencyKey !== undefined
    draft.totals.toolCalls += again ? 0 : 1
    draft.open.toolCalls += again ? 0 : 1
    call.state = 'started'
    call.args = data.args
    call.replay = data.replay
    call.idempotencyKey = data.idempotencyKey
    if (data.argsKey !== undefined) call.argsKey = data.argsKey
    call.inputKey = data.inputKey
    if (data.grounds !== undefined) call.grounds = data.grounds
  },
  'tool.end'(draft, { data }) {
    const { open } = draft
    const call = open?.calls.find(({ callId }) => callId === data.callId)
    if (open === undefined || call === undefined || call.state === 'settled') return
    call.state = 'settled'
    countUsage(draft, data.usage)
    open.failures = data.status === 'ok' ? 0 : open.failures + 1
    trackUnknown(draft, call, data.status)
    open.ended = [...(open.ended ?? []), call.callId]
    if (open.calls.every(({ state }) => state === 'settled')) closeRound(open)
  },
  usage(draft, { data: { callId, usage, below } }) {
    countUsage(draft, usage)
    const call = draft.open?.calls.find((candidate) => candidate.callId === callId)
    if (call !== undefined) call.used = addUsage(call.used ?? NO_USAGE, usage)
    else if (draft.graph !== undefined) draft.graph = countBelow(draft.graph, callId, below)
  },
  'tool.late'(draft, { data }) {
    if (draft.graph !== undefined) draft.graph = endEffect(draft.graph, data)
    if (draft.unknown === undefined) return
    setUnknown(
      draft,
      draft.unknown.filter(({ callId }) => callId !== data.callId),
    )
  },
  'request.start'({ open }, { seq, data: { requestId, kind, callId, name, from, expiresAt, inputKey } }) {
    const call = open?.calls.find((candidate) => candidate.callId === callId)
    // A call with an open request has halted, and runs only when started again.
    if (call?.state === 'started') call.state = 'requested'
    if (call !== undefined && inputKey !== undefined) call.inputKey = inputKey
    open?.requests.push({
      requestId,
      seq,
      kind,
      ...(callId === undefined ? {} : { callId }),
      ...(name === undefined ? {} : { name }),
      ...(from === undefined ? {} : { from }),
      ...(expiresAt === undefined ? {} : { expiresAt }),
      ...(call !== undefined || inputKey === undefined ? {} : { inputKey }),
    })
  },
  'request.end'(draft, { seq, data: { requestId, how, value, origin } }) {
    const { open, graph } = draft
    const request = open?.requests.find((candidate) => candidate.requestId === requestId)
    if (open === undefined || request === undefined) return
    open.requests = open.requests.filter((candidate) => candidate !== request)
    const call = open.calls.find(({ callId }) => callId === request.callId)
    const { kind, name, from, inputKey } = request
    const answer: Answer = {
      requestId,
      ...(kind === 'confirmation' && from !== 'approval' ? { kind } : {}),
      ...(name === undefined ? {} : { name }),
      ...(from === undefined ? {} : { from }),
      how,
      ...(value === undefined ? {} : { value }),
      ...(origin === undefined ? {} : { origin }),
      ...(inputKey === undefined ? {} : { inputKey }),
    }
    if (call !== undefined) call.answers = [...(call.answers ?? []), answer]
    else if (graph !== undefined) draft.graph = answerTask(graph, request.callId ?? '', { ...answer, seq })
  },
  'turn.end'(draft, { data }) {
    const waiting: Partial<Parked> = (draft.open as OpenTurn | undefined) ?? draft.parked ?? {}
    const { calls = [], requests = [], credentials, limits, metadata, fresh } = waiting
    draft.outcome = data.outcome
    if (data.stopped !== undefined) draft.stopped = data.stopped
    else draft.stopped = undefined
    draft.open = undefined
    draft.parked = undefined
    if (isWaiting(data.outcome) && calls.length + requests.length > 0)
      draft.parked = {
        calls,
        requests,
        ...(credentials === undefined ? {} : { credentials }),
        ...(limits === undefined ? {} : { limits }),
        ...(metadata === undefined ? {} : { metadata }),
        ...(fresh && calls.length > 0 ? { fresh } : {}),
      }
  },
  import(draft, { data: { key } }) {
    const others = (draft.imports ?? []).filter((other) => other !== key)
    draft.imports = [...others, key].slice(-MAX_IMPORTS)
  },
  compact(draft, { seq, data }) {
    const summary = data.summary === undefined ? {} : { summary: seq }
    const { trimmedUpTo } = draft.window
    const trimmed = trimmedUpTo === undefined ? {} : { trimmedUpTo }
    draft.window = { from: data.upTo + 1, messages: data.kept, ...summary, ...trimmed }
    countUsage(draft, data.receipt?.['usage'] as Usage | undefined)
  },
  clear(draft, entry) {
    draft.window = { from: entry.seq + 1, messages: 0 }
    draft.cleared = entry.seq
    draft.parked = undefined
    draft.imports = undefined
    draft.stopped = undefined
    draft.outputSchema = undefined
    draft.grants = undefined
    // Nothing is left to continue.
    draft.outcome = undefined
    if (draft.graph !== undefined) draft.graph = clearRun(draft.graph)
  },
  'graph.start'(draft, { seq, data }) {
    const secret = draft.open?.credentials ? { credentials: true as const } : {}
    draft.graph = { ...beginRun(draft.graph, data, seq), ...secret }
  },
  'graph.channels'(draft, { data }) {
    if (draft.graph !== undefined) draft.graph = adoptChannels(draft.graph, data)
  },
  'graph.queue'(draft, { data }) {
    if (draft.graph !== undefined) draft.graph = queueRun(draft.graph, data)
  },
  'graph.step'(draft, { data }) {
    if (draft.graph !== undefined) draft.graph = beginStep(draft.graph, data)
  },
  'node.end'(draft, { at, seq, data }) {
    if (draft.graph !== undefined) draft.graph = endNode(draft.graph, data, { at, seq })
    countUsage(draft, data.usage)
  },
  'effect.start'(draft, { data }) {
    if (draft.graph !== undefined) draft.graph = startEffect(draft.graph, data)
  },
  'effect.end'(draft, { data }) {
    if (draft.graph !== undefined) draft.graph = endEffect(draft.graph, data)
    if (data.status === 'unknown') trackUnknown(draft, { ...data, argsKey: data.callId }, data.status)
  },
  active(draft, { seq, data: { values, chosen = [] } }) {
    const { active = [] } = draft
    const sinceBefore = new Map(Object.entries(draft.activeSince ?? {}))
    const since = values.flatMap((value): [string, number][] => {
      const { entity } = value
      const isKept = active.some((before) => isSameChoice(before, value))
      const position = chosen.includes(entity) ? seq : isKept ? sinceBefore.get(entity) : undefined
      return position === undefined ? [] : [[entity, position]]
    })
    if (since.length > 0) draft.activeSince = Object.fromEntries(since)
    else if (draft.activeSince !== undefined) draft.activeSince = undefined
    if (values.length > 0) draft.active = values
    else draft.active = undefined
  },
  grants(draft, { data: { values } }) {
    draft.grants = values.length > 0 ? values : undefined
  },
  state(draft, { data }) {
    draft.metadata = data.metadata
    if (data.status !== undefined) draft.closed = data.status
  },
  fork(draft, { at, data }) {
    draft.origin = { parent: data.parent, at: data.at }
    draft.createdAt = at
    draft.activeAt = at
    draft.parked = undefined
    if (draft.graph !== undefined) draft.graph = forkRun(draft.graph)
    if (draft.open === undefined) return
    if (draft.open.calls.length > 0) closeRound(draft.open)
    draft.open.ended = undefined
    draft.open.requests = []
    draft.open.thinking = false
  },
}

function isSameChoice(a: ActiveValue, b: ActiveValue): boolean {
  return a.entity === b.entity && a.id === b.id && a.since === b.since
}

/** True if the parked calls, or a run that is not over, need credentials (R19). */
function resumesWithCredentials({ parked, graph, outcome }: Draft): boolean {
  return parked?.credentials === true || (graph?.credentials === true && outcome !== 'stop')
}

/** Merges field by field: the new turn's own fields override inherited ones. */
function merged(inherited: JsonObject | undefined, own: JsonObject | undefined): JsonObject | undefined {
  return inherited === undefined || own === undefined ? (own ?? inherited) : { ...inherited, ...own }
}

function closeRound(open: OpenDraft): void {
  const isBegun = open.stop === undefined || hasRound(open as OpenTurn)
  open.calls = []
  // If the turn was stopped before the round began, its calls are settled without a round.
  if (isBegun) open.phase = 'tools'
}

/** Adds usage beyond that of model calls. */
function countUsage(draft: Draft, usage: Usage | undefined): void {
  if (usage === undefined) return
  draft.totals.usage = addUsage(draft.totals.usage, usage)
  if (draft.open !== undefined) draft.open.usage = addUsage(draft.open.usage, usage)
}

/** A clearly smaller prompt re-arms the near-full warning. */
function rearmNearFull({ window }: Draft, { usage, error, finish }: EntryOf<'model.end'>['data']): void {
  const isCounted = error === undefined && finish !== 'aborted' && (usage?.inputTokens ?? 0) > 0
  if (isCounted && (usage?.inputTokens ?? 0) < (window.nearFull ?? 0) * 0.9) window.nearFull = undefined
}

/** A failed attempt with a successor is no iteration; the session holds the successor. */
function planRetry(open: OpenDraft, at: number, { model, error }: EntryOf<'model.end'>['data']): void {
  const { retry: before } = open
  open.retry = undefined
  const { next, waitMs } = error ?? {}
  if (next !== 'retry' && next !== 'fallback') return
  open.iteration = Math.max(0, open.iteration - 1)
  const skipped = (before?.skipped ?? 0) + (next === 'fallback' ? 1 : 0)
  const isSame = before?.model === model && before?.attempt !== 0
  open.retry = {
    ...(model === undefined ? {} : { model }),
    attempt: next === 'fallback' ? 0 : (isSame ? (before?.attempt ?? 1) : 1) + 1,
    until: at + (typeof waitMs === 'number' ? waitMs : 0),
    ...(skipped === 0 ? {} : { skipped }),
  }
}
