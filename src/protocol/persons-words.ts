/** Words of the person in a journal: which entries hold them, and which of their tokens may be ids. */
import { foldedText } from './entity.ts'
import type { Entry, EntryData } from './entry.ts'
import type { Json } from './json.ts'
import type { UserContent } from './message.ts'

/**
 * Whether an entry may hold words of the person: an input, an answer to a request, or an import. An entry with an `origin`
 * was posted by the code of a call and holds words of a model or a program.
 */
export function isPersonsInput({ type, data }: Entry): boolean {
  if (type !== 'input' && type !== 'answer' && type !== 'import') return false
  return (data as { readonly origin?: unknown }).origin === undefined
}

/** The person's words in an entry; empty if there are none. */
export function personsWords(entry: Entry): string {
  if (!isPersonsInput(entry)) return ''
  if (entry.type === 'answer') return textsIn((entry.data as EntryData['answer']).value).join('\n')
  if (entry.type === 'input') return personsText((entry.data as EntryData['input']).message)
  const { messages = [] } = entry.data as Partial<EntryData['import']>
  return messages
    .flatMap((one) => (one.role === 'user' && one.by === undefined ? [personsText(one.content)] : []))
    .join('\n')
}

/** The text of a message without what somebody else says in it. */
function personsText(content: UserContent): string {
  return textOf(Array.isArray(content) ? content.filter((part) => !('by' in part)) : content)
}

/** Content whose texts are not the person's. */
export function programsContent(content: UserContent): UserContent {
  const parts = typeof content === 'string' ? [{ type: 'text', text: content } as const] : content
  return parts.map((part) => (part.type === 'text' ? { ...part, by: 'program' } : part))
}

/** The text of a message, without its files. Inboxes take more than messages: what is none has no text. */
export function textOf(content: UserContent): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return (content as Exclude<UserContent, string>)
    .flatMap((part) => (part.type === 'text' ? [part.text] : []))
    .join('\n')
}

/**
 * The tokens of a text that may be ids, in the form by which they are filed: lower case, letters and digits only. A token
 * has a digit, or a sign between letters. Stored rows depend on this form, so it never changes.
 */
export function idTokens(text: string): readonly string[] {
  const tokens = new Set<string>()
  for (const [run] of text.matchAll(RUNS)) {
    if (!/\p{N}|\p{L}[_-]\p{L}/u.test(run)) continue
    const token = foldedText(run)
      .replace(/[^\p{L}\p{N}]/gu, '')
      .slice(0, LONGEST_TOKEN)
    if (token !== '') tokens.add(token)
    if (tokens.size === MOST_TOKENS) break
  }
  return [...tokens]
}

const RUNS = /[\p{L}\p{N}\p{M}_-]+/gu
const LONGEST_TOKEN = 64
/** Of one message. A longer list of ids is data, not a mention. */
const MOST_TOKENS = 256

function textsIn(value: Json | undefined): readonly string[] {
  if (typeof value === 'string' || typeof value === 'number') return [String(value)]
  if (typeof value !== 'object' || value === null) return []
  return Object.values(value).flatMap((inner) => (inner === undefined ? [] : textsIn(inner)))
}
