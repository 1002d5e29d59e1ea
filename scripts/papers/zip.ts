/** A zip archive whose files are stored as they are: compressed bytes would depend on the version of zlib. */
import { crc32 } from 'node:zlib'

/** The first of January 1980, the earliest day that an archive can have. */
const DAY = 0x21
const [LOCAL, CENTRAL, END] = [0x04034b50, 0x02014b50, 0x06054b50]
const VERSION = 20
/** Names are in UTF-8. */
const FLAGS = 0x0800

export function zip(files: Readonly<Record<string, string>>): Uint8Array {
  const parts: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const [path, text] of Object.entries(files)) {
    const [name, data] = [Buffer.from(path), Buffer.from(text)]
    const shared = header(data, name)
    const local = Buffer.concat([number32(LOCAL), shared, name, data])
    // Comment, disk and attributes are empty.
    directory.push(number32(CENTRAL), number16(VERSION), shared, Buffer.alloc(10), number32(offset), name)
    parts.push(local)
    offset += local.length
  }
  const central = Buffer.concat(directory)
  const count = number16(Object.keys(files).length)
  const place = [number32(central.length), number32(offset), number16(0)]
  return Buffer.concat([...parts, central, number32(END), Buffer.alloc(4), count, count, ...place])
}

/** The fields that a file has in both places: version, flags, method, time, day, checksum, sizes, lengths. */
function header(data: Buffer, name: Buffer): Buffer {
  return Buffer.concat([
    ...[VERSION, FLAGS, 0, 0, DAY].map(number16),
    ...[crc32(data), data.length, data.length].map(number32),
    ...[name.length, 0].map(number16),
  ])
}

function number16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16LE(value)
  return bytes
}

function number32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}
