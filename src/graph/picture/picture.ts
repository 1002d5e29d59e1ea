/** A graph as a picture, and the way that a run took in it. */
import { HoldfastError } from '../../protocol/index.ts'
import type { GraphDefinition } from '../definition.ts'
import { STYLE, shapeDrawn, strokeDrawn } from './drawing.ts'
import { figureOf, type Mark, NOTE_SIZE } from './figure.ts'
import { layoutOf } from './layout.ts'
import type { Taken } from './taken.ts'
import { textWidth, xmlText } from './text.ts'

export { type Taken, takenWays } from './taken.ts'

export interface PictureOptions {
  /** What `takenWays` found: it stands out, and the rest fades. */
  readonly taken?: Taken
}

const LEGEND = [
  '×n: begun n times',
  '✕ broken: failed',
  '… dotted: waiting or not finished',
  'faded: not used',
]
const LEGEND_LINE = 16
const MOST_WAYS = 400

/**
 * An SVG that stands by itself: no scripts, no fonts, light or dark as its viewer is. Branches are dashed, a bar is what
 * several nodes are waited for at, a node that is a graph has a doubled border.
 */
export function graphPicture(graph: GraphDefinition, { taken }: PictureOptions = {}): string {
  const { shapes, strokes } = figureOf(graph, taken)
  if (strokes.length > MOST_WAYS) throw tooLarge(graph.name, strokes.length)
  const layout = layoutOf({ places: shapes, lines: strokes })
  const legend = taken === undefined ? [] : [outcomeOf(taken), LEGEND.join(' · ')]
  const width = Math.max(layout.width, ...legend.map((text) => Math.ceil(textWidth(text, NOTE_SIZE)) + 24))
  const height = layout.height + legend.length * LEGEND_LINE + (legend.length > 0 ? 8 : 0)
  const lines = strokes.flatMap((stroke, index) => {
    const route = layout.routes[index]
    return route === undefined ? [] : [{ ...strokeDrawn(route, stroke), mark: stroke.mark }]
  })
  const places = shapes.flatMap((shape) => {
    const box = layout.boxes.get(shape.id)
    return box === undefined ? [] : [shapeDrawn(box, shape)]
  })
  const name = xmlText(
    taken === undefined ? `Graph ${graph.name}` : `Graph ${graph.name}, ${outcomeOf(taken)}`,
  )
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" class="holdfast-graph" role="img" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`,
    `<title>${name}</title>`,
    `<style>${STYLE}</style>`,
    `<rect class="ground" width="${width}" height="${height}"/>`,
    `<g transform="translate(${Math.round((width - layout.width) / 2)} 0)">`,
    ...inFront(lines).map(({ line }) => line),
    ...lines.flatMap(({ label }) => (label === '' ? [] : [label])),
    ...places,
    '</g>',
    ...legend.map((text, index) => {
      const y = layout.height + 6 + index * LEGEND_LINE
      return `<text class="small" x="${width / 2}" y="${y}">${xmlText(text)}</text>`
    }),
    '</svg>',
  ]
  return `${parts.join('\n')}\n`
}

function tooLarge(name: string, ways: number): HoldfastError {
  return new HoldfastError('too-large', {
    message: `The graph ${name} has ${ways} ways, and a picture of more than ${MOST_WAYS} shows nothing. Give its routes the paths that they can take, or use toMermaid().`,
    details: { ways },
  })
}

/** What was used lies above what was not. */
function inFront<T extends { readonly mark: Mark }>(lines: readonly T[]): readonly T[] {
  return lines.toSorted((a, b) => Number(a.mark === 'used') - Number(b.mark === 'used'))
}

function outcomeOf({ turn, outcome }: Taken): string {
  return turn === 0 ? 'not run yet' : `turn ${turn}: ${outcome ?? 'not ended'}`
}
