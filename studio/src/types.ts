/** Types of the client that the page shows. */
import type { ClientEvent, TurnResult } from 'holdfast/client'

export type Entry = Extract<ClientEvent, { type: 'entry' }>['entry']
export type Delta = Extract<ClientEvent, { type: 'delta' }>['event']
export type RequestData = TurnResult['requests'][number]
export type Json = NonNullable<TurnResult['output']> | null
export type JsonObject = Entry['data']

/** The names of agents, flows and graphs; `graphs`: those of them that take values. */
export interface Names {
  readonly all: readonly string[]
  readonly graphs: readonly string[]
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function textIn(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** An id or a name in the data of an entry. */
export function nameIn(value: unknown): string {
  return textIn(value) ?? ''
}
