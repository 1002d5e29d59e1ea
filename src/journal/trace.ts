/** Converts entries to the trace of their turns: a pure view, in the order in which things ended. */
import {
  type AssistantPart,
  defined,
  type Entry,
  type EntryData,
  type EntryOf,
  GIVEN,
  type Json,
  type JsonObject,
  type KnownEntry,
  type LlmCallTrace,
  NO_USAGE,
  type NodeExecutionTrace,
  type RequestTrace,
  type SettledStatus,
  type ToolExecutionTrace,
  type TraceEntry,
  type TraceStatus,
  type TraceUsage,
  textOf,
  type Usage,
} from '../protocol/index.ts'
import { isKnown } from './format.ts'
import type { Session } from './session.ts'

export interface TraceOptions {
  /** This turn only. The entries should include the inputs that it takes and the replies whose calls it continues. */
  readonly turn?: number
}

export function traceOf(entries: Iterable<Entry>, { turn }: TraceOptions = {}): readonly TraceEntry[] {
  const reader = new TraceReader()
  for (const entry of entries) if (isKnown(entry)) reader.read(entry)
  const all = reader.trace()
  return turn === undefined ? all : all.filter((one) => one.turn === turn)
}

interface TracedCall {
  readonly tool: string
  readonly args: Json
  readonly iteration: number
  /** Of the reply that requests it. */
  readonly requestedAt: number
  readonly startedAt?: number
}

type Readers = { readonly [T in KnownEntry['type']]?: (entry: EntryOf<T>) => void }

/** The most untaken inputs to remember: those that other processes take are never taken here. */
const MOST_INPUTS = 1000

/** Reads entries one by one, in their order. Its memory is that of the calls since it was made. */
export class TraceReader {
  readonly #trace: TraceEntry[] = []
  readonly #inputs = new Map<number, EntryData['input']>()
  readonly #calls = new Map<string, TracedCall>()
  readonly #open = new Map<string, { readonly turn: number }>()
  /** The requests without an end. */
  readonly #requests = new Map<string, RequestTrace>()
  readonly #tasks = new Map<string, { readonly node: string; readonly turn: number; readonly at: number }>()
  readonly #effects = new Map<string, EntryOf<'effect.start'>>()
  #model: EntryOf<'model.start'> | undefined
  #turn = 0
  #turnAt: number | undefined

  read(entry: KnownEntry): void {
    const reader = this.#readers[entry.type] as ((entry: KnownEntry) => void) | undefined
    reader?.(entry)
  }

