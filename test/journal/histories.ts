/**
 * Random legal histories. A history is a list of moves; an `Author` writes them to a store through its public port. A
 * move that is invalid at its position is skipped, so every list of moves is a legal history and shrinks well.
 */
import * as fc from 'fast-check'
import type { OutcomeReason, SettledStatus } from '../../src/protocol/index.ts'

export type Move =
  /** An input is posted and stays pending. */
  | { readonly do: 'say'; readonly big: boolean }
  /** A turn begins, with pending inputs or a new one; claimed in the same append or an earlier one. */
  | { readonly do: 'begin'; readonly takes: number; readonly together: boolean }
  | { readonly do: 'think' }
  /** `over`: also while a round is open, which no driver should do; its calls are then dropped. */
  | {
      readonly do: 'reply'
      readonly calls: number
      readonly text: boolean
      readonly big: boolean
      readonly over: boolean
    }
  /** The model fails: the reply is empty. */
  | { readonly do: 'fail' }
  | { readonly do: 'start'; readonly from: number; readonly count: number }
  | { readonly do: 'settle'; readonly which: number; readonly status: SettledStatus; readonly big: boolean }
  | { readonly do: 'ask'; readonly about: number; readonly expires: boolean }
  | { readonly do: 'resolve'; readonly which: number; readonly how: 'answered' | 'expired' | 'cancelled' }
  /** The driver takes one inbox entry, new or pending, during a turn. */
  | { readonly do: 'steer'; readonly as: 'message' | 'nothing'; readonly fresh: boolean }
  | { readonly do: 'note' }
  | { readonly do: 'phase'; readonly name: string }
  | { readonly do: 'warn' }
  /** An entry of a future version, marked as optional. */
  | { readonly do: 'skippable'; readonly known: boolean }
  /** `tidy`: open calls are settled first; otherwise the turn ends with them open, and parks them if it waits. */
  | { readonly do: 'end'; readonly outcome: OutcomeReason; readonly tidy: boolean; readonly wake: boolean }
  | { readonly do: 'cancel' }
  /** The driver dies; another one continues. */
  | { readonly do: 'crash' }
  /** Drivers claim and die without progress. */
  | { readonly do: 'poison'; readonly times: number }
  | { readonly do: 'release'; readonly pause: boolean; readonly wake: boolean }
  /** A late result of a dropped call arrives; also of one that another call with its arguments made known. */
  | { readonly do: 'late'; readonly which: number; readonly status: SettledStatus }
  /** A tool or a hook creates an artifact or another entry without a message. */
  | { readonly do: 'make' }
  /** The owner changes the conversation's state. */
  | { readonly do: 'remember' }
  /** Somebody who drives nothing does, under a claim that is released in the same append. */
  | { readonly do: 'record' }
  /** Anywhere in the window, also within a round. */
  | { readonly do: 'compact'; readonly back: number; readonly summary: boolean }
  | { readonly do: 'clear' }
  | { readonly do: 'prune'; readonly back: number; readonly byTurns: boolean }
  /** Forks some way back; `stay`: the history continues in the parent, otherwise in the fork. */
  | { readonly do: 'fork'; readonly back: number; readonly stay: boolean }
  /** Continues in another branch. */
  | { readonly do: 'switch'; readonly which: number }
  /** Time passes, or the clock is set back. */
  | { readonly do: 'pass'; readonly ms: number }

type Kind = Move['do']
type Fields<K extends Kind> = {
  [F in Exclude<keyof Extract<Move, { do: K }>, 'do'>]: fc.Arbitrary<Extract<Move, { do: K }>[F]>
}

const small = fc.nat(7)
const flag = fc.boolean()
const seldom = fc.nat(19).map((n) => n === 19)
const status = fc.constantFrom<SettledStatus>('ok', 'error', 'rejected', 'unknown', 'not-run')
const outcome = fc.constantFrom<OutcomeReason>(
  'stop',
  'max-iterations',
  'limit',
  'input-required',
  'auth-required',
  'failed',
)
const waiting = fc.constantFrom<OutcomeReason>('input-required', 'auth-required')
const phases = fc.constantFrom('beforeLlm', 'afterLlm', 'beforeTools', 'afterTools')

function move<K extends Kind>(kind: K, weight: number, fields: Fields<K>): fc.WeightedArbitrary<Move> {
  const record: fc.Arbitrary<unknown> = fc.record({ do: fc.constant(kind), ...fields })
  return { weight, arbitrary: record as fc.Arbitrary<Move> }
}

