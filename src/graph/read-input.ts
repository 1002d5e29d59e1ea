/** Reads a value by a schema: the input of a `Send`, or the answer to a question. */
import { issueLines, type StandardSchema, validate } from '../tool/index.ts'

export interface ReadInput {
  readonly value?: unknown
  readonly problem?: string
}

/** `owner` names the schema in the error of a broken one. */
export async function readInput(schema: StandardSchema, value: unknown, owner: string): Promise<ReadInput> {
  const { issues, ...made } = await validate(schema, value, owner)
  return issues === undefined ? made : { problem: issueLines(issues).join('; ') }
}
