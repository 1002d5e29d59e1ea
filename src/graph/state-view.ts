/** The state as nodes see it: a plain frozen object whose lists are built on first access. */
import { type ChannelValue, type GraphState, valueIn } from '../journal/index.ts'
import type { Json, JsonObject } from '../protocol/index.ts'
import type { Channels } from './channel.ts'

/** Immutable, and unaffected by later steps. */
export function stateView(state: GraphState, channels: Channels): object {
  const view = {}
  for (const channel of Object.keys(channels)) {
    let seen: { readonly value: unknown } | undefined
    Object.defineProperty(view, channel, {
      enumerable: true,
      get: () => {
        seen ??= { value: shown(state, channel) }
        return seen.value
      },
    })
  }
  return Object.freeze(view)
}

/** The whole state as plain JSON, for callers that keep it. */
export function plainState(state: GraphState, channels: Channels): JsonObject {
  const plain: Record<string, Json> = {}
  for (const channel of Object.keys(channels)) {
    const value = valueIn(state, channel)
    if (value !== undefined) plain[channel] = value
  }
  return plain
}

/** Freezes values that a later state shares. */
export function freezeState(state: GraphState): void {
  for (const held of Object.values(state)) freezeHeld(held)
}

function shown(state: GraphState, channel: string): Json | undefined {
  if (Object.hasOwn(state, channel)) freezeHeld(state[channel])
  return Object.freeze(valueIn(state, channel))
}

/** Chunks of a list are immutable: each is frozen once, however often the list is read. */
function freezeHeld(held: ChannelValue | undefined): void {
  if (held === undefined) return
  if ('chunks' in held) for (const chunk of held.chunks) frozen(chunk)
  else frozen(held.value)
}

/** The session shares these objects. A frozen value is frozen deeply, and is skipped. */
function frozen(value: Json | undefined): Json | undefined {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const inner of Object.values(value)) frozen(inner)
  return Object.freeze(value)
}
