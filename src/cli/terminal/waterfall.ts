/** Draws a trace as a waterfall: a line for each thing that happened, and a bar where it took time. */

import type { TraceEntry, TraceTree } from 'holdfast/observe'
import {
  bold,
  cyan,
  dim,
  green,
  type Paint,
  red,
  type Styled,
  styled,
  visibleValue,
  yellow,
} from 'holdfast/terminal'
import { costText } from './exchange-lines.ts'
import { cut, oneLine, padEnd } from './text.ts'

export interface WaterfallOptions {
  readonly columns: number
  /** The end of what still runs. */
  readonly now: number
}

interface Row {
  readonly depth: number
  readonly entry: TraceEntry
}

const MOST_COLUMNS = 160
const DURATION = 8

export function waterfallLines(tree: TraceTree, { columns, now }: WaterfallOptions): Styled[] {
  const width = Math.min(columns, MOST_COLUMNS)
  const rows = rowsOf(tree, 0)
  const times = rows.flatMap(({ entry }) => [entry.timestamp, endOf(entry, now)])
  // Not as arguments: a long conversation has more than a call may have.
  const span = {
    from: times.reduce((first, time) => Math.min(first, time), Number.POSITIVE_INFINITY),
    to: times.reduce((last, time) => Math.max(last, time), 0),
  }
  const label = Math.max(16, Math.floor(width * 0.45))
  const bars = Math.max(8, width - label - DURATION - 2)
  return rows.map((row) => rowLine(row, { span, label, bars, now }))
}

/** The rows of sub-agents and graphs come under their call or node. */
function rowsOf({ trace, below }: TraceTree, depth: number): Row[] {
  return trace.toSorted(inOrder).flatMap((entry) => {
    const name =
      entry.type === 'tool_execution' ? entry.call_id : entry.type === 'node_execution' ? entry.task : ''
    const inner = below.filter(({ of }) => name !== '' && of === name)
    return [{ depth, entry }, ...inner.flatMap((child) => rowsOf(child, depth + 1))]
  })
}

/** By turn and time; a question comes after the call that asks it, the outcome at the end. */
function inOrder(a: TraceEntry, b: TraceEntry): number {
  const [first, second] = [a, b].map(({ type }) => (type === 'turn_result' ? 1 : 0)) as [number, number]
  const asks = Number(a.type === 'request') - Number(b.type === 'request')
  return a.turn - b.turn || first - second || a.timestamp - b.timestamp || asks
}

interface Scale {
  readonly span: { readonly from: number; readonly to: number }
  readonly label: number
  readonly bars: number
  readonly now: number
}

function rowLine({ depth, entry }: Row, { span, label, bars, now }: Scale): Styled {
  const indent = '  '.repeat(Math.min(depth, 8))
  const words = `${indent}${markOf(entry)} ${oneLine(labelOf(entry))}`
  const paint = paintOf(entry)
  if (entry.type === 'turn_result') return paint(cut(words, label + bars + DURATION + 2))
  const text = padEnd(cut(words, label), label)
  const length = Math.max(1, span.to - span.from)
  const from = Math.floor(((entry.timestamp - span.from) / length) * (bars - 1))
  const to = Math.ceil(((endOf(entry, now) - span.from) / length) * (bars - 1))
  const start = ' '.repeat(from)
  if (durationOf(entry, now) === undefined) return styled`${paint(text)} ${start}${dim('·')}`
  const bar = padEnd(start + '█'.repeat(Math.max(1, to - from)), bars)
  return styled`${paint(text)} ${paint(bar)} ${dim(durationText(entry, now))}`
}

const MARKS: { readonly [Type in TraceEntry['type']]: string } = {
  user_input: '›',
  llm_call: '◆',
  tool_execution: '▸',
  node_execution: '■',
  effect_execution: '▪',
  request: '?',
  hook_change: '~',
  warning: '!',
  take_over: '↻',
  turn_result: '—',
}

function markOf({ type }: TraceEntry): string {
  return MARKS[type]
}

