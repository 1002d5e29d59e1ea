/**
 * Checks options objects of callers. An unknown name is an error that suggests the right one: a silently ignored option
 * would change the behaviour unnoticed.
 */

import { HoldfastError } from './error.ts'
import { isObject } from './json.ts'
import { isKeyText, KEY_FORM } from './key-text.ts'
import { nearestName } from './nearest-name.ts'
import { quote } from './quote.ts'

/** A kind of value, the allowed texts, or the minimum; null where the code that uses the value checks it. */
export type OptionRule = Kind | readonly string[] | Least | null

/** A number from `least` on, or a duration from `leastMs` milliseconds on. */
type Least = { readonly least: number } | { readonly leastMs: number }

type Kind =
  | 'a text'
  | typeof KEY_FORM
  | 'a number'
  | 'an object'
  | 'a list'
  | 'a function'
  | 'an AbortSignal'
  | 'a timer with wait() and after()'
  | 'true or false'

/** Every option of one object with its rule: an option added to the type must be added here. */
export type OptionRules<T> = { readonly [Option in keyof Required<T>]: OptionRule }

/** Names of other frameworks, and what to write here. */
export type ForeignNames = Readonly<Record<string, string>>

export interface OptionSet<T> {
  /** Subject of the error message: `The config of an agent`, `executeTurn()`. */
  readonly place: string
  readonly options: OptionRules<T>
  readonly foreign?: ForeignNames
}

const KINDS: { readonly [K in Kind]: (value: unknown) => boolean } = {
  'a text': (value) => typeof value === 'string' && value !== '',
  [KEY_FORM]: isKeyText,
  'a number': (value) => typeof value === 'number' && !Number.isNaN(value),
  'an object': isObject,
  'a list': (value) => Array.isArray(value),
  'a function': (value) => typeof value === 'function',
  'a timer with wait() and after()': isTimer,
  'an AbortSignal': (value) => isObject(value) && 'aborted' in value && 'addEventListener' in value,
  'true or false': (value) => typeof value === 'boolean',
}

/** Throws `invalid-option` for a value that is no object, an unknown name, or a value of the wrong kind. */
export function checkOptions<T>(input: unknown, { place, options, foreign }: OptionSet<T>): void {
  if (!isObject(input)) throw invalidOption(place, `takes options as an object, not ${shown(input)}`)
  const names = Object.keys(options)
  for (const [option, value] of Object.entries(input) as [string, unknown][]) {
    if (!names.includes(option)) throw unknownName(place, option, adviceFor(option, names, foreign))
    const rule = options[option as keyof T]
    if (value !== undefined) checkValue(option, value, rule)
  }
}

function checkValue(option: string, value: unknown, rule: OptionRule): void {
  if (rule === null) return
  if (typeof rule === 'object' && 'least' in rule) atLeast(option, value, rule.least)
  else if (typeof rule === 'object' && 'leastMs' in rule) checkMs(option, value, rule.leastMs)
  else if (!(typeof rule === 'string' ? KINDS[rule](value) : rule.includes(value as string)))
    throw invalidOption(option, `must be ${ruleText(rule)}, not ${shown(value)}`)
}

/** Throws `invalid-option` for an unknown name, and suggests the nearest one. */
export function checkName(place: string, name: string, known: readonly string[]): void {
  if (!known.includes(name)) throw unknownName(place, name, adviceFor(name, known))
}

function unknownName(place: string, name: string, advice: string): HoldfastError {
  return new HoldfastError('invalid-option', {
    message: `${place} has no ${quote(name)}. ${advice}`,
    details: { option: name },
  })
}

function adviceFor(name: string, known: readonly string[], foreign: ForeignNames = {}): string {
  if (Object.hasOwn(foreign, name)) return `Write ${foreign[name]} instead.`
  if (known.length === 0) return 'It takes no options.'
  const meant = nearestName(name, known)
  return meant === undefined ? `Known are ${known.join(', ')}.` : `Did you mean ${meant}?`
}

export function atLeast(option: string, value: unknown, least: number): void {
  if (typeof value === 'number' && value >= least) return
  throw invalidOption(option, `must be a number from ${least} on, not ${shown(value)}`)
}

/** Dates are bounded, and timestamps are whole numbers. */
const MOST_MS = 36_500 * 24 * 60 * 60 * 1000

/** Checks a duration, which must be finite. */
export function checkMs(option: string, value: unknown, least: number): void {
  atLeast(option, value, least)
  if ((value as number) > MOST_MS)
    throw invalidOption(option, `must be milliseconds, at most 100 years of them, not ${shown(value)}`)
}

export function invalidOption(option: string, why: string): HoldfastError {
  return new HoldfastError('invalid-option', { message: `${option} ${why}.`, details: { option } })
}

export function shown(value: unknown): string {
  if (typeof value === 'string') return quote(value)
  if (typeof value === 'function') return 'a function'
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' && value !== null ? 'an object' : String(value)
}

function isTimer(value: unknown): boolean {
  const { wait, after } = (value ?? {}) as Record<string, unknown>
  return typeof wait === 'function' && typeof after === 'function'
}

function ruleText(rule: Kind | readonly string[]): string {
  if (typeof rule === 'string') return rule
  return [rule.slice(0, -1).join(', '), ...rule.slice(-1)].filter((part) => part !== '').join(' or ')
}
