/** The text that grounding adds to a prompt: its rules in the system prompt, and the blocks at the end. */
import { chain, type MaybePromise } from '../base/index.ts'
import {
  activeIds,
  activeLabels,
  groundingRules,
  MOST_ACTIVE,
  stateBlock,
  type ToolMemoryOptions,
  type ToolTurn,
  toolMemoryBlock,
  unexpired,
  type WordsOptions,
} from '../grounding/index.ts'
import { dataOf } from '../loop/index.ts'
import type { ActiveValue, Entry } from '../protocol/index.ts'
import { sightingsSoFar } from './context-fill.ts'
import type { TurnRun } from './turn-run.ts'

/** The system prompt as the config has it, without what grounding adds. */
export function configuredPrompt(run: TurnRun): MaybePromise<string | undefined> {
  return chain(run.info(), (info) => run.within(run.scope.definition.system(info)))
}

/** The configured system prompt, then the rules of grounding where there are entities. */
export function withRules(run: TurnRun, own: string | undefined): string | undefined {
  const { grounding } = run.scope.definition
  if (grounding.entities.size === 0) return own
  const known = SYSTEM.get(run)
  if (known !== undefined && known.own === own) return known.whole
  const rules = groundingRules(grounding.entities, wordsOptions(run))
  const whole = [own ?? '', rules].filter((part) => part.trim() !== '').join('\n\n')
  SYSTEM.set(run, { own, whole })
  return whole
}

/** Cached: a turn has one language and one set of entities. */
const SYSTEM = new WeakMap<TurnRun, { readonly own: string | undefined; readonly whole: string }>()

/** The blocks at the end of a prompt: recent tool results in short, and the active things. `handle` stands for an id. */
export async function groundingBlocks(
  run: TurnRun,
  wire: { readonly handle?: (entity: string, id: string) => string },
): Promise<string | undefined> {
  const { entities } = run.scope.definition.grounding
  const { turns, memory } = await shownLately(run, wire.handle)
  const now = run.scope.clock.now()
  const active = unexpired(run.session.active ?? [], entities, now)
  if (active.length === 0) return memory
  const named = await Promise.all(active.map((value) => withLabels(run, value, turns)))
  const state = stateBlock(named, { ...wordsOptions(run), ...wire, entities, now })
  const blocks = [memory, state].filter((block) => block !== undefined)
  return blocks.length === 0 ? undefined : blocks.join('\n\n')
}

/** The turn's language overrides the agent's. */
function wordsOptions(run: TurnRun): WordsOptions {
  const { language } = run.open.metadata ?? {}
  return { ...run.scope.definition.grounding.words, ...(typeof language === 'string' ? { language } : {}) }
}

interface ShownLately {
  /** The sightings in the window by turn, with those of results that are not durable yet. */
  readonly turns: readonly ToolTurn[]
  readonly memory: string | undefined
}

async function shownLately(run: TurnRun, handle: ToolMemoryOptions['handle']): Promise<ShownLately> {
  const { results } = await sightingsSoFar(run)
  const known = LATELY.get(run)
  if (known !== undefined && known.handle === handle && isSameList(known.results, results)) return known
  const turns = [...Map.groupBy(results, ({ turn }) => turn)].map(([turn, group]) => ({
    turn,
    seen: group.flatMap((entry) => dataOf(entry, 'tool.end').seen ?? []),
  }))
  const { memoryTurns, entities } = run.scope.definition.grounding
  const options = { ...wordsOptions(run), entities, turns: memoryTurns }
  const memory = toolMemoryBlock(turns, { ...options, ...(handle === undefined ? {} : { handle }) })
  LATELY.set(run, { results: [...results], handle, turns, memory })
  return { turns, memory }
}

/** Most calls show nothing, so most prompts of a turn have the block of the one before. */
const LATELY = new WeakMap<
  TurnRun,
  ShownLately & { readonly results: readonly Entry[]; readonly handle: ToolMemoryOptions['handle'] }
>()

function isSameList(before: readonly Entry[], now: readonly Entry[]): boolean {
  return before.length === now.length && now.every(({ data }, at) => data === before[at]?.data)
}

/** Adds the labels that tools showed last to a value that was chosen without them. */
async function withLabels(
  run: TurnRun,
  value: ActiveValue,
  turns: readonly ToolTurn[],
): Promise<ActiveValue> {
  const { entity } = value
  const ids = activeIds(value)
  const known = activeLabels(value)
  if (value.label !== undefined || known.size === ids.length) return value
  const shown = turns.flatMap(({ seen }) => seen).filter((one) => one.entity === entity)
  const labelOf = async (id: string): Promise<string> => {
    const newest = known.get(id) ?? shown.findLast((one) => one.id === id && one.label !== undefined)?.label
    return newest ?? (await run.scope.sightings.seen(entity, { id }))[0]?.label ?? ''
  }
  const labels = await Promise.all(ids.slice(0, MOST_ACTIVE).map(labelOf))
  const [label = ''] = labels
  if (ids.length > 1) return { ...value, ids, labels }
  return label === '' ? value : { ...value, label }
}