  /** Adds open calls whose replies this reader has not read. A turn that began before `claimedAt` is taken over. */
  resume({ open, parked }: Session, claimedAt: number): void {
    const { turn = 0, startSeq = claimedAt, iteration = 0, startedAt = 0 } = open ?? {}
    if (startSeq < claimedAt) this.#turn = turn
    for (const { callId, tool, args } of (open ?? parked)?.calls ?? []) {
      if (this.#calls.has(callId)) continue
      this.#calls.set(callId, { tool, args, iteration, requestedAt: startedAt })
      this.#open.set(callId, { turn })
    }
  }

  /** A reader for the turns to come, which knows the inputs that wait for them. */
  next(): TraceReader {
    const reader = new TraceReader()
    for (const [seq, input] of [...this.#inputs].slice(-MOST_INPUTS)) reader.#inputs.set(seq, input)
    return reader
  }

  /** The entries that have ended since the last call of this method. */
  drain(): readonly TraceEntry[] {
    return this.#trace.splice(0)
  }

  /** The entries that have ended, then the open ones. */
  trace(): readonly TraceEntry[] {
    return [...this.#trace, ...this.#openModelCall(), ...this.#unsettled(), ...this.#running()]
  }

  readonly #readers: Readers = {
    input: ({ seq, data }) => void this.#inputs.set(seq, data),
    claim: ({ at, data }) => {
      if (this.#turn > 0)
        this.#trace.push({ type: 'take_over', turn: this.#turn, driver: data.driver, timestamp: at })
    },
    'turn.start': (entry) => {
      this.#turn = entry.turn
      this.#turnAt = entry.at
      this.#takeInputs(entry)
    },
    take: (entry) => {
      if (entry.data.as === 'message') this.#takeInputs(entry)
    },
    phase: ({ turn, at, data: { name, callId, changes } }) => {
      if (changes === undefined || name === 'ground') return
      this.#change({
        turn,
        hook: name,
        changes: changes,
        timestamp: at,
        ...defined({ callId }),
      })
    },
    note: ({ turn, at, data: { text, from } }) =>
      this.#change({ turn, hook: from, changes: { add: text }, timestamp: at }),
    'model.start': (entry) => void (this.#model = entry),
    'model.end': (entry) => this.#endModel(entry),
    'tool.start': ({ turn, at, data: { callId, tool, args } }) => {
      const { iteration = 0, requestedAt = at } = this.#calls.get(callId) ?? {}
      this.#calls.set(callId, { tool, args, iteration, requestedAt, startedAt: at })
      this.#open.set(callId, { turn })
    },
    'tool.end': (entry) => this.#endTool(entry),
    'request.start': ({ turn, at, data: { requestId, callId, kind, prompt } }) => {
      const request: RequestTrace = {
        type: 'request',
        turn,
        request_id: requestId,
        kind,
        prompt,
        timestamp: at,
        ...defined({ call_id: callId }),
      }
      this.#requests.set(requestId, request)
      this.#trace.push(request)
    },
    'request.end': (entry) => this.#endRequest(entry),
    warning: ({ turn, at, data: { code, message } }) =>
      void this.#trace.push({ type: 'warning', turn, code, message, timestamp: at }),
    'graph.step': ({ turn, at, data: { tasks } }) => {
      for (const { task, node } of tasks) this.#tasks.set(task, { node, turn, at })
    },
    'node.end': (entry) => this.#endNode(entry),
    'effect.start': (entry) => void this.#effects.set(entry.data.callId, entry),
    'effect.end': (entry) => this.#endEffect(entry),
    'turn.end': (entry) => this.#endTurn(entry),
  }

  #takeInputs({ turn, at, takes = [] }: Entry): void {
    for (const seq of takes) {
      const input = this.#inputs.get(seq)
      if (input === undefined) continue
      const prompt = input.values === undefined ? textOf(input.message) : JSON.stringify(input.values)
      this.#trace.push({ type: 'user_input', turn, prompt, timestamp: at })
      this.#inputs.delete(seq)
    }
  }

  #change(
    change: Omit<Extract<TraceEntry, { type: 'hook_change' }>, 'type' | 'call_id'> & { callId?: string },
  ): void {
    const { callId, ...rest } = change
    this.#trace.push({ type: 'hook_change', ...rest, ...defined({ call_id: callId }) })
  }

  #endModel({ turn, at, data: { content, finish, model, usage, error } }: EntryOf<'model.end'>): void {
    const start = this.#model
    this.#model = undefined
    const calls = content.filter((part) => part.type === 'tool-call')
    const iteration = start?.data.iteration ?? 0
    // No model was called for it here.
    if (finish === GIVEN) return this.#request(calls, { turn, iteration, requestedAt: at })
    this.#trace.push({
      type: 'llm_call',
      turn,
      model: model ?? start?.data.model ?? '',
      timestamp: start?.at ?? at,
      duration_ms: at - (start?.at ?? at),
      tool_calls_count: calls.length,
      iteration,
      usage: usageOf(usage),
      status: error !== undefined ? 'error' : finish === 'aborted' ? 'cancelled' : 'success',
      ...(error === undefined ? {} : failureOf(error)),
    })
    this.#request(calls, { turn, iteration, requestedAt: at })
  }

  #request(
    calls: readonly Extract<AssistantPart, { type: 'tool-call' }>[],
    { turn, ...of }: { readonly turn: number; readonly iteration: number; readonly requestedAt: number },
  ): void {
    for (const { callId, tool, args } of calls) {
      this.#calls.set(callId, { tool, args, ...of })
      this.#open.set(callId, { turn })
    }
  }

  #endTool({ turn, at, data: { callId, status, output } }: EntryOf<'tool.end'>): void {
    const call = this.#calls.get(callId)
    this.#open.delete(callId)
    const { startedAt } = call ?? {}
    const traced = tracedStatus(status, output)
    this.#trace.push({
      ...executionOf(callId, call),
      turn,
      result: output,
      status: traced,
      timestamp: startedAt ?? at,
      timing: at - (startedAt ?? at),
      ...(traced === 'success' ? {} : failureOf(output)),
    })
  }

  /** A call goes on in the turn of the answer. */
  #endRequest({ turn, at: answeredAt, data: { requestId, how, value } }: EntryOf<'request.end'>): void {
    const request = this.#requests.get(requestId)
    if (request === undefined) return
    const answered = { ...request, how, answered_at: answeredAt, ...defined({ value }) }
    const at = this.#trace.indexOf(request)
    if (at < 0) this.#trace.push(answered)
    else this.#trace[at] = answered
    this.#requests.delete(requestId)
    if (request.call_id !== undefined && this.#open.has(request.call_id))
      this.#open.set(request.call_id, { turn })
  }

  #endNode({ turn, at, data: { task, node, update, error } }: EntryOf<'node.end'>): void {
    // A task of an earlier turn goes on from the start of this one.
    const begunAt = this.#tasks.get(task)?.at ?? this.#turnAt ?? at
    if (error?.['next'] !== 'retry') this.#tasks.delete(task)
    this.#trace.push({
      type: 'node_execution',
      turn,
      name: node,
      task,
      ...defined({ result: update }),
      status: error === undefined ? 'success' : 'error',
      timing: at - begunAt,
      timestamp: begunAt,
      ...(error === undefined ? {} : failureOf(error)),
    })
  }

  #endEffect({ turn, at, data: { callId, status, output } }: EntryOf<'effect.end'>): void {
    const start = this.#effects.get(callId)
    this.#effects.delete(callId)
    const traced = tracedStatus(status, output)
    this.#trace.push({
      ...effectOf(callId, start),
      turn,
      result: output,
      status: traced,
      timestamp: start?.at ?? at,
      ...(start === undefined ? {} : { timing: at - start.at }),
      ...(traced === 'success' ? {} : failureOf(output)),
    })
  }

  #endTurn({ turn, at, data: { outcome, usage, durationMs, limit, error } }: EntryOf<'turn.end'>): void {
    const cancelled = (call: LlmCallTrace): LlmCallTrace => {
      return { ...call, status: 'cancelled', duration_ms: at - call.timestamp }
    }
    this.#trace.push(...this.#openModelCall().map(cancelled))
    this.#model = undefined
    this.#turn = 0
    this.#trace.push(...this.#unsettled().filter((call) => call.turn === turn))
    this.#trace.push({
      type: 'turn_result',
      turn,
      reason: outcome,
      duration_ms: durationMs,
      usage: usageOf(usage),
      timestamp: at,
      ...defined({ limit }),
      ...(error === undefined ? {} : failureOf(error)),
    })
    for (const [callId, open] of this.#open) if (open.turn === turn) this.#open.delete(callId)
  }

  #openModelCall(): readonly LlmCallTrace[] {
    if (this.#model === undefined) return []
    const { turn, at, data } = this.#model
    const { model, iteration } = data
    const usage = usageOf(NO_USAGE)
    return [
      {
        type: 'llm_call',
        turn,
        model,
        timestamp: at,
        tool_calls_count: 0,
        iteration,
        usage,
        status: 'running',
      },
    ]
  }

  /** Calls that were started or that wait; a call that is only requested has no entry yet. */
  #unsettled(): readonly ToolExecutionTrace[] {
    const found: ToolExecutionTrace[] = []
    const waits = new Set([...this.#requests.values()].map((one) => one.call_id))
    for (const [callId, { turn }] of this.#open) {
      const call = this.#calls.get(callId)
      if (call === undefined || (call.startedAt === undefined && !waits.has(callId))) continue
      const timestamp = call.startedAt ?? call.requestedAt
      const status = waits.has(callId) ? 'waiting' : 'running'
      found.push({ ...executionOf(callId, call), turn, status, timestamp })
    }
    return found
  }

  #running(): readonly NodeExecutionTrace[] {
    if (this.#turn === 0) return []
    const tasks = [...this.#tasks].map(([task, { node, at }]): NodeExecutionTrace => {
      return { type: 'node_execution', turn: this.#turn, name: node, task, status: 'running', timestamp: at }
    })
    const effects = [...this.#effects].map(([callId, start]): NodeExecutionTrace => {
      return { ...effectOf(callId, start), turn: start.turn, status: 'running', timestamp: start.at }
    })
    return [...tasks, ...effects]
  }
}

