/** Adds the channels that the graph's code has gained or changed since its run began to the run. */
import { type GraphPosition, valueIn } from '../journal/index.ts'
import type { ChannelKind, ChannelKinds, EntryData, Json, JsonObject } from '../protocol/index.ts'
import type { GraphDefinition } from './definition.ts'
import type { Run } from './run.ts'
import { initialChanges } from './update.ts'

/** Without an entry, the fold would ignore updates of channels that the run did not begin with. */
export function adoptChannels(run: Run): void {
  const { graph } = run.session
  if (run.session.open === undefined || graph === undefined) return
  const gained = gainedChannels(run.graph, graph)
  if (gained !== undefined) run.draft.append('graph.channels', gained)
}

function gainedChannels(
  definition: GraphDefinition,
  position: GraphPosition,
): EntryData['graph.channels'] | undefined {
  const gained = changedKinds(definition, position)
  if (gained.length === 0) return undefined
  const channels: ChannelKinds = Object.fromEntries(gained)
  const changes = {
    ...initialChanges(definition, position.state),
    ...convertedChanges(definition, position),
  }
  return { channels, ...(Object.keys(changes).length === 0 ? {} : { changes }) }
}

/** The values of channels whose kind the code has changed, in the form of the new kind. */
export function convertedChanges(
  definition: GraphDefinition,
  position: GraphPosition | undefined,
): JsonObject {
  if (position === undefined) return {}
  return Object.fromEntries(
    changedKinds(definition, position).flatMap(([channel, kind]) => {
      const value = valueIn(position.state, channel)
      return value === undefined ? [] : [[channel, valueOfKind(kind, value)]]
    }),
  )
}

function changedKinds(
  { kinds }: GraphDefinition,
  { channels: known }: GraphPosition,
): [string, ChannelKind][] {
  return Object.entries(kinds).filter(
    ([channel, kind]) => !Object.hasOwn(known, channel) || known[channel] !== kind,
  )
}

/** Lists are stored in another form than other values. */
function valueOfKind(kind: ChannelKind, value: Json): Json {
  return kind === 'list' && !Array.isArray(value) ? [value] : value
}
