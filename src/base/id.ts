/** Identifiers as a port. The system's are random and sort by the time of their making. */
import { randomBytes } from 'node:crypto'

export interface Ids {
  /** A new id, unique everywhere, such as `append_01k9…`. The prefix says what it names. */
  next(prefix: string): string
}

export const systemIds: Ids = { next: (prefix) => `${prefix}_${timePart()}${randomPart()}` }

const RANDOM_BYTES = 8
/** So many ids share their random bytes, and are told apart by their number. */
const IDS_EACH = 256
let random = ''
let made = IDS_EACH

let moment = { at: 0, text: '' }

/** Many are made in one millisecond, and to write it down is half the work. */
function timePart(): string {
  const at = Date.now()
  if (at !== moment.at) moment = { at, text: at.toString(36).padStart(9, '0') }
  return moment.text
}

function randomPart(): string {
  if (made === IDS_EACH) {
    random = randomBytes(RANDOM_BYTES).toString('hex')
    made = 0
  }
  return random + (0x1000 + made++).toString(16)
}
