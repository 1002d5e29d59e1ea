/**
 * The state of a graph as immutable plain data: a list grows in its last chunk, so a longer list costs no more. Applies
 * the updates of nodes by the kind of each channel; must not know reducers, whose results come with the step.
 */
import { type ChannelKinds, isObject, type Json, type JsonObject } from '../protocol/index.ts'

export type GraphState = { readonly [channel: string]: ChannelValue }

export type ChannelValue = { readonly value: Json } | { readonly chunks: readonly (readonly Json[])[] }

const CHUNK = 64

/** Applies `update` to each channel; ignores channels of other kinds and undeclared ones. */
export function withUpdate(state: GraphState, kinds: ChannelKinds, update: JsonObject): GraphState {
  return withUpdates(state, kinds, [update])
}

/** The same for updates in order. Copies each channel once, however many of them change it. */
export function withUpdates(
  state: GraphState,
  kinds: ChannelKinds,
  updates: readonly JsonObject[],
): GraphState {
  const values = new Map<string, Json[]>()
  for (const update of updates)
    for (const [channel, value] of Object.entries(update)) {
      if (value === undefined) continue
      const earlier = values.get(channel)
      if (earlier === undefined) values.set(channel, [value])
      else earlier.push(value)
    }
  const changed: Record<string, ChannelValue> = {}
  for (const [channel, given] of values) {
    const kind = Object.hasOwn(kinds, channel) ? kinds[channel] : undefined
    const held = Object.hasOwn(state, channel) ? state[channel] : undefined
    if (kind === 'list') changed[channel] = { chunks: withItems(held, given.flat()) }
    else if (kind === 'merge') changed[channel] = { value: merged(held, given) }
    else if (kind === 'value') changed[channel] = { value: given.at(-1) as Json }
  }
  return { ...state, ...changed }
}

export function withChanges(state: GraphState, kinds: ChannelKinds, changes: JsonObject): GraphState {
  const set: Record<string, ChannelValue> = {}
  for (const [channel, value] of Object.entries(changes))
    if (value !== undefined)
      set[channel] = kinds[channel] === 'list' ? { chunks: withItems(undefined, value) } : { value }
  return { ...state, ...set }
}

export function valueIn(state: GraphState, channel: string): Json | undefined {
  const held = Object.hasOwn(state, channel) ? state[channel] : undefined
  if (held === undefined) return undefined
  return 'chunks' in held ? ([] as Json[]).concat(...held.chunks) : held.value
}

/** Size when stored. */
export function sizeOf(state: GraphState): number {
  let items = 0
  for (const held of Object.values(state))
    items += 'chunks' in held ? held.chunks.length * CHUNK : sizeOfValue(held.value)
  return items
}

function sizeOfValue(value: Json): number {
  if (typeof value !== 'object' || value === null) return 1
  return Array.isArray(value) ? value.length : Object.keys(value).length
}

function withItems(held: ChannelValue | undefined, value: Json): readonly (readonly Json[])[] {
  const chunks = held !== undefined && 'chunks' in held ? [...held.chunks] : []
  const items: readonly Json[] = Array.isArray(value) ? (value as readonly Json[]) : [value]
  const last = chunks.at(-1) ?? []
  const room = chunks.length > 0 ? CHUNK - last.length : 0
  if (room > 0 && items.length > 0) chunks[chunks.length - 1] = [...last, ...items.slice(0, room)]
  for (let at = room; at < items.length; at += CHUNK) chunks.push(items.slice(at, at + CHUNK))
  return chunks
}

/** A value that is no object replaces all before it. */
function merged(held: ChannelValue | undefined, values: readonly Json[]): Json {
  const all = held !== undefined && 'value' in held ? [held.value, ...values] : values
  const objects = all.slice(all.findLastIndex((value) => !isObject(value)) + 1) as JsonObject[]
  // No assignment: that would set the prototype for the key `__proto__`.
  return objects.length === 0
    ? (all.at(-1) as Json)
    : Object.fromEntries(objects.flatMap((one) => Object.entries(one)))
}
