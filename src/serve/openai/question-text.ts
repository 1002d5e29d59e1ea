/** A question as text that a person can answer by the next message. */
import type { RequestData } from '../../protocol/index.ts'
import { optionText, requestText } from '../../tool/index.ts'

export function questionText(request: RequestData): string {
  const { kind, options = [], multiple, schema } = request
  const how: Readonly<Record<string, string>> = {
    confirmation: 'Answer yes or no.',
    choice: [
      ...options.map((option, at) => `${at + 1}. ${optionText(option)}`),
      multiple ? 'Answer with numbers, separated by commas.' : 'Answer with a number or a name.',
    ].join('\n'),
    data: `Answer with JSON${schema === undefined ? '' : ` that fits ${JSON.stringify(schema)}`}.`,
    auth: 'Send your credentials to the server, and write again.',
  }
  return [requestText(request), how[kind]].filter((line) => line !== undefined).join('\n')
}
