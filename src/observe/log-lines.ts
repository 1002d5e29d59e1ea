/** One line of a log for each step of a turn, with its level and its fields. It must not know where lines go. */
import type { ContextTelemetry, ErrorSource, ObservedContext } from '../loop/index.ts'
import {
  type DeltaEvent,
  defined,
  type Entry,
  type EntryData,
  replyText,
  type TraceEntry,
  type TraceStatus,
} from '../protocol/index.ts'
import { ContextTrace } from './context-trace.ts'
import { answerText, cut, jsonText, quoted, spanText, usageText } from './describe.ts'

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

export interface LogRecord {
  readonly level: LogLevel
  /** Absent for what no entry has: now. */
  readonly at?: number
  readonly turn: number
  /** Not escaped: models and tools have written parts of it. */
  readonly message: string
  readonly fields: Readonly<Record<string, unknown>>
  readonly error?: Error
}

export type WriteRecord = (record: LogRecord) => void

export function logLines(of: ObservedContext, write: WriteRecord): ContextTelemetry {
  const trace = new ContextTrace(of)
  let active: string | undefined
  return {
    entry: (entry) => {
      const { turn, at } = entry
      for (const part of partsOf(entry, trace.read(entry))) write({ turn, at, ...part })
      if (entry.type !== 'active') return
      const line = activeLine(entry.data as EntryData['active'])
      // A use of what is active renews it, and changes nothing else.
      if (line.message !== active) write({ turn, at, ...line })
      active = line.message
    },
    delta: (event) => {
      if (event.type === 'turn.refused') write(refusedTurn(event))
    },
    thrown: (by, error) => write(exception(by, error)),
  }
}

type Part = Pick<LogRecord, 'level' | 'message' | 'fields'>

function partsOf(entry: Entry, ended: readonly TraceEntry[]): readonly Part[] {
  const parts = ended.flatMap((one) => partOf(one, entry))
  if (entry.type === 'turn.start' && ended.length === 0)
    parts.push({ level: 'info', message: 'turn began', fields: {} })
  const { as, reason } = entry.data as EntryData['take']
  if (entry.type === 'take' && as === 'nothing')
    parts.push({ level: 'warn', message: `input refused: ${cut(reason ?? '')}`, fields: { reason } })
  return parts
}

/** `active: project Champigny (p-11), task Roof (t-1)`. */
function activeLine({ values, by }: EntryData['active']): Part {
  const things = values.flatMap(({ entity, id, ids = [id], label, labels = [label] }) =>
    ids.map((each, at) => `${entity} ${labels[at] ? `${cut(labels[at])} (${each})` : each}`),
  )
  return {
    level: 'info',
    message: `active: ${things.length === 0 ? 'none' : things.join(', ')}`,
    fields: {
      ...defined({ by }),
      active: Object.fromEntries(values.map(({ entity, id, ids = [id] }) => [entity, ids])),
    },
  }
}

type Lines = {
  readonly [T in TraceEntry['type']]: (
    one: TraceEntry & { readonly type: T },
    entry: Entry,
  ) => Part | readonly Part[]
}

const LINES: Lines = {
  user_input: ({ prompt }, { type }) => ({
    level: 'info',
    message: `${type === 'turn.start' ? 'turn began' : 'message joined'}: ${quoted(prompt)}`,
    fields: { input: cut(prompt) },
  }),
  llm_call: (one, entry) => modelLine(one, entry),
  tool_execution: ({ tool_name, arguments: args, call_id, status, timing, error }) => ({
    level: levelOf(status),
    message: `tool ${tool_name} ${jsonText(args)} ${resultText({ status, timing, error })}`,
    fields: { tool: tool_name, callId: call_id, status, ...span(timing), ...failure(error) },
  }),
  node_execution: (one) => nodeLine('node', one),
  effect_execution: (one) => nodeLine('effect', one),
  request: ({ kind, prompt, how, value, request_id }) => ({
    level: 'info',
    message: how === undefined ? `${kind} asked: ${quoted(prompt)}` : `${kind} ${answerText(how, value)}`,
    fields: { requestId: request_id, kind, ...(how === undefined ? {} : { how }) },
  }),
  hook_change: ({ hook, changes }) => ({
    level: 'debug',
    message: `hook ${hook} changed ${jsonText(changes)}`,
    fields: { hook },
  }),
  warning: ({ code, message }) => ({
    level: 'warn',
    message: `warning ${code}: ${cut(message)}`,
    fields: { code },
  }),
  take_over: ({ driver }) => ({ level: 'warn', message: `turn taken over by ${driver}`, fields: { driver } }),
  turn_result: ({ reason, duration_ms, usage, limit, error }) => ({
    level: error === undefined ? (limit === undefined ? 'info' : 'warn') : 'error',
    message: `turn ended: ${reason}${limit === undefined ? '' : ` (${limit})`} in ${spanText(duration_ms)}, ${usageText(usage)}${because(error)}`,
    fields: {
      outcome: reason,
      durationMs: duration_ms,
      tokens: usage.input_tokens + usage.output_tokens,
      cost: usage.cost,
      ...failure(error),
    },
  }),
}

