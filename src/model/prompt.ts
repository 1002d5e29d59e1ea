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

/**
 * The lines of a conversation's last prompt. A window grows at its end and moves forward, so most of them are in the next
 * one, with their hashes. The content of a line depends only on its message, the model and the interface version. Kept
 * as lists side by side: comparing a window with them reads no message.
 */
export class PromptLines {
  /** True if a provider attached metadata to a part, such as the name of an item. */
  hasOptions = false
  #name = ''
  #version = ''
  /** The messages, the line of each, undefined if it is left out, and the number of lines after each. */
  #messages: Message[] = []
  #own: (Line | undefined)[] = []
  #ends: number[] = []
  /** The lines, with those that stand between messages, and the prompt that they are. */
  #lines: Line[] = []
  #prompt: PromptMessage[] = []
  /** The hashes of the first lines, one after the other, as far as requested. */
  #hashes = ''

  /** Makes them the lines of these messages. */
  follow(model: LanguageModel, messages: readonly Message[]): void {
    const name = modelName(model)
    if (this.#name !== name || this.#version !== model.specificationVersion) this.#keepFirst(0)
    this.#name = name
    this.#version = model.specificationVersion
    this.#moveTo(messages[0])
    const dropped = this.#keepFirst(this.#countSame(messages))
    for (let i = this.#messages.length; i < messages.length; i++) {
      const message = messages[i] as Message
      this.#add(message, dropped?.get(message) ?? this.#lineOf(message, model))
    }
  }

  messages(): PromptMessage[] {
    return this.#prompt.slice()
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
    const at = first === undefined ? -1 : this.#messages.indexOf(first)
    if (at <= 0) return
    const messages = this.#messages.slice(at)
    const own = this.#own.slice(at)
    const start = this.#ends[at - 1] ?? 0
    const line = this.#lines[start]
    if (line?.message.role === 'assistant' || line === GO_ON_LINE) {
      // It has another line before it once it is first.
      this.#keepFirst(0)
      for (const [i, message] of messages.entries()) this.#add(message, own[i])
      return
    }
    this.#messages = messages
    this.#own = own
    this.#ends = this.#ends.slice(at).map((end) => end - start)
    this.#lines.splice(0, start)
    this.#prompt.splice(0, start)
    this.#hashes = this.#hashes.slice(start * HASH_LENGTH)
  }

  #countSame(messages: readonly Message[]): number {
    let same = 0
    while (same < this.#messages.length && this.#messages[same] === messages[same]) same += 1
    return same
  }

  /** The lines of the messages that are dropped: compacted results change some messages in the middle, and no others. */
  #keepFirst(count: number): ReadonlyMap<Message, Line | undefined> | undefined {
    if (count === this.#messages.length) return undefined
    const messages = this.#messages.splice(count)
    const own = this.#own.splice(count)
    this.#ends.length = count
    const end = this.#ends[count - 1] ?? 0
    this.#lines.length = end
    this.#prompt.length = end
    this.#hashes = this.#hashes.slice(0, end * HASH_LENGTH)
    return new Map(messages.map((message, i) => [message, own[i]]))
  }

  #add(message: Message, line: Line | undefined): void {
    const before = this.#prompt.at(-1)?.role
    if (line !== undefined) {
      if (message.role === 'assistant' && before === undefined) this.#push(LEFT_OUT)
      if (message.role === 'assistant' && before === 'assistant') this.#push(GO_ON_LINE)
      this.#push(line)
    }
    this.#messages.push(message)
    this.#own.push(line)
    this.#ends.push(this.#lines.length)
  }

  #push(line: Line): void {
    this.#lines.push(line)
    this.#prompt.push(line.message)
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
