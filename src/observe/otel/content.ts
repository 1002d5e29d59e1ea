/** Messages and prompts in the JSON form of the conventions. Inline files are described, not copied. */
import type { ObservedRequest } from '../../loop/index.ts'
import type { AssistantPart, FilePart, Json, JsonObject, Message, UserContent } from '../../protocol/index.ts'
import { ATTRIBUTE } from './names.ts'

type Part = Exclude<Message['content'], string>[number]

/** The content of a request, as attributes. */
export function requestContent({ system, messages, tools }: ObservedRequest): Record<string, string> {
  return {
    ...(system === undefined ? {} : { [ATTRIBUTE.system]: JSON.stringify([text(system)]) }),
    [ATTRIBUTE.inputMessages]: inputMessages(messages),
    ...(tools.length === 0 ? {} : { [ATTRIBUTE.toolDefinitions]: JSON.stringify(tools.map(definition)) }),
  }
}

export function inputMessages(messages: readonly Pick<Message, 'role' | 'content'>[]): string {
  return JSON.stringify(messages.map(({ role, content }) => ({ role, parts: parts(content) })))
}

export function userMessage(content: UserContent): { readonly role: 'user'; readonly content: UserContent } {
  return { role: 'user', content }
}

export function outputMessages(content: readonly AssistantPart[], finish: string): string {
  return JSON.stringify([{ role: 'assistant', parts: parts(content), finish_reason: finishReason(finish) }])
}

const REASONS: Readonly<Record<string, string>> = {
  'tool-calls': 'tool_call',
  'content-filter': 'content_filter',
}

export function finishReason(finish: string): string {
  return REASONS[finish] ?? finish
}

function parts(content: Message['content']): readonly Json[] {
  return typeof content === 'string' ? [text(content)] : content.map(part)
}

function part(of: Part): Json {
  if (of.type === 'text') return text(of.text)
  if (of.type === 'reasoning') return { type: 'reasoning', content: of.text }
  if (of.type === 'tool-call') return { type: 'tool_call', id: of.callId, name: of.tool, arguments: of.args }
  if (of.type === 'tool-result') return { type: 'tool_call_response', id: of.callId, response: of.output }
  return file(of)
}

function file({ mediaType, name, data }: FilePart): JsonObject {
  const modality = /^(image|video|audio)\//.exec(mediaType)?.[1] ?? 'document'
  const about = { mime_type: mediaType, modality }
  if (/^https?:/.test(data)) return { type: 'uri', uri: data, ...about }
  return { type: 'holdfast.file', ...about, ...(name === undefined ? {} : { name }), size: data.length }
}

function text(content: string): JsonObject {
  return { type: 'text', content }
}

function definition({ name, description, parameters }: ObservedRequest['tools'][number]): Json {
  return {
    type: 'function',
    name,
    ...(description === undefined ? {} : { description }),
    ...(parameters === undefined ? {} : { parameters }),
  }
}