function partOf(one: TraceEntry, entry: Entry): Part[] {
  const line = LINES[one.type] as (one: TraceEntry, entry: Entry) => Part | readonly Part[]
  return [line(one, entry)].flat()
}

function modelLine(
  { model, duration_ms = 0, usage, status, error, iteration }: Extract<TraceEntry, { type: 'llm_call' }>,
  { data }: Entry,
): Part {
  const { content = [], finish, error: failed } = data as Partial<EntryData['model.end']>
  const calls = content.flatMap((part) => (part.type === 'tool-call' ? [part.tool] : []))
  const text = replyText(content)
  const reply = calls.length > 0 ? `calls ${calls.join(', ')}` : quoted(text)
  const next = failed?.['next'] as string | undefined
  const after = next === undefined ? '' : `, next: ${next}`
  const took = `in ${spanText(duration_ms)}`
  // The turn may have ended without a word of the model.
  const said = finish === undefined ? '' : `, ${usageText(usage)}: ${reply}`
  return {
    level: status === 'error' ? 'warn' : 'info',
    message:
      status === 'error'
        ? `model ${model} failed ${took}${after}${because(error)}`
        : `model ${model} ${status === 'success' ? 'replied' : 'was stopped'} ${took}${said}`,
    fields: {
      model,
      iteration,
      status,
      durationMs: duration_ms,
      tokens: usage.input_tokens + usage.output_tokens,
      cost: usage.cost,
      ...(next === undefined ? {} : { next }),
      ...failure(error),
    },
  }
}

function nodeLine(
  kind: 'node' | 'effect',
  { name, task, status, timing, error }: Extract<TraceEntry, { type: 'node_execution' | 'effect_execution' }>,
): Part {
  return {
    level: levelOf(status),
    message: `${kind} ${name} ${resultText({ status, timing, error })}`,
    fields: { [kind]: name, task, status, ...span(timing), ...failure(error) },
  }
}

const STATUS: { readonly [S in TraceStatus]: readonly [LogLevel, string] } = {
  success: ['info', 'ok'],
  error: ['warn', 'failed'],
  not_found: ['warn', 'not found'],
  rejected: ['warn', 'rejected'],
  refused: ['warn', 'refused'],
  unknown: ['warn', 'has an unknown outcome'],
  not_run: ['info', 'not run'],
  waiting: ['info', 'waits'],
  running: ['info', 'runs on'],
}

function levelOf(status: TraceStatus): LogLevel {
  return STATUS[status][0]
}

/** `ok in 12ms`, `failed in 3ms: no such bag`. */
export function resultText({
  status,
  timing,
  error,
}: {
  readonly status: TraceStatus
  readonly timing?: number | undefined
  readonly error?: string | undefined
}): string {
  const isTimed = timing !== undefined && (status === 'success' || status === 'error')
  return `${STATUS[status][1]}${isTimed ? ` in ${spanText(timing)}` : ''}${because(error)}`
}

function because(error: string | undefined): string {
  return error === undefined ? '' : `: ${cut(error)}`
}

function span(timing: number | undefined): { readonly durationMs?: number } {
  return timing === undefined ? {} : { durationMs: timing }
}

function failure(error: string | undefined): { readonly error?: string } {
  return error === undefined ? {} : { error: cut(error) }
}

function refusedTurn({ data }: Extract<DeltaEvent, { readonly type: 'turn.refused' }>): LogRecord {
  const { code, message } = data
  return { level: 'warn', turn: 0, message: `turn refused (${code}): ${cut(message)}`, fields: { code } }
}

function exception({ kind, name, turn, callId }: ErrorSource, error: Error): LogRecord {
  return {
    level: 'error',
    turn,
    message: `${kind} ${name} threw ${error.name}: ${cut(error.message)}`,
    fields: { [kind]: name, ...(callId === undefined ? {} : { callId }) },
    error,
  }
}
