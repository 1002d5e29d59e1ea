/**
 * Projects provider-neutral messages into the prompt of one model. Provider metadata goes back only to the model it came
 * from, and call ids on the wire are ours (R10), so a conversation can change its model between any two calls. Does not
 * send prompts.
 */
import { createHash } from 'node:crypto'
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
import { withoutRepeatedItems } from './repeated-items.ts'
import { HASH_LENGTH, lineHash, messagesHash } from './sent-hashes.ts'
import { wellFormed } from './well-formed.ts'

export interface PromptInput {
  readonly model: LanguageModel
  readonly system?: string | undefined
  readonly messages: readonly Message[]
  /** Keeps the lines for the next prompt of the same conversation. */
  readonly lines?: PromptLines | undefined
}

/**
 * The prompt, system text first. Omits what providers refuse: blank texts, other models' reasoning, reasoning without a
 * result, and messages left empty. No reply comes first or right after another: a filler user message precedes it.
 */
export function toPrompt(input: PromptInput): PromptMessage[] {
  return hashedPrompt(input).prompt
}

/** The same, with the hash of its lines without the system text, before the next prompt is made. */
export function hashedPrompt({ model, system, messages, lines = new PromptLines() }: PromptInput): {
  readonly prompt: PromptMessage[]
  readonly hash: () => string
} {
  lines.follow(model, messages)
  const all = lines.messages()
  if (system?.trim()) all.unshift({ role: 'system', content: system.toWellFormed() })
  const prompt = lines.hasOptions ? withoutRepeatedItems(all) : all
  return { prompt, hash: () => messagesHash(prompt === all ? lines.hashes() : hashesIn(prompt)) }
}

function hashesIn(prompt: readonly PromptMessage[]): string {
  return prompt.map((message) => (message.role === 'system' ? '' : lineHash(message))).join('')
}

/** A line of a prompt; its hash once it was requested. */
interface Line {
  readonly message: PromptMessage
  hash: string | undefined
}

/** A message with its line, undefined if it is left out; `end` is the number of lines after it. */
interface Projected {
  readonly message: Message
  readonly line: Line | undefined
  end: number
}

/**
 * The lines of a conversation's last prompt. A window grows at its end and moves forward, so most of them are in the next
 * one, with their hashes. The content of a line depends only on its message, the model and the interface version.
 */
export class PromptLines {
  /** True if a provider attached metadata to a part, such as the name of an item. */
  hasOptions = false
  #name = ''
  #version = ''
  #projected: Projected[] = []
  #lines: Line[] = []
  /** The hashes of the first lines, one after the other, as far as requested. */
  #hashes = ''

  /** Makes them the lines of these messages. */
  follow(model: LanguageModel, messages: readonly Message[]): void {
    const name = modelName(model)
    if (this.#name !== name || this.#version !== model.specificationVersion) this.#keepFirst(0)
    this.#name = name
    this.#version = model.specificationVersion
    this.#moveTo(messages[0])
    this.#keepFirst(this.#countSame(messages))
    for (let i = this.#projected.length; i < messages.length; i++) {
      const message = messages[i] as Message
      this.#add(message, this.#lineOf(message, model))
    }
  }

  messages(): PromptMessage[] {
    return this.#lines.map(({ message }) => message)
  }

  hashes(): string {
    for (let i = this.#hashes.length / HASH_LENGTH; i < this.#lines.length; i++) {
      const line = this.#lines[i] as Line
      line.hash ??= lineHash(line.message)
      this.#hashes += line.hash
    }
    return this.#hashes
  }

  /** Drops the messages before this one. */
  #moveTo(first: Message | undefined): void {
    const at = this.#projected.findIndex(({ message }) => message === first)
    if (at <= 0) return
    const later = this.#projected.slice(at)
    const start = this.#projected[at - 1]?.end ?? 0
    const line = this.#lines[start]
    if (line?.message.role === 'assistant' || line === GO_ON_LINE) {
      // It has another line before it once it is first.
      this.#keepFirst(0)
      for (const { message, line: own } of later) this.#add(message, own)
      return
    }
    for (const projected of later) projected.end -= start
    this.#projected = later
    this.#lines.splice(0, start)
    this.#hashes = this.#hashes.slice(start * HASH_LENGTH)
  }

  #countSame(messages: readonly Message[]): number {
    let same = 0
    while (same < this.#projected.length && this.#projected[same]?.message === messages[same]) same += 1
    return same
  }

  #keepFirst(count: number): void {
    if (count === this.#projected.length) return
    this.#projected.length = count
    this.#lines.length = this.#projected[count - 1]?.end ?? 0
    this.#hashes = this.#hashes.slice(0, this.#lines.length * HASH_LENGTH)
  }

  #add(message: Message, line: Line | undefined): void {
    const lines = this.#lines
    const before = lines.at(-1)?.message.role
    if (line !== undefined) {
      if (message.role === 'assistant' && before === undefined) lines.push(LEFT_OUT)
      if (message.role === 'assistant' && before === 'assistant') lines.push(GO_ON_LINE)
      lines.push(line)
    }
    this.#projected.push({ message, line, end: lines.length })
  }

  #lineOf(message: Message, model: LanguageModel): Line | undefined {
    const content = contentOf(message, model, this.#name)
    this.hasOptions ||= content.some(({ providerOptions }) => providerOptions !== undefined)
    return content.length === 0 ? undefined : newLine({ role: message.role, content })
  }
}

