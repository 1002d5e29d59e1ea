/** A conversation at this moment, in the words of people who write hooks: to read, not to change. */
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
  /** What a model would see now: the system prompt, as far as it is known here, and the window. */
  readonly messages: readonly (SystemMessage | Message)[]
  /** What happened in the newest turn, in order. */
  readonly trace: readonly Entry[]
  readonly turn: number
  readonly iteration: number
  /** What the newest turn was asked. */
  readonly userPrompt: string
  /** The first call that was asked for and has not come to rest. */
  readonly pendingTool?: { readonly callId: string; readonly tool: string; readonly args: Json }
  /** How full the context of the model is, if it is known how much it takes. */
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

/** What is held may begin before the last cut: it is dropped when the next prompt is made. */
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
