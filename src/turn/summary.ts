/**
 * Compactions that leave a summary: a model is asked what the messages that go were about. If it fails nothing is cut, and
 * nothing is lost. Asking is no effect that anybody could notice, so whoever takes over after a crash just asks again.
 */
import { createHash } from 'node:crypto'
import { messageCount, type Session } from '../journal/index.ts'
import type { Batch } from '../loop/index.ts'
import type { ModelFailure } from '../model/index.ts'
import type { Entry, EntryData, Usage } from '../protocol/index.ts'
import { type Compaction, type Cut, compactEntry, compaction, cutMessages, keepOf } from './compaction.ts'
import { entriesSoFar, isDue, warnIfFull } from './context.ts'
import type { CompactionPlan } from './definition.ts'
import { wantsRoom } from './overflow.ts'
import type { TurnRun } from './turn-run.ts'
import { type SummaryRequest, writeSummary } from './write-summary.ts'

/** The entry of a compaction, or why there is none. `usage` is what was used for nothing. */
export type Summarised =
  | { readonly entry: Compaction }
  | { readonly failure: ModelFailure; readonly usage: Usage }

/** How a window goes on after a summary. It stands where a user speaks, before what is kept. */
const OPENING = 'Summary of the conversation so far:'

/** What a cut would take away, said in short, as the entry that makes the cut. Rejects only with what is not the model's. */
export async function summarise(
  window: { readonly entries: readonly Entry[]; readonly session: Session; readonly cut: Cut },
  request: SummaryRequest,
): Promise<Summarised> {
  const { entries, session, cut } = window
  const written = await writeSummary(cutMessages(entries, session, cut), request)
  if ('failure' in written) return written
  const { text, model, usage } = written
  const summary = `${OPENING}\n\n${text}`
  const summaryHash = createHash('sha256').update(summary).digest('hex')
  const told = { strategy: 'summary', model, usage, summary, summaryHash } as const
  return { entry: await compactEntry(entries, cut, told) }
}

/** Before a model call of a turn: compacts if it is time, or says that it soon will be. */
export async function* makeRoom(run: TurnRun): AsyncGenerator<Batch, void> {
  const { definition } = run.scope
  const entries = await entriesSoFar(run)
  const { compact } = definition
  // A prompt that was too long leaves no choice: all but this turn goes, whenever else it would have been time.
  const isTight = wantsRoom(entries, run.session.turn)
  const isWanted = compact?.strategy === 'summary' && isDue(definition, { entries, session: run.session })
  if (compact === undefined || !(isTight || (isWanted && !hasTried(run, entries)))) {
    warnIfFull(run, entries)
    return
  }
  // The turn must be here to stay before anybody works for it.
  if (!run.draft.isEmpty) yield* run.commit('model')
  const compacted = await compactWindow(run, { ...compact, ...(isTight ? { keep: 0 } : {}) })
  if (compacted === undefined) warnIfFull(run, await entriesSoFar(run))
  else if ('entry' in compacted) run.draft.append('compact', compacted.entry)
  else if (!run.signal.aborted) run.draft.append('warning', failureWarning(run, compacted))
  if (!run.draft.isEmpty) yield* run.commit('on')
}

async function compactWindow(run: TurnRun, plan: CompactionPlan): Promise<Summarised | undefined> {
  const { view, definition, ids, timer } = run.scope
  const [entries, { session }] = [await view.window(), view]
  // What the turn has said so far is not what it goes on from.
  const own = saidIn(entries, session.turn)
  const keep = own + keepOf(plan, session.window.messages - own)
  const cut = compaction(entries, session, { keep })
  if (cut === undefined) return undefined
  const { model, instructions, strategy } = plan
  if (strategy === 'sliding') return { entry: await compactEntry(entries, cut, { strategy }) }
  const summarised = await summarise(
    { entries, session, cut },
    {
      models: model === undefined ? definition.models : [model],
      ...(instructions === undefined ? {} : { instructions }),
      signal: run.stop,
      ids,
      timer,
    },
  )
  // It was passed on to somebody else, who decides this anew.
  if (run.stop.aborted && !run.signal.aborted) await run.scope.mayAct()
  return summarised
}

function saidIn(entries: readonly Entry[], turn: number): number {
  return entries.reduce((sum, entry) => (entry.turn === turn ? sum + messageCount(entry) : sum), 0)
}

function failureWarning(
  run: TurnRun,
  { failure, usage }: { readonly failure: ModelFailure; readonly usage: Usage },
): EntryData['warning'] {
  return { ...summaryWarning(run.secrets.ended(failure.message)), usage }
}

export function summaryWarning(why: string): EntryData['warning'] {
  const message = `The conversation was not compacted, because no summary could be had; nothing was cut. ${why}`
  return { code: 'compaction-failed', message }
}

/** Once a turn is enough: what failed, or did not help, is tried again in the next. */
function hasTried({ session }: TurnRun, entries: readonly Entry[]): boolean {
  return entries.some(({ turn, type, data }) => {
    if (turn !== session.turn) return false
    return type === 'compact' || (type === 'warning' && data['code'] === 'compaction-failed')
  })
}
