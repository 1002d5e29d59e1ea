/**
 * Checksums of rows. Every row has one over its other cells and its context, so that a row that a flipped bit changed
 * or moved is refused. Entries have their own (`checksum`), blobs their hash.
 */
import { crc32 } from 'node:zlib'
import type { Cell } from './database.ts'

export function rowChecksum(cells: readonly Cell[]): number {
  return crc32(cells.join('\n'))
}

/** True if the last cell is the checksum of the others. `found`: the preceding cells, by which the row was found. */
export function checksumMatches(row: readonly Cell[], ...found: Cell[]): boolean {
  const last = row.length - 1
  for (let i = 0; i < last; i++) found.push(row[i] as Cell)
  return rowChecksum(found) === row[last]
}
