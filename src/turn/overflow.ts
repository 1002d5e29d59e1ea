/**
 * Prompts that are longer than a model takes. A prompt that is known to be too long is not sent. With `autoCompact` room
 * is made first: by a compaction, and if that does not do, by cutting results and leaving out the oldest messages. If
 * even what is left is too long, the turn fails and says how long everything is.
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
import { contextSize } from './context.ts'
import type { ModelSource } from './definition.ts'
import { type Fitted, fitMessages } from './fit-prompt.ts'
import type { TurnRun } from './turn-run.ts'

/** What a request is made of. */
export interface PromptParts {
  readonly system?: string
  readonly tools: readonly ToolSpec[]
  readonly messages: readonly Message[]
  /** Said after the messages. */
  readonly blocks?: string
}

/** The cause of a failure for which no room can be made. */
export const NO_ROOM: { readonly code: string } = { code: 'prompt-too-long' }

/** How often room is made in one turn. */
const MOST_OVERFLOWS = 10
/** Estimates are up to a third too high; only what is beyond that is known to be too long. */
const ESTIMATE_SLACK = 1.35
/** Estimates are rarely too low, and then by little: below this nothing has to be counted. */
const SURELY_FITS = 0.95

/** `target`: how long a prompt should be at most. `most`: beyond this it is known to be refused. */
interface Limit {
  readonly target: number
  readonly most: number
  readonly why: string
}

/** Messages that fit. Throws a `ModelFailure` if the prompt is too long: one without a cause if room can be made. */
export function fittingMessages(
  run: TurnRun,
  source: ModelSource,
  parts: PromptParts,
): MaybePromise<readonly Message[]> {
  // Most models are asked without any limit that is known, and nothing is counted for them.
  const hasLimit = contextSize(source) !== undefined || run.scope.definition.compact !== undefined
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
  if (!isSaid) sayCut(run, source, rest)
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

/** What is known of how much the model takes: by its settings, or by what it has refused. */
function limitOf(run: TurnRun, source: ModelSource, entries: readonly Entry[]): Limit | undefined {
  const size = contextSize(source)
  const refused = run.scope.definition.compact === undefined ? undefined : refusedTokens(entries, source)
  if (refused !== undefined && refused <= (size ?? refused)) {
    const why = `it has refused a prompt of about ${refused} tokens`
    return { target: refused / 2, most: refused * 0.9, why }
  }
  if (size === undefined) return undefined
  return { target: size, most: size, why: `it can be sent ${size} tokens at once` }
}

/** The shortest prompt that this model has called too long. */
function refusedTokens(entries: readonly Entry[], { name }: ModelSource): number | undefined {
  const lengths = entries.flatMap((entry) => {
    if (!isKnown(entry) || entry.type !== 'model.end' || entry.data.model !== name) return []
    const { kind, tokens } = entry.data.error ?? {}
    return kind === 'context-length' && typeof tokens === 'number' ? [tokens] : []
  })
  return lengths.length === 0 ? undefined : Math.min(...lengths)
}

/** How often prompts of this turn were too long. */
export function overflowsIn(entries: readonly Entry[], turn: number): number {
  return entries.filter((entry) => entry.turn === turn && isOverflow(entry)).length
}

/** The turn was told that its prompt is too long, and nobody has made room since, or has failed to. */
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

/** Is there anything before this turn that a compaction could take, and has none failed in it? */
function canCompact(run: TurnRun, entries: readonly Entry[]): boolean {
  const { turn } = run.open
  const hasFailed = entries.some((entry) => entry.turn === turn && isFailedCompaction(entry))
  if (hasFailed || overflowsIn(entries, turn) >= MOST_OVERFLOWS) return false
  return compaction(entries, run.scope.view.session, { keep: 0 }) !== undefined
}

/** May the same model be asked again, with less? */
export async function canMakeRoom(run: TurnRun, failure: ModelFailure): Promise<boolean> {
  if (failure.kind !== 'context-length' || failure.cause === NO_ROOM) return false
  if (run.scope.definition.compact === undefined) return false
  return overflowsIn(await run.scope.view.window(), run.open.turn) < MOST_OVERFLOWS
}

/**
 * The failure as the journal keeps it: with the length of what was refused. Of a prompt with files nobody can say how
 * long it was.
 */
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

/** Does what was said fill more than half of what the model is known to take? */
export function isHalfFull(source: ModelSource, parts: PromptParts): boolean {
  const size = contextSize(source)
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

function sayCut(run: TurnRun, { name }: ModelSource, { cutResults, leftOut }: Fitted): void {
  const message = `The prompt for ${name} was cut to fit: ${cutResults} rounds with shortened results, ${leftOut} messages left out. The journal keeps all of it.`
  run.draft.append('warning', { code: CUT, message })
}
