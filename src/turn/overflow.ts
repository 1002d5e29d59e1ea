/**
 * Handles prompts that are longer than a model takes. A prompt known to be too long is not sent. With `autoCompact`
 * room is made first: by a compaction, then by cutting results and leaving out the oldest messages. If the rest is
 * still too long, the turn fails and reports the lengths.
 */
import type { MaybePromise } from '../base/index.ts'
import { isKnown } from '../journal/index.ts'
import {
  estimatedTokens,
  filesIn,
  ModelFailure,
  type TokenCounter,
  type ToolSpec,
  tokenCounter,
} from '../model/index.ts'
import type { Entry, Message } from '../protocol/index.ts'
import { compaction } from './compaction.ts'
import type { ModelSource } from './definition.ts'
import { type Fitted, fitMessages } from './fit-prompt.ts'
import type { TurnRun } from './turn-run.ts'

/** The parts of a request. */
export interface PromptParts {
  readonly system?: string | undefined
  readonly tools: readonly ToolSpec[]
  readonly messages: readonly Message[]
  /** Sent after the messages. */
  readonly blocks?: string | undefined
}

/** The cause of a failure for which no room can be made. */
export const NO_ROOM: { readonly code: string } = { code: 'prompt-too-long' }

/** The most compactions of one turn for an overflow. */
const MAX_OVERFLOWS = 10
/** Estimates are up to a third too high: only a prompt beyond that is known to be too long. */
const ESTIMATE_SLACK = 1.35
/** Estimates are rarely too low, and then by little: below this no exact count is needed. */
const SURELY_FITS = 0.95

/** `target`: the length to aim for. `most`: a longer prompt is known to be refused. */
interface Limit {
  readonly target: number
  readonly most: number
  readonly why: string
}

/** The messages that fit. Throws a `ModelFailure` if the prompt is too long; without a cause if room can be made. */
export function fittingMessages(
  run: TurnRun,
  source: ModelSource,
  parts: PromptParts,
): MaybePromise<readonly Message[]> {
  // Without a known limit, nothing is counted.
  const hasLimit = source.contextTokens !== undefined || run.scope.definition.compact !== undefined
  return hasLimit ? fitIn(run, source, parts) : parts.messages
}

async function fitIn(run: TurnRun, source: ModelSource, parts: PromptParts): Promise<readonly Message[]> {
  const entries = await run.scope.view.window()
  const limit = limitOf(run, source, entries)
  if (limit === undefined || promptTokens(parts, estimatedTokens) <= limit.target * SURELY_FITS)
    return parts.messages
  const counter = await tokenCounter()
  const tokens = promptTokens(parts, counter)
  if (tokens <= limit.target) return parts.messages
  const isExact = counter.exact && filesIn(parts.messages).length === 0
  const most = isExact ? limit.most : limit.most * ESTIMATE_SLACK
  if (run.scope.definition.compact === undefined) {
    if (tokens > most) throw noRoom(source, limit, { parts, counter })
    return parts.messages
  }
  if (canCompact(run, entries)) throw overflow(source, limit, tokens)
  const rest = cutToFit(source, { parts, counter, limit, most, tokens })
  const isSaid = entries.some(({ turn, data }) => turn === run.open.turn && data['code'] === CUT)
  if (!isSaid) warnCut(run, source, rest)
  return rest.messages
}

interface Fitting {
  readonly parts: PromptParts
  readonly counter: TokenCounter
  readonly limit: Limit
  readonly most: number
  readonly tokens: number
}

function cutToFit(source: ModelSource, fitting: Fitting): Fitted {
  const { parts, counter, limit, most, tokens } = fitting
  const around = tokens - counter.messages(parts.messages)
  const fitted = fitMessages(parts.messages, limit.target - around, counter)
  if (around + fitted.tokens > most)
    throw noRoom(source, limit, { parts: { ...parts, messages: fitted.messages }, counter })
  return fitted
}

/** The known limit of the model: from its settings, or from its refusals. */
function limitOf(run: TurnRun, source: ModelSource, entries: readonly Entry[]): Limit | undefined {
  const size = source.contextTokens
  const refused = run.scope.definition.compact === undefined ? undefined : refusedTokens(entries, source)
  if (refused !== undefined && refused <= (size ?? refused)) {
    const why = `it has refused a prompt of about ${refused} tokens`
    return { target: refused / 2, most: refused * 0.9, why }
  }
  if (size === undefined) return undefined
  return { target: size, most: size, why: `it can be sent ${size} tokens at once` }
}

