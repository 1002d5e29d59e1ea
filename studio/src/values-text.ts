/** The message of a person in the values of a run. Pure. */
import { isObject, type Json, type JsonObject, textIn } from './types.ts'

export interface ValuesMessage {
  readonly text: string
  /** False if the values hold more than the message. */
  readonly isAll: boolean
}

/** The newest message of `messages`, if it is the person's, or else the only text; undefined if there is none. */
export function messageIn(values: Json | undefined): ValuesMessage | undefined {
  if (!isObject(values)) return undefined
  const { messages, ...others } = values
  const list = Array.isArray(messages) ? (messages as readonly Json[]) : []
  const said = personsText(list.at(-1))
  if (said !== undefined) return { text: said, isAll: list.length === 1 && isEmpty(others) }
  const texts = Object.values(others).filter((each) => typeof each === 'string')
  const [only = ''] = texts
  if (list.length > 0 || texts.length !== 1 || only.trim() === '') return undefined
  return { text: only, isAll: false }
}

function personsText(message: Json | undefined): string | undefined {
  if (!isObject(message) || message['role'] !== 'user') return undefined
  return textIn(message['content'])
}

/** True for nothing, and for objects of nothing. */
function isEmpty(value: Json | undefined): boolean {
  if (value === null || value === undefined) return true
  return isObject(value) && Object.values<JsonObject[string]>(value).every((inner) => isEmpty(inner))
}
