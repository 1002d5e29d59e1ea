/**
 * Checksums of rows. Every row carries one over its other cells and the context that it belongs to, so that what a
 * flipped bit has changed or moved is noticed and not believed. Entries have their own (`checksum`), blobs their hash.
 */
import { crc32 } from 'node:zlib'
import type { Cell } from './database.ts'

export function seal(cells: readonly Cell[]): number {
  return crc32(cells.join('\n'))
}

/** Is the last cell the seal of the others? `found` are the cells before them that the row was found by. */
export function isSealed(row: readonly Cell[], ...found: Cell[]): boolean {
  const last = row.length - 1
  for (let i = 0; i < last; i++) found.push(row[i] as Cell)
  return seal(found) === row[last]
}
