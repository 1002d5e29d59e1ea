/** A ready-made tool with which the model asks the person. Knows nothing of delivery. */
import { checkOptions, defined, type Json, type JsonObject } from '../protocol/index.ts'
import { controlTool } from './control-tool.ts'
import { defineTool } from './define-tool.ts'
import { jsonSchema } from './json-schema.ts'
import { ask, DEFAULT_NAME } from './result.ts'
import type { Tool } from './tool.ts'

/** The model's arguments. */
export interface AskUserInput {
  readonly question: string
  readonly kind?: 'text' | 'confirmation' | 'choice'
  readonly options?: readonly string[]
  readonly multiple?: boolean
}

/** The model's result; `reason` is the person's remark beside a yes or no. */
export interface AskUserOutput {
  readonly answer: Json
  readonly reason?: string
}

export function askUser(...args: readonly []): Tool<AskUserInput, AskUserOutput> {
  checkOptions((args as readonly unknown[])[0] ?? {}, { place: 'askUser()', options: {} })
  return controlTool(
    defineTool({
      name: 'ask_user',
      description:
        'Ask the person a question and wait for the answer. Use it only for what you cannot find out yourself.',
      input: jsonSchema<AskUserInput>(PARAMETERS),
      replay: 'safe',
      run: (
        { question, options, multiple, kind = options === undefined ? 'text' : 'choice' },
        { answers, reasons },
      ) => {
        const answer = answers[DEFAULT_NAME]
        const reason = reasons[DEFAULT_NAME]
        if (answer !== undefined) return { answer, ...defined({ reason }) }
        const choice = { options: options ?? [], ...(multiple === true ? { multiple } : {}) }
        return ask({ kind, prompt: question, ...(kind === 'choice' ? choice : {}) })
      },
    }),
  )
}

const PARAMETERS: JsonObject = {
  type: 'object',
  properties: {
    question: { type: 'string', minLength: 1, description: 'The question, as the person will read it.' },
    kind: {
      type: 'string',
      enum: ['text', 'confirmation', 'choice'],
      description: 'What kind of answer: a text, yes or no, or some of the options.',
    },
    options: {
      type: 'array',
      items: { type: 'string' },
      minItems: 1,
      description: 'What can be chosen, for a choice.',
    },
    multiple: { type: 'boolean', description: 'True if several options may be chosen.' },
  },
  required: ['question'],
  additionalProperties: false,
}
