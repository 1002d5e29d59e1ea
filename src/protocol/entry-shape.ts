/**
 * Checks the few fields of an entry that every reader relies on. A writer that gets one wrong is refused: readers could
 * not get past such an entry. All other fields of `data` belong to their writers and readers.
 */
import { ENTRY_TABLE, type EntryKind } from './entry-table.ts'
import { isObject, type JsonObject } from './json.ts'
import { isOutcome } from './outcome.ts'

/** The problem with an entry's data in its current format, or undefined. The caller checks that `data` is an object. */
export function shapeProblem(type: string, data: JsonObject): string | undefined {
  const fields = FIELDS.get(type)
  if (fields === undefined) return undefined
  for (const { field, check, isOptional } of fields) {
    const value = data[field]
    if ((value === undefined && isOptional) || check.holds(value)) continue
    return `${field} must be ${check.what}`
  }
  return undefined
}

interface Check {
  readonly what: string
  readonly holds: (value: unknown) => boolean
}

const CHECKS: { readonly [name: string]: Check } = {
  text: { what: 'a text', holds: isText },
  true: { what: 'true or absent', holds: (value) => value === true },
  turn: { what: 'the number of a turn', holds: isWhole },
  position: { what: 'a position', holds: isWhole },
  time: { what: 'whole milliseconds since 1970', holds: isWhole },
  count: { what: 'a number of messages', holds: isWhole },
  entries: { what: 'a number of entries', holds: isWhole },
  object: { what: 'an object', holds: isObject },
  objects: { what: 'a list of objects', holds: (value) => isList(value, isObject) },
  principal: { what: 'an object with the texts tenant and actor', holds: isPrincipal },
  content: { what: 'a text that is not blank, or a list of text and file parts', holds: isUserContent },
  parts: { what: 'a list of parts', holds: (value) => isList(value, isPart) },
  messages: { what: 'a list of messages', holds: (value) => isList(value, isMessage) },
  tasks: { what: 'a list of tasks', holds: (value) => isList(value, isTask) },
  outcome: { what: 'one of the outcomes of a turn', holds: isOutcome },
}

interface CheckedField {
  readonly field: string
  readonly check: Check
  readonly isOptional: boolean
}

/** The checked fields of each entry type. */
const FIELDS: ReadonlyMap<string, readonly CheckedField[]> = new Map(
  Object.entries<EntryKind>(ENTRY_TABLE).map(([type, { shape = {} }]) => [
    type,
    Object.entries(shape).flatMap(([field, name]) => checkedField(field, name)),
  ]),
)

function checkedField(field: string, name: string): readonly CheckedField[] {
  const isOptional = name.endsWith('?')
  const check = CHECKS[isOptional ? name.slice(0, -1) : name]
  return check === undefined ? [] : [{ field, check, isOptional }]
}

function isList(value: unknown, holds: (element: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(holds)
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

/** Content of a user message, in a form that a prompt can hold. */
function isUserContent(value: unknown): boolean {
  if (typeof value === 'string') return value.trim() !== ''
  return Array.isArray(value) && value.every(isUserPart) && value.some(isNotBlank)
}

function isUserPart(value: unknown): boolean {
  if (!isObject(value)) return false
  const { type, text, data, mediaType } = value as Record<string, unknown>
  return type === 'text' ? typeof text === 'string' : type === 'file' && isText(data) && isText(mediaType)
}

function isNotBlank({ type, text }: { readonly type: string; readonly text?: string }): boolean {
  return type === 'file' || text?.trim() !== ''
}

function isPrincipal(value: unknown): boolean {
  if (!isObject(value)) return false
  const { tenant, actor } = value as Record<string, unknown>
  return isText(tenant) && isText(actor)
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
