/**
 * The files of a conversation that a model is sent. Files it has refused before, and old ones beyond its vendor's limits,
 * become a text in the prompt. The journal keeps all of them. Pure.
 */
import { createHash } from 'node:crypto'
import { absentFile, type FilePart, type Message } from '../protocol/index.ts'
import { fileLimitsOf } from './file-limits.ts'
import type { FileLimits } from './vendors.ts'

const digests = new WeakMap<FilePart, string>()

/** Identifies a file by its type, name and bytes: a vendor may refuse any of them. */
export function fileDigest(file: FilePart): string {
  const known = digests.get(file)
  if (known !== undefined) return known
  const hash = createHash('sha256')
  for (const text of [file.mediaType, file.name ?? '', file.data]) hash.update(`${text.length}:${text}`)
  const digest = hash.digest('base64url').slice(0, 22)
  digests.set(file, digest)
  return digest
}

/** All files of messages, oldest first. */
export function filesIn(messages: readonly Message[]): FilePart[] {
  return messages.flatMap((message) =>
    message.role === 'user' && typeof message.content !== 'string'
      ? message.content.filter((part) => part.type === 'file')
      : [],
  )
}

export function hasFiles(messages: readonly Message[]): boolean {
  for (const { role, content } of messages)
    if (role === 'user' && typeof content !== 'string' && content.some(({ type }) => type === 'file'))
      return true
  return false
}

export interface ShownFiles {
  readonly messages: readonly Message[]
  /** Files beyond the vendor's limits, oldest first. */
  readonly beyond: readonly FilePart[]
}

/** The messages as this provider receives them. `refused`: digests of files that the model has refused. */
export function shownFiles(
  messages: readonly Message[],
  { provider, refused }: { readonly provider: string; readonly refused: ReadonlySet<string> },
): ShownFiles {
  const files = filesIn(messages)
  if (files.length === 0) return { messages, beyond: [] }
  const isRefused = (file: FilePart) => refused.size > 0 && refused.has(fileDigest(file))
  const limits = fileLimitsOf(provider)
  const left = files.filter((file) => !isRefused(file))
  const newest = messages.findLast(({ role }) => role === 'user')
  const fresh = filesIn(newest === undefined ? [] : [newest])
  const beyond = limits === undefined ? new Set<FilePart>() : filesBeyond(left, fresh, limits)
  const shown = withoutFiles(messages, (file) => {
    if (isRefused(file)) return absentFile(file).text
    return beyond.has(file) ? absentFile(file, NOT_ANY_MORE).text : undefined
  })
  return { messages: shown, beyond: [...beyond] }
}

const NOT_ANY_MORE = 'It is not shown any more: there are newer files, and a request can only hold so many.'

/** Replaces some files by texts. A message that loses none stays the same object. */
export function withoutFiles(
  messages: readonly Message[],
  textFor: (file: FilePart) => string | undefined,
): readonly Message[] {
  return messages.map((message) => {
    if (message.role !== 'user' || typeof message.content === 'string') return message
    const texts = message.content.map((part) => (part.type === 'file' ? textFor(part) : undefined))
    return texts.some((text) => text !== undefined) ? replaced(message, texts) : message
  })
}

type UserMessage = Extract<Message, { role: 'user' }>

/** The same object for the same texts, so that the prompt cache finds it again. */
const replacements = new WeakMap<UserMessage, { readonly by: string; readonly message: UserMessage }>()

function replaced(message: UserMessage, texts: readonly (string | undefined)[]): UserMessage {
  const by = JSON.stringify(texts)
  const before = replacements.get(message)
  if (before?.by === by) return before.message
  const content =
    typeof message.content === 'string'
      ? message.content
      : message.content.map((part, index) => {
          const text = texts[index]
          return text === undefined ? part : ({ type: 'text', text } as const)
        })
  const changed: UserMessage = { ...message, content }
  replacements.set(message, { by, message: changed })
  return changed
}

/**
 * The oldest files that must go. Images go in steps, as windows do, so that prompts share their beginning for many turns.
 * The newest message is exempt from the size limit, but not from the image limit.
 */
function filesBeyond(
  files: readonly FilePart[],
  fresh: readonly FilePart[],
  { images: most, chars }: FileLimits,
): Set<FilePart> {
  const images = files.filter(({ mediaType }) => mediaType.toLowerCase().startsWith('image'))
  const step = Math.max(1, Math.floor(most / 4))
  const over = Math.ceil(Math.max(0, images.length - most) / step) * step
  const beyond = new Set(images.slice(0, over))
  let size = files.reduce((sum, file) => (beyond.has(file) ? sum : sum + file.data.length), 0)
  for (const file of files) {
    // A tenth is reserved for texts and framing.
    if (size <= chars * 0.9) break
    if (beyond.has(file) || fresh.includes(file)) continue
    beyond.add(file)
    size -= file.data.length
  }
  return beyond
}
