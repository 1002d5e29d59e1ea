/** The answers in a message to a task that waits. The host checks them before they are stored. */
import type { Part } from '@a2a-js/sdk'
import type { Json, JsonObject, RequestData } from '../../protocol/index.ts'
import { answerFrom } from '../../tool/index.ts'
import { badRequest } from '../problem.ts'

/**
 * Answers by the ids of their requests: as a data part `{ answers: { id: value } }`, or, to the only request, its value as
 * a data part or as text.
 */
export function answersIn(
  parts: readonly Part[],
  requests: readonly RequestData[],
): Readonly<Record<string, Json>> {
  const named = parts.map(namedAnswers).find((answers) => answers !== undefined)
  if (named !== undefined) return named
  const [request, ...others] = requests
  if (request === undefined || others.length > 0)
    throw badRequest(
      `The task waits for ${requests.length} answers. Send a data part { "answers": { … } } with ${requests.map(({ requestId }) => JSON.stringify(requestId)).join(', ')}.`,
    )
  return { [request.requestId]: valueIn(parts, request) }
}

function namedAnswers({ content }: Part): Readonly<Record<string, Json>> | undefined {
  if (content?.$case !== 'data') return undefined
  const { answers } = (content.value ?? {}) as { readonly answers?: Json }
  return typeof answers === 'object' && answers !== null && !Array.isArray(answers)
    ? (answers as JsonObject as Readonly<Record<string, Json>>)
    : undefined
}

function valueIn(parts: readonly Part[], request: RequestData): Json {
  for (const { content } of parts) if (content?.$case === 'data') return (content.value ?? null) as Json
  const texts = parts.flatMap(({ content }) => (content?.$case === 'text' ? [content.value] : []))
  if (texts.length === 0) throw badRequest('Answer with a text or a data part.')
  return answerFrom(request, texts.join('\n'))
}
