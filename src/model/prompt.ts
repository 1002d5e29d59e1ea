/**
 * Projects messages, which are in no provider's dialect, into the prompt of one model. What a provider attached goes
 * back only to the model that it came from, and call ids on the wire are ours (R10), so a conversation can change its
 * model between any two calls. It does not know how a prompt is sent.
 */
import type {
  AssistantMessage,
  FilePart,
  Json,
  JsonObject,
  Message,
  ToolCallPart,
  ToolResultPart,
  UserContent,
} from '../protocol/index.ts'
import type { LanguageModel, PromptMessage, PromptOutput, PromptPart } from './language-model.ts'
import { modelName } from './name.ts'

export interface PromptInput {
  readonly model: LanguageModel
  readonly system?: string
  readonly messages: readonly Message[]
}

/**
 * The prompt, system text first. Left out: texts that are empty or all blanks, which providers refuse, what other
 * models thought, and messages of which nothing remains.
 */
export function toPrompt({ model, system, messages }: PromptInput): PromptMessage[] {
  const prompt: PromptMessage[] = []
  if (system?.trim()) prompt.push({ role: 'system', content: system })
  const name = modelName(model)
  for (const message of messages) {
    const content = contentOf(message, model, name)
    if (content.length > 0) prompt.push({ role: message.role, content })
  }
  return prompt
}

function contentOf(message: Message, model: LanguageModel, name: string): PromptPart[] {
  if (message.role === 'user') return userContent(message.content, model)
  if (message.role === 'assistant') return assistantContent(message, message.model === name)
  return message.content.map(toolResult)
}

function userContent(content: UserContent, model: LanguageModel): PromptPart[] {
  if (typeof content === 'string') return content.trim() === '' ? [] : [{ type: 'text', text: content }]
  const parts: PromptPart[] = []
  for (const part of content) {
    if (part.type === 'file') parts.push(file(part, model))
    else if (part.text.trim() !== '') parts.push({ type: 'text', text: part.text })
  }
  return parts
}

function assistantContent(message: AssistantMessage, own: boolean): PromptPart[] {
  const parts: PromptPart[] = []
  for (const part of message.content) {
    const provider = own ? part.provider : undefined
    if (part.type === 'tool-call') parts.push(withOptions(toolCall(part), provider))
    else if (part.type === 'text') {
      if (part.text.trim() !== '') parts.push(withOptions({ type: 'text', text: part.text }, provider))
    } else if (own && (part.text !== '' || provider)) {
      parts.push(withOptions({ type: 'reasoning', text: part.text }, provider))
    }
  }
  return parts
}

function withOptions(part: PromptPart, provider: JsonObject | undefined): PromptPart {
  return provider === undefined ? part : { ...part, providerOptions: provider }
}

function toolCall(part: ToolCallPart): PromptPart {
  const input = part.malformed === undefined ? part.args : { invalid_json: part.args }
  return { type: 'tool-call', toolCallId: part.callId, toolName: wireName(part.tool), input }
}

function toolResult(part: ToolResultPart): PromptPart {
  return {
    type: 'tool-result',
    toolCallId: part.callId,
    toolName: wireName(part.tool),
    output: outputOf(part.status === 'ok', part.output),
  }
}

function outputOf(ok: boolean, value: Json): PromptOutput {
  if (typeof value === 'string') return { type: ok ? 'text' : 'error-text', value }
  return { type: ok ? 'json' : 'error-json', value }
}

const WIRE_NAME = /^[\w-]{1,64}$/

/** A model may have made up a name that providers then refuse to read back, for ever. */
function wireName(tool: string): string {
  return WIRE_NAME.test(tool) ? tool : tool.slice(0, 64).replaceAll(/[^\w-]/g, '_') || 'unnamed'
}

function file(part: FilePart, model: LanguageModel): PromptPart {
  const place = urlOf(part.data)
  const bytes = place ? undefined : base64Of(part.data)
  const tagged = place ? { type: 'url', url: place } : { type: 'data', data: bytes }
  const data = model.specificationVersion === 'v3' ? (place ?? bytes) : tagged
  const { mediaType, name } = part
  return name === undefined
    ? { type: 'file', mediaType, data }
    : { type: 'file', mediaType, data, filename: name }
}

const LONGEST_SCHEME = 16

/** Base64 has no colon. Data URLs are not places, and most providers do not take them for ones. */
function urlOf(data: string): URL | undefined {
  if (!data.slice(0, LONGEST_SCHEME).includes(':') || data.startsWith('data:')) return undefined
  return URL.canParse(data) ? new URL(data) : undefined
}

function base64Of(data: string): string {
  return data.startsWith('data:') ? data.slice(data.indexOf(',') + 1) : data
}
