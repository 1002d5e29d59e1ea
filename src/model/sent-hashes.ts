/**
 * Hashes of a model call's request: equal in every process and on every store, and different exactly if the request
 * differs, also in the order of keys. They identify a request and reveal nothing of it.
 *
 * Every call is hashed, so no text is hashed twice: each line of a prompt keeps its hash while the window moves, and system
 * prompt, tools and settings are compared with those of the last call.
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

/** 96 bits: enough to tell requests apart, short enough for every entry. */
export const HASH_LENGTH = 16

function digest(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, HASH_LENGTH)
}

/** The hash of all lines of a prompt, from their hashes, one after the other. */
export function messagesHash(lineHashes: string): string {
  return digest(lineHashes)
}

export function lineHash({ role, content }: PromptMessage): string {
  let text: string = role
  if (typeof content === 'string') text += framed(content)
  else for (const part of content) text += isPlainText(part) ? framed(part.text) : `\n${partText(part)}`
  return digest(text)
}

/** The length prefix keeps texts distinct without escaping. */
function framed(text: string): string {
  return `\n${text.length}:${text}`
}

function isPlainText(part: PromptPart): part is PromptPart & { readonly text: string } {
  return part.type === 'text' && part.text !== undefined && part.providerOptions === undefined
}

/** As JSON: URLs of files are objects in prompts. */
function partText(part: PromptPart): string {
  return JSON.stringify(part.type === 'file' ? { ...part, data: plainData(part.data) } : part)
}

function plainData(data: unknown): unknown {
  if (data instanceof URL) return data.href
  const { url } = (data ?? {}) as { readonly url?: unknown }
  return url instanceof URL ? { ...(data as object), url: url.href } : data
}

/** The last call of a model, without its messages. */
interface LastRequest {
  system: string | undefined
  systemHash: string
  tools: readonly ToolDeclaration[]
  toolsHash: string
  settings: string
  settingsHash: string
}

const lastRequests = new WeakMap<LanguageModel, LastRequest>()

/** `messages` is the hash of the prompt's lines without the system prompt. Headers are excluded: they hold keys. */
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

function settingsHash(last: LastRequest, settings: JsonObject): string {
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

function lastOf(model: LanguageModel): LastRequest {
  let last = lastRequests.get(model)
  if (last === undefined) {
    last = { system: undefined, systemHash: '', tools: [], toolsHash: '', settings: '', settingsHash: '' }
    lastRequests.set(model, last)
  }
  return last
}

/** Declarations are rebuilt for each call, from the same schemas. */
function areSame(tools: readonly ToolDeclaration[], before: readonly ToolDeclaration[]): boolean {
  return (
    tools.length === before.length &&
    tools.every(({ name, description, inputSchema }, at) => {
      const other = before[at]
      return other?.name === name && other.description === description && other.inputSchema === inputSchema
    })
  )
}
