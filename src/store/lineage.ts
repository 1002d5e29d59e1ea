/**
 * Decides which journals a conversation is read from (R15). A fork holds only its own entries and reads its parent's up
 * to the fork point; a base hides the entries below it, unless the fork point is older than the base.
 */

/** One context of a line of forks, the youngest first. `id` is the adapter's own reference to its rows. */
export interface ForkLink<Id> {
  readonly id: Id
  /** Position in its parent; 0 if it is no fork. */
  readonly forkedAt: number
  /** Every base of this context: its range, and the position of the base entry. Any order. */
  readonly bases: readonly BaseMark[]
}

export interface BaseMark {
  readonly upTo: number
  readonly seq: number
  /** Entries up to here are still stored: older forks read them. */
  readonly kept: number
}

/** A range of one context's own rows, both ends inclusive. */
export interface Segment<Id> {
  readonly id: Id
  readonly from: number
  readonly to: number
}

export interface Lineage<Id> {
  /** Youngest first; together they hold every readable position once. */
  readonly segments: readonly Segment<Id>[]
  /** The same without the cut of a base, for rows that outlive the entries below it. Youngest first. */
  readonly ancestry: readonly Segment<Id>[]
  /** The start of a fold, if the line does not go back to the beginning. */
  readonly base?: { readonly id: Id; readonly mark: BaseMark }
}

export function lineageOf<Id>(links: readonly ForkLink<Id>[]): Lineage<Id> {
  const ancestry: Segment<Id>[] = []
  let cut: { readonly segments: Segment<Id>[]; readonly base: { id: Id; mark: BaseMark } } | undefined
  let to = Number.MAX_SAFE_INTEGER
  for (const { id, forkedAt, bases } of links) {
    const end = to
    const own = end === Number.MAX_SAFE_INTEGER
    // A base applies to its own context, and to forks made after it.
    const mark = bases.filter(({ upTo, kept }) => upTo <= end && (own || kept < end)).reduce(later, undefined)
    if (cut === undefined && mark !== undefined && mark.upTo >= forkedAt)
      cut = { segments: [...ancestry, { id, from: mark.upTo + 1, to }], base: { id, mark } }
    ancestry.push({ id, from: forkedAt + 1, to })
    // A fork of a fork may lie below its parent's fork point; then it reads none of its parent's own entries.
    to = Math.min(to, forkedAt)
  }
  return { segments: ancestry, ...cut, ancestry }
}

/** A part of a lineage to read. `isPruned`: only entries that pruning keeps are left there. */
export interface ReadPart<Id> extends Segment<Id> {
  readonly isPruned?: true
}

/** The parts of a lineage that hold positions `from` to `to`, in reading order; with `kept`, also those below its base. */
export function segmentsIn<Id>(
  { segments, ancestry, base }: Lineage<Id>,
  range: { from: number; to: number; newest: boolean; kept?: boolean | undefined },
): ReadPart<Id>[] {
  const parts: ReadPart<Id>[] = within(segments, range)
  if (range.kept && base !== undefined) {
    const pruned = within(ancestry, { from: range.from, to: Math.min(range.to, base.mark.upTo) })
    for (const segment of pruned) parts.push({ ...segment, isPruned: true })
  }
  return range.newest ? parts : parts.reverse()
}

function within<Id>(
  segments: readonly Segment<Id>[],
  range: { readonly from: number; readonly to: number },
): Segment<Id>[] {
  return segments
    .map(({ id, from, to }) => ({ id, from: Math.max(from, range.from), to: Math.min(to, range.to) }))
    .filter(({ from, to }) => from <= to)
}

function later(best: BaseMark | undefined, mark: BaseMark): BaseMark {
  return best === undefined || mark.upTo > best.upTo ? mark : best
}
