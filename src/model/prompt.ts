/**
 * Projects messages, which are in no provider's dialect, into the prompt of one model. What a provider attached goes
 * back only to the model that it came from, and call ids on the wire are ours (R10), so a conversation can change its
 * model between any two calls. It does not know how a prompt is sent.
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
import { lineHash, messagesHash } from './sent-hashes.ts'
import { wellFormed } from './well-formed.ts'

export interface PromptInput {
  readonly model: LanguageModel
  readonly system?: string
  readonly messages: readonly Message[]
}

/**
 * The prompt, system text first. Left out is what providers refuse: texts that are empty or all blanks, what other
 * models thought, thoughts that led to nothing, and messages of which nothing remains. No reply comes first or right
 * after another: a window that begins with one is begun by a word of ours.
 */
export function toPrompt(input: PromptInput): PromptMessage[] {
  const { lines, hasOptions } = linesOf(input.model, input.messages)
  return withSystem(hasOptions ? withoutRepeatedItems(lines.slice()) : lines.slice(), input)
}

/** The same, with the hash of its lines without the system text. */
export function hashedPrompt(input: PromptInput): {
  readonly prompt: PromptMessage[]
  readonly hash: string
} {
  const made = linesOf(input.model, input.messages)
  const lines = made.lines.slice()
  const once = made.hasOptions ? withoutRepeatedItems(lines) : lines
  const hash = messagesHash(once === lines ? hashesOf(made) : once.map(lineHash))
  return { prompt: withSystem(once, input), hash }
}

function withSystem(prompt: PromptMessage[], { system }: PromptInput): PromptMessage[] {
  if (system?.trim()) prompt.unshift({ role: 'system', content: system.toWellFormed() })
  return prompt
}

/** What came of the first messages: `ends` has for each how many lines there are after it. */
interface Lines {
  readonly name: string
  readonly version: string
  readonly messages: Message[]
  readonly ends: number[]
  readonly lines: PromptMessage[]
  /** Of each line, as far as somebody asked. */
  readonly hashes: string[]
  /** A provider has attached something to a part, such as the name of an item. */
  hasOptions: boolean
}

/** By the first message. A window grows at its end, so that nearly all of its last prompt is the beginning of the next. */
const known = new WeakMap<Message, Lines>()

function linesOf(model: LanguageModel, messages: readonly Message[]): Lines {
  const [first] = messages
  const name = modelName(model)
  const version = model.specificationVersion
  if (first === undefined) return noLines(name, version)
  let made = known.get(first)
  if (made?.name !== name || made.version !== version) {
    const before = latest.get(model)
    made = (before && withoutBeginning(before, first)) ?? noLines(name, version)
    known.set(first, made)
  }
  latest.set(model, made)
  keepBeginning(made, messages)
  for (let i = made.messages.length; i < messages.length; i++)
    addLines(made, messages[i] as Message, projected(messages[i] as Message, model, name))
  return made
}

function noLines(name: string, version: string): Lines {
  return { name, version, messages: [], ends: [], lines: [], hashes: [], hasOptions: false }
}

/** The newest for a model: when a window moves on, the next prompt begins somewhere in the last one. */
const latest = new WeakMap<LanguageModel, Lines>()

/** The lines from a message of the person on, if it has one: nothing before it has a say in them. */
function withoutBeginning(made: Lines, first: Message): Lines | undefined {
  const at = first.role === 'user' ? made.messages.indexOf(first) : -1
  const gone = made.ends[at - 1] ?? 0
  if (at < 0 || made.ends[at] === gone) return undefined
  return {
    ...made,
    messages: made.messages.slice(at),
    ends: made.ends.slice(at).map((end) => end - gone),
    lines: made.lines.slice(gone),
    hashes: made.hashes.slice(gone),
  }
}

function hashesOf({ lines, hashes }: Lines): readonly string[] {
  for (let i = hashes.length; i < lines.length; i++) hashes.push(lineHash(lines[i] as PromptMessage))
  return hashes
}

/** Forgets what is not the beginning of these messages any more. */
function keepBeginning({ messages: before, ends, lines, hashes }: Lines, messages: readonly Message[]): void {
  let same = 0
  while (same < before.length && before[same] === messages[same]) same += 1
  if (same === before.length) return
  before.length = same
  ends.length = same
  lines.length = ends[same - 1] ?? 0
  hashes.length = Math.min(hashes.length, lines.length)
}

function addLines(made: Lines, message: Message, content: readonly PromptPart[]): void {
  const { messages, ends, lines } = made
  made.hasOptions ||= content.some(({ providerOptions }) => providerOptions !== undefined)
  const before = lines.at(-1)?.role
  if (content.length > 0) {
    if (message.role === 'assistant' && before === undefined) lines.push(ours(LEFT_OUT))
    if (message.role === 'assistant' && before === 'assistant') lines.push(ours(GO_ON))
    lines.push({ role: message.role, content })
  }
  messages.push(message)
  ends.push(lines.length)
}

const LEFT_OUT = '[What was said before is left out here.]'
const GO_ON = 'Go on.'

function ours(text: string): PromptMessage {
  return { role: 'user', content: [{ type: 'text', text }] }
}

interface Projection {
  readonly by: string
  readonly content: readonly PromptPart[]
}

const OWN = { v3: 'v3 own', v4: 'v4 own' } as const

/** When a window moves on, most of its messages stay the same. */
const projections = new WeakMap<Message, Projection>()

function projected(message: Message, model: LanguageModel, name: string): readonly PromptPart[] {
  // Whose it is, and the version of the interface, is all that the content depends on.
  const own = message.role === 'assistant' && message.model === name
  const by = own ? OWN[model.specificationVersion] : model.specificationVersion
  const before = projections.get(message)
  if (before?.by === by) return before.content
  const content = contentOf(message, model, name)
  projections.set(message, { by, content })
  return content
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
  // A model that was cut off while it thought leaves a thought at the end, and no provider takes one there.
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

/** Some providers refuse a failure that says nothing. */
const NO_REASON = 'It failed and did not say why.'
const WIRE_NAME = /^[a-z_][\w-]{0,63}$/i

const WIRE_ID = /^[\w-]{1,40}$/

/**
 * A call's id as prompts have it. Ours fit everywhere; those of a caller who makes ids of another kind may not. The same
 * id becomes the same.
 */
export function wireId(callId: string): string {
  if (WIRE_ID.test(callId)) return callId
  return `call_${createHash('sha256').update(callId).digest('hex').slice(0, 32)}`
}

/** A model may have made up a name that providers then refuse to read back, for ever. */
function wireName(tool: string): string {
  // Packages of providers look names up in plain objects.
  if (tool in Object.prototype) return `${tool.slice(0, 63)}_`
  if (WIRE_NAME.test(tool)) return tool
  const clean = tool.replaceAll(/[^\w-]/g, '_') || 'unnamed'
  return (/^[a-z_]/i.test(clean) ? clean : `_${clean}`).slice(0, 64)
}

function file(part: FilePart, model: LanguageModel): PromptPart {
  const place = urlOf(part.data)
  const bytes = place ? undefined : base64Of(part.data)
  const tagged = place ? { type: 'url', url: place } : { type: 'data', data: bytes }
  const data = model.specificationVersion === 'v3' ? (place ?? bytes) : tagged
  const { mediaType, name } = part
  return name === undefined
    ? { type: 'file', mediaType, data }
    : { type: 'file', mediaType, data, filename: name.toWellFormed() }
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
