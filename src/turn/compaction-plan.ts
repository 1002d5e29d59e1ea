/** What an agent may say about compacting by itself, and what follows from leaving something out. */
import { atLeast, checkOptions, invalidOption, type OptionSet, shown } from '../protocol/index.ts'
import { checkModels, modelSource } from './define-turn.ts'
import type { CompactionPlan, CompactionStrategy } from './definition.ts'
import type { ModelChoice } from './turn-config.ts'

export interface AutoCompact {
  /** `sliding` unless said otherwise. */
  readonly strategy?: CompactionStrategy
  /** Compacts when the context of the model is as full as this, in percent. */
  readonly atPercent?: number
  /** Compacts when the window has more messages than this: than `maxMessages`, if `atPercent` is not given either. */
  readonly overMessages?: number
  /** About how many messages stay. Half of them unless said otherwise. */
  readonly keep?: number
  /** What a summary must not leave out, or how it is to be written. */
  readonly instructions?: string
  /** Who writes summaries, with its own settings; the models of the agent unless said otherwise. */
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

/** Undefined if nothing is to be compacted. Throws `invalid-option`. */
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

/** What can be said wherever something is compacted. Throws `invalid-option`. */
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
