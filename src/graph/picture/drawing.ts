/** Places and lines as SVG. */
import { type Mark, NAME_SIZE, NOTE_SIZE, type Shape, type Stroke } from './figure.ts'
import type { Box, Point, Route } from './shapes.ts'
import { xmlText } from './text.ts'

const ROOT = '.holdfast-graph'
const CORNER = 8

interface Colours {
  readonly ground: string
  readonly ink: string
  readonly line: string
  readonly box: string
  readonly used: string
  readonly usedBox: string
  readonly failed: string
  readonly open: string
}

const LIGHT: Colours = {
  ground: '#ffffff',
  ink: '#1f2328',
  line: '#6e7781',
  box: '#f6f8fa',
  used: '#0b5cad',
  usedBox: '#e3f0ff',
  failed: '#b3261e',
  open: '#8a5a00',
}

const DARK: Colours = {
  ground: '#0d1117',
  ink: '#e6edf3',
  line: '#8b949e',
  box: '#161b22',
  used: '#6cb6ff',
  usedBox: '#12263f',
  failed: '#ff8a80',
  open: '#e3b341',
}

/** Of all pictures the same, so that several of them may stand on one page. */
export const STYLE: string = [
  `${ROOT} text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;font-size:${NAME_SIZE}px;text-anchor:middle}`,
  `${ROOT} .small{font-size:${NOTE_SIZE}px}`,
  `${ROOT} .box{stroke-width:1.4}`,
  `${ROOT} .inner{fill:none}`,
  `${ROOT} .line{fill:none;stroke-width:1.4}`,
  `${ROOT} .branch .line{stroke-dasharray:5 4}`,
  `${ROOT} .used .line,${ROOT} .used .box{stroke-width:2.4}`,
  `${ROOT} .failed .box{stroke-width:2.8;stroke-dasharray:9 3}`,
  `${ROOT} .open .box{stroke-width:2.4;stroke-dasharray:2 3}`,
  `${ROOT} .unused{opacity:.38}`,
  ...inColours(LIGHT),
  '@media (prefers-color-scheme:dark){',
  ...inColours(DARK),
  '}',
].join('\n')

function inColours({ ground, ink, line, box, used, usedBox, failed, open }: Colours): readonly string[] {
  return [
    `${ROOT} .ground{fill:${ground}}`,
    `${ROOT} text{fill:${ink}}`,
    `${ROOT} .box{fill:${box};stroke:${line}}`,
    `${ROOT} .bar,${ROOT} .tip{fill:${line}}`,
    `${ROOT} .line{stroke:${line}}`,
    ...[
      ['used', used],
      ['failed', failed],
      ['open', open],
    ].flatMap(([mark, colour]) => [
      `${ROOT} .${mark} .box{fill:${usedBox};stroke:${colour}}`,
      `${ROOT} .${mark} .bar,${ROOT} .${mark} .tip,${ROOT} .${mark} .note{fill:${colour}}`,
      `${ROOT} .${mark} .line{stroke:${colour}}`,
    ]),
    `${ROOT} .inner{fill:none}`,
  ]
}

export function shapeDrawn(box: Box, shape: Shape): string {
  const { kind, name, note, mark, isGraph } = shape
  const said = [name, ...(isGraph ? ['a graph'] : []), ...(note === undefined ? [] : [note])].join(': ')
  const frame =
    kind === 'join'
      ? rect(box, { name: 'bar', inset: 0, round: 3 })
      : rect(box, { name: 'box', inset: 0, round: kind === 'pill' ? box.height / 2 : 6 })
  const second = isGraph ? rect(box, { name: 'box inner', inset: 4, round: 3 }) : ''
  return `<g class="${classes('place', mark)}"><title>${xmlText(said)}</title>${frame}${second}${texts(box, shape)}</g>`
}

function texts({ x, y }: Box, { text, note }: Shape): string {
  if (text === '') return ''
  const name = `<text x="${x}" y="${y + (note === undefined ? 4.5 : -3)}">${xmlText(text)}</text>`
  return note === undefined
    ? name
    : `${name}<text class="small note" x="${x}" y="${y + 13}">${xmlText(note)}</text>`
}

function rect(
  { x, y, width, height }: Box,
  { name, inset, round }: { readonly name: string; readonly inset: number; readonly round: number },
): string {
  const [left, top] = [tenth(x - width / 2 + inset), tenth(y - height / 2 + inset)]
  return `<rect class="${name}" x="${left}" y="${top}" width="${tenth(width - 2 * inset)}" height="${tenth(height - 2 * inset)}" rx="${round}"/>`
}

/** The label apart: it is to lie above all lines. */
export function strokeDrawn(
  { points, isDetour, label }: Route,
  { kind, isArrow, name = '', text = '', mark }: Stroke,
): { readonly line: string; readonly label: string } {
  const path = isDetour ? aroundCorners(points) : fromRowToRow(points)
  const tip = isArrow ? arrowTip(points) : ''
  const line = `<g class="${classes(kind, mark)}"><path class="line" d="${path}"/>${tip}</g>`
  if (label === undefined) return { line, label: '' }
  const ground = rect(label, { name: 'ground', inset: 0, round: 3 })
  const words = `<text class="small" x="${label.x}" y="${tenth(label.y + 4)}">${xmlText(text)}</text>`
  return {
    line,
    label: `${ground}<g class="${classes('answer', mark)}"><title>${xmlText(name)}</title>${words}</g>`,
  }
}

/** Straight up and down, and in one bend from one row to the next. */
function fromRowToRow(points: readonly Point[]): string {
  const [first = { x: 0, y: 0 }, ...rest] = points
  let before = first
  const parts = [`M${first.x} ${first.y}`]
  for (const point of rest) {
    const middle = tenth((before.y + point.y) / 2)
    parts.push(
      point.x === before.x
        ? `V${point.y}`
        : `C${before.x} ${middle} ${point.x} ${middle} ${point.x} ${point.y}`,
    )
    before = point
  }
  return parts.join('')
}

function aroundCorners(points: readonly Point[]): string {
  return points
    .map((point, index) => {
      const before = points[index - 1]
      const after = points[index + 1]
      if (before === undefined) return `M${point.x} ${point.y}`
      if (after === undefined) return `L${point.x} ${point.y}`
      const [from, to] = [towards(point, before), towards(point, after)]
      return `L${from.x} ${from.y}Q${point.x} ${point.y} ${to.x} ${to.y}`
    })
    .join('')
}

/** A little way from one point in the direction of another. */
function towards(point: Point, other: Point): Point {
  const length = Math.hypot(other.x - point.x, other.y - point.y)
  const part = length === 0 ? 0 : Math.min(CORNER, length / 2) / length
  return { x: tenth(point.x + (other.x - point.x) * part), y: tenth(point.y + (other.y - point.y) * part) }
}

function arrowTip(points: readonly Point[]): string {
  const end = points.at(-1)
  const before = points.findLast((point) => point.x !== end?.x || point.y !== end?.y)
  if (end === undefined || before === undefined) return ''
  const { x, y } = end
  if (before.x === x || before.y < y - 1) return `<path class="tip" d="M${x} ${y}l-4.5 -9h9z"/>`
  return `<path class="tip" d="M${x} ${y}l${before.x > x ? 9 : -9} -4.5v9z"/>`
}

function classes(name: string, mark: Mark): string {
  return mark === 'plain' ? name : `${name} ${mark}`
}

function tenth(value: number): number {
  return Math.round(value * 10) / 10
}
