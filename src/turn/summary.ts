/**
 * Compacts with a summary that a model writes of the cut messages. If it fails, nothing is cut. The request has no side
 * effect, so a new driver repeats it after a crash.
 */
import { createHash } from 'node:crypto'
import { messageCount, type Session } from '../journal/index.ts'
import type { Batch } from '../loop/index.ts'
import type { ModelFailure } from '../model/index.ts'
import type { Entry, EntryData, Usage } from '../protocol/index.ts'
import { type Compaction, type Cut, compactEntry, compaction, cutMessages, keepOf } from './compaction.ts'
import { entriesSoFar, isCompactionDue, warnIfFull } from './context-fill.ts'
import type { CompactionPlan } from './definition.ts'
import { wantsRoom } from './overflow.ts'
import type { TurnRun } from './turn-run.ts'
import { type SummaryRequest, writeSummary } from './write-summary.ts'

/** The entry of a compaction, or its failure with the usage so far. */
export type Summarised =
  | { readonly entry: Compaction }
  | { readonly failure: ModelFailure; readonly usage: Usage }

/** The heading of a summary, which is a user's message before the kept ones. */
const OPENING = 'Summary of the conversation so far:'

/** Summarises the messages of a cut, as its entry. Rejects only with errors that are not the model's. */
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
  const details = { strategy: 'summary', model, usage, summary, summaryHash } as const
  return { entry: await compactEntry(entries, cut, details) }
}

/** Compacts before a model call if it is due, or warns that it soon will be. */
export async function* makeRoom(run: TurnRun): AsyncGenerator<Batch, void> {
  const { definition } = run.scope
  const entries = await entriesSoFar(run)
  const { compact } = definition
  // A prompt that was too long leaves no choice: everything but this turn is cut.
  const isTight = wantsRoom(entries, run.session.turn)
  const isWanted =
    compact?.strategy === 'summary' && isCompactionDue(definition, { entries, session: run.session })
  if (compact === undefined || !(isTight || (isWanted && !hasTried(run, entries)))) {
    warnIfFull(run, entries)
    return
  }
  // The turn must be durable before a model works for it.
  if (!run.draft.isEmpty) yield run.commit('model')
  const compacted = await compactWindow(run, { ...compact, ...(isTight ? { keep: 0 } : {}) })
  if (compacted === undefined) warnIfFull(run, await entriesSoFar(run))
  else if ('entry' in compacted) run.draft.append('compact', compacted.entry)
  // A stopping driver leaves here: the next one asks for the summary again.
  else if (run.isReleasing) yield run.commit('wait')
  else if (!run.cancelledOrTimedOut.aborted) run.draft.append('warning', failureWarning(run, compacted))
  if (!run.draft.isEmpty) yield run.commit('continue')
}

async function compactWindow(run: TurnRun, plan: CompactionPlan): Promise<Summarised | undefined> {
  const { view, definition, ids, timer } = run.scope
  const [entries, { session }] = [await view.window(), view]
  // The turn's own messages are always kept.
  const own = messagesIn(entries, session.turn)
  const keep = own + keepOf(plan, session.window.messages - own)
  const cut = compaction(entries, session, { keep })
  if (cut === undefined) return undefined
  const { model, instructions, strategy } = plan
  if (strategy === 'sliding') return { entry: await compactEntry(entries, cut, { strategy }) }
  await run.scope.ensureLease()
  const summarised = await summarise(
    { entries, session, cut },
    {
      models: model === undefined ? definition.models : [model],
      ...(instructions === undefined ? {} : { instructions }),
      signal: run.interruptedOrReleased,
      ids,
      timer,
    },
  )
  // The turn may be lost: then its new driver decides.
  if (run.interrupted.aborted && !run.cancelledOrTimedOut.aborted) await run.scope.ensureLease()
  return summarised
}

function messagesIn(entries: readonly Entry[], turn: number): number {
  return entries.reduce((sum, entry) => (entry.turn === turn ? sum + messageCount(entry) : sum), 0)
}

function failureWarning(
  run: TurnRun,
  { failure, usage }: { readonly failure: ModelFailure; readonly usage: Usage },
): EntryData['warning'] {
  return { ...summaryWarning(run.secrets.ended(failure.message)), usage }
}

export function summaryWarning(why: string): EntryData['warning'] {
  const message = `The conversation was not compacted, because no model could write a summary. Nothing was cut. ${why}`
  return { code: 'compaction-failed', message }
}

/** True if a compaction was tried in this turn: a failed one is repeated in the next. */
function hasTried({ session }: TurnRun, entries: readonly Entry[]): boolean {
  return entries.some(({ turn, type, data }) => {
    if (turn !== session.turn) return false
    return type === 'compact' || (type === 'warning' && data['code'] === 'compaction-failed')
  })
}
