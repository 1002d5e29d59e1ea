/**
 * The parts of a DOCX that hold text, unpacked under a limit and packed again without compression. A parser that gets
 * this file cannot be made to unpack a bomb, and meets no image and no embedded file.
 */
import { crc32, inflateRawSync } from 'node:zlib'
import { DocumentError, tooLarge } from './parser.ts'

/** Relations, the main document, its styles, lists, notes, headers; and the title. */
const PARTS =
  /^(?:\[Content_Types\]\.xml|_rels\/\.rels|docProps\/core\.xml|word\/(?:_rels\/)?[\w.-]+\.(?:xml|rels))$/
export const CORE = 'docProps/core.xml'

const END = 0x06054b50
const ENTRY = 0x02014b50
const LOCAL = 0x04034b50
const END_SIZE = 22
const LONGEST_COMMENT = 0xffff
const ENTRY_SIZE = 46
const LOCAL_SIZE = 30
const ENCRYPTED = 1
const STORED = 0
const DEFLATED = 8
const MOST_ENTRIES = 10_000
const VERSION = 20

interface Entry {
  readonly name: string
  readonly flags: number
  readonly method: number
  readonly size: number
  readonly offset: number
}

/** @param most the most bytes of all parts together */
export function unpackDocx(bytes: Uint8Array, most: number): Map<string, Buffer> {
  const zip = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const parts = new Map<string, Buffer>()
  let left = most
  for (const entry of readEntries(zip)) {
    if (!PARTS.test(entry.name) || parts.has(entry.name)) continue
    if ((entry.flags & ENCRYPTED) !== 0)
      throw new DocumentError('encrypted', 'The document needs a password.')
    const content = unpack(zip, entry, { left, most })
    left -= content.length
    parts.set(entry.name, content)
  }
  if (!parts.has('[Content_Types].xml')) throw malformed('it has no list of its parts')
  return parts
}

function readEntries(zip: Buffer): readonly Entry[] {
  const end = endRecord(zip)
  const count = zip.readUInt16LE(end + 10)
  if (count > MOST_ENTRIES) throw tooLarge('parts', MOST_ENTRIES)
  const entries: Entry[] = []
  let at = zip.readUInt32LE(end + 16)
  for (let index = 0; index < count; index++) {
    if (at + ENTRY_SIZE > zip.length || zip.readUInt32LE(at) !== ENTRY) throw malformed('its index is broken')
    const [name, extra, comment] = [28, 30, 32].map((field) => zip.readUInt16LE(at + field)) as [
      number,
      number,
      number,
    ]
    entries.push({
      name: zip.toString('utf8', at + ENTRY_SIZE, at + ENTRY_SIZE + name),
      flags: zip.readUInt16LE(at + 8),
      method: zip.readUInt16LE(at + 10),
      size: zip.readUInt32LE(at + 20),
      offset: zip.readUInt32LE(at + 42),
    })
    at += ENTRY_SIZE + name + extra + comment
  }
  return entries
}

/** The last record of a ZIP, found from the end: a comment of any content may follow it. */
function endRecord(zip: Buffer): number {
  const first = Math.max(0, zip.length - END_SIZE - LONGEST_COMMENT)
  for (let at = zip.length - END_SIZE; at >= first; at--) if (zip.readUInt32LE(at) === END) return at
  throw malformed('it is no ZIP file, or was cut off')
}

function unpack(zip: Buffer, { method, size, offset }: Entry, room: { left: number; most: number }): Buffer {
  if (offset + LOCAL_SIZE > zip.length || zip.readUInt32LE(offset) !== LOCAL)
    throw malformed('a part is missing')
  const start = offset + LOCAL_SIZE + zip.readUInt16LE(offset + 26) + zip.readUInt16LE(offset + 28)
  if (start + size > zip.length) throw malformed('a part was cut off')
  const packed = zip.subarray(start, start + size)
  if (method !== STORED && method !== DEFLATED) throw malformed('a part has an unknown compression')
  if (method === STORED && size > room.left) throw tooLarge('bytes', room.most)
  if (method === STORED) return packed
  try {
    return inflateRawSync(packed, { maxOutputLength: Math.max(1, room.left) })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge('bytes', room.most)
    throw malformed('a part cannot be unpacked')
  }
}

/** A ZIP of the parts, all stored. */
export function packStored(parts: ReadonlyMap<string, Buffer>): Buffer {
  const files: Buffer[] = []
  const index: Buffer[] = []
  let offset = 0
  for (const [path, content] of parts) {
    const name = Buffer.from(path)
    const shared = Buffer.alloc(26)
    shared.writeUInt16LE(VERSION, 0)
    shared.writeUInt32LE(crc32(content), 10)
    shared.writeUInt32LE(content.length, 14)
    shared.writeUInt32LE(content.length, 18)
    shared.writeUInt16LE(name.length, 22)
    const entry = Buffer.alloc(ENTRY_SIZE)
    entry.writeUInt32LE(ENTRY, 0)
    entry.writeUInt16LE(VERSION, 4)
    shared.copy(entry, 6)
    entry.writeUInt32LE(offset, 42)
    files.push(number32(LOCAL), shared, name, content)
    index.push(entry, name)
    offset += LOCAL_SIZE + name.length + content.length
  }
  const end = Buffer.alloc(END_SIZE)
  end.writeUInt32LE(END, 0)
  end.writeUInt16LE(parts.size, 8)
  end.writeUInt16LE(parts.size, 10)
  end.writeUInt32LE(
    index.reduce((total, { length }) => total + length, 0),
    12,
  )
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...files, ...index, end])
}

function number32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}

function malformed(why: string): DocumentError {
  return new DocumentError('malformed', `The DOCX cannot be read: ${why}.`)
}
