/** Checks the updates of nodes and applies reducers to them. */
import { isDeepStrictEqual } from 'node:util'
import { type GraphPosition, type GraphState, joined, valueIn, withChanges } from '../journal/index.ts'
import { checkName, HoldfastError, isObject, type Json, type JsonObject, quote } from '../protocol/index.ts'
import { thrownText, toJson } from '../tool/index.ts'
import type { Channels } from './channel.ts'
import type { GraphDefinition } from './definition.ts'
import { invalid } from './invalid.ts'

/** `shown`: the state that a node was given. */
export interface UpdateSource {
  readonly source: string
  readonly shown?: object
  readonly isNode?: boolean
}

/**
 * The update in its stored form: known channels only, JSON only, list items as a list. A list that comes back as it was
 * `shown` adds nothing. Throws the first problem.
 */
export function checkedUpdate(
  channels: Channels,
  { source, shown = {}, isNode = false }: UpdateSource,
  raw: unknown,
): JsonObject {
  if (raw === undefined || raw === null) return {}
  if (typeof raw !== 'object' || Symbol.iterator in raw || Symbol.asyncIterator in raw || isNoUpdate(raw))
    throw invalid(
      'invalid-update',
      `${source} must give an object of channels, or nothing, not ${quote(raw)}`,
    )
  const update: Record<string, Json> = {}
  for (const [channel, value] of Object.entries(raw)) {
    if (value === undefined) continue
    if (isAsShown(value, channel, { channels, shown })) continue
    checkName(`The state that ${source} updates`, channel, Object.keys(channels))
    const json = exactJson(`the update of ${channel} by ${source}`, value)
    const { kind, isConstant = false } = channels[channel] ?? {}
    if (isNode && isConstant)
      throw invalid(
        'invalid-update',
        `${source} updates ${channel}, a constant: only the input of the first run sets it`,
      )
    if (kind === 'merge' && !isObject(json))
      throw invalid(
        'invalid-update',
        `the update of ${channel} by ${source} must be an object, to be merged into it`,
      )
    update[channel] = kind === 'list' && !Array.isArray(json) ? [json] : json
  }
  return update
}

/** The stored value must equal the given one: nodes and callers read it under the given type. */
function exactJson(what: string, value: unknown): Json {
  const json = toJson(value, { isExact: true })
  if (!(json instanceof Error)) return json
  throw invalid('invalid-update', `${what} cannot be written as JSON: ${json.message}`)
}

/** An error that was returned, a date, a promise: without fields they would be an empty update. */
function isNoUpdate(raw: object): boolean {
  return Object.keys(raw).length === 0 && Object.prototype.toString.call(raw) !== '[object Object]'
}

/**
 * Only a list that the node has read can come back, and that one is frozen: a deep comparison would cost the whole list.
 */
function isAsShown(
  value: unknown,
  channel: string,
  { channels, shown }: { readonly channels: Channels; readonly shown: object },
): boolean {
  if (channels[channel]?.kind !== 'list' || !Array.isArray(value) || !Object.isFrozen(value)) return false
  return value === (shown as Record<string, unknown>)[channel]
}

/** Throws if an input would change a constant; the same value again is none. */
export function checkConstants({ channels }: GraphDefinition, state: GraphState, update: JsonObject): void {
  for (const [channel, value] of Object.entries(update)) {
    const current = Object.hasOwn(state, channel) ? valueIn(state, channel) : undefined
    if (!channels[channel]?.isConstant || current === undefined || isDeepStrictEqual(value, current)) continue
    throw invalid(
      'invalid-update',
      `the input changes ${channel}, a constant of this conversation: leave it out, or use another contextId`,
    )
  }
}

/** The initial values of channels that have none yet. */
export function initialChanges({ channels }: GraphDefinition, state: GraphState): JsonObject {
  const changes: Record<string, Json> = {}
  for (const [channel, { initial }] of Object.entries(channels)) {
    if (initial === undefined || Object.hasOwn(state, channel)) continue
    changes[channel] = exactJson(`the initial value of ${channel}`, initial)
  }
  return changes
}

/** The values of reduced channels after all updates, in order. */
export function reducedChanges(
  { channels }: GraphDefinition,
  state: GraphState,
  updates: readonly JsonObject[],
): JsonObject {
  const changes: Record<string, Json> = {}
  for (const [channel, { reduce, kind }] of Object.entries(channels)) {
    if (kind !== 'reduced' || reduce === undefined) continue
    const values = updates.flatMap((update) => (Object.hasOwn(update, channel) ? [update[channel]] : []))
    if (values.length === 0) continue
    const reduced = reducedBy({ channel, reduce }, valueIn(state, channel), values)
    changes[channel] = exactJson(`the reducer of ${channel} made something that`, reduced)
  }
  return changes
}

function reducedBy(
  { channel, reduce }: { readonly channel: string; readonly reduce: NonNullable<Channels[string]['reduce']> },
  current: unknown,
  values: readonly unknown[],
): unknown {
  try {
    return values.reduce<unknown>((sum, one) => reduce(sum, one), current)
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

/** The state after the open step, and the changes to store so that every fold reaches the same state. */
export function joinStep(definition: GraphDefinition, position: GraphPosition): Joined {
  checkConflicts(definition, position)
  const updates = position.tasks.map(({ update = {} }) => update)
  const changes = reducedChanges(definition, position.state, updates)
  return { state: withChanges(joined(position), position.channels, changes), changes }
}

/** Chance must not decide which of two writes counts. */
function checkConflicts({ channels }: GraphDefinition, { tasks }: GraphPosition): void {
  if (tasks.length < 2) return
  const by = new Map<string, string>()
  for (const { node, update = {} } of tasks)
    for (const channel of Object.keys(update)) {
      if (channels[channel]?.kind !== 'value') continue
      const other = by.get(channel)
      if (other !== undefined)
        throw new HoldfastError('conflicting-update', {
          message: `${other} and ${node} both write ${channel} in the same step, and only one value can count. Make it a list() or a reduce(), or run one after the other.`,
          details: { channel, nodes: [other, node] },
        })
      by.set(channel, node)
    }
}
