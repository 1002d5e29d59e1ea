/**
 * Structured output: the schema of a reply, the instruction for the model, and the judgement of a reply. Shared by turns
 * and `llmDo`; it must not know either.
 */
import type { ModelRequest } from '../model/index.ts'
import { invalidOption, type Json, type JsonObject, shown } from '../protocol/index.ts'
import {
  isStandardSchema,
  issueLines,
  jsonSchemaOf,
  type StandardSchema,
  thrownText,
  toJson,
  validate,
} from '../tool/index.ts'
import { jsonIn, MOST_VALUES } from './json-in-text.ts'

export interface OutputSchema {
  /** Validates; its result is the output. */
  readonly schema: StandardSchema
  /** The form for models and for the journal. */
  readonly json: JsonObject
}

/** Repeated replies to an invalid one, if not configured. */
export const OUTPUT_RETRIES = 2

/** Checks the schema of an option. Throws `invalid-option`. */
export function outputSchema(option: string, schema: unknown): OutputSchema {
  if (!isStandardSchema(schema))
    throw invalidOption(
      option,
      `must be a schema: z.object({ … }) of Zod, Valibot or ArkType, or jsonSchema({ … }), not ${shown(schema)}`,
    )
  return { schema, json: jsonSchemaOf(schema, `Write ${option}: jsonSchema({ … }) instead.`) }
}

export function checkOutputRetries(retries: unknown): void {
  if (Number.isSafeInteger(retries) && (retries as number) >= 0) return
  throw invalidOption('outputRetries', `must be a whole number from 0 on, not ${shown(retries)}`)
}

/** Asks for JSON mode if every output is an object: JSON modes write nothing else. */
export function jsonRequest(output: OutputSchema | undefined): Pick<ModelRequest, 'json'> {
  return output?.json['type'] === 'object' ? { json: true } : {}
}

/** The system prompt with the instruction at its end, if there is an output. */
export function withInstruction(
  system: string | undefined,
  output: OutputSchema | undefined,
  { hasTools }: { readonly hasTools: boolean },
): string | undefined {
  if (output === undefined) return system
  const when = hasTools ? 'Call tools as you need them. When you have finished, reply' : 'Reply'
  const instruction = `${when} with one JSON value that fits this JSON Schema, and nothing else: no other text, no code fence.\n${JSON.stringify(output.json)}`
  return system?.trim() ? `${system}\n\n${instruction}` : instruction
}

/** The schema's own result, or what is wrong with the reply: sentences without a full stop. */
export type ReplyVerdict = { readonly value: unknown } | { readonly issues: readonly string[] }

/** Judges a reply without calls. Exactly one JSON value in its text must fit. Never fails. */
export async function judgeReply(
  { text, finish }: { readonly text: string; readonly finish: string },
  schema: StandardSchema,
): Promise<ReplyVerdict> {
  // A number that was cut off is another number.
  if (finish === 'length') return { issues: ['The reply was cut off before its end; be shorter'] }
  if (finish === 'content-filter') return { issues: ['The reply was stopped by a content filter'] }
  const found = jsonIn(text)
  if ('problem' in found) return { issues: [found.problem] }
  if (found.values.length > MOST_VALUES) return { issues: [`It has more than ${MOST_VALUES} JSON values`] }
  const verdicts = await Promise.all(found.values.map((value) => validated(value, schema)))
  const fitting = verdicts.filter((verdict) => 'value' in verdict)
  if (fitting.length > 1) return { issues: ['It has several JSON values that fit, and one is expected'] }
  return fitting[0] ?? (verdicts.at(-1) as ReplyVerdict)
}

async function validated(value: Json, schema: StandardSchema): Promise<ReplyVerdict> {
  const given = toJson(value, { isExact: true })
  if (given instanceof Error) return { issues: [given.message] }
  try {
    const result = await validate(schema, value, 'The `output` schema')
    return result.issues === undefined ? { value: result.value } : { issues: issueLines(result.issues) }
  } catch (error) {
    return { issues: [`It cannot be checked: ${thrownText(error).replace(/\.$/, '')}`] }
  }
}

/** The message that returns an invalid reply to the model. */
export function correction(issues: readonly string[]): string {
  return `Your reply is not the required output. ${issues.join('; ')}. Reply again with one JSON value that fits the JSON Schema, and nothing else.`
}

/** The message of the failure after the last invalid reply. */
export function invalidOutput(replies: number, issues: readonly string[]): string {
  const times = replies === 1 ? 'The reply is' : `${replies} replies are`
  return `${times} not the required output. ${replies === 1 ? '' : 'The last one: '}${issues.join('; ')}.`
}
