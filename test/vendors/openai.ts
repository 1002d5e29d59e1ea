/** What both of OpenAI's APIs refuse, in words like their own: names, ids and arguments of calls. */
import { type Complain, fieldsOf, isJsonText, isText } from './reading.ts'

const LONGEST_NAME = 64
const NAME = /^[a-zA-Z0-9_-]+$/

export function checkName(name: unknown, path: string, complain: Complain): void {
  if (isText(name) && name !== '' && !NAME.test(name))
    complain(
      `Invalid '${path}': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`,
    )
  else checkId(name, { path, longest: LONGEST_NAME }, complain)
}

export function checkId(
  id: unknown,
  { path, longest }: { readonly path: string; readonly longest: number },
  complain: Complain,
): void {
  if (!isText(id) || id === '') complain(`Missing required parameter: '${path}'.`)
  else if (id.length > longest) complain(tooLong(path, id, longest))
}

/** Arguments are JSON, as text. */
export function checkArguments(args: unknown, path: string, complain: Complain): void {
  if (!isText(args)) complain(`Invalid type for '${path}': expected a string.`)
  else if (!isJsonText(args)) complain(`Invalid '${path}': the string is not valid JSON.`)
}

export function tooLong(path: string, text: string, most: number): string {
  return `Invalid '${path}': string too long. Expected a string with maximum length ${most}, but got a string with length ${text.length} instead.`
}

/** JSON mode without a schema, which the prompt has to mention. */
export function checkJsonMode(
  format: unknown,
  { prompt, field }: { readonly prompt: unknown; readonly field: string },
  complain: Complain,
): void {
  if (fieldsOf(format)['type'] !== 'json_object' || /json/i.test(JSON.stringify(prompt) ?? '')) return
  complain(`The messages must contain the word 'json' in some form, to use '${field}' of type 'json_object'.`)
}
