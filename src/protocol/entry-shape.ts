/**
 * The few fields of an entry that every reader relies on. A writer that gets one of them wrong is refused: once such an
 * entry is stored, nobody could read past it. What else is in `data` is the business of those who write and read it.
 */
import type { EntryType } from './entry.ts'
import type { JsonObject } from './json.ts'
import { isOutcome } from './outcome.ts'

/**
 * What is wrong with the data of an entry of this type in its current format; undefined if nothing is. That it is an
 * object at all is for the caller to know.
 */
export function shapeProblem(type: string, data: JsonObject): string | undefined {
  const wrong = (SHAPES[type as EntryType] ?? []).find(([field, , holds]) => !holds(data[field]))
  return wrong && `${wrong[0]} must be ${wrong[1]}`
}

type Field = readonly [field: string, what: string, holds: (value: unknown) => boolean]

const callId: Field = ['callId', 'a text', isText]
const requestId: Field = ['requestId', 'a text', isText]
const wakeAt: Field = ['wakeAt', 'whole milliseconds since 1970', maybe(isWhole)]

const principal: Field = ['principal', 'an object with the texts tenant and actor', maybe(isPrincipal)]
const origin: Field = ['origin', 'an object', maybe(isObject)]
const asked: readonly Field[] = [
  ['limits', 'an object', maybe(isObject)],
  ['metadata', 'an object', maybe(isObject)],
]

/** Of what comes into the inbox, a field that is missing is left to whoever takes it: that one can say so to the sender. */
const SHAPES: { readonly [T in EntryType]?: readonly Field[] } = {
  input: [
    ['message', 'a text that is not blank, or a list of text and file parts', maybe(isUserContent)],
    ['values', 'an object', maybe(isObject)],
    principal,
    origin,
    ...asked,
  ],
  answer: [['requestId', 'a text', maybe(isText)], principal, origin],
  cancel: [['turn', 'the number of a turn', maybe(isWhole)]],
  'late-result': [['callId', 'a text', maybe(isText)]],
  release: [wakeAt, ['pause', 'true or absent', (value) => value === undefined || value === true]],
  'turn.start': [
    ['principal', 'an object', isObject],
    ['trimmedUpTo', 'a position', maybe(isWhole)],
  ],
  'model.end': [['content', 'a list of parts', (value) => Array.isArray(value) && value.every(isPart)]],
  'tool.start': [callId],
  'tool.end': [callId],
  'tool.late': [callId],
  usage: [callId],
  'request.start': [requestId],
  'request.end': [requestId, origin],
  'turn.end': [['outcome', 'one of the outcomes of a turn', isOutcome], wakeAt],
  import: [
    ['messages', 'a list of messages', (value) => Array.isArray(value) && value.every(isMessage)],
    ['key', 'a text', isText],
    ['continues', 'a number of entries', maybe(isWhole)],
    origin,
  ],
  'graph.start': [
    ['channels', 'an object', isObject],
    ['update', 'an object', isObject],
    ['changes', 'an object', maybe(isObject)],
  ],
  'graph.queue': [['update', 'an object', isObject], origin],
  'graph.step': [
    ['tasks', 'a list of tasks', (value) => Array.isArray(value) && value.every(isTask)],
    ['changes', 'an object', maybe(isObject)],
  ],
  'node.end': [
    ['task', 'a text', isText],
    ['update', 'an object', maybe(isObject)],
  ],
  'effect.start': [callId, ['task', 'a text', isText], ['key', 'a text', isText]],
  'effect.end': [callId],
  active: [['values', 'a list of what is chosen', (value) => Array.isArray(value) && value.every(isObject)]],
  compact: [
    ['upTo', 'a position', isWhole],
    ['kept', 'a number of messages', isWhole],
  ],
}

function isMessage(value: unknown): boolean {
  if (!isObject(value)) return false
  const { role, content } = value as Record<string, unknown>
  if (role === 'user') return isUserContent(content)
  if (role === 'assistant') return Array.isArray(content) && content.every(isPart)
  return role === 'tool' && Array.isArray(content) && content.every(isResult)
}

function isTask(value: unknown): boolean {
  if (!isObject(value)) return false
  const { task, node } = value as Record<string, unknown>
  return isText(task) && isText(node)
}

function isResult(value: unknown): boolean {
  return isObject(value) && isText((value as Record<string, unknown>)['callId'])
}

/** What a user says: something to read, in a form that a prompt can be made of. */
function isUserContent(value: unknown): boolean {
  if (typeof value === 'string') return value.trim() !== ''
  return Array.isArray(value) && value.every(isUserPart) && value.some(saysSomething)
}

function isUserPart(value: unknown): boolean {
  if (!isObject(value)) return false
  const { type, text, data, mediaType } = value as Record<string, unknown>
  return type === 'text' ? typeof text === 'string' : type === 'file' && isText(data) && isText(mediaType)
}

function saysSomething({ type, text }: { readonly type: string; readonly text?: string }): boolean {
  return type === 'file' || text?.trim() !== ''
}

function isPrincipal(value: unknown): boolean {
  if (!isObject(value)) return false
  const { tenant, actor } = value as Record<string, unknown>
  return isText(tenant) && isText(actor)
}

function maybe(holds: (value: unknown) => boolean): (value: unknown) => boolean {
  return (value) => value === undefined || holds(value)
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
