/** Lines that lead back: up at the left or the right, outside of all that they pass. Pure. */
import type { Item, Rows } from './rows.ts'
import type { Band, Box, Line, Point, Route, Sketch } from './shapes.ts'

/** Room for lines that turn between two rows. */
export interface Gaps {
  /** What is needed above this row, beyond what is there anyway. */
  readonly heightOf: (row: number) => number
}

export interface Detours {
  readonly gaps: Gaps
  readonly routes: (bands: readonly Band[], boxes: ReadonlyMap<string, Box>) => readonly [number, Route][]
}

type Side = 1 | -1

interface Detour {
  readonly index: number
  readonly line: Line
  readonly source: Item
  readonly target: Item
  readonly side: Side
  /** Where it turns below the row of its source, or above that of its target; not at all if nothing is in its way. */
  readonly exit?: number
  readonly entry?: number
  /** Where it runs up. */
  readonly x: number
}

const STEP = 14
const TRACK = 9
const CORNER = 10
const EDGE = 6

export function detours({
  sketch: { lines },
  rows: { rows, itemOf },
  back,
}: {
  readonly sketch: Sketch
  readonly rows: Rows
  readonly back: readonly number[]
}): Detours {
  const tracks = new Tracks()
  const reach = new Reach(rows)
  const ends = back.flatMap((index) => {
    const line = lines[index]
    const source = itemOf.get(line?.from ?? '')
    const target = itemOf.get(line?.to ?? '')
    return line && source && target ? [{ index, line, source, target }] : []
  })
  ends.sort((a, b) => a.source.row - a.target.row - (b.source.row - b.target.row))
  const found = ends.map((one): Detour => {
    const { source, target, line } = one
    const side = sideOf(rows, source, target)
    const below = isOuter(rows, source, side) ? undefined : tracks.take(source.row + 1, source, side)
    const above = isOuter(rows, target, side) ? undefined : tracks.take(target.row, target, side)
    return {
      ...one,
      side,
      x: reach.lane(side, [target.row, source.row], line.label?.width ?? 0),
      ...(below === undefined ? {} : { exit: below }),
      ...(above === undefined ? {} : { entry: above }),
    }
  })
  return {
    gaps: { heightOf: (row) => tracks.count(row) * TRACK },
    routes: (bands, boxes) => found.map((detour) => [detour.index, routeOf(detour, bands, boxes)]),
  }
}

/** Where fewer things are in its way; at the right if it does not matter. */
function sideOf(rows: readonly Item[][], source: Item, target: Item): Side {
  const [right, left] = ([1, -1] as const).map(
    (side) => outside(rows, source, side).length + outside(rows, target, side).length,
  )
  return (left ?? 0) < (right ?? 0) ? -1 : 1
}

function outside(rows: readonly Item[][], one: Item, side: Side): readonly Item[] {
  const row = rows[one.row] ?? []
  const at = row.indexOf(one)
  return side === 1 ? row.slice(at + 1) : row.slice(0, at)
}

/** Nothing but lines is between it and the side. */
function isOuter(rows: readonly Item[][], one: Item, side: Side): boolean {
  return outside(rows, one, side).every(({ place, isLabel }) => place === undefined && !isLabel)
}

/** Turns between two rows, by the row below. Those of the same place share one. */
class Tracks {
  readonly #rows = new Map<number, Map<string, number>>()
  readonly #ids = new Map<Item, number>()

  take(row: number, place: Item, side: Side): number {
    const id = this.#ids.get(place) ?? this.#ids.size
    this.#ids.set(place, id)
    const taken = this.#rows.get(row) ?? new Map<string, number>()
    this.#rows.set(row, taken)
    const name = `${id} ${side}`
    const track = taken.get(name) ?? taken.size
    taken.set(name, track)
    return track
  }

  count(row: number): number {
    return this.#rows.get(row)?.size ?? 0
  }
}

/** How far each row reaches to both sides, with the lanes that already pass it. */
class Reach {
  readonly #sides: ReadonlyMap<Side, number[]>

  constructor(rows: readonly Item[][]) {
    this.#sides = new Map([
      [1, rows.map((row) => Math.max(...row.map(({ x, right }) => x + right)))],
      [-1, rows.map((row) => Math.max(...row.map(({ x, left }) => left - x)))],
    ])
  }

  lane(side: Side, [first, last]: readonly [number, number], labelWidth: number): number {
    const reach = this.#sides.get(side) ?? []
    const passed = reach.slice(first, last + 1)
    const x = Math.max(...passed) + Math.max(STEP, labelWidth / 2 + EDGE)
    for (let row = first; row <= last; row++) reach[row] = x + labelWidth / 2
    return side * x
  }
}

function routeOf(detour: Detour, bands: readonly Band[], boxes: ReadonlyMap<string, Box>): Route {
  const { line, side, x, exit, entry, source, target } = detour
  const from = boxes.get(line.from)
  const to = boxes.get(line.to)
  if (from === undefined || to === undefined) return { points: [], isDetour: true }
  const leaving = exit === undefined ? sidePort(from, side, -1) : cornerPort(from, side, 1)
  const low = exit === undefined ? leaving.y : (bands[source.row]?.bottom ?? 0) + EDGE + exit * TRACK
  const arriving = entry === undefined ? sidePort(to, side, 1) : cornerPort(to, side, -1)
  const high = entry === undefined ? arriving.y : (bands[target.row]?.top ?? 0) - 14 - entry * TRACK
  const points = [
    leaving,
    ...(exit === undefined ? [] : [{ x: leaving.x, y: low }]),
    { x, y: low },
    { x, y: high },
    ...(entry === undefined ? [] : [{ x: arriving.x, y: high }]),
    arriving,
  ]
  if (line.label === undefined) return { points, isDetour: true }
  return { points, isDetour: true, label: { x, y: (low + high) / 2, ...line.label } }
}

/** `up`: 1 for the lower half of its side, where lines arrive, -1 for the upper one, where they leave. */
function sidePort({ x, y, width, height }: Box, side: Side, up: Side): Point {
  return { x: x + (side * width) / 2, y: y + up * Math.max(0, height / 2 - EDGE) }
}

function cornerPort({ x, y, width, height }: Box, side: Side, down: Side): Point {
  return { x: x + side * Math.max(0, width / 2 - CORNER), y: y + (down * height) / 2 }
}
