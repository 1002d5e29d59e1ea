/** An agent or a graph as a node: a function that runs it below the task. */
import { isDeepStrictEqual } from 'node:util'
import type { Runnable } from '../drive/index.ts'
import { type ChannelKinds, defined, HoldfastError, type Json, type JsonObject } from '../protocol/index.ts'
import type { Channels } from './channel.ts'
import type { GraphDefinition, NodeContext, NodeDefinition } from './definition.ts'

export interface Mapping {
  readonly input?: (state: never) => unknown
  readonly output?: (output: never, state: never) => unknown
}

export function childNode(
  channels: Channels,
  runnable: Runnable<never, unknown>,
  { input, output }: Mapping,
): Pick<NodeDefinition, 'run' | 'inner'> {
  const inner = (runnable as { readonly '~graph'?: GraphDefinition })['~graph']
  const shared = Object.keys(inner?.channels ?? {}).filter((channel) => Object.hasOwn(channels, channel))
  if (inner === undefined && (input === undefined || output === undefined))
    throw new HoldfastError('invalid-graph', {
      message: 'A node that is an agent needs { input: (state) => message, output: (text) => update }.',
    })
  if (inner !== undefined && (input === undefined || output === undefined))
    checkShared(shared, channels, inner)
  const toInput = input ?? ((state: JsonObject) => pick(state, shared))
  const toUpdate =
    output ??
    ((after: JsonObject, state: JsonObject) => changesIn(pick(after, shared), state, inner?.kinds ?? {}))
  const run = async (state: never, context: NodeContext): Promise<unknown> =>
    toUpdate((await context.run('', runnable, toInput(state) as never)) as never, state)
  return { run, ...defined({ inner }) }
}

/** A reduced value does not reveal the updates it came from. */
function checkShared(shared: readonly string[], channels: Channels, { name, kinds }: GraphDefinition): void {
  const reduced = shared.filter(
    (channel) => channels[channel]?.kind === 'reduced' || kinds[channel] === 'reduced',
  )
  if (reduced.length === 0) return
  throw new HoldfastError('invalid-graph', {
    message: `${reduced.join(', ')} of ${name} and of the graph that it is a node of is a reduce() channel: write { input, output } to map the state.`,
  })
}

function pick(state: JsonObject, channels: readonly string[]): JsonObject {
  return Object.fromEntries(
    channels.flatMap((channel) =>
      Object.hasOwn(state, channel) && state[channel] !== undefined ? [[channel, state[channel]]] : [],
    ),
  )
}

/** The channels that changed; of a list, the appended items. */
function changesIn(after: JsonObject, before: JsonObject, kinds: ChannelKinds): JsonObject {
  const update: Record<string, Json> = {}
  for (const [channel, value] of Object.entries(after)) {
    const previous = before[channel]
    if (value === undefined || isDeepStrictEqual(value, previous)) continue
    const isList = kinds[channel] === 'list' && Array.isArray(value) && Array.isArray(previous)
    update[channel] = isList ? value.slice(previous.length) : value
  }
  return update
}
