/** Identifiers as a port. System ids are random and sort by creation time. */
import { randomBytes } from 'node:crypto'

export interface Ids {
  /** A new id, unique everywhere, such as `append_01k9…`. The prefix names its kind. */
  next(prefix: string): string
}

export const systemIds: Ids = { next: (prefix) => `${prefix}_${timePart()}${randomPart()}` }

const RANDOM_BYTES = 8
/** This many ids share their random bytes and differ by a counter. */
const IDS_EACH = 256
const COUNTERS: readonly string[] = Array.from({ length: IDS_EACH }, (_, at) => (0x1000 + at).toString(16))
let random = ''
let made = IDS_EACH

let moment = { at: 0, text: '' }

/** Cached: many ids share a millisecond, and formatting it is half the cost of an id. */
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
  return random + (COUNTERS[made++] as string)
}
