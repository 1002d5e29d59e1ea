/**
 * Finds where a window begins, reading a journal from its newest entry back. Pure. A window begins at a message outside
 * of any open round (R11), and stays there as long as possible, so that prompt caches hold.
 */
import type { Entry, Message } from '../protocol/index.ts'
import { isKnown } from './format.ts'
import { messageCount } from './message-count.ts'
import { type Session, stillOpen } from './session.ts'
import { compactMessage, compactResult } from './tool-results.ts'
import { transcript } from './transcript.ts'

/** The token limit of a window, and the count of a message. */
export interface TokenBudget {
  readonly max: number
  readonly count: (message: Message) => number
}

export interface WindowLimits {
  readonly maxMessages: number
  readonly tokens?: TokenBudget
  /** Begins exactly `maxMessages` back, or before the round there, instead of moving in steps. */
  readonly isExact?: boolean
}

/** Number of newest messages to show. Drops by a quarter of the limit at a time, and grows again from there. */
export function windowSize(total: number, limit: number): number {
  if (total <= limit) return total
  const step = stepOf(limit)
  return total - Math.ceil((total - limit) / step) * step
}

function stepOf(limit: number): number {
  return Math.max(1, Math.floor(limit / 4))
}

/** An entry at which a window may begin. */
interface Mark {
  readonly seq: number
  /** Number of entries read up to it, itself included. */
  readonly read: number
  /** Number of messages of the conversation before it. */
  readonly before: number
  /** Number of its messages: its own, and for a reply those up to the last result of its round. */
  readonly span: number
  /** Tokens from it to the newest entry. */
  readonly tokens: number
  /** The turn or exchange that contains it, by its `openingId`: its opening is shown too. */
  readonly inside?: number
}

/** Id of the turn or exchange that an entry opens: a turn by its number, an imported exchange by its negated position. */
export function openingId({ type, turn, seq }: Entry): number | undefined {
  if (type === 'turn.start') return turn
  return type === 'import' ? -seq : undefined
}

export class Backwards {
  readonly #limits: WindowLimits
  readonly #total: number
  readonly #target: number
  readonly #round: Set<string>
  /** By `openingId`: tokens of each opening read so far. */
  readonly #openings = new Map<number, number>()
  /** Newest first. */
  readonly #marks: Mark[] = []
  /** Number of messages after the newest result of the round being read, if any. */
  #afterRound: number | undefined
  #turn = 0
  #read = 0
  #messages = 0
  #tokens = 0

  constructor(session: Session, limits: WindowLimits) {
    this.#limits = limits
    this.#total = session.window.messages
    const { maxMessages, isExact } = limits
    this.#target = isExact ? Math.min(this.#total, maxMessages) : windowSize(this.#total, maxMessages)
    this.#round = new Set(stillOpen(session).calls.map(({ callId }) => callId))
  }

