/** `attempt_completion`: the model reports its result. Ends nothing by itself: the reader of the call decides. */
import type { JsonObject } from '../protocol/index.ts'
import { controlTool, defineTool, jsonSchema, type Tool } from '../tool/index.ts'

interface CompletionInput {
  readonly result: string
  readonly command?: string
}

const PARAMETERS: JsonObject = {
  type: 'object',
  properties: {
    result: {
      type: 'string',
      minLength: 1,
      pattern: '\\S',
      description: 'The result of the task: what was done, which files changed, and how it was checked.',
    },
    command: {
      type: 'string',
      description: 'A command that shows the result, for the person. It is not run.',
    },
  },
  required: ['result'],
  additionalProperties: false,
}

export function attemptCompletion(): Tool {
  return controlTool(
    defineTool({
      name: 'attempt_completion',
      description:
        'Reports that the task is done, with its result. Call it once, alone, after you have checked your work.',
      input: jsonSchema<CompletionInput>(PARAMETERS),
      replay: 'safe',
      run: ({ result, command }) => ({ result, ...(command === undefined ? {} : { command }) }),
      display: ({ result }) => result,
    }),
  )
}
