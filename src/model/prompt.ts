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
}

/**
 * The prompt, system text first. Omits what providers refuse: blank texts, other models' reasoning, reasoning without a
 * result, and messages left empty. No reply comes first or right after another: a filler user message precedes it.
 */
export function toPrompt(input: PromptInput): PromptMessage[] {
  const cached = linesOf(input.model, input.messages)
  const all = promptOf(cached, input)
  return cached.hasOptions ? withoutRepeatedItems(all) : all
}

/** The same, with the hash of its lines without the system text. */
export function hashedPrompt(input: PromptInput): {
  readonly prompt: PromptMessage[]
  readonly hash: string
} {
  const cached = linesOf(input.model, input.messages)
  const all = promptOf(cached, input)
  const prompt = cached.hasOptions ? withoutRepeatedItems(all) : all
  return { prompt, hash: messagesHash(prompt === all ? hashesOf(cached) : hashesIn(prompt)) }
}

function promptOf({ lines }: PromptLines, { system }: PromptInput): PromptMessage[] {
  const prompt: PromptMessage[] = lines.map(({ message }) => message)
  if (system?.trim()) prompt.unshift({ role: 'system', content: system.toWellFormed() })
  return prompt
}

/** A line of a prompt; its hash once it was requested. */
interface Line {
  readonly message: PromptMessage
  hash: string | undefined
}

/** The lines of the first messages: `ends` has for each message the number of lines after it. */
interface PromptLines {
  readonly name: string
  readonly version: string
  readonly messages: Message[]
  readonly ends: number[]
  readonly lines: Line[]
  /** True if a provider attached metadata to a part, such as the name of an item. */
  hasOptions: boolean
  /** The hashes of the first lines, one after the other, as far as requested. */
  hashes: string
}

function linesOf(model: LanguageModel, messages: readonly Message[]): PromptLines {
  const [first] = messages
  const name = modelName(model)
  const version = model.specificationVersion
  if (first === undefined) return noLines(name, version)
  // A window grows at its end and moves forward, so most of its last prompt is in the next.
  let cached = projections.get(first)?.within
  if (cached?.name !== name || cached.version !== version || !moveTo(cached, first))
    cached = noLines(name, version)
  keepBeginning(cached, messages)
  for (let i = cached.messages.length; i < messages.length; i++)
    addLines(cached, messages[i] as Message, projected(messages[i] as Message, model, name))
  return cached
}

function noLines(name: string, version: string): PromptLines {
  return { name, version, messages: [], ends: [], lines: [], hashes: '', hasOptions: false }
}

function hashesOf(cached: PromptLines): string {
  const { lines } = cached
  for (let i = cached.hashes.length / HASH_LENGTH; i < lines.length; i++) {
    const line = lines[i] as Line
    line.hash ??= lineHash(line.message)
    cached.hashes += line.hash
  }
  return cached.hashes
}

function hashesIn(prompt: readonly PromptMessage[]): string {
  return prompt.map((message) => (message.role === 'system' ? '' : lineHash(message))).join('')
}

/** Drops the lines before a message. False if it is not there, or if its line has another before it once it is first. */
function moveTo(cached: PromptLines, first: Message): boolean {
  const { messages, ends, lines } = cached
  const at = messages.indexOf(first)
  if (at <= 0) return at === 0
  const start = ends[at - 1] as number
  const line = lines[start]
  if (line?.message.role === 'assistant' || line === GO_ON_LINE) return false
  messages.splice(0, at)
  lines.splice(0, start)
  ends.splice(0, at)
  for (let i = 0; i < ends.length; i++) ends[i] = (ends[i] as number) - start
  cached.hashes = cached.hashes.slice(start * HASH_LENGTH)
  return true
}

/** Drops lines that are no longer the beginning of these messages. */
function keepBeginning(cached: PromptLines, messages: readonly Message[]): void {
  const { messages: before, ends, lines } = cached
  let same = 0
  while (same < before.length && before[same] === messages[same]) same += 1
  if (same === before.length) return
  before.length = same
  ends.length = same
  lines.length = ends[same - 1] ?? 0
  cached.hashes = cached.hashes.slice(0, lines.length * HASH_LENGTH)
}

function addLines(cached: PromptLines, message: Message, projection: Projection): void {
  const { messages, ends, lines } = cached
  const { line, hasOptions } = projection
  cached.hasOptions ||= hasOptions
  const before = lines.at(-1)?.message.role
  if (line !== undefined) {
    if (message.role === 'assistant' && before === undefined) lines.push(LEFT_OUT)
    if (message.role === 'assistant' && before === 'assistant') lines.push(GO_ON_LINE)
    lines.push(line)
  }
  messages.push(message)
  ends.push(lines.length)
  projection.within = cached
}

const LEFT_OUT = filler('[What was said before is left out here.]')
/** A user's message where a prompt must not have two replies in a row, or end with one (R9). */
export const GO_ON = 'Go on.'
const GO_ON_LINE = filler(GO_ON)

function filler(text: string): Line {
  return { message: { role: 'user', content: [{ type: 'text', text }] }, hash: undefined }
}

/** The line of a message; undefined if it is left out. */
interface Projection {
  readonly by: string
  readonly line: Line | undefined
  readonly hasOptions: boolean
  /** The lines that this one was last added to. */
  within: PromptLines | undefined
}

const OWN = { v3: 'v3 own', v4: 'v4 own' } as const

/** When a window moves, most of its messages stay the same, and their lines with their hashes. */
const projections = new WeakMap<Message, Projection>()

function projected(message: Message, model: LanguageModel, name: string): Projection {
  // The content depends only on its author and the interface version.
  const own = message.role === 'assistant' && message.model === name
  const by = own ? OWN[model.specificationVersion] : model.specificationVersion
  const before = projections.get(message)
  if (before?.by === by) return before
  const content = contentOf(message, model, name)
  const line = content.length === 0 ? undefined : lineOf(message.role, content)
  const hasOptions = content.some(({ providerOptions }) => providerOptions !== undefined)
  const projection: Projection = { by, line, hasOptions, within: undefined }
  projections.set(message, projection)
  return projection
}

function lineOf(role: Message['role'], content: readonly PromptPart[]): Line {
  return { message: { role, content }, hash: undefined }
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
