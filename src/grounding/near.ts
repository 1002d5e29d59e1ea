/** What somebody may have meant who wrote something that is not there. */
import { normalLabel } from '../protocol/index.ts'
import { type Candidate, candidate } from './case.ts'
import type { Entity } from './entity.ts'
import { isExpired, type Judging } from './facts.ts'
import { editDistance, isTypoOf } from './normal.ts'

const MOST = 5
const LOOKED_AT = 100

/**
 * The things seen last that are like what was written, best first and at most five. Where nothing is like it and there
 * are no more than five, these are it.
 */
export async function nearMatches(
  given: string,
  entity: Entity,
  { facts, now }: Pick<Judging, 'facts' | 'now'>,
): Promise<readonly Candidate[]> {
  const rows = (await facts.recent(entity.name, LOOKED_AT)).filter((row) => !isExpired(row, entity, now))
  const ranked = nearest(given, rows)
  if (ranked.length > 0) return ranked
  return rows.length <= MOST ? rows.map((row) => candidate(row)) : []
}

/** Of these, the ones that are like what was written, best first and at most five. */
export function nearest(given: string, rows: readonly Candidate[]): readonly Candidate[] {
  return rows
    .map((row) => ({ row, rank: likeness(given, row) }))
    .filter(({ rank }) => rank > 0)
    .toSorted((a, b) => b.rank - a.rank)
    .slice(0, MOST)
    .map(({ row }) => candidate(row))
}

/** From 0, nothing in common, to 1. */
function likeness(given: string, { id, label }: Candidate): number {
  const byId = idLikeness(given, id)
  return label === undefined ? byId : Math.max(byId, labelLikeness(normalLabel(given), normalLabel(label)))
}

function idLikeness(given: string, id: string): number {
  if (given.length >= 3 && (id.startsWith(given) || given.startsWith(id))) return 0.9
  const length = Math.max(given.length, id.length)
  const most = Math.floor(length / 4)
  const steps = editDistance(given.slice(0, LONGEST), id.slice(0, LONGEST), most)
  return steps > most ? 0 : 1 - steps / length
}

const LONGEST = 64

function labelLikeness(given: string, label: string): number {
  if (given === label) return 1
  if (isTypoOf(given, label)) return 0.95
  const theirs = label.split(' ')
  const words = given.split(' ')
  const common = theirs.filter(
    (word) => word.length > 2 && words.some((own) => own === word || isTypoOf(own, word)),
  )
  return common.length === 0 ? 0 : 0.5 + (0.4 * common.length) / Math.max(theirs.length, 1)
}
