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

export function nodeFrom(
  channels: Channels,
  runnable: Runnable<never, unknown>,
  { input, output }: Mapping,
): Pick<NodeDefinition, 'run' | 'inner'> {
  const inner = (runnable as { readonly '~graph'?: GraphDefinition })['~graph']
  const shared = Object.keys(inner?.channels ?? {}).filter((channel) => Object.hasOwn(channels, channel))
  if (inner === undefined && (input === undefined || output === undefined))
    throw new HoldfastError('invalid-graph', {
      message:
        'A node that is an agent needs { input: (state) => what it is asked, output: (text) => what it says of the state }.',
    })
  if (inner !== undefined && (input === undefined || output === undefined))
    checkShared(shared, channels, inner)
  const given = input ?? ((state: JsonObject) => pick(state, shared))
  const said =
    output ??
    ((after: JsonObject, state: JsonObject) => newIn(pick(after, shared), state, inner?.kinds ?? {}))
  const run = async (state: never, context: NodeContext): Promise<unknown> =>
    said((await context.run('', runnable, given(state) as never)) as never, state)
  return { run, ...defined({ inner }) }
}

/** What a reducer has made of something cannot be told from what it was made of. */
function checkShared(shared: readonly string[], channels: Channels, { name, kinds }: GraphDefinition): void {
  const reduced = shared.filter(
    (channel) => channels[channel]?.kind === 'reduced' || kinds[channel] === 'reduced',
  )
  if (reduced.length === 0) return
  throw new HoldfastError('invalid-graph', {
    message: `${reduced.join(', ')} of ${name} and of the graph that it is a node of is held by a reduce(): say with { input, output } what is given to it and what it says.`,
  })
}

function pick(state: JsonObject, channels: readonly string[]): JsonObject {
  return Object.fromEntries(
    channels.flatMap((channel) =>
      Object.hasOwn(state, channel) && state[channel] !== undefined ? [[channel, state[channel]]] : [],
    ),
  )
}

/** What has changed on the way; of a list, what was added to it. */
function newIn(after: JsonObject, before: JsonObject, kinds: ChannelKinds): JsonObject {
  const said: Record<string, Json> = {}
  for (const [channel, value] of Object.entries(after)) {
    const had = before[channel]
    if (value === undefined || isDeepStrictEqual(value, had)) continue
    const isList = kinds[channel] === 'list' && Array.isArray(value) && Array.isArray(had)
    said[channel] = isList ? value.slice(had.length) : value
  }
  return said
}
