/** A read-only view of a conversation at this moment, for hooks. */
import type { JournalState } from '../drive/index.ts'
import { traceOf, transcript } from '../journal/index.ts'
import {
  defined,
  type Entry,
  type EntryData,
  type Json,
  type Message,
  type SystemMessage,
  type TraceEntry,
  textOf,
} from '../protocol/index.ts'
import { contextPercent, type ModelSource } from '../turn/index.ts'

export interface SessionView {
  /** The messages that a model would see now: the system prompt, if known here, and the window. */
  readonly messages: readonly (SystemMessage | Message)[]
  /** The trace of the newest turn, as far as it lies in the window. */
  readonly trace: readonly TraceEntry[]
  readonly turn: number
  readonly iteration: number
  /** The input text of the newest turn. */
  readonly userPrompt: string
  /** The first unsettled call. */
  readonly pendingTool?: { readonly callId: string; readonly tool: string; readonly args: Json }
  /** How full the model's context is, if its size is known. */
  readonly contextPercent?: number
}

export interface SessionSource {
  readonly journal: JournalState
  readonly models: readonly ModelSource[]
  readonly system?: string
}

export function sessionView({ journal, models, system = '' }: SessionSource): SessionView {
  const { session } = journal
  const windowEntries = sinceCut(journal)
  const percent = contextPercent(windowEntries, models)
  const { open, parked, turn } = session
  const entries = windowEntries.filter((entry) => entry.turn === turn && turn > 0)
  const pending = (open ?? parked)?.calls.find(({ state }) => state !== 'settled')
  return {
    messages: [
      ...(system.trim() === '' ? [] : [{ role: 'system', content: system } as const]),
      ...transcript(windowEntries),
    ],
    trace: traceOf(windowEntries, { turn }),
    turn,
    iteration: open?.iteration ?? lastIteration(entries),
    userPrompt: promptOf(windowEntries, entries),
    ...(pending === undefined
      ? {}
      : { pendingTool: { callId: pending.callId, tool: pending.tool, args: pending.args } }),
    ...defined({ contextPercent: percent }),
  }
}

/** Held entries may begin before the last cut: those are dropped when the next prompt is built. */
function sinceCut({ session, windowEntries }: JournalState): readonly Entry[] {
  const { from, summary } = session.window
  const shown = windowEntries.filter(({ seq }) => seq >= from || seq === summary)
  const taken = new Set(shown.flatMap(({ takes = [] }) => takes))
  return shown.length === windowEntries.length
    ? windowEntries
    : windowEntries.filter((entry) => shown.includes(entry) || taken.has(entry.seq))
}

function lastIteration(turn: readonly Entry[]): number {
  const start = turn.findLast(({ type }) => type === 'model.start')
  return start === undefined ? 0 : (start.data as EntryData['model.start']).iteration
}

function promptOf(entries: readonly Entry[], turn: readonly Entry[]): string {
  const takes = turn.find(({ type }) => type === 'turn.start')?.takes ?? []
  const inputs = entries.filter(({ seq, type }) => type === 'input' && takes.includes(seq))
  return inputs.map(({ data }) => textOf((data as EntryData['input']).message)).join('\n')
}
