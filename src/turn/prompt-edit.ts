/**
 * Stores a hook's edit of prompt messages as a difference (R8), not as a copy. Messages may be added and the window may
 * move before it is applied; it is located by a digest of the last messages that it was made for. Pure.
 */
import { createHash } from 'node:crypto'
import type { Message, MessageChanges, Splice } from '../protocol/index.ts'

/** The number of messages at the end that identify a list. */
const DIGESTED = 3
/** Above this many pairs to compare, everything between the first and the last change is one change. */
const MAX_PAIRS = 1_000_000

/** The splices that turn `before` into `after`; undefined if there is no difference. */
export function difference(
  before: readonly Message[],
  after: readonly Message[],
): MessageChanges | undefined {
  const [old, edited] = [before.map(textOf), after.map(textOf)]
  const splices = splicesOf(common(old, edited), { length: old.length, after })
  return splices.length === 0 ? undefined : { of: old.length, end: digestOf(old), splices }
}

/** Applies a change; undefined if the messages that it was made for are not there. */
export function changed(
  messages: readonly Message[],
  change: MessageChanges | undefined,
): readonly Message[] | undefined {
  if (change === undefined) return messages
  const shift = shiftOf(messages, change)
  if (shift === undefined) return undefined
  const result: Message[] = []
  let from = 0
  for (const { at, remove, insert } of change.splices) {
    const end = at + remove + shift
    if (end < 0) continue
    const start = Math.max(0, at + shift)
    result.push(...messages.slice(from, start), ...insert)
    from = end
  }
  return [...result, ...messages.slice(from)]
}

/** How far the messages have moved back, by those that left the window. */
function shiftOf(messages: readonly Message[], { of, end }: MessageChanges): number | undefined {
  const texts = messages.map(textOf)
  for (let length = Math.min(of, texts.length); length >= Math.min(of, 1); length--)
    if (digestOf(texts.slice(Math.max(0, length - DIGESTED), length)) === end) return length - of
  return undefined
}

/** Positions of the same message in both lists, in order. */
type Pair = readonly [from: number, to: number]

function common(old: readonly string[], edited: readonly string[]): Pair[] {
  let start = 0
  while (start < old.length && start < edited.length && old[start] === edited[start]) start++
  let [endOld, endEdited] = [old.length, edited.length]
  while (endOld > start && endEdited > start && old[endOld - 1] === edited[endEdited - 1]) {
    endOld--
    endEdited--
  }
  const [middleOld, middleEdited] = [old.slice(start, endOld), edited.slice(start, endEdited)]
  const middle = middleOld.length * middleEdited.length > MAX_PAIRS ? [] : longest(middleOld, middleEdited)
  return [
    ...Array.from({ length: start }, (_, i): Pair => [i, i]),
    ...middle.map(([i, j]): Pair => [i + start, j + start]),
    ...Array.from({ length: old.length - endOld }, (_, i): Pair => [endOld + i, endEdited + i]),
  ]
}

/** The longest common subsequence. */
function longest(old: readonly string[], edited: readonly string[]): Pair[] {
  const rows = Array.from({ length: old.length + 1 }, () => new Uint32Array(edited.length + 1))
  const at = (i: number, j: number): number => rows[i]?.[j] ?? 0
  for (let i = old.length - 1; i >= 0; i--)
    for (let j = edited.length - 1; j >= 0; j--)
      (rows[i] as Uint32Array)[j] =
        old[i] === edited[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1))
  const pairs: Pair[] = []
  for (let [i, j] = [0, 0]; i < old.length && j < edited.length; ) {
    if (old[i] === edited[j]) pairs.push([i++, j++])
    else if (at(i + 1, j) >= at(i, j + 1)) i += 1
    else j += 1
  }
  return pairs
}

function splicesOf(
  pairs: readonly Pair[],
  { length, after }: { readonly length: number; readonly after: readonly Message[] },
): Splice[] {
  const splices: Splice[] = []
  let [from, to] = [0, 0]
  for (const [i, j] of [...pairs, [length, after.length] as const]) {
    if (i > from || j > to) splices.push({ at: from, remove: i - from, insert: after.slice(to, j) })
    from = i + 1
    to = j + 1
  }
  return splices
}

function textOf(message: Message): string {
  return JSON.stringify(message)
}

function digestOf(texts: readonly string[]): string {
  const hash = createHash('sha256')
  for (const text of texts.slice(-DIGESTED)) hash.update(`${text.length}:${text}`)
  return hash.digest('base64url').slice(0, 22)
}