function executionOf(
  callId: string,
  call: TracedCall | undefined,
): Pick<ToolExecutionTrace, 'type' | 'tool_name' | 'arguments' | 'call_id' | 'iteration'> {
  const { tool = '', args = null, iteration = 0 } = call ?? {}
  return { type: 'tool_execution', tool_name: tool, arguments: args, call_id: callId, iteration }
}

function effectOf(
  callId: string,
  start: EntryOf<'effect.start'> | undefined,
): Pick<NodeExecutionTrace, 'type' | 'name' | 'task' | 'call_id'> {
  const { key = '', task = '' } = start?.data ?? {}
  return { type: 'effect_execution', name: key, task, call_id: callId }
}

const STATUS: { readonly [S in SettledStatus]: TraceStatus } = {
  ok: 'success',
  error: 'error',
  rejected: 'rejected',
  unknown: 'unknown',
  'not-run': 'not_run',
}

/** Of rejected calls: the code of the rejection, and its status where other frameworks have one of their own. */
const REJECTED: Readonly<Record<string, TraceStatus>> = {
  'unknown-tool': 'not_found',
  'invalid-arguments': 'error',
  'malformed-arguments': 'error',
  ungrounded: 'refused',
}

function tracedStatus(status: SettledStatus, output: Json): TraceStatus {
  if (status !== 'rejected' || typeof output !== 'object' || output === null) return STATUS[status]
  const { code, error } = output as JsonObject
  const named = [code, error].find((one) => typeof one === 'string' && Object.hasOwn(REJECTED, one))
  return REJECTED[named as string] ?? STATUS[status]
}

/** The text of a failure, and its type: the class of a thrown error, else its code. */
function failureOf(output: Json): { readonly error: string; readonly error_type?: string } {
  if (typeof output === 'string') return { error: output }
  const { error, message, name, code, kind } = (output ?? {}) as JsonObject
  const text = firstText(message, error) ?? JSON.stringify(output)
  const type = firstText(name, code, kind, error === text ? undefined : error)
  return { error: text, ...defined({ error_type: type }) }
}

function firstText(...values: readonly (Json | undefined)[]): string | undefined {
  return values.find((value) => typeof value === 'string')
}

function usageOf({ inputTokens, outputTokens, cachedTokens, costUsd }: Usage = NO_USAGE): TraceUsage {
  return {
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    cached_tokens: cachedTokens,
    cost: costUsd,
  }
}
