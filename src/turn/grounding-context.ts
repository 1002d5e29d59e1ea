/** What the journal tells of things that have ids, for a model that reads data instead of blocks of text. */
import { lookupsOf, unexpired } from '../grounding/index.ts'
import { dataOf } from '../loop/index.ts'
import type { ActiveSince, GroundingContext } from '../model/index.ts'
import type { Entry, Sighting } from '../protocol/index.ts'
import type { Tool } from '../tool/index.ts'
import { entriesSoFar } from './context.ts'
import type { Play } from './play.ts'

/** As a part of a request to a model; nothing where no entity is declared. */
export async function groundingContext(
  play: Play,
  tools: readonly Tool[],
): Promise<{ readonly known?: GroundingContext }> {
  const { entities, memoryTurns } = play.scope.definition.grounding
  if (entities.size === 0) return {}
  const entries = await entriesSoFar(play)
  const words = [...entities].map(([name, { nouns, called, parent }]) => {
    const names = Object.fromEntries(Object.entries(called).map(([language, { one }]) => [language, one]))
    const owner = parent === undefined ? {} : { parent: parent.name }
    return [name, { called: names, one: [...nouns.one], many: [...nouns.many], ...owner }] as const
  })
  const known: GroundingContext = {
    entities: Object.fromEntries(words),
    seen: seenBy(entries),
    active: activeSince(play, entries),
    lookups: lookupsOf(tools),
    memoryTurns,
  }
  return { known }
}

function seenBy(entries: readonly Entry[]): Record<string, readonly Sighting[]> {
  const seen: Record<string, readonly Sighting[]> = {}
  for (const entry of entries) {
    if (entry.type !== 'tool.end') continue
    const { callId, seen: shown = [] } = dataOf(entry, 'tool.end')
    if (shown.length > 0) seen[callId] = shown
  }
  return seen
}

/** What was chosen in the course of the window; what is chosen now if that did not change in it. */
function activeSince(play: Play, entries: readonly Entry[]): readonly ActiveSince[] {
  const { entities } = play.scope.definition.grounding
  const now = play.scope.clock.now()
  const since: ActiveSince[] = []
  let call: { readonly callId?: string } = {}
  for (const entry of entries) {
    if (entry.type === 'tool.end') call = { callId: dataOf(entry, 'tool.end').callId }
    if (entry.type === 'active')
      since.push({ ...call, values: unexpired(dataOf(entry, 'active').values, entities, now) })
  }
  return since.length > 0 ? since : [{ values: unexpired(play.session.active ?? [], entities, now) }]
}