const talk: readonly fc.WeightedArbitrary<Move>[] = [
  move('say', 3, { big: seldom }),
  move('begin', 6, { takes: fc.nat(3), together: flag }),
  move('think', 2, {}),
  move('reply', 14, { calls: fc.nat(4), text: flag, big: seldom, over: seldom }),
  move('fail', 1, {}),
  move('start', 9, { from: small, count: fc.integer({ min: 1, max: 4 }) }),
  move('settle', 18, { which: small, status, big: seldom }),
  move('ask', 4, { about: small, expires: flag }),
  move('resolve', 6, { which: small, how: fc.constantFrom('answered', 'expired', 'cancelled') }),
  move('steer', 4, { as: fc.constantFrom('message', 'nothing'), fresh: flag }),
  move('note', 4, {}),
  move('phase', 2, { name: phases }),
  move('warn', 1, {}),
  move('skippable', 1, { known: flag }),
  move('end', 5, { outcome, tidy: flag, wake: seldom }),
  move('cancel', 1, {}),
  move('crash', 2, {}),
  move('poison', 1, { times: fc.integer({ min: 1, max: 3 }) }),
  move('release', 1, { pause: flag, wake: flag }),
  move('late', 3, { which: small, status: fc.constantFrom('ok', 'error') }),
  move('make', 2, {}),
  move('remember', 1, {}),
  move('record', 1, {}),
  move('pass', 2, { ms: fc.integer({ min: -50_000, max: 100_000 }) }),
]

const cuts: readonly fc.WeightedArbitrary<Move>[] = [
  move('compact', 2, { back: fc.nat(60), summary: flag }),
  move('clear', 1, {}),
]

const prunes: readonly fc.WeightedArbitrary<Move>[] = [move('prune', 2, { back: fc.nat(30), byTurns: flag })]

const branches: readonly fc.WeightedArbitrary<Move>[] = [
  move('fork', 2, { back: fc.nat(60), stay: flag }),
  move('switch', 1, { which: small }),
]

export interface HistoryOptions {
  readonly maxMoves?: number
  /** Leave out forks and prunes. */
  readonly linear?: boolean
  readonly unpruned?: boolean
  /** Leave out compactions and clears. */
  readonly whole?: boolean
}

export function histories(options: HistoryOptions = {}): fc.Arbitrary<readonly Move[]> {
  const others = [
    ...(options.whole ? [] : cuts),
    ...(options.linear ? [] : branches),
    ...(options.linear || options.unpruned ? [] : prunes),
  ]
  const single = fc.oneof(...talk, ...others).map((only): readonly Move[] => [only])
  const parts = fc.oneof({ weight: 14, arbitrary: single }, { weight: 1, arbitrary: waits(others) })
  const most = { minLength: 1, maxLength: options.maxMoves ?? 120, size: 'max' } as const
  return fc.array(parts, most).map((lists) => lists.flat())
}

/** A turn that ends to wait, events meanwhile, and the next turn: rarely consecutive by chance. */
function waits(others: readonly fc.WeightedArbitrary<Move>[]): fc.Arbitrary<readonly Move[]> {
  const calls = fc.integer({ min: 1, max: 4 })
  const ask = move('ask', 1, { about: small, expires: flag })
  const start = move('start', 1, { from: small, count: fc.integer({ min: 1, max: 4 }) })
  const settle = move('settle', 2, { which: small, status, big: seldom })
  const resolve = move('resolve', 1, {
    which: small,
    how: fc.constantFrom('answered', 'expired', 'cancelled'),
  })
  const end = move('end', 1, { outcome: waiting, tidy: fc.constant(false), wake: seldom })
  const begin = move('begin', 2, { takes: fc.nat(2), together: flag })
  const reply = move('reply', 1, { calls: fc.nat(2), text: flag, big: seldom, over: fc.constant(true) })
  const meanwhile = [move('say', 2, { big: seldom }), move('warn', 1, {}), ...others]
  const some = (...moves: fc.WeightedArbitrary<Move>[]) => fc.array(fc.oneof(...moves), { maxLength: 4 })
  return fc
    .tuple(
      move('reply', 1, { calls, text: flag, big: seldom, over: flag }).arbitrary.map((only) => [only]),
      some(ask, start, settle),
      end.arbitrary.map((only) => [only]),
      some(...meanwhile),
      some(begin, start, settle, resolve, end, reply, ...meanwhile, move('cancel', 1, {})),
    )
    .map((lists) => lists.flat())
}
