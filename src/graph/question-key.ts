/** The key of a question: an answer counts only for a question with the same one. */
import { type AskRequest, argumentsKey, isStandardSchema, jsonSchemaOf, toJson } from '../tool/index.ts'
import type { Run } from './run.ts'

/**
 * Over all that a person sees of the question, without secrets: the same in every process. Undefined for a question that
 * cannot be stored, and so cannot be asked.
 */
export function questionKey(
  run: Run,
  { kind, prompt, options, multiple, schema, about }: AskRequest,
): string | undefined {
  try {
    const jsonSchema = isStandardSchema(schema) ? jsonSchemaOf(schema, '') : schema
    const json = toJson({ kind, prompt, options, multiple: multiple === true, schema: jsonSchema, about })
    return json instanceof Error ? undefined : argumentsKey('question', run.redacted(json))
  } catch {
    return undefined
  }
}
