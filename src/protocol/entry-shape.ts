/**
 * The few fields of an entry that every reader relies on. A writer that gets one of them wrong is refused: once such an
 * entry is stored, nobody could read past it. What else is in `data` is the business of those who write and read it.
 */
import type { EntryType } from './entry.ts'
import type { JsonObject } from './json.ts'
import { isOutcome } from './outcome.ts'

/** What is wrong with the data of an entry of this type in its current format; undefined if nothing is. */
export function shapeProblem(type: string, data: JsonObject): string | undefined {
  const wrong = (SHAPES[type as EntryType] ?? []).find(([field, , holds]) => !holds(data[field]))
  return wrong && `${wrong[0]} must be ${wrong[1]}`
}

type Field = readonly [field: string, what: string, holds: (value: unknown) => boolean]

const callId: Field = ['callId', 'a text', isText]
const requestId: Field = ['requestId', 'a text', isText]
const wakeAt: Field = [
  'wakeAt',
  'whole milliseconds since 1970',
  (value) => value === undefined || isWhole(value),
]

const SHAPES: { readonly [T in EntryType]?: readonly Field[] } = {
  release: [wakeAt, ['pause', 'true or absent', (value) => value === undefined || value === true]],
  'turn.start': [['principal', 'an object', isObject]],
  'model.end': [['content', 'a list of parts', (value) => Array.isArray(value) && value.every(isPart)]],
  'tool.start': [callId],
  'tool.end': [callId],
  'tool.late': [callId],
  'request.start': [requestId],
  'request.end': [requestId],
  'turn.end': [['outcome', 'one of the outcomes of a turn', isOutcome], wakeAt],
  compact: [
    ['upTo', 'a position', isWhole],
    ['kept', 'a number of messages', isWhole],
  ],
}

function isPart(value: unknown): boolean {
  if (!isObject(value)) return false
  const { type, callId: id, tool } = value as Record<string, unknown>
  return type === 'tool-call' ? isText(id) && isText(tool) : isText(type)
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value.length > 0
}

function isWhole(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
