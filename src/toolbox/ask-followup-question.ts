/** `ask_followup_question`: the model asks the person, the turn waits, and the answer is the result. */
import type { Json, JsonObject } from '../protocol/index.ts'
import { ask, controlTool, defineTool, jsonSchema, type Tool } from '../tool/index.ts'

interface FollowupInput {
  readonly question: string
  readonly options?: readonly string[]
}

const PARAMETERS: JsonObject = {
  type: 'object',
  properties: {
    question: {
      type: 'string',
      minLength: 1,
      pattern: '\\S',
      description: 'The question, as the person will read it.',
    },
    options: {
      type: 'array',
      items: { type: 'string', minLength: 1 },
      minItems: 1,
      maxItems: 20,
      uniqueItems: true,
      description: 'The answers to choose from. Leave it out for an answer in free text.',
    },
  },
  required: ['question'],
  additionalProperties: false,
}

export function askFollowupQuestion(): Tool {
  return controlTool(
    defineTool({
      name: 'ask_followup_question',
      description:
        'Asks the person a question and returns the answer. Use it if you need something that you cannot find out yourself.',
      input: jsonSchema<FollowupInput>(PARAMETERS),
      replay: 'safe',
      run: ({ question, options }, { answers }) => {
        const answer: Json | undefined = answers[ANSWER]
        if (answer !== undefined) return { answer }
        const request = { prompt: question, name: ANSWER }
        return options === undefined
          ? ask({ kind: 'text', ...request })
          : ask({ kind: 'choice', options, ...request })
      },
    }),
  )
}

const ANSWER = 'answer'
