/** Identifiers as a port. The system's are random and sort by the time of their making. */
import { randomBytes } from 'node:crypto'

export interface Ids {
  /** A new id, unique everywhere, such as `append_01k9…`. The prefix says what it names. */
  next(prefix: string): string
}

export const systemIds: Ids = { next: (prefix) => `${prefix}_${timePart()}${randomPart()}` }

const RANDOM_BYTES = 10
const POOL_BYTES = RANDOM_BYTES * 256
let pool = Buffer.alloc(0)
let used = 0

let moment = { at: 0, text: '' }

/** Many are made in one millisecond, and to write it down is half the work. */
function timePart(): string {
  const at = Date.now()
  if (at !== moment.at) moment = { at, text: at.toString(36).padStart(9, '0') }
  return moment.text
}

function randomPart(): string {
  if (used === pool.length) {
    pool = randomBytes(POOL_BYTES)
    used = 0
  }
  used += RANDOM_BYTES
  return pool.toString('hex', used - RANDOM_BYTES, used)
}
