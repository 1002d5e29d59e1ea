/** The channels of a graph's state: their types, and how updates apply to them. */
import type { ChannelKind } from '../protocol/index.ts'
import { invalid } from './invalid.ts'

declare const TYPES: unique symbol
declare const INPUT: unique symbol

/** One part of the state: its value is a `T`, its updates are `U`s. The value must be JSON. */
export interface Channel<T, U = T> {
  readonly kind: ChannelKind
  readonly initial?: T
  /** True: set by the input of the first run, and by no node. */
  readonly isConstant?: boolean
  // A method, so that channels of different types fit into one state.
  reduce?(this: void, current: T, update: U): T
  /** Never set; carries the types. */
  readonly [TYPES]?: readonly [T, U]
}

/** The types of the functions below, for explicit annotations. */
export type ValueChannel<T> = Channel<T | undefined, T>
export type ListChannel<T> = Channel<readonly T[], T | readonly T[]>
export type MergeChannel<T> = Channel<T, Partial<T>>

/** `T`: the type in the input of a run. Nodes have no update for it. */
export interface ConstantChannel<T> extends Channel<T | undefined, never> {
  readonly isConstant: true
  /** Never set; carries the type. */
  readonly [INPUT]?: T
}

export type Channels = { readonly [channel: string]: Channel<unknown, unknown> }

/** The state as nodes and routes see it. */
export type StateOf<C extends Channels> = {
  readonly [Name in keyof C]: C[Name] extends Channel<infer T, infer _> ? T : never
}

/** The update of a node: any of the channels, and nothing else. */
export type UpdateOf<C extends Channels> = {
  readonly [Name in keyof C]?: (C[Name] extends Channel<infer _, infer U> ? U : never) | undefined
}

/** The input of a run: updates, and the constants of the first run. */
export type InputOf<C extends Channels> = {
  readonly [Name in keyof C]?:
    | (C[Name] extends ConstantChannel<infer T> ? T : C[Name] extends Channel<infer _, infer U> ? U : never)
    | undefined
}

/** The newest value counts. Two nodes of one step cannot both write it. */
export function value<T>(): ValueChannel<T>
export function value<T>(initial: T): Channel<T>
export function value<T>(...initial: readonly T[]): ValueChannel<T> {
  return { kind: 'value', ...(initial.length === 0 ? {} : { initial: initial[0] }) }
}

/** Set by the input of the first run and never changed: an update by a node is an error. */
export function constant<T>(): ConstantChannel<T> {
  return { kind: 'value', isConstant: true }
}

/** Appends one item or several. A step costs the same however long the list is. */
export function list<T>(initial: readonly T[] = []): ListChannel<T> {
  return { kind: 'list', initial }
}

/** An update replaces fields of the same name; the others stay. */
export function merge<T extends object>(initial: T): MergeChannel<T> {
  if (initial === undefined) throw withoutInitial('merge(initial)')
  return { kind: 'merge', initial }
}

/** The channel's value is `reducer(current, update)`; `reducer` must be pure. Each change writes the whole value. */
export function reduce<T, U = T>(reducer: (current: T, update: U) => T, initial: T): Channel<T, U> {
  if (initial === undefined) throw withoutInitial('reduce(fn, initial)')
  return { kind: 'reduced', initial, reduce: reducer }
}

function withoutInitial(call: string): Error {
  return invalid('invalid-graph', `a channel has no initial value: write ${call}`)
}
