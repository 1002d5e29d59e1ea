/** Checks the `autoCompact` option and fills in its defaults. */
import { atLeast, checkOptions, invalidOption, type OptionSet, shown } from '../protocol/index.ts'
import { checkModels, modelSource } from './define-turn.ts'
import type { CompactionPlan, CompactionStrategy } from './definition.ts'
import type { ModelChoice } from './turn-config.ts'

export interface AutoCompact {
  /** `sliding` by default. */
  readonly strategy?: CompactionStrategy
  /** Compacts when the model's context is this full, in percent. */
  readonly atPercent?: number
  /** Compacts when the window has more messages than this; `maxMessages` if `atPercent` is not given either. */
  readonly overMessages?: number
  /** About how many messages to keep. Half of them by default. */
  readonly keep?: number
  /** Instructions for the summary: what to keep, and how to write it. */
  readonly instructions?: string
  /** The model that writes summaries, with its own settings; the agent's models by default. */
  readonly model?: ModelChoice
}

const AUTO_COMPACT: OptionSet<AutoCompact> = {
  place: 'autoCompact',
  options: {
    strategy: null,
    atPercent: null,
    overMessages: null,
    keep: null,
    instructions: null,
    model: null,
  },
  foreign: { maxMessages: 'overMessages' },
}

/** Undefined without compaction. Throws `invalid-option`. */
export function compactionPlan(given: unknown, maxMessages: number): CompactionPlan | undefined {
  if (given === undefined || given === false) return undefined
  if (given === true) return { strategy: 'sliding', overMessages: maxMessages }
  const { model, ...plan } = checkedPlan(given)
  const { strategy = 'sliding', overMessages, atPercent } = plan
  const over = overMessages ?? (atPercent === undefined ? maxMessages : undefined)
  if (over !== undefined && (plan.keep ?? 0) >= over)
    throw invalidOption(
      'autoCompact.keep',
      `must be less than ${over}, at which it compacts, not ${plan.keep}`,
    )
  return {
    ...plan,
    strategy,
    ...(over === undefined ? {} : { overMessages: over }),
    ...(model === undefined ? {} : { model: modelSource(model) }),
  }
}

function checkedPlan(given: unknown): AutoCompact {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw invalidOption(
      'autoCompact',
      `must be true, false or an object such as { strategy: 'summary' }, not ${shown(given)}`,
    )
  checkOptions(given, AUTO_COMPACT)
  const plan = given as AutoCompact
  checkSummary('autoCompact.', plan)
  for (const option of ['atPercent', 'overMessages', 'keep'] as const)
    if (plan[option] !== undefined) atLeast(`autoCompact.${option}`, plan[option], 1)
  return plan
}

/** Checks the options that every compaction takes. Throws `invalid-option`. */
export function checkSummary(
  place: string,
  {
    strategy = 'sliding',
    instructions,
    model,
  }: { strategy?: unknown; instructions?: unknown; model?: unknown },
): void {
  if (strategy !== 'sliding' && strategy !== 'summary')
    throw invalidOption(`${place}strategy`, `must be 'sliding' or 'summary', not ${shown(strategy)}`)
  if (instructions !== undefined && typeof instructions !== 'string')
    throw invalidOption(`${place}instructions`, `must be a text, not ${shown(instructions)}`)
  if (Array.isArray(model)) throw invalidOption(`${place}model`, 'must be one model, not a list')
  if (model !== undefined) checkModels(model)
}
