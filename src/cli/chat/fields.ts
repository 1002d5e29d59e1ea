/** Reads a JSON Schema as a form: its fields, if it is flat enough to prompt for them one by one. */

import type { Json, JsonObject } from 'holdfast'
import { optionText } from 'holdfast/tool'
import { jsonFrom } from '../answer.ts'

export interface Field {
  readonly name: string
  readonly type: 'string' | 'number' | 'integer' | 'boolean' | 'json'
  readonly choices?: readonly Json[]
  readonly required: boolean
  /** The expected input, in a few words. */
  readonly hint: string
}

const MOST_FIELDS = 12

/** Undefined if the schema is no object, or has too many fields. */
export function fieldsOf(schema: JsonObject | undefined): readonly Field[] | undefined {
  const properties = schema?.['properties']
  if (schema?.['type'] !== 'object' || typeof properties !== 'object' || properties === null) return undefined
  const entries = Object.entries(properties as Record<string, JsonObject>)
  if (entries.length === 0 || entries.length > MOST_FIELDS) return undefined
  const required = Array.isArray(schema['required']) ? (schema['required'] as readonly Json[]) : []
  return entries.map(([name, property]) => fieldOf(name, property, required.includes(name)))
}

function fieldOf(name: string, property: JsonObject, required: boolean): Field {
  const type = typeOf(property['type'])
  const choices = Array.isArray(property['enum']) ? (property['enum'] as readonly Json[]) : undefined
  const kind =
    choices?.map(optionText).join('|') ??
    { string: 'text', json: 'JSON', boolean: 'y/n', number: 'number', integer: 'whole number' }[type]
  const description = typeof property['description'] === 'string' ? `, ${property['description']}` : ''
  return {
    name,
    type,
    ...(choices === undefined ? {} : { choices }),
    required,
    hint: `${kind}${description}${required ? '' : '; Enter to leave out'}`,
  }
}

function typeOf(type: Json | undefined): Field['type'] {
  return type === 'string' || type === 'number' || type === 'integer' || type === 'boolean' ? type : 'json'
}

export type FieldValue =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly problem: string }

export function fieldFrom({ name, type, choices }: Field, text: string): FieldValue {
  if (choices !== undefined) {
    const value = choices.find((choice) => optionText(choice).toLowerCase() === text.toLowerCase())
    return value === undefined
      ? { ok: false, problem: `${name} is one of ${choices.map(optionText).join(', ')}.` }
      : { ok: true, value }
  }
  if (type === 'string') return { ok: true, value: text }
  if (type === 'boolean') {
    if (/^(y|yes|true)$/i.test(text)) return { ok: true, value: true }
    if (/^(n|no|false)$/i.test(text)) return { ok: true, value: false }
    return { ok: false, problem: `${name} is yes or no.` }
  }
  const value = jsonFrom(text)
  if (type === 'json') return { ok: true, value }
  const fits = typeof value === 'number' && (type === 'number' || Number.isInteger(value))
  return fits
    ? { ok: true, value }
    : { ok: false, problem: `${name} is a ${type === 'integer' ? 'whole ' : ''}number.` }
}
