/** Reads a trace with those of the sub-agents and graphs that ran below its calls and nodes. */
import { type ContextKey, type EntryData, TASK_METADATA, type TraceEntry } from '../protocol/index.ts'
import type { Store } from '../store/index.ts'
import { readAll, readTrace } from './read-trace.ts'
import { nameBelow, subConversations } from './sub-conversations.ts'
import { type TraceOptions, traceOf } from './trace.ts'

export interface TraceTree {
  readonly contextId: string
  readonly trace: readonly TraceEntry[]
  /** By the call or task of this conversation that they ran below, in the order of their names. */
  readonly below: readonly (TraceTree & { readonly of: string })[]
}

type Source = Pick<Store, 'read' | 'list' | 'head'>

const DEEPEST = 16

export async function readTraceTree(
  store: Source,
  key: ContextKey,
  options: TraceOptions = {},
): Promise<TraceTree> {
  return treeOf(store, key, { trace: await readTrace(store, key, options), depth: 0 })
}

async function treeOf(
  store: Source,
  key: ContextKey,
  { trace, depth }: { readonly trace: readonly TraceEntry[]; readonly depth: number },
): Promise<TraceTree> {
  const below: (TraceTree & { readonly of: string })[] = []
  const names = trace.flatMap(nameOf)
  const isDeeper = depth < DEEPEST && names.length > 0
  for await (const head of isDeeper ? subConversations(store, key) : []) {
    for (const { of, trace: part } of await partsOf(store, head.key, trace))
      below.push({ of, ...(await treeOf(store, head.key, { trace: part, depth: depth + 1 })) })
  }
  return { contextId: key.contextId, trace, below }
}

interface TracePart {
  /** The call or task of the parent. */
  readonly of: string
  readonly trace: readonly TraceEntry[]
}

/** The trace of a child, by the calls and tasks of its parent's trace. */
async function partsOf(
  store: Source,
  key: ContextKey,
  above: readonly TraceEntry[],
): Promise<readonly TracePart[]> {
  const child = nameBelow(key)
  const parent = parentIn(above, child)
  if (parent === undefined) return child.includes(SHARED) ? sharedParts(store, key, above) : []
  const { name, from, to } = parent
  const whole = await readTrace(store, key)
  return [{ of: name, trace: whole.filter(({ timestamp }) => timestamp >= from && timestamp <= to) }]
}

/** In the name of a conversation that several tasks share. */
const SHARED = '~'

async function sharedParts(
  store: Source,
  key: ContextKey,
  above: readonly TraceEntry[],
): Promise<readonly TracePart[]> {
  const tasks = new Map<number, string>()
  const entries = await readAll(store, key, {})
  for (const { type, turn, data } of entries) {
    const { metadata } = data as Partial<EntryData['turn.start']>
    const name = type === 'turn.start' ? metadata?.[TASK_METADATA] : undefined
    const parent = typeof name === 'string' ? parentIn(above, name) : undefined
    if (parent !== undefined) tasks.set(turn, parent.name)
  }
  const parts = Map.groupBy(traceOf(entries), ({ turn }) => tasks.get(turn))
  return [...parts].flatMap(([of, trace]) => (of === undefined ? [] : [{ of, trace }]))
}

/** A child is called as its call or task, perhaps with a key of its own after a dot. */
function parentIn(
  trace: readonly TraceEntry[],
  child: string,
): { readonly name: string; readonly from: number; readonly to: number } | undefined {
  const isParent = (name: string): boolean => child === name || child.startsWith(`${name}.`)
  const entries = trace.filter((one) => nameOf(one).some(isParent))
  const [name] = entries.flatMap(nameOf)
  if (name === undefined) return undefined
  // A task that was tried again has an entry for each attempt.
  return {
    name,
    from: Math.min(...entries.map(({ timestamp }) => timestamp)),
    to: Math.max(...entries.map(endOf)),
  }
}

function endOf(entry: TraceEntry): number {
  const { timing } = entry as { readonly timing?: number }
  return timing === undefined ? Number.MAX_SAFE_INTEGER : entry.timestamp + timing
}

function nameOf(entry: TraceEntry): readonly string[] {
  if (entry.type === 'tool_execution') return [entry.call_id]
  return entry.type === 'node_execution' ? [entry.task] : []
}
