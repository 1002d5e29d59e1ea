/** Reads a value by a schema: the input of a `Send`, or the answer to a question. */
import { issueLines, type StandardSchema } from '../tool/index.ts'

export interface ReadInput {
  readonly value?: unknown
  readonly problem?: string
}

export async function readInput(schema: StandardSchema, value: unknown): Promise<ReadInput> {
  const { issues, ...made } = await schema['~standard'].validate(value)
  return issues === undefined ? made : { problem: issueLines(issues).join('; ') }
}
