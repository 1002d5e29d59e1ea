/** Reads a message from the arguments or standard input, and checks it before anything is written. */
import { wrongUsage } from './refusal.ts'

/** More than any model reads at once. */
const MOST_BYTES = 4 * 1024 * 1024
const MEGABYTE = 1024 * 1024

/** @param words `-` alone stands for standard input */
export async function messageFrom(words: readonly string[], stdin: AsyncIterable<Buffer>): Promise<string> {
  const isInput = words.length === 1 && words[0] === '-'
  const text = isInput ? decoded(await readAll(stdin)) : words.join(' ')
  if (text.trim() === '')
    throw wrongUsage(
      isInput
        ? 'The message is empty: nothing came from standard input. Nothing was sent.'
        : 'The message is empty. Write it in quotes, or type - to read standard input.',
    )
  checkMessage(text)
  return isInput ? text.replace(/\r?\n$/, '') : text
}

/** `//sessions` is the message `/sessions`, not the command. Undefined for any other line. */
export function escapedMessage(line: string): string | undefined {
  return /^\/\/\w+(?:\s|$)/.test(line) ? line.slice(1) : undefined
}

/** Throws if a message is too large. */
export function checkMessage(text: string): void {
  if (Buffer.byteLength(text) > MOST_BYTES) throw tooLarge()
}

async function readAll(stdin: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of stdin) {
    bytes += chunk.length
    if (bytes > MOST_BYTES) throw tooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function tooLarge(): Error {
  return wrongUsage(
    `The message is larger than ${MOST_BYTES / MEGABYTE} MB, which is the most that one message may have. Nothing was sent. Put it into a file that a tool reads, or send it in parts.`,
  )
}

function decoded(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw wrongUsage(
      `Standard input is not UTF-8 text (byte ${firstWrong(bytes)}). Nothing was sent. Convert it first, such as with: iconv -f ISO-8859-1 -t UTF-8`,
    )
  }
}

/** The position of the first invalid byte, counted from 1. */
function firstWrong(bytes: Buffer): number {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  const text = decoder.decode(bytes)
  let [before, from] = [0, 0]
  for (let at = text.indexOf('\ufffd'); at >= 0; at = text.indexOf('\ufffd', at + 1)) {
    before += Buffer.byteLength(text.slice(from, at))
    from = at
    const isMeant = bytes.subarray(before, before + 3).equals(Buffer.from('\ufffd'))
    if (!isMeant) return before + 1
  }
  return 1
}
