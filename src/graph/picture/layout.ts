/**
 * Where everything in a picture stands, in rows from top to bottom. Lines run between rows, or beside places through
 * lanes of their own; those that lead back run outside of what they pass. Pure.
 */
import { detours, type Gaps } from './back.ts'
import { spread } from './columns.ts'
import { ranksOf } from './ranks.ts'
import { type Item, loopRoom, type Rows, rowsOf } from './rows.ts'
import type { Band, Box, Line, Point, Route, Sketch } from './shapes.ts'

export interface Layout {
  readonly width: number
  readonly height: number
  readonly boxes: ReadonlyMap<string, Box>
  /** One for each line, in the same order. */
  readonly routes: readonly Route[]
}

const MARGIN = 16
const GAP = 42
/** Beside rows of labels and bars. */
const SMALL_GAP = 26
/** A line arrives straight, so that its tip is seen. */
const STRAIGHT = 10
const PORT = 16

export function layoutOf(sketch: Sketch): Layout {
  const ranks = ranksOf(sketch)
  const rows = rowsOf(sketch, ranks)
  spread(rows.rows)
  const back = detours({ sketch, rows, back: ranks.back })
  const bands = bandsOf(rows, back.gaps)
  const boxes = new Map(
    sketch.places.map(({ id, width, height }): [string, Box] => {
      const { x = 0, row = 0 } = rows.itemOf.get(id) ?? {}
      return [id, { x, y: bands[row]?.middle ?? 0, width, height }]
    }),
  )
  const routes = new Map<number, Route>([
    ...forwardRoutes(sketch, rows, { bands, boxes }),
    ...ranks.loops.map((index): [number, Route] => [index, loopRoute(boxes, sketch.lines[index])]),
    ...back.routes(bands, boxes),
  ])
  const all = sketch.lines.map((_, index) => routes.get(index) ?? { points: [], isDetour: false })
  return moved(boxes, all)
}

interface Drawing {
  readonly bands: readonly Band[]
  readonly boxes: ReadonlyMap<string, Box>
}

/** Lines that go far to the side, or turn between two rows, need more room there. */
function bandsOf({ rows }: Rows, gaps: Gaps): readonly Band[] {
  let y = 0
  return rows.map((row, index) => {
    const widest = Math.max(0, ...row.flatMap((one) => one.above.map((other) => Math.abs(other.x - one.x))))
    y +=
      gaps.heightOf(index) +
      (index === 0 ? 0 : gapBetween(rows[index - 1] ?? [], row) + Math.min(36, widest / 12))
    const top = y
    y += Math.max(...row.map(({ height }) => height))
    return { top, middle: (top + y) / 2, bottom: y }
  })
}

function gapBetween(above: readonly Item[], below: readonly Item[]): number {
  const isFlat = (row: readonly Item[]): boolean => row.every(({ height }) => height <= 16)
  return isFlat(above) || isFlat(below) ? SMALL_GAP : GAP
}

function forwardRoutes(
  { lines }: Sketch,
  { chains }: Rows,
  { bands, boxes }: Drawing,
): readonly [number, Route][] {
  const leaving = ports(chains, (chain) => [chain[0], chain[1]])
  const arriving = ports(chains, (chain) => [chain.at(-1), chain.at(-2)])
  return [...chains].map(([index, chain]) => {
    const source = boxes.get(lines[index]?.from ?? '')
    const target = boxes.get(lines[index]?.to ?? '')
    if (source === undefined || target === undefined) return [index, { points: [], isDetour: false }]
    const [fromX, toX] = [leaving.get(index) ?? source.x, arriving.get(index) ?? target.x]
    const points: Point[] = [{ x: fromX, y: source.y + source.height / 2 }]
    for (const [step, { row, x }] of chain.entries()) {
      const { top = 0, bottom = 0 } = bands[row] ?? {}
      const isFirst = step === 0
      const isLast = step === chain.length - 1
      const at = isFirst ? fromX : isLast ? toX : x
      if (!isFirst) points.push({ x: at, y: isLast ? top - STRAIGHT : top })
      if (!isLast) points.push({ x: at, y: bottom })
    }
    points.push({ x: toX, y: target.y - target.height / 2 })
    const label = chain.find(({ isLabel }) => isLabel)
    return [index, { points, isDetour: false, ...labelAt(label, bands) }]
  })
}

function labelAt(label: Item | undefined, bands: readonly Band[]): { readonly label?: Box } {
  if (label === undefined) return {}
  const { x, row, left, height } = label
  return { label: { x, y: bands[row]?.middle ?? 0, width: 2 * left, height } }
}

/** Where lines touch a place: side by side, in the order of where they go. */
function ports(
  chains: Rows['chains'],
  endOf: (chain: readonly Item[]) => readonly [Item | undefined, Item | undefined],
): Map<number, number> {
  const groups = new Map<Item, { index: number; to: number }[]>()
  for (const [index, chain] of chains) {
    const [place, next] = endOf(chain)
    if (place === undefined || next === undefined) continue
    const group = groups.get(place) ?? []
    group.push({ index, to: next.x })
    groups.set(place, group)
  }
  const found = new Map<number, number>()
  for (const [place, group] of groups) {
    const step = Math.min(PORT, Math.max(0, 2 * place.left - 36) / Math.max(1, group.length - 1))
    for (const [position, { index }] of group.sort((a, b) => a.to - b.to).entries())
      found.set(index, place.x + (position - (group.length - 1) / 2) * step)
  }
  return found
}

function loopRoute(boxes: Drawing['boxes'], line: Line | undefined): Route {
  const box = boxes.get(line?.from ?? '')
  if (line === undefined || box === undefined) return { points: [], isDetour: true }
  const border = box.x + box.width / 2
  const [x, by] = [border + loopRoom(undefined) - 8, box.height / 6]
  const points = [
    { x: border, y: box.y + by },
    { x, y: box.y + by },
    { x, y: box.y - by },
    { x: border, y: box.y - by },
  ]
  if (line.label === undefined) return { points, isDetour: true }
  const { width, height } = line.label
  return { points, isDetour: true, label: { x: x + 5 + width / 2, y: box.y, width, height } }
}

/** So that nothing is left of or above the margin. */
function moved(boxes: Drawing['boxes'], routes: readonly Route[]): Layout {
  const corners = [...boxes.values(), ...routes.flatMap(({ label }) => label ?? [])].flatMap(
    ({ x, y, width, height }) => [
      { x: x - width / 2, y: y - height / 2 },
      { x: x + width / 2, y: y + height / 2 },
    ],
  )
  const all = [...corners, ...routes.flatMap(({ points }) => points)]
  const [left, top] = [least(all.map(({ x }) => x)), least(all.map(({ y }) => y))]
  const by = <T extends Point>(point: T): T => ({
    ...point,
    x: round(point.x - left + MARGIN),
    y: round(point.y - top + MARGIN),
  })
  return {
    width: Math.ceil(-least(all.map(({ x }) => -x)) - left + 2 * MARGIN),
    height: Math.ceil(-least(all.map(({ y }) => -y)) - top + 2 * MARGIN),
    boxes: new Map([...boxes].map(([id, box]) => [id, by(box)])),
    routes: routes.map(({ points, isDetour, label }) => ({
      points: points.map(by),
      isDetour,
      ...(label === undefined ? {} : { label: by(label) }),
    })),
  }
}

function least(values: readonly number[]): number {
  return values.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY)
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}
