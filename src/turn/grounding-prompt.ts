/** The text that grounding adds to a prompt: the blocks at its end. */
import { stateBlock, type ToolTurn, toolMemoryBlock } from '../grounding/index.ts'
import { entriesSoFar } from './context.ts'
import type { Play } from './play.ts'
import { dataOf } from './stage.ts'

/** The blocks at the end of a prompt: recent tool results in short, and the active things. `handle` stands for an id. */
export async function groundingBlocks(
  play: Play,
  wire: { readonly handle?: (entity: string, id: string) => string } = {},
): Promise<string | undefined> {
  const { entities, words, memoryTurns } = play.scope.definition.grounding
  if (entities.size === 0) return undefined
  const { language } = play.open.metadata ?? {}
  const options = { ...words, ...wire, entities, ...(typeof language === 'string' ? { language } : {}) }
  const now = play.scope.clock.now()
  const memory = toolMemoryBlock(await toolTurns(play), { ...options, turns: memoryTurns })
  const state = stateBlock(play.session.active ?? [], { ...options, now })
  const blocks = [memory, state].filter((block) => block !== undefined)
  return blocks.length === 0 ? undefined : blocks.join('\n\n')
}

/** The sightings in the window by turn, with those of results that are not durable yet. */
async function toolTurns(play: Play): Promise<readonly ToolTurn[]> {
  const results = (await entriesSoFar(play)).filter(({ type }) => type === 'tool.end')
  return [...Map.groupBy(results, ({ turn }) => turn)].map(([turn, group]) => ({
    turn,
    seen: group.flatMap((entry) => dataOf(entry, 'tool.end').seen ?? []),
  }))
}
