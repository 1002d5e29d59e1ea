/** Checks the `autoCompact` option and fills in its defaults. */
import { atLeast, checkOptions, invalidOption, isObject, type OptionSet, shown } from '../protocol/index.ts'
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
export function compactionPlan(option: unknown, maxMessages: number): CompactionPlan | undefined {
  if (option === undefined || option === false) return undefined
  if (option === true) return { strategy: 'sliding', overMessages: maxMessages }
  const { model, ...plan } = checkedPlan(option)
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

function checkedPlan(option: unknown): AutoCompact {
  if (!isObject(option))
    throw invalidOption(
      'autoCompact',
      `must be true, false or an object such as { strategy: 'summary' }, not ${shown(option)}`,
    )
  checkOptions(option, AUTO_COMPACT)
  const plan = option as AutoCompact
  checkSummary('autoCompact.', plan)
  for (const name of ['atPercent', 'overMessages', 'keep'] as const)
    if (plan[name] !== undefined) atLeast(`autoCompact.${name}`, plan[name], 1)
  return plan
}

/** Checks the options that every compaction takes. Throws `invalid-option`. */
export function checkSummary(
  prefix: string,
  {
    strategy = 'sliding',
    instructions,
    model,
  }: { strategy?: unknown; instructions?: unknown; model?: unknown },
): void {
  if (strategy !== 'sliding' && strategy !== 'summary')
    throw invalidOption(`${prefix}strategy`, `must be 'sliding' or 'summary', not ${shown(strategy)}`)
  if (instructions !== undefined && typeof instructions !== 'string')
    throw invalidOption(`${prefix}instructions`, `must be a text, not ${shown(instructions)}`)
  if (Array.isArray(model)) throw invalidOption(`${prefix}model`, 'must be one model, not a list')
  if (model !== undefined) checkModels(model)
}
