/** Finds the JSON values in a model's text. Strict: it repairs nothing, and takes no value out of a broken one. */
import type { Json } from '../protocol/index.ts'

/** The values, in their order; or, without any, the reason in a sentence without a full stop. */
export type FoundJson = { readonly values: readonly Json[] } | { readonly problem: string }

/** Values beyond this are not read. */
export const MOST_VALUES = 10

/**
 * The text as one value; or the content of its only code fence; or every object and list in it, at most one more than
 * `MOST_VALUES`.
 */
export function jsonIn(text: string): FoundJson {
  const trimmed = text.replace(/^\uFEFF/, '').trim()
  if (trimmed === '') return { problem: 'The reply is empty' }
  const whole = parsed(trimmed) ?? fenced(trimmed)
  return whole === undefined ? embedded(trimmed) : { values: [whole.value] }
}

interface Parsed {
  readonly value: Json
}

function parsed(text: string | undefined): Parsed | undefined {
  if (text === undefined) return undefined
  try {
    return { value: JSON.parse(text) as Json }
  } catch {
    return undefined
  }
}

const FENCED_WHOLE = /^```[\w-]*\s([\s\S]*)```$/
const FENCE = /```[\w-]*\s([\s\S]*?)```/g

function fenced(text: string): Parsed | undefined {
  const whole = FENCED_WHOLE.exec(text)?.[1]
  const [only, ...others] = text.matchAll(FENCE)
  const inner = others.length > 0 ? undefined : only?.[1]
  return parsed(whole) ?? parsed(inner)
}

/**
 * Reads each bracket up to its partner: no value inside of a broken or incomplete one counts. A closing bracket without a
 * partner shows that an earlier broken value was longer, as in `[['}'],[]]`: then no value counts.
 */
function embedded(text: string): FoundJson {
  const values: Json[] = []
  let broken: string | undefined
  let isLonger = false
  for (let at = nextBracket(text, 0); at >= 0 && values.length <= MOST_VALUES; ) {
    const end = endOf(text, at)
    if (end === undefined) return { problem: 'Its JSON ends before it is complete' }
    const span = text.slice(at, end)
    const found = parsed(span)
    if (found !== undefined) values.push(found.value)
    else broken ??= span
    at = nextBracket(text, end)
    const between = text.slice(end, at < 0 ? undefined : at)
    isLonger ||= broken !== undefined && /[\]}]/.test(between)
  }
  if (values.length > 0 && !isLonger) return { values }
  if (broken === undefined) return { problem: 'It has no JSON value' }
  return { problem: `It is not valid JSON: ${parseError(broken)}` }
}

function nextBracket(text: string, from: number): number {
  const rest = text.slice(from).search(/[{[]/)
  return rest < 0 ? -1 : from + rest
}

/** The position after the partner of the bracket at `start`; undefined if there is none. */
function endOf(text: string, start: number): number | undefined {
  let depth = 0
  let isText = false
  for (let at = start; at < text.length; at++) {
    const char = text[at]
    if (isText && char === '\\') at += 1
    else if (char === '"') isText = !isText
    else if (isText) continue
    else if (char === '{' || char === '[') depth += 1
    else if (char === '}' || char === ']') depth -= 1
    if (depth === 0 && !isText) return at + 1
  }
  return undefined
}

const LONGEST_ERROR = 200

function parseError(text: string): string {
  try {
    JSON.parse(text)
    return ''
  } catch (error) {
    return (error as Error).message.replace(/\.$/, '').slice(0, LONGEST_ERROR).toWellFormed()
  }
}
