/** Reads a trace with those of the sub-agents and graphs that ran below its calls and nodes. */
import type { ContextKey, TraceEntry } from '../protocol/index.ts'
import type { Store } from '../store/index.ts'
import { readTrace } from './read-trace.ts'
import type { TraceOptions } from './trace.ts'

export interface TraceTree {
  readonly contextId: string
  readonly trace: readonly TraceEntry[]
  /** By the call or task of this conversation that they ran below, in the order of their names. */
  readonly below: readonly (TraceTree & { readonly of: string })[]
}

type Source = Pick<Store, 'read' | 'list'>

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
  const { contextId, ...owner } = key
  const below: (TraceTree & { readonly of: string })[] = []
  const names = trace.flatMap(nameOf)
  for (let cursor: string | undefined; depth < DEEPEST && names.length > 0; ) {
    const page = await store.list({ owner, parent: contextId, ...(cursor === undefined ? {} : { cursor }) })
    for (const head of page.heads) {
      const parent = parentIn(trace, head.key.contextId.slice(contextId.length + 1))
      if (head.parent?.kind !== 'child' || parent === undefined) continue
      const whole = await readTrace(store, head.key)
      const during = whole.filter(({ timestamp }) => timestamp >= parent.from && timestamp <= parent.to)
      below.push({ of: parent.name, ...(await treeOf(store, head.key, { trace: during, depth: depth + 1 })) })
    }
    cursor = page.next
    if (cursor === undefined) break
  }
  return { contextId, trace, below }
}

/** A child is called as its call or task, perhaps with a key of its own after a dot. */
function parentIn(
  trace: readonly TraceEntry[],
  child: string,
): { readonly name: string; readonly from: number; readonly to: number } | undefined {
  const entry = trace.find((one) =>
    nameOf(one).some((name) => child === name || child.startsWith(`${name}.`)),
  )
  const [name] = entry === undefined ? [] : nameOf(entry)
  if (entry === undefined || name === undefined) return undefined
  const { timing } = entry as { readonly timing?: number }
  return {
    name,
    from: entry.timestamp,
    to: timing === undefined ? Number.MAX_SAFE_INTEGER : entry.timestamp + timing,
  }
}

function nameOf(entry: TraceEntry): readonly string[] {
  if (entry.type === 'tool_execution') return [entry.call_id]
  return entry.type === 'node_execution' ? [entry.task] : []
}