const LEFT_OUT = filler('[What was said before is left out here.]')
/** A user's message where a prompt must not have two replies in a row, or end with one (R9). */
export const GO_ON = 'Go on.'
const GO_ON_LINE = filler(GO_ON)

function filler(text: string): Line {
  return newLine({ role: 'user', content: [{ type: 'text', text }] })
}

function newLine(message: PromptMessage): Line {
  return { message, hash: undefined }
}

function contentOf(message: Message, model: LanguageModel, name: string): PromptPart[] {
  if (message.role === 'user') return userContent(message.content, model)
  if (message.role === 'assistant') return assistantContent(message, message.model === name)
  return message.content.map(toolResult)
}

function userContent(content: UserContent, model: LanguageModel): PromptPart[] {
  if (typeof content === 'string') return content.trim() === '' ? [] : [textPart(content)]
  const parts: PromptPart[] = []
  for (const part of content) {
    if (part.type === 'file') parts.push(file(part, model))
    else if (part.text.trim() !== '') parts.push(textPart(part.text))
  }
  return parts
}

function assistantContent(message: AssistantMessage, own: boolean): PromptPart[] {
  const parts: PromptPart[] = []
  for (const part of message.content) {
    const provider = own ? part.provider : undefined
    if (part.type === 'tool-call') parts.push(withOptions(toolCall(part), provider))
    else if (part.type === 'text') {
      if (part.text.trim() !== '') parts.push(withOptions(textPart(part.text), provider))
    } else if (own && (part.text !== '' || provider)) {
      parts.push(withOptions({ type: 'reasoning', text: part.text.toWellFormed() }, provider))
    }
  }
  // A model that was cut off while reasoning leaves a trailing reasoning part, which no provider accepts.
  return parts.slice(0, parts.findLastIndex(({ type }) => type !== 'reasoning') + 1)
}

function textPart(text: string): PromptPart {
  return { type: 'text', text: text.toWellFormed() }
}

function withOptions(part: PromptPart, provider: JsonObject | undefined): PromptPart {
  return provider === undefined ? part : { ...part, providerOptions: provider }
}

function toolCall(part: ToolCallPart): PromptPart {
  const args = wellFormed(part.args)
  const input = part.malformed === undefined ? args : { invalid_json: args }
  return { type: 'tool-call', toolCallId: wireId(part.callId), toolName: wireName(part.tool), input }
}

function toolResult(part: ToolResultPart): PromptPart {
  return {
    type: 'tool-result',
    toolCallId: wireId(part.callId),
    toolName: wireName(part.tool),
    output: outputOf(part.status === 'ok', wellFormed(part.output)),
  }
}

function outputOf(ok: boolean, value: Json): PromptOutput {
  if (typeof value === 'string') {
    if (ok) return { type: 'text', value }
    return { type: 'error-text', value: value.trim() === '' ? NO_REASON : value }
  }
  return { type: ok ? 'json' : 'error-json', value }
}

/** Some providers refuse an empty error. */
const NO_REASON = 'It failed and did not say why.'
const WIRE_NAME = /^[a-z_][\w-]{0,63}$/i

const WIRE_ID = /^[\w-]{1,40}$/

/** A call's id as prompts have it. Our ids fit everywhere; a caller's own ids may not. The mapping is stable. */
export function wireId(callId: string): string {
  if (WIRE_ID.test(callId)) return callId
  return `call_${createHash('sha256').update(callId).digest('hex').slice(0, 32)}`
}

/** A model may have invented a name that providers refuse to read back. */
function wireName(tool: string): string {
  // Provider packages look names up in plain objects.
  if (tool in Object.prototype) return `${tool.slice(0, 63)}_`
  if (WIRE_NAME.test(tool)) return tool
  const clean = tool.replaceAll(/[^\w-]/g, '_') || 'unnamed'
  return (/^[a-z_]/i.test(clean) ? clean : `_${clean}`).slice(0, 64)
}

function file(part: FilePart, model: LanguageModel): PromptPart {
  const url = urlOf(part.data)
  const bytes = url ? undefined : base64Of(part.data)
  const tagged = url ? { type: 'url', url } : { type: 'data', data: bytes }
  const data = model.specificationVersion === 'v3' ? (url ?? bytes) : tagged
  const { mediaType, name } = part
  return name === undefined
    ? { type: 'file', mediaType, data }
    : { type: 'file', mediaType, data, filename: name.toWellFormed() }
}

const LONGEST_SCHEME = 16

/** Base64 has no colon. Data URLs are excluded: most providers do not accept them as URLs. */
function urlOf(data: string): URL | undefined {
  if (!data.slice(0, LONGEST_SCHEME).includes(':') || data.startsWith('data:')) return undefined
  return URL.canParse(data) ? new URL(data) : undefined
}

function base64Of(data: string): string {
  return data.startsWith('data:') ? data.slice(data.indexOf(',') + 1) : data
}
