/** The ways in which a model breaks the format, and the value that a fair reader takes from each reply. */
import type { Json, JsonObject } from '../../src/index.ts'
import { isObject } from './generated-schemas.ts'

export interface BrokenReply {
  readonly text: string
  readonly finish?: string
  /** The one value in the reply; undefined if there is none, or more than one. */
  readonly value: Json | undefined
  /** A JSON text inside of a text that is no JSON: then any reading is fair. */
  readonly isUnclear?: boolean
}

/** Picks a number below `most`. */
export type Pick = (most: number) => number

export interface Attempt {
  /** A value that fits, and another one. */
  readonly value: Json
  readonly other: Json
  readonly pick: Pick
}

type Way = (attempt: Attempt) => BrokenReply

const textOf = (value: Json): string => JSON.stringify(value)
const isPrimitive = (value: Json): boolean => typeof value !== 'object' || value === null
/** Only brackets mark a value inside of other text. */
const around = (value: Json): Reading => ({
  value: isPrimitive(value) ? undefined : value,
  isUnclear: isPrimitive(value),
})
type Reading = { readonly value: Json | undefined; readonly isUnclear: boolean }

export const WAYS: Readonly<Record<string, Way>> = {
  'text around it': ({ value }) => ({
    text: `Here you are:\n\n${textOf(value)}\n\nAnything else?`,
    ...around(value),
  }),
  'a code fence': ({ value }) => ({ text: `\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\``, value }),
  'two values': ({ value, other }) => ({
    text: `${textOf(value)}\n${textOf(other)}`,
    value: undefined,
    isUnclear: isPrimitive(value) || isPrimitive(other),
  }),
  'a wrong type': ({ value, pick }) => {
    const wrong: readonly Json[] = ['text', 4.5, true, [], {}]
    return whole(changedAt(value, pick, () => wrong[pick(wrong.length)] as Json))
  },
  'a missing field': ({ value, pick }) =>
    whole(changedObject(value, pick, (fields) => without(fields, pick))),
  'an extra field': ({ value, pick }) =>
    whole(changedObject(value, pick, (fields) => ({ ...fields, extra: 1 }))),
  'numbers as text': ({ value }) =>
    whole(mapped(value, (leaf) => (typeof leaf === 'number' ? `${leaf}` : leaf))),
  'a null': ({ value, pick }) => whole(changedAt(value, pick, () => null)),
  'a list around it': ({ value }) => whole([value]),
  'cut off': ({ value, pick }) => {
    const text = textOf(value)
    return { text: text.slice(0, pick(text.length)), finish: 'length', value: undefined }
  },
  'cut off, unnoticed': ({ value, pick }) => {
    const text = textOf(value)
    const cut = text.slice(0, pick(text.length))
    return { text: cut, value: parsed(cut), isUnclear: isPrimitive(value) }
  },
  'no JSON': ({ value, pick }) => {
    const text = textOf(value)
    const broken = [
      text.replace(/[}\]]$/, ',$&'),
      `${text.slice(0, -1)}, NaN${text.slice(-1)}`,
      text.replaceAll('"', "'"),
      `// the answer\n${text}`.replace(/[}\]]$/, ''),
      `${text};x = 1`.replace(/^[{[]/, '$& undefined,'),
    ][pick(5)] as string
    return { text: broken, value: parsed(broken), isUnclear: isPrimitive(value) }
  },
  'no answer': ({ value, pick }) => {
    const replies: readonly BrokenReply[] = [
      { text: '', value: undefined },
      { text: ' \n', value: undefined },
      { text: 'I cannot help with that.', value: undefined },
      { text: textOf(value), finish: 'content-filter', value: undefined },
    ]
    return replies[pick(replies.length)] as BrokenReply
  },
}

function whole(value: Json): BrokenReply {
  return { text: textOf(value), value }
}

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}

/** The value with one of its parts changed, itself included. */
function changedAt(value: Json, pick: Pick, change: (part: Json) => Json): Json {
  const parts = countOf(value)
  let left = pick(parts)
  const visit = (part: Json): Json => {
    if (left-- === 0) return change(part)
    return left < 0 ? part : inside(part, visit)
  }
  return visit(value)
}

function countOf(value: Json): number {
  let count = 0
  mapped(
    value,
    (leaf) => leaf,
    () => (count += 1),
  )
  return count
}

function changedObject(value: Json, pick: Pick, change: (fields: JsonObject) => Json): Json {
  let objects = 0
  mapped(
    value,
    (leaf) => leaf,
    (part) => (objects += isObject(part) ? 1 : 0),
  )
  let left = objects === 0 ? -1 : pick(objects)
  const visit = (part: Json): Json => {
    if (isObject(part) && left-- === 0) return change(part)
    return inside(part, visit)
  }
  return visit(value)
}

function without(fields: JsonObject, pick: Pick): JsonObject {
  const names = Object.keys(fields)
  const gone = names[pick(Math.max(1, names.length))]
  return Object.fromEntries(Object.entries(fields).filter(([name]) => name !== gone))
}

function mapped(value: Json, leaf: (value: Json) => Json, see: (part: Json) => unknown = () => {}): Json {
  see(value)
  if (isPrimitive(value)) return leaf(value)
  return inside(value, (part) => mapped(part, leaf, see))
}

function inside(value: Json, change: (part: Json) => Json): Json {
  if (Array.isArray(value)) return (value as readonly Json[]).map(change)
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, part = null]) => [name, change(part)]))
}
