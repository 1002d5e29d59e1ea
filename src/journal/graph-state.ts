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
  const changed: Record<string, ChannelValue> = {}
  for (const [channel, value] of Object.entries(update)) {
    const kind = Object.hasOwn(kinds, channel) ? kinds[channel] : undefined
    if (value === undefined || kind === undefined || kind === 'reduced') continue
    const held = Object.hasOwn(state, channel) ? state[channel] : undefined
    if (kind === 'list') changed[channel] = { chunks: withItems(held, value) }
    else changed[channel] = { value: kind === 'merge' ? merged(held, value) : value }
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

function merged(held: ChannelValue | undefined, value: Json): Json {
  const before = held !== undefined && 'value' in held && isObject(held.value) ? held.value : {}
  return isObject(value) ? { ...before, ...value } : value
}
