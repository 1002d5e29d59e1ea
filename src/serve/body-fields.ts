/** Fields of a JSON body that has no schema of its own. */
import { badRequest } from './problem.ts'

export type Fields = Readonly<Record<string, unknown>>

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Throws a problem that names the value if it is no object. */
export function fieldsOf(name: string, value: unknown): Fields {
  if (!isFields(value)) throw badRequest(`${name} must be an object.`)
  return value
}
