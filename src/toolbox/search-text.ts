/**
 * The proof that found lines are in a file of the working folder. Ripgrep opens files by path; a link that is swapped in
 * while it runs leads it outside. So every line that is shown is read again, from the file that the workspace has opened,
 * and left out if it is not there.
 */
import type { FileHandle } from 'node:fs/promises'
import { readBytes } from './read-bytes.ts'
import type { FoundLine } from './search-matches.ts'

/** A file in UTF-16 is decoded as a whole to find a line in it. */
const MOST_UTF16_BYTES = 16 * 1024 * 1024

/** The lines that the file has where they were found. */
export async function linesInFile(
  handle: FileHandle,
  lines: readonly FoundLine[],
): Promise<readonly FoundLine[]> {
  const readAt = await readerOf(handle)
  const there: FoundLine[] = []
  for (const line of lines)
    if (line.bytes.equals(await readAt(line.offset, line.bytes.length))) there.push(line)
  return there
}

type ReadAt = (offset: number, length: number) => Promise<Buffer>

/** Reads a file as ripgrep does: offsets are those of UTF-8 after a byte order mark. */
async function readerOf(handle: FileHandle): Promise<ReadAt> {
  const mark = await readBytes(handle, 0, 3)
  const utf16 =
    mark[0] === 0xff && mark[1] === 0xfe
      ? 'utf-16le'
      : mark[0] === 0xfe && mark[1] === 0xff
        ? 'utf-16be'
        : undefined
  if (utf16 !== undefined) {
    const text = Buffer.from(new TextDecoder(utf16).decode(await readBytes(handle, 0, MOST_UTF16_BYTES)))
    return async (offset, length) => text.subarray(offset, offset + length)
  }
  const start = mark[0] === 0xef && mark[1] === 0xbb && mark[2] === 0xbf ? 3 : 0
  return (offset, length) => readBytes(handle, start + offset, length)
}
