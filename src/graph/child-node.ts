/** An agent, a model, tools or a graph as a node: a function that runs it below the task. */
import { isDeepStrictEqual } from 'node:util'
import type { Runnable } from '../drive/index.ts'
import {
  type ChannelKind,
  defined,
  HoldfastError,
  isObject,
  type Json,
  type JsonObject,
} from '../protocol/index.ts'
import type { Channels } from './channel.ts'
import type { GraphDefinition, NodeContext, NodeDefinition } from './definition.ts'

/** `sent`: the input of a `Send`, if there was one. */
export interface Mapping {
  readonly input?: (state: never, sent: never) => unknown
  readonly output?: (output: never, state: never) => unknown
}

/** Marks of runnables that have a mapping of their own. */
interface Marked {
  /** A graph: the channels of the same name. */
  readonly '~graph'?: GraphDefinition
  /** A graph, run from the values of its channels instead of updates of their initial values. */
  readonly '~fromState'?: Runnable<never, unknown>
  /** Reads this channel and appends to it. */
  readonly '~channel'?: string
}

export function childNode(
  channels: Channels,
  runnable: Runnable<never, unknown>,
  mapping: Mapping,
): Pick<NodeDefinition, 'run' | 'inner'> {
  const { '~graph': inner, '~fromState': fromState = runnable } = runnable as Marked
  const isMapped = mapping.input !== undefined && mapping.output !== undefined
  const own = isMapped ? mapping : ownMapping(channels, runnable, mapping.input !== undefined)
  const { input = own.input, output = own.output } = mapping
  const child = mapping.input === undefined ? fromState : runnable
  const run = async (state: never, context: NodeContext): Promise<unknown> => {
    const made = await context.run('', child, input?.(state, context.input as never) as never)
    return output?.(made as never, state)
  }
  return { run, ...defined({ inner }) }
}

function ownMapping(channels: Channels, runnable: Runnable<never, unknown>, isOtherInput: boolean): Mapping {
  const { '~graph': inner, '~channel': channel } = runnable as Marked
  if (inner !== undefined) return sharedChannels(channels, inner, isOtherInput)
  if (channel !== undefined) return oneChannel(channels, channel)
  throw new HoldfastError('invalid-graph', {
    message: 'A node that is an agent needs { input: (state) => message, output: (text) => update }.',
  })
}

/** A `Send` may bring another input. */
function oneChannel(channels: Channels, channel: string): Mapping {
  const kind = channels[channel]?.kind
  if (kind !== 'list' && kind !== 'reduced')
    throw new HoldfastError('invalid-graph', {
      message: `A node that is a model or its tools needs a channel ${channel}: list<Message>() in the state, or { input: (state) => messages, output: (messages) => update }.`,
    })
  return {
    input: (state: JsonObject, sent: Json | undefined) => sent ?? state[channel],
    output: (items: Json) => ({ [channel]: items }),
  }
}

/** `isOtherInput`: the graph begins with the values of a mapping. */
function sharedChannels(channels: Channels, inner: GraphDefinition, isOtherInput: boolean): Mapping {
  const shared = Object.keys(inner.channels).filter((channel) => Object.hasOwn(channels, channel))
  checkShared(shared, channels, inner)
  return {
    input: (state: JsonObject) => pick(state, shared),
    output: (after: JsonObject, state: JsonObject) => {
      for (const channel of shared) {
        const kind = channels[channel]?.kind
        const isOther = inner.kinds[channel] !== kind
        const what = `${channel} of ${inner.name}`
        if (kind === 'list' && (isOther || isOtherInput)) checkAppended(what, after[channel], state[channel])
        if (kind === 'merge' && isOther && !isOtherInput) checkFields(what, after[channel], state[channel])
      }
      return changesIn(pick(after, shared), state, channels)
    },
  }
}

/** An update of a list can only append. */
function checkAppended(channel: string, after: Json | undefined, before: Json | undefined): void {
  if (!Array.isArray(after) || !Array.isArray(before)) return
  if (isDeepStrictEqual(after.slice(0, before.length), before)) return
  throw cannotFollow(`${channel} has lost or changed items, but it is a list()`, 'which can only grow')
}

/** An update of an object to merge removes no field. */
function checkFields(channel: string, after: Json | undefined, before: Json | undefined): void {
  if (!isObject(after) || !isObject(before)) return
  if (Object.keys(before).every((field) => Object.hasOwn(after, field))) return
  throw cannotFollow(`${channel} has lost fields, but it is a merge()`, 'which keeps them')
}

function cannotFollow(what: string, why: string): HoldfastError {
  return new HoldfastError('invalid-update', {
    message: `${what} in the graph above, ${why}: write { input, output } to map the state.`,
  })
}

/** A reduced value does not reveal the updates it came from. */
function checkShared(shared: readonly string[], channels: Channels, { name, kinds }: GraphDefinition): void {
  const reduced = shared.filter(
    (channel) => channels[channel]?.kind === 'reduced' || kinds[channel] === 'reduced',
  )
  if (reduced.length === 0) return
  throw new HoldfastError('invalid-graph', {
    message: `${reduced.join(', ')} of ${name} is also a channel of the graph above, and the updates of a reduce() channel cannot be passed on: write { input, output } to map the state.`,
  })
}

function pick(state: JsonObject, channels: readonly string[]): JsonObject {
  return Object.fromEntries(
    channels.flatMap((channel) =>
      Object.hasOwn(state, channel) && state[channel] !== undefined ? [[channel, state[channel]]] : [],
    ),
  )
}

/** The channels that changed; of a list, the appended items; of an object to merge, the fields that changed. */
function changesIn(after: JsonObject, before: JsonObject, channels: Channels): JsonObject {
  const update: Record<string, Json> = {}
  for (const [channel, value] of Object.entries(after)) {
    const previous = before[channel]
    if (value === undefined || isDeepStrictEqual(value, previous)) continue
    update[channel] = changeOf(channels[channel]?.kind, value, previous)
  }
  return update
}

function changeOf(kind: ChannelKind | undefined, value: Json, previous: Json | undefined): Json {
  if (kind === 'list' && Array.isArray(value) && Array.isArray(previous))
    return (value as readonly Json[]).slice(previous.length)
  if (kind !== 'merge' || !isObject(value) || !isObject(previous)) return value
  const fields = Object.entries(value)
  return Object.fromEntries(fields.filter(([field, one]) => !isDeepStrictEqual(one, previous[field])))
}