/** One line of words for an entry, for the waterfall and for `--follow`. */
export function labelOf(entry: TraceEntry): string {
  return (LABELS[entry.type] as (entry: TraceEntry) => string)(entry)
}

type EntryOf<Type> = TraceEntry extends infer One
  ? One extends { readonly type: unknown }
    ? Type extends One['type']
      ? One
      : never
    : never
  : never

type Labels = {
  readonly [Type in TraceEntry['type']]: (entry: EntryOf<Type>) => string
}

type NodeEntry = Extract<TraceEntry, { readonly task: string }>

const nodeLabel = (entry: NodeEntry): string => `${entry.name}${statusOf(entry)}`

const LABELS: Labels = {
  user_input: ({ prompt }) => prompt,
  llm_call: ({ model, status, error, usage: { input_tokens: input, output_tokens: output, cost } }) => {
    const price = cost === 0 ? '' : ` ${costText(cost)}`
    if (error !== undefined) return `${model} ${status}: ${error}`
    return `${model}${status === 'cancelled' ? ' cancelled' : ''} ${input}→${output}${price}`
  },
  tool_execution: (entry) => `${entry.tool_name} ${visibleValue(entry.arguments)}${statusOf(entry)}`,
  node_execution: nodeLabel,
  effect_execution: nodeLabel,
  request: ({ prompt, how }) => `${prompt} (${how ?? 'waits'})`,
  hook_change: ({ hook, changes }) => `${hook} changed ${Object.keys(changes).join(', ')}`,
  warning: ({ code, message }) => `${code}: ${message}`,
  take_over: ({ driver }) => `taken over by ${driver}`,
  turn_result: (entry) => resultText(entry),
}

function statusOf({ status, error }: { readonly status: string; readonly error?: string }): string {
  return status === 'success' ? '' : ` ${status}${error === undefined ? '' : `: ${error}`}`
}

function resultText(entry: Extract<TraceEntry, { type: 'turn_result' }>): string {
  const { reason, limit, error, usage, duration_ms: ms } = entry
  const why = [limit, error].filter((one) => one !== undefined).join(' ')
  const cost = usage.cost === 0 ? [] : [costText(usage.cost)]
  const facts = [`${usage.input_tokens} tokens in, ${usage.output_tokens} out`, ...cost, msText(ms)]
  return `${reason}${why === '' ? '' : ` (${why})`} · ${facts.join(' · ')}`
}

const FAILED: readonly string[] = ['error', 'not_found', 'unknown']
const REFUSED: readonly string[] = ['rejected', 'refused', 'not_run', 'waiting', 'cancelled']

function paintOf(entry: TraceEntry): Paint {
  if ('status' in entry && FAILED.includes(entry.status)) return red
  if ('status' in entry && REFUSED.includes(entry.status)) return yellow
  if (entry.type === 'user_input' || entry.type === 'turn_result') return bold
  if (entry.type === 'llm_call') return cyan
  if (entry.type === 'tool_execution' || entry.type.endsWith('_execution')) return green
  return entry.type === 'hook_change' ? dim : yellow
}

function durationOf(entry: TraceEntry, now: number): number | undefined {
  if (entry.type === 'llm_call') return entry.duration_ms ?? now - entry.timestamp
  if (entry.type === 'request')
    return entry.answered_at === undefined ? undefined : entry.answered_at - entry.timestamp
  if (!('status' in entry)) return undefined
  if (entry.status === 'running') return now - entry.timestamp
  return entry.timing === 0 && entry.status !== 'success' ? undefined : entry.timing
}

function endOf(entry: TraceEntry, now: number): number {
  return entry.timestamp + Math.max(0, durationOf(entry, now) ?? 0)
}

function durationText(entry: TraceEntry, now: number): string {
  const ms = durationOf(entry, now)
  if (ms === undefined) return ''
  const isOpen = 'status' in entry && entry.status === 'running'
  return `${msText(Math.max(0, ms))}${isOpen ? '…' : ''}`.padStart(DURATION)
}

/** Milliseconds below a second, else seconds. */
export function msText(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  return ms < 100_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 1000)} s`
}
