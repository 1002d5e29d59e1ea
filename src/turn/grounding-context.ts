/** The entities and ids of a conversation, for a model that reads data instead of text blocks. */
import { lookupsOf, unexpired } from '../grounding/index.ts'
import { dataOf } from '../loop/index.ts'
import type { ActiveSince, GroundingContext } from '../model/index.ts'
import type { Entry, Sighting } from '../protocol/index.ts'
import type { Tool } from '../tool/index.ts'
import { entriesSoFar } from './context-fill.ts'
import type { TurnRun } from './turn-run.ts'

/** A part of a model request; empty where no entity is declared. */
export async function groundingContext(
  run: TurnRun,
  tools: readonly Tool[],
): Promise<{ readonly known?: GroundingContext }> {
  const { entities, memoryTurns } = run.scope.definition.grounding
  if (entities.size === 0) return {}
  const entries = await entriesSoFar(run)
  const words = [...entities].map(([name, { nouns, called, parent }]) => {
    const names = Object.fromEntries(Object.entries(called).map(([language, { one }]) => [language, one]))
    const owner = parent === undefined ? {} : { parent: parent.name }
    return [name, { called: names, one: [...nouns.one], many: [...nouns.many], ...owner }] as const
  })
  const known: GroundingContext = {
    entities: Object.fromEntries(words),
    seen: seenBy(entries),
    active: activeSince(run, entries),
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

/** The choices over the course of the window; the current ones if they did not change in it. */
function activeSince(run: TurnRun, entries: readonly Entry[]): readonly ActiveSince[] {
  const { entities } = run.scope.definition.grounding
  const now = run.scope.clock.now()
  const since: ActiveSince[] = []
  let call: { readonly callId?: string } = {}
  for (const entry of entries) {
    if (entry.type === 'tool.end') call = { callId: dataOf(entry, 'tool.end').callId }
    if (entry.type === 'active')
      since.push({ ...call, values: unexpired(dataOf(entry, 'active').values, entities, now) })
  }
  return since.length > 0 ? since : [{ values: unexpired(run.session.active ?? [], entities, now) }]
}
