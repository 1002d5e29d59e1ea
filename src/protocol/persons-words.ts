/** The person's words in a journal: the entries that hold them, and the tokens in them that may be ids. */
import { foldedText } from './entity.ts'
import type { Entry, EntryData, RequestData } from './entry.ts'
import type { Json, JsonObject } from './json.ts'
import type { UserContent } from './message.ts'

/** The types of entries that may hold the person's words. */
export const PERSONS_TYPES: readonly string[] = ['input', 'request.end', 'import']

/**
 * True for an input, the end of a request, or an import that may hold the person's words. An entry with an `origin` was
 * posted by the code of a call and holds words of a model or a program.
 */
function isPersonsInput({ type, data }: Entry): boolean {
  if (!PERSONS_TYPES.includes(type)) return false
  return (data as { readonly origin?: unknown }).origin === undefined
}

/**
 * The entries of a journal that hold the person's words. The end of a request that an input answered is left out: the
 * words are in the input, which may mark parts of its text as a program's.
 */
export function personsEntries(entries: readonly Entry[]): readonly Entry[] {
  const inputs = new Set(entries.flatMap(({ type, seq }) => (type === 'input' ? [seq] : [])))
  return entries.filter(
    (entry) =>
      isPersonsInput(entry) &&
      !(entry.type === 'request.end' && (entry.takes ?? []).some((seq) => inputs.has(seq))),
  )
}

/** The person's own words in an entry, without picked options; empty if there are none. */
export function personsWords(entry: Entry): string {
  if (!isPersonsInput(entry)) return ''
  if (entry.type === 'request.end') return ownTexts(entry.data).join('\n')
  if (entry.type === 'input') return personsText((entry.data as EntryData['input']).message)
  const { messages = [] } = entry.data as Partial<EntryData['import']>
  return messages
    .flatMap((one) => (one.role === 'user' && one.by === undefined ? [personsText(one.content)] : []))
    .join('\n')
}

/** Options of a question that the person picked in an entry; their author is the asker. */
export function pickedWords(entry: Entry): string {
  if (entry.type !== 'request.end' || !isPersonsInput(entry)) return ''
  return ((entry.data as EntryData['request.end']).picked ?? []).join('\n')
}

/** The texts of an answer that the person wrote. */
export function ownTexts({
  value,
  picked = [],
}: Pick<EntryData['request.end'], 'value' | 'picked'>): string[] {
  return textsIn(value).filter((text) => !picked.includes(text))
}

/** The texts of an answer that only repeat the question: an option, or a value that its schema lists. */
export function pickedTexts(
  { options = [], schema }: Pick<RequestData, 'options' | 'schema'>,
  value: Json,
): readonly string[] {
  const offered = new Set([...textsIn(options), ...listedTexts(schema)].map((text) => text.trim()))
  return [...new Set(textsIn(value).filter((text) => offered.has(text.trim())))]
}

/** True for a call that the caller's program runs: the answer is its result, and not the person's words. */
export function isClientCall({ about }: Pick<RequestData, 'about'>): boolean {
  return about?.['runBy'] === 'client'
}

/** Every value that a schema lists, at any depth. */
function listedTexts(schema: Json | undefined): readonly string[] {
  if (typeof schema !== 'object' || schema === null) return []
  return Object.entries(schema).flatMap(([word, inner]) => {
    const isList = ['enum', 'const', 'default', 'examples'].includes(word)
    return isList ? textsIn(inner) : listedTexts(inner)
  })
}

/** The text of a message without parts of other authors. */
function personsText(content: UserContent): string {
  return textOf(Array.isArray(content) ? content.filter((part) => !('by' in part)) : content)
}

/** Marks all texts of a content as a program's. */
export function programsContent(content: UserContent): UserContent {
  const parts = typeof content === 'string' ? [{ type: 'text', text: content } as const] : content
  return parts.map((part) => (part.type === 'text' ? { ...part, by: 'program' } : part))
}

/** The text of a message, without its files. Inbox data that is no message has no text. */
export function textOf(content: UserContent): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return (content as Exclude<UserContent, string>)
    .flatMap((part) => (part.type === 'text' ? [part.text] : []))
    .join('\n')
}

/**
 * The tokens of a text that may be ids, in the form under which they are filed: lower case, letters and digits only. A
 * token has a digit, or a sign between letters. Stored rows depend on this form, so it never changes.
 */
export function idTokens(text: string): readonly string[] {
  const tokens = new Set<string>()
  for (const run of plainRuns(text) ?? text.match(RUNS) ?? []) {
    if (!/\p{N}|\p{L}[_-]\p{L}/u.test(run)) continue
    const token = foldedText(run)
      .replace(/[^\p{L}\p{N}]/gu, '')
      .slice(0, LONGEST_TOKEN)
    if (token !== '') tokens.add(token)
    if (tokens.size === MOST_TOKENS) break
  }
  return [...tokens]
}

/** Fast path for ASCII: runs with a digit or a sign, which few words have; undefined for any other text. */
function plainRuns(text: string): readonly string[] | undefined {
  const runs: string[] = []
  let start = 0
  let hasSign = false
  for (let at = 0; at <= text.length; at++) {
    const code = at === text.length ? SPACE : text.charCodeAt(at)
    if (code > 127) return undefined
    const isSign = (code >= 48 && code <= 57) || code === 45 || code === 95
    const letter = code | 32
    if (isSign) hasSign = true
    else if (letter < 97 || letter > 122) {
      if (hasSign) runs.push(text.slice(start, at))
      start = at + 1
      hasSign = false
    }
  }
  return runs
}

const SPACE = 32
const RUNS = /[\p{L}\p{N}\p{M}_-]+/gu
const LONGEST_TOKEN = 64
/** Per message. A longer list of ids is data, not a mention. */
const MOST_TOKENS = 256

/** The texts in the values of a person's input: not those of messages and parts that others have written. */
export function personsTexts(value: Json | undefined): readonly string[] {
  if (typeof value !== 'object' || value === null) return textsIn(value)
  const { role, content, by } = value as JsonObject
  const isOthers = by === 'program' || (content !== undefined && (role === 'assistant' || role === 'tool'))
  return isOthers ? [] : Object.values(value).flatMap((inner) => personsTexts(inner))
}

/** Every text and number in a value. */
function textsIn(value: Json | undefined): readonly string[] {
  if (typeof value === 'string' || typeof value === 'number') return [String(value)]
  if (typeof value !== 'object' || value === null) return []
  return Object.values(value).flatMap((inner) => (inner === undefined ? [] : textsIn(inner)))
}