  get left(): number {
    return Math.max(0, this.#target - this.#messages)
  }

  /** No earlier entry can be in the window. */
  get isDone(): boolean {
    if (this.#round.size > 0) return false
    const { max = Number.POSITIVE_INFINITY } = this.#limits.tokens ?? {}
    return this.#messages >= this.#target || (this.#marks.length > 0 && this.#tokens > max)
  }

  /** `tokens`: of the entry's messages. */
  read(entry: Entry, tokens = 0): void {
    const count = messageCount(entry)
    this.#read += 1
    this.#messages += count
    this.#tokens += tokens
    if (entry.turn > 0 && entry.type !== 'claim') this.#turn = entry.turn
    const opened = openingId(entry)
    if (opened !== undefined) this.#openings.set(opened, tokens)
    if (!isKnown(entry)) return
    if (entry.type === 'tool.end') {
      this.#round.add(entry.data.callId)
      this.#afterRound ??= this.#messages - count
    }
    const span = this.#messages - (this.#afterRound ?? this.#messages - count)
    if (entry.type === 'model.end') {
      this.#round.clear()
      this.#afterRound = undefined
    }
    if (count === 0 || this.#round.size > 0) return
    const whole = entry.type === 'import' ? (entry.data.continues ?? 0) - entry.seq : this.#turn
    const inside = this.#openings.has(whole) ? {} : { inside: whole }
    const before = Math.max(0, this.#total - this.#messages)
    this.#marks.push({ seq: entry.seq, read: this.#read, before, span, tokens: this.#tokens, ...inside })
  }

  /** The `openingId` of a turn or exchange read only in part: its opening is missing. */
  get unopened(): number | undefined {
    const { inside } = this.#marks.at(-1) ?? {}
    return inside === undefined || this.#openings.has(inside) ? undefined : inside
  }

  /**
   * Number of read entries in the window. `around`: tokens of the summary, which is always shown; `opening`: tokens of
   * the opening of `unopened`. Without a token limit, all of them.
   *
   * Of the marks with more than half of the tokens, the one with the roundest number of messages before it wins,
   * because it stays a candidate for longest. The steps of `windowSize` count as the roundest, so that both limits
   * agree.
   */
  length({ around = 0, opening = 0 }: { around?: number; opening?: number } = {}): number {
    const { tokens: budget } = this.#limits
    const oldest = this.#marks.at(-1)
    if (budget === undefined || oldest === undefined) return this.#read
    const cost = ({ tokens, inside }: Mark): number =>
      tokens + around + (inside === undefined ? 0 : (this.#openings.get(inside) ?? opening))
    const fitting = this.#marks.filter((mark) => cost(mark) <= budget.max)
    const large = fitting.filter((mark) => cost(mark) > budget.max / 2)
    const best = this.#roundest(large) ?? fitting.at(-1) ?? this.#marks[0] ?? oldest
    // Before the oldest mark there may be results without their call: shown only if there is room.
    const hasRoom = this.#round.size === 0 || this.#tokens + around <= budget.max
    return best === oldest && hasRoom ? this.#read : best.read
  }

  #roundest(marks: readonly Mark[]): Mark | undefined {
    let [best, most]: [Mark | undefined, number] = [undefined, -1]
    for (const mark of marks) {
      const roundness = this.#roundness(mark)
      if (roundness >= most) [best, most] = [mark, roundness]
    }
    return best
  }

  /**
   * The roundest number of messages in the mark's span, because no window begins inside a round. It must never
   * decrease, or a window could move back; so messages in an open round count only once the round has gone on after
   * them.
   */
  #roundness({ before, span }: Mark): number {
    const step = stepOf(this.#limits.maxMessages)
    let most = 0
    for (let number = before; number < before + span; number++) {
      if (number % step === 0) return Number.POSITIVE_INFINITY
      most = Math.max(most, number & -number)
    }
    return most
  }
}

type Counted = WeakMap<TokenBudget['count'], WeakMap<Entry, number>>

const wholeCounts: Counted = new WeakMap()
const trimmedCounts: Counted = new WeakMap()
/** Reserve per call: unanswered calls read as not run, without an entry. */
const UNANSWERED = 16

/** Dependencies of an entry's tokens. `input`: finds an entry that it takes. */
interface EntrySurroundings {
  readonly input: (seq: number) => Entry | undefined
  readonly trimmedUpTo: number | undefined
}

/** Upper estimate of an entry's tokens in a transcript. Counted once, and once more when trimmed. */
export function entryTokens(
  entry: Entry,
  count: TokenBudget['count'],
  { input, trimmedUpTo = 0 }: EntrySurroundings,
): number {
  const isTrimmed = entry.seq <= trimmedUpTo && (entry.type === 'tool.end' || entry.type === 'import')
  const known = isTrimmed ? trimmedCounts : wholeCounts
  const counted = known.get(count) ?? new WeakMap<Entry, number>()
  known.set(count, counted)
  const before = counted.get(entry)
  if (before !== undefined) return before
  const inputs = (entry.takes ?? []).flatMap((seq) => input(seq) ?? [])
  const messages = messagesOf(entry, inputs, isTrimmed)
  const tokens = messages.reduce((sum, message) => sum + count(message), 0) + reserve(entry)
  if (inputs.length === (entry.takes ?? []).length) counted.set(entry, tokens)
  return tokens
}

function messagesOf(entry: Entry, inputs: readonly Entry[], isTrimmed: boolean): readonly Message[] {
  if (messageCount(entry) === 0 || !isKnown(entry)) return []
  if (entry.type !== 'tool.end') {
    const messages = transcript([...inputs, entry])
    return isTrimmed ? messages.map((message) => compactMessage(message)) : messages
  }
  const { callId, status, output, seen } = entry.data
  const part = { type: 'tool-result', callId, tool: '', status, output } as const
  return [{ role: 'tool', content: [isTrimmed ? compactResult(part, seen) : part] }]
}

function reserve(entry: Entry): number {
  if (!isKnown(entry) || entry.type !== 'model.end') return 0
  return UNANSWERED * entry.data.content.filter(({ type }) => type === 'tool-call').length
}
