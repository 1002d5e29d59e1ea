/**
 * Counts tokens: by a tokenizer if its package is installed, else by an estimate. The tokenizer is large, so it is loaded
 * on first use.
 *
 * The tokenizer is that of OpenAI's models since GPT-4o. Other vendors tokenize differently: keep a tenth in reserve for
 * Gemini, and a quarter for Claude, which needs more tokens for code and for languages other than English.
 */
import { invalidOption, type Message } from '../protocol/index.ts'
import { estimateText } from './tokens-estimate.ts'

export interface TokenCount {
  readonly tokens: number
  /** True if counted by a tokenizer; an estimate errs on the high side. */
  readonly exact: boolean
}

/** Counts synchronously, and caches the count of each message object. */
export interface TokenCounter {
  readonly exact: boolean
  readonly text: (text: string) => number
  readonly message: (message: Message) => number
  readonly messages: (messages: readonly Message[]) => number
}

/** The overhead of a message, and of a call or a result inside of one. */
const FRAME = 4
/** The count of an image or a document; its bytes say little about its tokens. */
const FILE = 1000

export function counterOf(text: (text: string) => number, exact: boolean): TokenCounter {
  const known = new WeakMap<Message, number>()
  const message = (each: Message): number => {
    const before = known.get(each)
    if (before !== undefined) return before
    const tokens = messageTokens(each, text)
    known.set(each, tokens)
    return tokens
  }
  return { exact, text, message, messages: (all) => all.reduce((sum, each) => sum + message(each), 0) }
}

/** The estimate, even where a tokenizer is installed. */
export const estimatedTokens: TokenCounter = counterOf(estimateText, false)

function messageTokens({ content }: Message, count: (text: string) => number): number {
  if (typeof content === 'string') return FRAME + count(content)
  let tokens = FRAME
  for (const part of content) {
    if (part.type === 'file') tokens += FILE
    else if (part.type === 'tool-call') tokens += FRAME + count(part.tool) + count(asText(part.args))
    else if (part.type === 'tool-result') tokens += FRAME + count(asText(part.output))
    else tokens += count(part.text)
  }
  return tokens
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
}

export interface Tokenizer {
  readonly countTokens: (text: string, options: { readonly disallowedSpecial: Set<string> }) => number
}

let counter: Promise<TokenCounter> | undefined

/** The best available counter, found once and shared. */
export function tokenCounter(): Promise<TokenCounter> {
  counter ??= findCounter(() => import('gpt-tokenizer/encoding/o200k_base'))
  return counter
}

export async function findCounter(load: () => Promise<Tokenizer>): Promise<TokenCounter> {
  try {
    const { countTokens: count } = await load()
    return counterOf((text) => countPieces(text, count), true)
  } catch {
    // Not installed, or not for this runtime: use the estimate.
    return estimatedTokens
  }
}

/**
 * A tokenizer is superlinear in a run of letters, of marks or of blanks, so text with a long one is counted in pieces. Looks
 * for runs only where they begin: from every character on, the search itself would be slow.
 */
const UNBROKEN = /(?<![^\s\p{P}])[^\s\p{P}]{1000}|(?<![^\s\p{L}\p{N}])[^\s\p{L}\p{N}]{1000}|(?<!\s)\s{1000}/u
const PIECE = 1000

function countPieces(text: string, count: Tokenizer['countTokens']): number {
  // Texts may contain a tokenizer's special tokens; here they are ordinary text.
  const options = { disallowedSpecial: new Set<string>() }
  if (!UNBROKEN.test(text)) return count(text, options)
  let tokens = 0
  for (let at = 0; at < text.length; at += PIECE) tokens += count(text.slice(at, at + PIECE), options)
  return tokens
}

/** The tokens of a text, or of messages with their overhead; without system prompt and tools. */
export async function countTokens(content: string | readonly Message[]): Promise<TokenCount> {
  if (typeof content !== 'string' && !isMessages(content))
    throw invalidOption('countTokens()', 'takes a text, or a list of messages as getMessages() returns them')
  const { exact, text, messages } = await tokenCounter()
  return { tokens: typeof content === 'string' ? text(content) : messages(content), exact }
}

function isMessages(value: unknown): boolean {
  return (
    Array.isArray(value) &&
    value.every((each: Partial<Message> | null) => {
      return typeof each?.content === 'string' || Array.isArray(each?.content)
    })
  )
}