/** The shortest prompt that this model has refused as too long. */
function refusedTokens(entries: readonly Entry[], { name }: ModelSource): number | undefined {
  const lengths = entries.flatMap((entry) => {
    if (!isKnown(entry) || entry.type !== 'model.end' || entry.data.model !== name) return []
    const { kind, tokens } = entry.data.error ?? {}
    return kind === 'context-length' && typeof tokens === 'number' ? [tokens] : []
  })
  return lengths.length === 0 ? undefined : Math.min(...lengths)
}

/** The number of prompts of this turn that were too long. */
export function overflowsIn(entries: readonly Entry[], turn: number): number {
  return entries.filter((entry) => entry.turn === turn && isOverflow(entry)).length
}

/** True if a prompt of the turn was too long, and no compaction has followed or failed since. */
export function wantsRoom(entries: readonly Entry[], turn: number): boolean {
  const own = entries.filter((entry) => entry.turn === turn)
  const last = own.findLastIndex(isOverflow)
  return last >= 0 && !own.some(isFailedCompaction) && !own.slice(last).some(({ type }) => type === 'compact')
}

function isOverflow(entry: Entry): boolean {
  return isKnown(entry) && entry.type === 'model.end' && entry.data.error?.['kind'] === 'context-length'
}

function isFailedCompaction({ type, data }: Entry): boolean {
  return type === 'warning' && data['code'] === 'compaction-failed'
}

/** True if a compaction could cut anything before this turn, and none has failed in it. */
function canCompact(run: TurnRun, entries: readonly Entry[]): boolean {
  const { turn } = run.open
  const hasFailed = entries.some((entry) => entry.turn === turn && isFailedCompaction(entry))
  if (hasFailed || overflowsIn(entries, turn) >= MAX_OVERFLOWS) return false
  return compaction(entries, run.scope.view.session, { keep: 0 }) !== undefined
}

/** True if the same model may be asked again with a shorter prompt. */
export async function canMakeRoom(run: TurnRun, failure: ModelFailure): Promise<boolean> {
  if (failure.kind !== 'context-length' || failure.cause === NO_ROOM) return false
  if (run.scope.definition.compact === undefined) return false
  return overflowsIn(await run.scope.view.window(), run.open.turn) < MAX_OVERFLOWS
}

/** The failure with the length of the refused prompt, for the journal. The length of a prompt with files is unknown. */
export async function withLength(failure: ModelFailure, parts: PromptParts): Promise<ModelFailure> {
  if (failure.kind !== 'context-length' || filesIn(parts.messages).length > 0) return failure
  const { message, status, usage, partial, cause } = failure
  return new ModelFailure('context-length', {
    message,
    usage,
    partial,
    cause,
    tokens: promptTokens(parts, await tokenCounter()),
    ...(status === undefined ? {} : { status }),
  })
}

/** True if the prompt fills more than half of the model's known context. */
export function isHalfFull(source: ModelSource, parts: PromptParts): boolean {
  const size = source.contextTokens
  return size !== undefined && promptTokens(parts, estimatedTokens) > size / 2
}

function promptTokens(parts: PromptParts, counter: TokenCounter): number {
  const { system, tools, blocks } = tokensAround(parts, counter)
  return system + tools + blocks + counter.messages(parts.messages)
}

function tokensAround({ system = '', tools, blocks = '' }: PromptParts, { text }: TokenCounter) {
  const declared = tools.map((tool) => text(JSON.stringify(tool)))
  return { system: text(system), tools: declared.reduce((sum, each) => sum + each, 0), blocks: text(blocks) }
}

function overflow({ name }: ModelSource, { why }: Limit, tokens: number): ModelFailure {
  const message = `The prompt has about ${tokens} tokens, and ${name} takes less: ${why}. It was not sent; room is made first.`
  return new ModelFailure('context-length', { message })
}

function noRoom(
  { name }: ModelSource,
  { why }: Limit,
  { parts, counter }: Pick<Fitting, 'parts' | 'counter'>,
): ModelFailure {
  const { system, tools, blocks } = tokensAround(parts, counter)
  const messages = counter.messages(parts.messages)
  const all = system + tools + blocks + messages
  const message = `The prompt is too long for ${name}: about ${all} tokens, and ${why}. The system prompt has ${system}, tools have ${tools}, messages ${messages + blocks}. It was not sent. Shorten what is longest, compact the conversation, or ask a model that takes more.`
  return new ModelFailure('context-length', { message, cause: NO_ROOM })
}

const CUT = 'prompt-cut'

function warnCut(run: TurnRun, { name }: ModelSource, { cutResults, leftOut }: Fitted): void {
  const message = `The prompt for ${name} was cut to fit: ${cutResults} rounds with shortened results, ${leftOut} messages left out. The journal keeps all of it.`
  run.draft.append('warning', { code: CUT, message })
}
