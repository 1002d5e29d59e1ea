/** The trace and the messages of the running turn, for hooks and tools. Computed on access. */
import { traceOf, transcript } from '../journal/index.ts'
import type { Entry, Message, TraceEntry } from '../protocol/index.ts'
import type { XraySource } from '../tool/index.ts'
import type { TurnRun } from './turn-run.ts'

/**
 * The trace as a hook sees it: `callId` comes last; running calls, and calls whose hooks have not run yet, are left out.
 * Calls that run together are settled in any order; their hooks run one after the other.
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

export function xraySource(run: TurnRun, entries: readonly Entry[]): XraySource {
  return new TurnXray(run, entries)
}

class TurnXray implements XraySource {
  readonly #run: TurnRun
  readonly #entries: readonly Entry[]
  readonly #turn: number

  constructor(run: TurnRun, entries: readonly Entry[]) {
    this.#run = run
    this.#entries = entries
    this.#turn = run.open.turn
  }

  get agent(): string {
    return this.#run.scope.agent ?? ''
  }

  messages(): readonly Message[] {
    return transcript(this.#entries)
  }

  trace(): readonly TraceEntry[] {
    return traceOf(this.#entries, { turn: this.#turn })
  }
}
