/** Requests of both APIs as one: which agent, what the person says now, and what was said before. */
import type { HostInput } from '../../host/index.ts'
import { type Fields, fieldsOf, isFields } from '../body-fields.ts'
import { badRequest } from '../problem.ts'
import { unsupported } from './errors.ts'

export interface ModelRequest {
  /** The name of the agent. */
  readonly model: string
  /** The newest message. */
  readonly message: MessageParts
  /** Texts of system and developer messages, and instructions. */
  readonly system: string
  /** The messages before the newest. */
  readonly history: readonly Fields[]
  readonly format: 'openai' | 'openai-responses'
  readonly isStream: boolean
  /** The name of the conversation in the body. */
  readonly conversation?: string
}

export type MessageParts = Extract<HostInput, readonly unknown[]>

export function chatRequest(body: Fields): ModelRequest {
  const { messages, n, functions, response_format: format } = body
  refuseTools(body)
  if (functions !== undefined) throw unsupported('functions', OWN_TOOLS)
  if (n !== undefined && n !== null && n !== 1) throw unsupported('n', 'an agent gives one reply.')
  refuseFormat('response_format', format)
  if (!Array.isArray(messages)) throw badRequest('messages must be a list.')
  return {
    ...common(body),
    ...splitMessages(messages.map((message) => fieldsOf('A message', message))),
    format: 'openai',
  }
}

export function responsesRequest(body: Fields): ModelRequest {
  const { input, instructions, conversation, background, text } = body
  refuseTools(body)
  if (background === true)
    throw unsupported(
      'background',
      'every turn goes on without its caller. Use GET /v1/responses/{id} to read it.',
    )
  refuseFormat('text.format', isFields(text) ? text['format'] : undefined)
  const items = typeof input === 'string' ? [{ role: 'user', content: input }] : input
  if (!Array.isArray(items)) throw badRequest('input must be a text or a list.')
  const split = splitMessages(items.map((item) => fieldsOf('An item of input', item)))
  const named = isFields(conversation) ? conversation['id'] : conversation
  return {
    ...common(body),
    ...split,
    system: [instructions, split.system]
      .filter((each) => typeof each === 'string' && each !== '')
      .join('\n\n'),
    format: 'openai-responses',
    ...(typeof named === 'string' ? { conversation: named } : {}),
  }
}

const OWN_TOOLS = 'the agent has tools of its own, and runs them itself.'

function refuseTools({ tools }: Fields): void {
  if (Array.isArray(tools) && tools.length > 0) throw unsupported('tools', OWN_TOOLS)
}

function refuseFormat(name: string, format: unknown): void {
  if (isFields(format) && format['type'] !== 'text')
    throw unsupported(name, 'set the output schema of the agent instead.')
}

function common({ model, stream, user }: Fields): Pick<ModelRequest, 'model' | 'isStream' | 'conversation'> {
  if (typeof model !== 'string' || model === '') throw badRequest('model must be the name of an agent.')
  return {
    model,
    isStream: stream === true,
    ...(typeof user === 'string' && user !== '' ? { conversation: user } : {}),
  }
}

function splitMessages(all: readonly Fields[]): Pick<ModelRequest, 'message' | 'system' | 'history'> {
  const isSystem = ({ role }: Fields): boolean => role === 'system' || role === 'developer'
  const spoken = all.filter((message) => !isSystem(message))
  const last = spoken.at(-1)
  if (last?.['role'] !== 'user') throw badRequest('The last message must be of the user.')
  return {
    message: partsOf(last['content']),
    system: all
      .filter(isSystem)
      .map(({ content }) => partsOf(content).map(textOf).join('\n'))
      .join('\n\n'),
    history: spoken.slice(0, -1),
  }
}

function textOf(part: MessageParts[number]): string {
  return part.type === 'text' ? part.text : ''
}

function partsOf(content: unknown): MessageParts {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  if (!Array.isArray(content)) throw badRequest('The content of a message must be a text or a list of parts.')
  return content.map((part) => inputPart(fieldsOf('A part of a message', part)))
}

/** Text, images and files, in the spelling of either API. */
function inputPart({ type, text, image_url: image, file, ...rest }: Fields): MessageParts[number] {
  if ((type === 'text' || type === 'input_text') && typeof text === 'string') return { type: 'text', text }
  const url = isFields(image) ? image['url'] : image
  if (typeof url === 'string') return filePart(url, 'image/*')
  const { file_data: data, filename } = isFields(file) ? file : rest
  if (typeof data === 'string')
    return {
      ...filePart(data, 'application/octet-stream'),
      ...(typeof filename === 'string' ? { name: filename } : {}),
    }
  const name = JSON.stringify(type ?? null)
  throw badRequest(`A part of type ${name} needs its content: text, image_url or file_data.`)
}

/** A data URL names its type; another URL does not. */
function filePart(url: string, unknownType: string): Extract<MessageParts[number], { type: 'file' }> {
  const [, mediaType, data] = /^data:([^;,]+)(?:;[^,]*)?;base64,(.*)$/s.exec(url) ?? []
  return { type: 'file', mediaType: mediaType ?? unknownType, data: data ?? url }
}
