/** The body of a chat request, as `DefaultChatTransport` of the AI SDK sends it. */
import type { HostInput } from '../../host/index.ts'
import type { Json } from '../../protocol/index.ts'
import { type Fields, fieldsOf, isFields } from '../body-fields.ts'
import { badRequest } from '../problem.ts'

export interface ChatRequest {
  readonly id: string
  readonly isRegenerate: boolean
  /** The newest message, if it is the person's. Older ones are in the journal. */
  readonly message?: { readonly id: string; readonly content: HostInput }
  /** Answers by request id, as the body names them. */
  readonly answers: Readonly<Record<string, Json>>
  /** Approvals of the last reply by request id. */
  readonly approvals: Readonly<Record<string, Json>>
  /** Results by call id, of calls in the last reply that the client ran. */
  readonly results: Readonly<Record<string, Json>>
}

export function chatRequest(body: unknown): ChatRequest {
  const { id, messages, trigger = 'submit-message', messageId, answers = {} } = fieldsOf('The body', body)
  if (typeof id !== 'string' || id === '') throw badRequest('id: name the chat with a text.')
  if (trigger !== 'submit-message' && trigger !== 'regenerate-message')
    throw badRequest('trigger must be submit-message or regenerate-message.')
  const last = fieldsOf('The last of messages', Array.isArray(messages) ? messages.at(-1) : undefined)
  const message = last['role'] === 'user' ? personsMessage(last) : undefined
  if (message !== undefined && messageId === message.id && trigger === 'submit-message')
    throw badRequest(
      'A message that was sent cannot be edited: the journal keeps it. Send a new one, or fork the conversation before it.',
    )
  return {
    id,
    isRegenerate: trigger === 'regenerate-message',
    ...(message === undefined ? {} : { message }),
    answers: fieldsOf('answers', answers) as Record<string, Json>,
    ...(message === undefined ? repliesIn(partsOf(last)) : { approvals: {}, results: {} }),
  }
}

function partsOf({ parts }: Fields): readonly Fields[] {
  if (!Array.isArray(parts)) throw badRequest('The last message has no parts.')
  return parts.map((part) => fieldsOf('A part of a message', part))
}

function personsMessage(message: Fields): { readonly id: string; readonly content: HostInput } {
  const { id } = message
  if (typeof id !== 'string' || !/^[\x21-\x7e]{1,180}$/.test(id))
    throw badRequest('The id of a message must have 1 to 180 visible ASCII characters.')
  return { id, content: partsOf(message).map(inputPart) }
}

type InputPart = Extract<HostInput, readonly unknown[]>[number]

function inputPart({ type, text, mediaType, url, filename }: Fields): InputPart {
  if (type === 'text' && typeof text === 'string') return { type: 'text', text }
  if (type === 'file' && typeof url === 'string' && typeof mediaType === 'string')
    return {
      type: 'file',
      mediaType,
      data: url.replace(/^data:[^,]*;base64,/, ''),
      ...(typeof filename === 'string' ? { name: filename } : {}),
    }
  throw badRequest(`A message of a person has text and file parts, not ${JSON.stringify(type ?? null)}.`)
}

/** The decisions and results that a client has added to the parts of the last reply. */
function repliesIn(parts: readonly Fields[]): Pick<ChatRequest, 'approvals' | 'results'> {
  const approvals: Record<string, Json> = {}
  const results: Record<string, Json> = {}
  for (const { state, toolCallId, approval, output, errorText } of parts) {
    if (state === 'approval-responded' && isFields(approval)) {
      const { id, approved, reason } = approval
      const because = typeof reason === 'string' && reason !== '' ? { reason } : {}
      approvals[String(id)] = { approved: approved === true, ...because }
    } else if (typeof toolCallId === 'string') {
      if (state === 'output-available') results[toolCallId] = output as Json
      if (state === 'output-error') results[toolCallId] = { error: String(errorText) }
    }
  }
  return { approvals, results }
}
