/** Reads the parts of one item: the format's function converts each part, and unknown parts are dropped with a note. */
import type { FilePart, JsonObject, TextPart, UserContent } from '../../protocol/index.ts'
import { type ForeignPart, type ForeignResult, type HistoryItem, type Reading, Replies } from './foreign.ts'
import { dropPart } from './pieces.ts'

export type UserPart = TextPart | FilePart

/** The converted part; undefined if it is of another kind. */
export type Read<T> = (part: JsonObject) => T | undefined

/** For items that mix results with content. */
export interface Readers<T> {
  readonly content: Read<T>
  readonly result: Read<ForeignResult>
}

export function readEach<T>(parts: readonly JsonObject[], read: Read<T>, reading: Reading): T[] {
  return parts.flatMap((part) => {
    const made = read(part)
    if (made === undefined) dropPart(part, reading)
    return made === undefined ? [] : [made]
  })
}

export function readUser(parts: readonly JsonObject[], read: Read<UserPart>, reading: Reading): HistoryItem {
  return { kind: 'user', at: reading.at, content: userContent(readEach(parts, read, reading)) }
}

/** Results come before the user's own parts. */
export function readUserAndResults(
  parts: readonly JsonObject[],
  { content, result }: Readers<UserPart>,
  reading: Reading,
): readonly HistoryItem[] {
  const { at } = reading
  const results: ForeignResult[] = []
  const userParts: UserPart[] = []
  for (const part of parts) {
    const [read, settled] = [content(part), result(part)]
    if (settled !== undefined) results.push(settled)
    else if (read !== undefined) userParts.push(read)
    else dropPart(part, reading)
  }
  const user: HistoryItem = { kind: 'user', at, content: userContent(userParts) }
  if (results.length === 0) return [user]
  const answered: HistoryItem = { kind: 'results', at, results }
  return userParts.length === 0 ? [answered] : [answered, user]
}

/** `model`: the replying model, if the item names it. */
export function readReplies(
  parts: readonly JsonObject[],
  { content, result, model }: Readers<ForeignPart> & { readonly model?: string | undefined },
  reading: Reading,
): readonly HistoryItem[] {
  const replies = new Replies(reading.at, model)
  for (const part of parts) {
    const [read, settled] = [content(part), result(part)]
    if (settled !== undefined) replies.result(settled)
    else if (read !== undefined) replies.part(read)
    else dropPart(part, reading)
  }
  return replies.items()
}

/** A single text becomes a string, anything else a list. */
function userContent(parts: readonly UserPart[]): UserContent {
  const [only] = parts
  const isPlain = only?.type === 'text' && only.provider === undefined && only.by === undefined
  return parts.length === 1 && isPlain ? only.text : parts
}
