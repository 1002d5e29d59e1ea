/** An agent or a graph as a node: a function that runs it below the task. */
import type { Runnable } from '../drive/index.ts'
import { type ChannelKinds, HoldfastError, type JsonObject } from '../protocol/index.ts'
import type { Channels } from './channel.ts'
import type { GraphDefinition, NodeContext, NodeDefinition } from './definition.ts'

export interface Mapping {
  readonly input?: (state: never) => unknown
  readonly output?: (output: unknown, state: never) => unknown
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
  const given = input ?? ((state: JsonObject) => pick(state, shared))
  const said =
    output ??
    ((after: unknown, state: JsonObject) =>
      newIn(pick(after as JsonObject, shared), state, inner?.kinds ?? {}))
  const run = async (state: never, context: NodeContext): Promise<unknown> =>
    said(await context.run('', runnable, given(state) as never), state)
  return { run, ...(inner === undefined ? {} : { inner }) }
}

function pick(state: JsonObject, channels: readonly string[]): JsonObject {
  return Object.fromEntries(
    channels.flatMap((channel) => (state[channel] === undefined ? [] : [[channel, state[channel]]])),
  )
}

/** Of a list only what was added: the rest is there already. */
function newIn(after: JsonObject, before: JsonObject, kinds: ChannelKinds): JsonObject {
  return Object.fromEntries(
    Object.entries(after).map(([channel, value]) => {
      const had = before[channel]
      const isList = kinds[channel] === 'list' && Array.isArray(value) && Array.isArray(had)
      return [channel, isList ? value.slice(had.length) : value]
    }),
  )
}
