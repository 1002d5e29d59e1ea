/** What a node says, checked; and what reducers make of it. */
import { type GraphPosition, type GraphState, joined, valueIn, withChanges } from '../journal/index.ts'
import { checkName, HoldfastError, type Json, type JsonObject, quote } from '../protocol/index.ts'
import { thrownText, toJson } from '../tool/index.ts'
import type { Channels } from './channel.ts'
import type { GraphDefinition } from './definition.ts'
import { invalid } from './invalid.ts'

/** What is stored must be what was said: nodes and callers read it as the type that they gave. */
const EXACT = { isExact: true }

/**
 * As it is stored: known channels only, JSON only, what is added to a list as a list. A list that comes back as it was
 * `shown` adds nothing. Throws what is wrong with it.
 */
export function checkedUpdate(
  channels: Channels,
  { who, shown = {} }: { readonly who: string; readonly shown?: object },
  said: unknown,
): JsonObject {
  if (said === undefined || said === null) return {}
  if (typeof said !== 'object' || Symbol.iterator in said || Symbol.asyncIterator in said)
    throw invalid(
      'invalid-update',
      `${who} must say an object of channels, or nothing; it said ${quote(said)}`,
    )
  const update: Record<string, Json> = {}
  for (const [channel, value] of Object.entries(said)) {
    if (value === undefined) continue
    if (isAsShown(value, channel, { channels, shown })) continue
    checkName(`The state, of which ${who} says something,`, channel, Object.keys(channels))
    const json = toJson(value, EXACT)
    if (json instanceof Error)
      throw invalid(
        'invalid-update',
        `what ${who} says of ${channel} cannot be written as JSON: ${json.message}`,
      )
    const { kind } = channels[channel] ?? {}
    if (kind === 'merge' && !isObject(json))
      throw invalid(
        'invalid-update',
        `what ${who} says of ${channel} must be an object, to be merged into it`,
      )
    update[channel] = kind === 'list' && !Array.isArray(json) ? [json] : json
  }
  return update
}

/** Only what was looked at can come back, and it is frozen: nothing else is looked at here, which would cost all of it. */
function isAsShown(
  value: unknown,
  channel: string,
  { channels, shown }: { readonly channels: Channels; readonly shown: object },
): boolean {
  if (channels[channel]?.kind !== 'list' || !Array.isArray(value) || !Object.isFrozen(value)) return false
  return value === (shown as Record<string, unknown>)[channel]
}

/** The first values of channels that have none yet. */
export function initialChanges({ channels }: GraphDefinition, state: GraphState): JsonObject {
  const changes: Record<string, Json> = {}
  for (const [channel, { initial }] of Object.entries(channels)) {
    if (initial === undefined || Object.hasOwn(state, channel)) continue
    const json = toJson(initial, EXACT)
    if (json instanceof Error)
      throw invalid(
        'invalid-update',
        `the initial value of ${channel} cannot be written as JSON: ${json.message}`,
      )
    changes[channel] = json
  }
  return changes
}

/** What reducers make of updates, one after the other. */
export function reducedChanges(
  { channels }: GraphDefinition,
  state: GraphState,
  updates: readonly JsonObject[],
): JsonObject {
  const changes: Record<string, Json> = {}
  for (const [channel, { reduce, kind }] of Object.entries(channels)) {
    if (kind !== 'reduced' || reduce === undefined) continue
    const said = updates.flatMap((update) => (Object.hasOwn(update, channel) ? [update[channel]] : []))
    if (said.length === 0) continue
    const made = reducedBy({ channel, reduce }, valueIn(state, channel), said)
    const json = toJson(made, EXACT)
    if (json instanceof Error)
      throw invalid(
        'invalid-update',
        `the reducer of ${channel} made something that cannot be written as JSON: ${json.message}`,
      )
    changes[channel] = json
  }
  return changes
}

function reducedBy(
  { channel, reduce }: { readonly channel: string; readonly reduce: NonNullable<Channels[string]['reduce']> },
  current: unknown,
  said: readonly unknown[],
): unknown {
  try {
    return said.reduce<unknown>((sum, one) => reduce(sum, one), current)
  } catch (error) {
    throw new HoldfastError('invalid-update', {
      message: `The reducer of channel ${channel} threw: ${thrownText(error)}`,
      details: { channel },
      cause: error,
    })
  }
}

export interface Joined {
  readonly state: GraphState
  readonly changes: JsonObject
}

/** The state after the step that is open, and what has to be said for others to come to the same. */
export function joinStep(definition: GraphDefinition, position: GraphPosition): Joined {
  checkConflicts(definition, position)
  const updates = position.tasks.map(({ update = {} }) => update)
  const changes = reducedChanges(definition, position.state, updates)
  return { state: withChanges(joined(position), position.channels, changes), changes }
}

/** Which of two would count is not for chance to say. */
function checkConflicts({ channels }: GraphDefinition, { tasks }: GraphPosition): void {
  if (tasks.length < 2) return
  const by = new Map<string, string>()
  for (const { node, update = {} } of tasks)
    for (const channel of Object.keys(update)) {
      if (channels[channel]?.kind !== 'value') continue
      const other = by.get(channel)
      if (other !== undefined)
        throw new HoldfastError('conflicting-update', {
          message: `${other} and ${node} both said what ${channel} is in the same step, and only one can count. Make it a list() or a reduce() of what they say, or let one run after the other.`,
          details: { channel, nodes: [other, node] },
        })
      by.set(channel, node)
    }
}

function isObject(value: Json): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
