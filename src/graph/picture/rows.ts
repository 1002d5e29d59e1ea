/** Rows of a picture: places, and what long lines need to pass between them, in an order with few crossings. Pure. */
import type { Ranks } from './ranks.ts'
import type { Sketch } from './shapes.ts'

/** Something that takes room in a row: a place, a label, or a line on its way through. */
export interface Item {
  /** The place that it is, if it is one. */
  readonly place?: string
  readonly isLabel: boolean
  readonly row: number
  /** Room to both sides of its middle. */
  readonly left: number
  readonly right: number
  readonly height: number
  readonly above: Item[]
  readonly below: Item[]
  x: number
}

export interface Rows {
  readonly rows: readonly Item[][]
  readonly itemOf: ReadonlyMap<string, Item>
  /** What each forward line touches, from its source to its target. */
  readonly chains: ReadonlyMap<number, readonly Item[]>
}

const LANE = 5
const LOOP_ROOM = 26
const SWEEPS = 12

/** How far the loop of a place reaches to its right: the line, then its label. */
export function loopRoom(labelWidth: number | undefined): number {
  return LOOP_ROOM + (labelWidth ?? 0)
}

export function rowsOf(sketch: Sketch, ranks: Ranks): Rows {
  const { places, lines } = sketch
  const rowOf = usedRows(sketch, ranks)
  const loops = new Map(ranks.loops.map((index) => [lines[index]?.from, lines[index]]))
  const itemOf = new Map(
    places.map(({ id, width, height }): [string, Item] => {
      const loop = loops.get(id)
      const right = width / 2 + (loop === undefined ? 0 : loopRoom(loop.label?.width))
      return [id, item({ place: id, row: rowOf(id), left: width / 2, right, height })]
    }),
  )
  const rows: Item[][] = []
  const put = (one: Item): Item => {
    ;(rows[one.row] ??= []).push(one)
    return one
  }
  for (const one of itemOf.values()) put(one)
  const chains = new Map(
    ranks.forward.map((index) => [index, chainOf(sketch, index, { rowOf, itemOf, put })] as const),
  )
  for (const chain of chains.values())
    for (const [index, one] of chain.entries()) {
      const next = chain[index + 1]
      if (next === undefined) continue
      one.below.push(next)
      next.above.push(one)
    }
  return { rows: ordered(rows), itemOf, chains }
}

function item(given: Pick<Item, 'place' | 'row' | 'left' | 'right' | 'height'> & { isLabel?: true }): Item {
  return { isLabel: false, above: [], below: [], x: 0, ...given }
}

/** Ranks between places are rows only where a label or a join stands. */
function usedRows({ lines }: Sketch, { rankOf, forward }: Ranks): (id: string, further?: number) => number {
  const used = new Set(rankOf.values())
  for (const index of forward) {
    const line = lines[index]
    if (line?.label !== undefined) used.add((rankOf.get(line.from) ?? 0) + 1)
  }
  const rows = new Map([...used].sort((a, b) => a - b).map((rank, row) => [rank, row]))
  return (id, further = 0) => rows.get((rankOf.get(id) ?? 0) + further) ?? 0
}

interface Building {
  readonly rowOf: (id: string, further?: number) => number
  readonly itemOf: ReadonlyMap<string, Item>
  readonly put: (item: Item) => Item
}

function chainOf({ lines }: Sketch, index: number, { rowOf, itemOf, put }: Building): readonly Item[] {
  const line = lines[index]
  const source = itemOf.get(line?.from ?? '')
  const target = itemOf.get(line?.to ?? '')
  if (line === undefined || source === undefined || target === undefined) return []
  const labelRow = line.label === undefined ? -1 : rowOf(line.from, 1)
  const between: Item[] = []
  for (let row = source.row + 1; row < target.row; row++) {
    const { width, height } = (row === labelRow ? line.label : undefined) ?? { width: 2 * LANE, height: 0 }
    const isLabel = row === labelRow ? { isLabel: true as const } : {}
    between.push(put(item({ row, left: width / 2, right: width / 2, height, ...isLabel })))
  }
  return [source, ...between, target]
}

/** By the mean position of their neighbours, down and up again; the order with the fewest crossings is kept. */
function ordered(given: readonly Item[][]): readonly Item[][] {
  let rows = given
  let best = rows
  let least = crossings(rows)
  for (let sweep = 0; sweep < SWEEPS && least > 0; sweep++) {
    const isDown = sweep % 2 === 0
    const next: Item[][] = [...rows]
    for (let step = 0; step < rows.length; step++) {
      const row = isDown ? step : rows.length - 1 - step
      const beside = new Map(next[isDown ? row - 1 : row + 1]?.map((one, index) => [one, index]))
      next[row] = sortedBy(next[row] ?? [], (one) => mean(isDown ? one.above : one.below, beside))
    }
    rows = next
    const count = crossings(rows)
    if (count < least) [best, least] = [rows, count]
  }
  return best
}

function mean(neighbours: readonly Item[], positions: ReadonlyMap<Item, number>): number | undefined {
  if (neighbours.length === 0) return undefined
  return neighbours.reduce((sum, one) => sum + (positions.get(one) ?? 0), 0) / neighbours.length
}

/** Those without a wish stay where they are. */
function sortedBy(row: readonly Item[], wish: (one: Item) => number | undefined): Item[] {
  const wishes = new Map(row.map((one) => [one, wish(one)]))
  const moving = row.filter((one) => wishes.get(one) !== undefined)
  moving.sort((a, b) => (wishes.get(a) ?? 0) - (wishes.get(b) ?? 0))
  let next = 0
  return row.map((one) => (wishes.get(one) === undefined ? one : (moving[next++] ?? one)))
}

function crossings(rows: readonly Item[][]): number {
  let count = 0
  for (const [index, row] of rows.entries()) {
    const next = rows[index + 1] ?? []
    const positions = new Map(next.map((one, position) => [one, position]))
    const ends = row.flatMap((one) =>
      one.below.map((other) => positions.get(other) ?? 0).sort((a, b) => a - b),
    )
    count += inversions(ends, next.length)
  }
  return count
}

/** How often a greater one comes before a smaller one, counted with a tree of sums. */
function inversions(values: readonly number[], size: number): number {
  const sums = new Uint32Array(size + 1)
  let count = 0
  for (const [at, position] of values.entries()) {
    let notGreater = 0
    for (let node = position + 1; node > 0; node -= node & -node) notGreater += sums[node] ?? 0
    count += at - notGreater
    for (let node = position + 1; node <= size; node += node & -node) sums[node] = (sums[node] ?? 0) + 1
  }
  return count
}
