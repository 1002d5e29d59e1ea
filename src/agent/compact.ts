/** A compaction on request, between two turns. */
import { type Clock, type Ids, processLiveness, type Timer } from '../base/index.ts'
import type { Driver } from '../drive/index.ts'
import type { Session } from '../journal/index.ts'
import { checkOptions, defined, type EntryData, type NewEntry, type OptionSet } from '../protocol/index.ts'
import { isOwned, owned } from '../store/index.ts'
import {
  type CompactionStrategy,
  checkSummary,
  compactEntry,
  compaction,
  type ModelChoice,
  modelSecrets,
  modelSource,
  summarise,
  summaryWarning,
  type TurnDefinition,
} from '../turn/index.ts'

export interface CompactOptions {
  /** Default `sliding`: drops the oldest turns. `summary`: a model summarises them first. */
  readonly strategy?: CompactionStrategy
  /** About how many messages stay, never fewer than the last turn. Default: half of `maxMessages`. */
  readonly keep?: number
  /** Required content or style of the summary. */
  readonly instructions?: string
  /** The model that writes the summary, with its own settings. Default: the agent's models. */
  readonly model?: ModelChoice
  /** Aborting leaves the window unchanged. */
  readonly signal?: AbortSignal
}

const COMPACT: OptionSet<CompactOptions> = {
  place: 'compact()',
  options: { strategy: null, keep: { least: 0 }, instructions: null, model: null, signal: 'an AbortSignal' },
  foreign: { abortSignal: 'signal', maxMessages: 'keep' },
}

export interface CompactSetup {
  readonly definition: TurnDefinition
  readonly maxMessages: number
  readonly ids: Ids
  readonly clock: Clock
  readonly timer: Timer
}

/** Checks while the caller is still on the stack, before waiting for the running turn. */
export function checkCompact(options: CompactOptions): void {
  checkOptions(options, COMPACT)
  checkSummary('', options)
}

/** Expects checked options. False if nothing could be cut or the summary failed: a `warning` says why. */
export async function compactNow(
  driver: Driver,
  setup: CompactSetup,
  options: CompactOptions,
): Promise<boolean> {
  const { keep = Math.ceil(setup.maxMessages / 2), strategy = 'sliding', instructions } = options
  const { signal = new AbortController().signal } = options
  if (signal.aborted) return false
  const { journal } = driver
  const { session } = journal
  const entries = await journal.window()
  const cut = compaction(entries, session, { keep })
  if (cut === undefined) return false
  if (strategy === 'sliding') {
    const data = await compactEntry(entries, cut, { strategy })
    return record(driver, session, data)
  }
  await checkFree(driver, setup.clock)
  const models = options.model === undefined ? setup.definition.models : [modelSource(options.model)]
  const summarised = await summarise(
    { entries, session, cut },
    {
      models,
      ...defined({ instructions }),
      signal,
      ids: setup.ids,
      timer: setup.timer,
    },
  )
  if ('entry' in summarised) return record(driver, session, summarised.entry)
  if (signal.aborted) return false
  const why = modelSecrets(models).ended(summarised.failure.message)
  await driver.record([{ type: 'warning', data: { ...summaryWarning(why), usage: summarised.usage } }])
  return false
}

/** A summary costs money and could not be stored while another process drives. */
async function checkFree({ journal, ownership }: Driver, clock: Clock): Promise<void> {
  const { store, key } = journal
  const head = await store.head(key)
  if (head === undefined || ownership.isOwner) return
  if (isOwned(head, { now: clock.now(), liveness: processLiveness })) throw owned(key, head)
}

/** Keeps messages that arrived meanwhile. If another process compacted first, its cut holds. */
async function record(driver: Driver, before: Session, data: EntryData['compact']): Promise<boolean> {
  let isDone = false
  await driver.record(({ window }): readonly Omit<NewEntry, 'turn'>[] => {
    isDone = window.from === before.window.from && window.summary === before.window.summary
    const kept = data.kept + window.messages - before.window.messages
    return isDone ? [{ type: 'compact', data: { ...data, kept } }] : []
  })
  return isDone
}
