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
import { sightingsSoFar } from './context.ts'
import type { Play } from './play.ts'

/** The system prompt as the config has it, without what grounding adds. */
export function configuredPrompt(play: Play): MaybePromise<string | undefined> {
  return chain(play.info(), (info) => play.within(play.scope.definition.system(info)))
}

/** The configured system prompt, then the rules of grounding where there are entities. */
export function withRules(play: Play, own: string | undefined): string | undefined {
  const { grounding } = play.scope.definition
  if (grounding.entities.size === 0) return own
  const known = SYSTEM.get(play)
  if (known !== undefined && known.own === own) return known.whole
  const rules = groundingRules(grounding.entities, wordsOptions(play))
  const whole = [own ?? '', rules].filter((part) => part.trim() !== '').join('\n\n')
  SYSTEM.set(play, { own, whole })
  return whole
}

/** A turn has one language and one set of entities. */
const SYSTEM = new WeakMap<Play, { readonly own: string | undefined; readonly whole: string }>()

/** The last message of a prompt, which holds the blocks of grounding. */
export interface BlocksMessage {
  readonly role: 'user'
  readonly content: string
}

/** The message that ends a prompt; the same object as before while its text is the same, so that it is projected once. */
export async function blocksMessage(
  play: Play,
  wire: { readonly handle?: (entity: string, id: string) => string } = {},
): Promise<BlocksMessage | undefined> {
  const content = await groundingBlocks(play, wire)
  if (content === undefined) return undefined
  const before = LAST_BLOCKS.get(play)
  if (before?.content === content) return before
  const message: BlocksMessage = { role: 'user', content }
  LAST_BLOCKS.set(play, message)
  return message
}

const LAST_BLOCKS = new WeakMap<Play, BlocksMessage>()

/** The blocks at the end of a prompt: recent tool results in short, and the active things. `handle` stands for an id. */
async function groundingBlocks(
  play: Play,
  wire: { readonly handle?: (entity: string, id: string) => string },
): Promise<string | undefined> {
  const { entities } = play.scope.definition.grounding
  const { turns, memory } = await shownLately(play, wire.handle)
  const now = play.scope.clock.now()
  const active = unexpired(play.session.active ?? [], entities, now)
  if (active.length === 0) return memory
  const named = await Promise.all(active.map((value) => withLabels(play, value, turns)))
  const state = stateBlock(named, { ...wordsOptions(play), ...wire, entities, now })
  const blocks = [memory, state].filter((block) => block !== undefined)
  return blocks.length === 0 ? undefined : blocks.join('\n\n')
}

/** The language of the turn comes before that of the agent. */
function wordsOptions(play: Play): WordsOptions {
  const { language } = play.open.metadata ?? {}
  return { ...play.scope.definition.grounding.words, ...(typeof language === 'string' ? { language } : {}) }
}

interface ShownLately {
  /** The sightings in the window by turn, with those of results that are not durable yet. */
  readonly turns: readonly ToolTurn[]
  readonly memory: string | undefined
}

async function shownLately(play: Play, handle: ToolMemoryOptions['handle']): Promise<ShownLately> {
  const { results } = await sightingsSoFar(play)
  const known = LATELY.get(play)
  if (known !== undefined && known.handle === handle && isSameList(known.results, results)) return known
  const turns = [...Map.groupBy(results, ({ turn }) => turn)].map(([turn, group]) => ({
    turn,
    seen: group.flatMap((entry) => dataOf(entry, 'tool.end').seen ?? []),
  }))
  const { memoryTurns, entities } = play.scope.definition.grounding
  const options = { ...wordsOptions(play), entities, turns: memoryTurns }
  const memory = toolMemoryBlock(turns, { ...options, ...(handle === undefined ? {} : { handle }) })
  LATELY.set(play, { results: [...results], handle, turns, memory })
  return { turns, memory }
}

/** Most calls show nothing, so most prompts of a turn have the block of the one before. */
const LATELY = new WeakMap<
  Play,
  ShownLately & { readonly results: readonly Entry[]; readonly handle: ToolMemoryOptions['handle'] }
>()

function isSameList(before: readonly Entry[], now: readonly Entry[]): boolean {
  return before.length === now.length && now.every(({ data }, at) => data === before[at]?.data)
}

/** A value that was chosen without labels has those that tools showed last. */
async function withLabels(play: Play, value: ActiveValue, turns: readonly ToolTurn[]): Promise<ActiveValue> {
  const { entity } = value
  const ids = activeIds(value)
  const known = activeLabels(value)
  if (value.label !== undefined || known.size === ids.length) return value
  const shown = turns.flatMap(({ seen }) => seen).filter((one) => one.entity === entity)
  const labelOf = async (id: string): Promise<string> => {
    const newest = known.get(id) ?? shown.findLast((one) => one.id === id && one.label !== undefined)?.label
    return newest ?? (await play.scope.view.seen(entity, { id }))[0]?.label ?? ''
  }
  const labels = await Promise.all(ids.slice(0, MOST_ACTIVE).map(labelOf))
  const [label = ''] = labels
  if (ids.length > 1) return { ...value, ids, labels }
  return label === '' ? value : { ...value, label }
}
