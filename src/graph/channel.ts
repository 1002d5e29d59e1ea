/** The parts of a graph's state: what each holds, and how what nodes say of it counts. */
import type { ChannelKind } from '../protocol/index.ts'
import { invalid } from './invalid.ts'

declare const TYPES: unique symbol

/** One part of the state: it holds a `T`, and nodes say a `U` of it. What it holds must be JSON. */
export interface Channel<T, U = T> {
  readonly kind: ChannelKind
  readonly initial?: T
  // A method, so that channels of different types fit into one state.
  reduce?(this: void, current: T, said: U): T
  /** Never there; it carries the types. */
  readonly [TYPES]?: readonly [T, U]
}

/** What the functions below make, for those who write types down. */
export type ValueChannel<T> = Channel<T | undefined, T>
export type ListChannel<T> = Channel<readonly T[], T | readonly T[]>
export type MergeChannel<T> = Channel<T, Partial<T>>

export type Channels = { readonly [channel: string]: Channel<unknown, unknown> }

/** What nodes and routes are shown. */
export type StateOf<C extends Channels> = {
  readonly [Name in keyof C]: C[Name] extends Channel<infer T, infer _> ? T : never
}

/** What nodes say: any of the channels, and nothing else. */
export type UpdateOf<C extends Channels> = {
  readonly [Name in keyof C]?: (C[Name] extends Channel<infer _, infer U> ? U : never) | undefined
}

/** The newest value counts. Two nodes of one step cannot both say it. */
export function value<T>(): ValueChannel<T>
export function value<T>(initial: T): Channel<T>
export function value<T>(...initial: readonly T[]): ValueChannel<T> {
  return { kind: 'value', ...(initial.length === 0 ? {} : { initial: initial[0] }) }
}

/** What is said, one or several, is added at the end. A step costs the same however long the list is. */
export function list<T>(initial: readonly T[] = []): ListChannel<T> {
  return { kind: 'list', initial }
}

/** Fields that are said replace those of the same name, and the others stay. */
export function merge<T extends object>(initial: T): MergeChannel<T> {
  if (initial === undefined) throw withoutInitial('merge(initial)')
  return { kind: 'merge', initial }
}

/** What is held is what `reducer` makes of it and of what is said; a pure function. All of it is written at each change. */
export function reduce<T, U = T>(reducer: (current: T, said: U) => T, initial: T): Channel<T, U> {
  if (initial === undefined) throw withoutInitial('reduce(fn, initial)')
  return { kind: 'reduced', initial, reduce: reducer }
}

function withoutInitial(call: string): Error {
  return invalid('invalid-graph', `a channel has no value to begin with: write ${call}`)
}
