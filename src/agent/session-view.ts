/** A read-only view of a conversation at this moment, for hooks. */
import type { JournalState } from '../drive/index.ts'
import { transcript } from '../journal/index.ts'
import {
  defined,
  type Entry,
  type EntryData,
  type Json,
  type Message,
  type SystemMessage,
  textOf,
} from '../protocol/index.ts'
import { contextPercent, type ModelSource } from '../turn/index.ts'

export interface SessionView {
  /** The messages that a model would see now: the system prompt, if known here, and the window. */
  readonly messages: readonly (SystemMessage | Message)[]
  /** The entries of the newest turn, in order. */
  readonly trace: readonly Entry[]
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
  const trace = windowEntries.filter((entry) => entry.turn === turn && turn > 0)
  const pending = (open ?? parked)?.calls.find(({ state }) => state !== 'settled')
  return {
    messages: [
      ...(system.trim() === '' ? [] : [{ role: 'system', content: system } as const]),
      ...transcript(windowEntries),
    ],
    trace,
    turn,
    iteration: open?.iteration ?? lastIteration(trace),
    userPrompt: promptOf(windowEntries, trace),
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

function lastIteration(trace: readonly Entry[]): number {
  const start = trace.findLast(({ type }) => type === 'model.start')
  return start === undefined ? 0 : (start.data as EntryData['model.start']).iteration
}

function promptOf(entries: readonly Entry[], trace: readonly Entry[]): string {
  const takes = trace.find(({ type }) => type === 'turn.start')?.takes ?? []
  const inputs = entries.filter(({ seq, type }) => type === 'input' && takes.includes(seq))
  return inputs.map(({ data }) => textOf((data as EntryData['input']).message)).join('\n')
}
