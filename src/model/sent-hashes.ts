/**
 * Hashes of what a model call was sent: the same in every process and on every store, and another one exactly if
 * something else was sent, be it in another order. They name a request; nothing of it can be read out of them.
 *
 * They are made for every call, so no text is hashed twice: each line of a prompt has its own hash, which stays when a
 * window moves on, and system prompt, tools and settings are compared with those of the last call.
 */
import { hash } from 'node:crypto'
import type { JsonObject, SentHashes } from '../protocol/index.ts'
import type {
  LanguageModel,
  ModelCall,
  PromptMessage,
  PromptPart,
  ToolDeclaration,
} from './language-model.ts'

/** 96 bits: enough to tell requests apart, and short enough for every entry. */
const DIGITS = 16

function digest(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, DIGITS)
}

/** The hash of all lines of a prompt, from the hash of each. */
export function messagesHash(lineHashes: readonly string[]): string {
  return digest(lineHashes.join(''))
}

export function lineHash({ role, content }: PromptMessage): string {
  let text: string = role
  if (typeof content === 'string') text += framed(content)
  else for (const part of content) text += isPlainText(part) ? framed(part.text) : `\n${partText(part)}`
  return digest(text)
}

/** With its length in front no text can pass for another, and it need not be escaped. */
function framed(text: string): string {
  return `\n${text.length}:${text}`
}

function isPlainText(part: PromptPart): part is PromptPart & { readonly text: string } {
  return part.type === 'text' && part.text !== undefined && part.providerOptions === undefined
}

/** As JSON: addresses of files are objects in prompts. */
function partText(part: PromptPart): string {
  return JSON.stringify(part.type === 'file' ? { ...part, data: plainData(part.data) } : part)
}

function plainData(data: unknown): unknown {
  if (data instanceof URL) return data.href
  const { url } = (data ?? {}) as { readonly url?: unknown }
  return url instanceof URL ? { ...(data as object), url: url.href } : data
}

/** What the last call of a model was sent, beside its messages. */
interface Known {
  system: string | undefined
  systemHash: string
  tools: readonly ToolDeclaration[]
  toolsHash: string
  settings: string
  settingsHash: string
}

const known = new WeakMap<LanguageModel, Known>()

/** `messages` is the hash of the prompt's lines without the system prompt. Headers are no part of it: they hold keys. */
export function sentHashes(model: LanguageModel, call: ModelCall, messages: string): SentHashes {
  const { prompt, tools = [], abortSignal: _, headers: _headers, ...settings } = call
  const last = lastOf(model)
  const [first] = prompt
  const system = first?.role === 'system' ? first.content : undefined
  if (system !== last.system) {
    last.system = system
    last.systemHash = digest(system ?? '')
  }
  if (!areSame(tools, last.tools)) {
    last.tools = tools
    last.toolsHash = digest(JSON.stringify(tools))
  }
  return {
    ...(system === undefined ? {} : { system: last.systemHash }),
    messages,
    ...(tools.length === 0 ? {} : { tools: last.toolsHash }),
    ...(isEmpty(settings) ? {} : { settings: settingsHash(last, settings) }),
  }
}

function settingsHash(last: Known, settings: JsonObject): string {
  const text = JSON.stringify(settings)
  if (text !== last.settings) {
    last.settings = text
    last.settingsHash = digest(text)
  }
  return last.settingsHash
}

function isEmpty(settings: object): boolean {
  for (const _ in settings) return false
  return true
}

function lastOf(model: LanguageModel): Known {
  let last = known.get(model)
  if (last === undefined) {
    last = { system: undefined, systemHash: '', tools: [], toolsHash: '', settings: '', settingsHash: '' }
    known.set(model, last)
  }
  return last
}

/** Declarations are made for each call, of the same schemas. */
function areSame(tools: readonly ToolDeclaration[], before: readonly ToolDeclaration[]): boolean {
  return (
    tools.length === before.length &&
    tools.every(({ name, description, inputSchema }, at) => {
      const other = before[at]
      return other?.name === name && other.description === description && other.inputSchema === inputSchema
    })
  )
}
