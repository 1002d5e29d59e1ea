/** Estimates how full the model's context is: the provider's last count, and an estimate of what came since. */
import { isKnown, OVER_MESSAGES, type Session, type TokenBudget, transcript } from '../journal/index.ts'
import { estimatedTokens, tokenCounter } from '../model/index.ts'
import { type Entry, type EntryData, stampEntry } from '../protocol/index.ts'
import type { ModelSource, TurnDefinition } from './definition.ts'
import type { TurnRun } from './turn-run.ts'

/** A token limit for windows. The tokenizer is loaded only if there is one. */
export async function tokenBudget(max: number | undefined): Promise<{ readonly tokens?: TokenBudget }> {
  return max === undefined ? {} : { tokens: { max, count: (await tokenCounter()).message } }
}

/** True if a full context leads to a warning or a compaction. */
export function watchesFill({ compact, models }: TurnDefinition): boolean {
  return compact !== undefined || models[0]?.contextTokens !== undefined
}

/** An estimate of the next prompt's tokens, system prompt and tools included once a provider has counted them. */
function promptTokens(entries: readonly Entry[]): number {
  const last = entries.findLastIndex((entry) => tokensRead(entry) > 0)
  const cut = entries.findLastIndex(({ type }) => type === 'compact' || type === 'clear')
  const reply = entries[last]
  // A count from before a cut does not apply to what is left.
  if (reply === undefined || cut > last) return estimatedTokens.messages(transcript(entries))
  const since = entries.slice(last)
  if (since.some(isTrim)) {
    const [now, then] = [transcript(entries), transcript(entries.slice(0, last))].map(
      estimatedTokens.messages,
    )
    return Math.max(0, tokensRead(reply) + (now ?? 0) - (then ?? 0))
  }
  const taken = new Set(since.flatMap(({ takes = [] }) => takes))
  const inputs = entries.slice(0, last).filter(({ seq }) => taken.has(seq))
  return tokensRead(reply) + estimatedTokens.messages(transcript([...inputs, ...since]))
}

/** True if results that the provider has counted whole are shown compact from here on. */
function isTrim(entry: Entry): boolean {
  return isKnown(entry) && entry.type === 'turn.start' && entry.data.trimmedUpTo !== undefined
}

/** The input tokens of a complete reply, as counted by the provider; 0 for other entries. */
function tokensRead(entry: Entry): number {
  if (!isKnown(entry) || entry.type !== 'model.end') return 0
  const { usage, finish, error } = entry.data
  return error === undefined && finish !== 'aborted' ? (usage?.inputTokens ?? 0) : 0
}

/** In whole percent of the first model's context; undefined if its size is unknown. */
export function contextPercent(
  entries: readonly Entry[],
  models: readonly ModelSource[],
): number | undefined {
  const size = models[0]?.contextTokens
  return size === undefined ? undefined : Math.round((100 * promptTokens(entries)) / size)
}

/** The window with the entries of the draft, under provisional positions. */
export async function entriesSoFar(run: TurnRun): Promise<readonly Entry[]> {
  return withDraft(run, await run.scope.view.window())
}

function withDraft(run: TurnRun, durable: readonly Entry[]): readonly Entry[] {
  if (run.draft.isEmpty) return durable
  const inputs = run.scope.view.inbox.filter((entry) => !durable.includes(entry))
  return [...durable, ...inputs, ...draftedEntries(run)]
}

function draftedEntries(run: TurnRun): readonly Entry[] {
  const { session, inbox } = run.scope.view
  const positions = new Map(inbox.map(({ key, seq }) => [key, seq]))
  return run.draft.entries.map(
    (entry, index): Entry =>
      stampEntry(entry, {
        ...{ seq: session.seq + index + 1, at: 0 },
        takes: (entry.takes ?? []).flatMap((key) => positions.get(key) ?? []),
      }),
  )
}

/** The window and its results with sightings, oldest first, at the cost of the new entries. */
export async function sightingsSoFar(
  run: TurnRun,
): Promise<{ readonly results: readonly Entry[]; readonly entries: () => readonly Entry[] }> {
  const durable = await run.scope.view.window()
  const shown = durableSightings(durable)
  const isShowing = run.draft.entries.some(showsThings)
  return {
    results: isShowing ? [...shown, ...draftedEntries(run).filter(showsThings)] : shown,
    entries: () => withDraft(run, durable),
  }
}

function durableSightings(entries: readonly Entry[]): readonly Entry[] {
  const known = READ.get(entries)
  const isLonger = known !== undefined && known.last === entries[known.count - 1]
  const results = isLonger ? known.results : []
  for (let at = isLonger ? known.count : 0; at < entries.length; at++) {
    const entry = entries[at]
    if (entry !== undefined && showsThings(entry)) results.push(entry)
  }
  READ.set(entries, { count: entries.length, last: entries.at(-1), results })
  return results
}

/** Windows are kept and extended: how far each was read, and the results found. */
const READ = new WeakMap<
  readonly Entry[],
  { readonly count: number; readonly last: Entry | undefined; readonly results: Entry[] }
>()

function showsThings({ type, data }: Pick<Entry, 'type' | 'data'>): boolean {
  return type === 'tool.end' && ((data as EntryData['tool.end']).seen?.length ?? 0) > 0
}

/** True if the window has to be compacted. */
export function isCompactionDue(
  { compact, models }: TurnDefinition,
  { entries, session }: { readonly entries: readonly Entry[]; readonly session: Session },
): boolean {
  if (compact === undefined) return false
  const { overMessages = Number.POSITIVE_INFINITY, atPercent } = compact
  if (session.window.messages > overMessages) return true
  return atPercent !== undefined && (contextPercent(entries, models) ?? 0) >= atPercent
}

/** Warns that the context is nearly full, once each time. */
export function warnIfFull(run: TurnRun, entries: readonly Entry[]): void {
  const { models, warnAtPercent } = run.scope.definition
  const [model] = models
  const size = models[0]?.contextTokens
  if (model === undefined || size === undefined || run.session.window.nearFull !== undefined) return
  const tokens = promptTokens(entries)
  const percent = Math.round((100 * tokens) / size)
  if (percent < warnAtPercent) return
  run.draft.append('warning', {
    code: 'context-near-full',
    message: `The conversation fills ${percent} % of the context of ${model.name}: about ${tokens} of ${size} tokens. Compact it with agent.compact(), or let autoCompact do so.`,
    tokens: Math.round((size * warnAtPercent) / 100),
  })
}

/** Warns that prompts leave messages out and nothing makes room, once until a compaction or a clear. */
export function warnIfOver(run: TurnRun): void {
  const { compact, maxMessages } = run.scope.definition
  const { messages, overMessages } = run.session.window
  if (compact !== undefined || overMessages || messages <= maxMessages) return
  run.draft.append('warning', {
    code: OVER_MESSAGES,
    message: `The conversation has ${messages} messages, and prompts get about the newest ${maxMessages} of them. Compact it with agent.compact(), let autoCompact do so, or raise maxMessages.`,
  })
}
