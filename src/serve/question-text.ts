/** A question as text that a person can answer by the next message. */
import type { RequestData } from '../protocol/index.ts'
import { optionText, requestText } from '../tool/index.ts'

/** `auth`: how to give access, where a message cannot. */
export function questionText(request: RequestData, auth?: string): string {
  const { kind, options = [], multiple, schema } = request
  const how: Readonly<Record<string, string | undefined>> = {
    confirmation: 'Answer yes or no.',
    choice: [
      ...options.map((option, at) => `${at + 1}. ${optionText(option)}`),
      multiple ? 'Answer with numbers, separated by commas.' : 'Answer with a number or a name.',
    ].join('\n'),
    data: `Answer with JSON${schema === undefined ? '' : ` that fits ${JSON.stringify(schema)}`}.`,
    auth,
  }
  return [requestText(request), how[kind]].filter((line) => line !== undefined).join('\n')
}
