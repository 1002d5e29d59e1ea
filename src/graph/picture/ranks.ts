/**
 * Which lines of a picture lead on, which lead back, and in which row each place stands. Pure, and knows no graphs: only
 * places with sizes, and lines between them.
 */
import type { Line, Place, Sketch } from './shapes.ts'

export interface Ranks {
  /** Even for places, odd for joins and labels. */
  readonly rankOf: ReadonlyMap<string, number>
  readonly forward: readonly number[]
  readonly back: readonly number[]
  readonly loops: readonly number[]
}

/** Lines by their index. A line leads back if it closes a circle on a walk from the first place, in the order given. */
export function ranksOf({ places, lines }: Sketch): Ranks {
  const loops = lines.flatMap(({ from, to }, index) => (from === to ? [index] : []))
  const outgoing = new Map<string, number[]>(places.map(({ id }) => [id, []]))
  for (const [index, { from, to }] of lines.entries()) if (from !== to) outgoing.get(from)?.push(index)
  const { back, finished } = walk(places, lines, outgoing)
  const forward = lines.flatMap(({ from, to }, index) => (from === to || back.has(index) ? [] : [index]))
  const isJoin = new Set(places.flatMap((place) => (place.isJoin ? [place.id] : [])))
  const rankOf = new Map(places.map(({ id }) => [id, 0]))
  for (const id of finished.toReversed())
    for (const index of outgoing.get(id) ?? []) {
      const to = lines[index]?.to ?? ''
      const least = (rankOf.get(id) ?? 0) + (isJoin.has(id) || isJoin.has(to) ? 1 : 2)
      if (!back.has(index)) rankOf.set(to, Math.max(rankOf.get(to) ?? 0, least))
    }
  return { rankOf: evened(rankOf, isJoin), forward, back: [...back], loops }
}

/** A join that nothing leads to would stand among the others. */
function evened(rankOf: ReadonlyMap<string, number>, isJoin: ReadonlySet<string>): Map<string, number> {
  return new Map([...rankOf].map(([id, rank]) => [id, (rank % 2 === 1) === isJoin.has(id) ? rank : rank + 1]))
}

/** Depth first, without recursion. `finished`: each place after all that it leads on to. */
function walk(
  places: readonly Place[],
  lines: readonly Line[],
  outgoing: ReadonlyMap<string, readonly number[]>,
): { readonly back: ReadonlySet<number>; readonly finished: readonly string[] } {
  const back = new Set<number>()
  const finished: string[] = []
  const entered = new Set<string>()
  const onPath = new Set<string>()
  for (const { id: first } of places) {
    const path = entered.has(first) ? [] : [{ id: first, next: 0 }]
    for (let here = path.at(-1); here !== undefined; here = path.at(-1)) {
      entered.add(here.id)
      onPath.add(here.id)
      const index = outgoing.get(here.id)?.[here.next++]
      if (index === undefined) {
        finished.push(here.id)
        onPath.delete(here.id)
        path.pop()
        continue
      }
      const to = lines[index]?.to ?? ''
      if (onPath.has(to)) back.add(index)
      else if (!entered.has(to)) path.push({ id: to, next: 0 })
    }
  }
  return { back, finished }
}
