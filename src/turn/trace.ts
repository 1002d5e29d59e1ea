/** The trace and the messages of the running turn, for hooks and tools. Computed on access. */
import { traceOf, transcript } from '../journal/index.ts'
import type { Entry, TraceEntry } from '../protocol/index.ts'
import type { XraySource } from '../tool/index.ts'
import type { TurnRun } from './turn-run.ts'

/**
 * The trace as a hook sees it: no call that runs, or whose hooks are still to come, and `callId` as the last. Calls that
 * run together are settled in any order; their hooks run one after the other.
 */
export function hookTrace(
  { open }: TurnRun,
  entries: readonly Entry[],
  callId?: string,
): readonly TraceEntry[] {
  const { turn, ended = [] } = open
  const trace = traceOf(entries, { turn })
  const later = new Set(callId === undefined ? [] : ended)
  const isMeant = (one: TraceEntry): boolean => one.type === 'tool_execution' && one.call_id === callId
  const isLater = (one: TraceEntry): boolean =>
    one.type === 'tool_execution' && (one.status === 'running' || later.has(one.call_id))
  return [...trace.filter((one) => !isLater(one)), ...trace.filter(isMeant)]
}

export function xraySource({ open: { turn }, scope }: TurnRun, entries: readonly Entry[]): XraySource {
  return {
    agent: scope.agent ?? '',
    messages: () => transcript(entries),
    trace: () => traceOf(entries, { turn }),
  }
}
