/** Reading a part of an open file. */
import type { FileHandle } from 'node:fs/promises'

/** At most `length` bytes from `position` on; fewer at the end of the file. */
export async function readBytes(handle: FileHandle, position: number, length: number): Promise<Buffer> {
  const { size } = await handle.stat()
  const buffer = Buffer.alloc(Math.max(0, Math.min(length, size - position)))
  let filled = 0
  while (filled < buffer.length) {
    const { bytesRead } = await handle.read(buffer, filled, buffer.length - filled, position + filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return buffer.subarray(0, filled)
}
