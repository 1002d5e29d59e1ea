/** How far left or right everything in a picture stands: near its neighbours, and nothing on top of anything else. Pure. */
import type { Item } from './rows.ts'

const SPACE = 26
const LANE_SPACE = 12
const ROUNDS = 16

/** Sets `x` of every item: its middle. */
export function spread(rows: readonly Item[][]): void {
  for (const row of rows) settle(row, () => 0)
  for (let round = 0; round < ROUNDS; round++) {
    const isLast = round >= ROUNDS - 4
    for (const row of rows) settle(row, (one) => wish(one, isLast ? [...one.above, ...one.below] : one.above))
    for (const row of rows.toReversed())
      settle(row, (one) => wish(one, isLast ? [...one.above, ...one.below] : one.below))
  }
  straighten(rows)
}

/** What follows each other alone is moved to one line, as far as there is room. */
function straighten(rows: readonly Item[][]): void {
  const rooms = new Map<Item, () => Room>()
  for (const row of rows)
    for (const [index, one] of row.entries())
      rooms.set(one, () => roomOf(one, row[index - 1], row[index + 1]))
  const done = new Set<Item>()
  for (const first of rooms.keys())
    for (let next: Item | undefined = first; next !== undefined && !done.has(next); ) {
      const run: Item[] = []
      let room: Room = { from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY }
      while (next !== undefined && !done.has(next)) {
        const own = rooms.get(next)?.() ?? room
        const both = { from: Math.max(room.from, own.from), to: Math.min(room.to, own.to) }
        if (run.length > 0 && both.from > both.to) break
        room = both
        run.push(next)
        done.add(next)
        next = follower(next)
      }
      const middle = run.reduce((sum, { x }) => sum + x, 0) / run.length
      for (const one of run) one.x = Math.min(Math.max(middle, room.from), room.to)
    }
}

interface Room {
  readonly from: number
  readonly to: number
}

function roomOf(one: Item, before: Item | undefined, after: Item | undefined): Room {
  return {
    from: before === undefined ? Number.NEGATIVE_INFINITY : before.x + gap(before, one),
    to: after === undefined ? Number.POSITIVE_INFINITY : after.x - gap(one, after),
  }
}

function follower(one: Item): Item | undefined {
  const [next, ...others] = one.below
  const isAlone = next !== undefined && others.length === 0 && next.above.length === 1
  return isAlone ? next : undefined
}

/** Long lines pull more than short ones, so that they are straight. */
function pull(one: Item, other: Item): number {
  const bends = Number(isLane(one)) + Number(isLane(other))
  return bends === 2 ? 8 : bends === 1 ? 2 : 1
}

function isLane({ place }: Item): boolean {
  return place === undefined
}

function wish(one: Item, neighbours: readonly Item[]): number {
  const all = neighbours.reduce((sum, other) => sum + pull(one, other), 0)
  return all === 0 ? one.x : neighbours.reduce((sum, other) => sum + other.x * pull(one, other), 0) / all
}

interface Block {
  readonly count: number
  /** Where its items would be on average, without the room that they take. */
  readonly at: number
}

/** As near to what they wish for as their order and their sizes allow: those that would overlap move as one. */
function settle(row: readonly Item[], wished: (one: Item) => number): void {
  const blocks: Block[] = []
  const offsets: number[] = []
  let offset = 0
  for (const [index, one] of row.entries()) {
    const before = row[index - 1]
    if (before !== undefined) offset += gap(before, one)
    offsets.push(offset)
    let block: Block = { count: 1, at: wished(one) - offset }
    for (let last = blocks.at(-1); last !== undefined && last.at > block.at; last = blocks.at(-1)) {
      blocks.pop()
      const count = last.count + block.count
      block = { count, at: (last.at * last.count + block.at * block.count) / count }
    }
    blocks.push(block)
  }
  const places = blocks.flatMap(({ count, at }) => Array.from({ length: count }, () => at))
  for (const [index, one] of row.entries()) one.x = (places[index] ?? 0) + (offsets[index] ?? 0)
}

function gap(one: Item, other: Item): number {
  return one.right + other.left + (isLane(one) || isLane(other) ? LANE_SPACE : SPACE)
}
