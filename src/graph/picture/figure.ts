/** What is to be seen of a graph: places and lines with their texts and sizes, and how each is marked. */
import { END, type GraphDefinition, START } from '../definition.ts'
import type { Line, Place } from './shapes.ts'
import type { Taken, TakenNode } from './taken.ts'
import { shortened, textWidth } from './text.ts'
import { drawnWays, type Join, type Way } from './ways.ts'

/** `plain`: no run is shown. Otherwise what the run made of it. */
export type Mark = 'plain' | 'used' | 'unused' | 'failed' | 'open'

export interface Shape extends Place {
  readonly kind: 'pill' | 'node' | 'join'
  /** In full. */
  readonly name: string
  readonly text: string
  /** What the run made of it, in words. */
  readonly note?: string
  readonly mark: Mark
  /** It is a graph itself. */
  readonly isGraph: boolean
}

export interface Stroke extends Line {
  readonly kind: 'edge' | 'branch'
  readonly isArrow: boolean
  /** In full. */
  readonly name?: string
  readonly text?: string
  readonly mark: Mark
}

export interface Figure {
  readonly shapes: readonly Shape[]
  readonly strokes: readonly Stroke[]
}

export const NAME_SIZE = 13
export const NOTE_SIZE = 11
const LONGEST_NAME = 32
const LONGEST_LABEL = 28
const LABEL_HEIGHT = 16

export function figureOf(graph: GraphDefinition, taken: Taken | undefined): Figure {
  const { ways, joins } = drawnWays(graph)
  const used = usedBy(taken)
  const isEnding = [...ways, ...joins].some(({ to }) => to === END)
  const states = new Map(taken?.nodes.map((one) => [one.node, one]))
  const isFinished = taken?.ways.some(({ to }) => to === END) ?? false
  return {
    shapes: [
      pill(START, 'START', used.mark(states.size > 0 || isFinished)),
      ...[...graph.nodes.values()].map(({ name, inner }) =>
        nodeShape(name, {
          isGraph: inner !== undefined,
          state: states.get(name),
          isShown: taken !== undefined,
        }),
      ),
      ...joins.map((join, index) => bar(join, index, used)),
      ...(isEnding ? [pill(END, 'END', used.mark(isFinished))] : []),
    ],
    strokes: [
      ...ways.map((way) => stroke(way, used.mark(used.isUsed(way)))),
      ...joins.flatMap((join, index) => joinStrokes(join, index, used)),
    ],
  }
}

interface Used {
  readonly isUsed: (way: Pick<Way, 'from' | 'to'> & { readonly kind?: Way['kind'] }) => boolean
  readonly mark: (isUsed: boolean) => Mark
}

function usedBy(taken: Taken | undefined): Used {
  const pairs = new Set(taken?.ways.map(({ from, to }) => `${from}>${to}`))
  const left = new Set(taken?.ways.map(({ from }) => from))
  return {
    // Others may have gone on while this part of the run was over.
    isUsed: ({ from, to, kind }) =>
      pairs.has(`${from}>${to}`) || (kind === 'edge' && to === END && left.has(from)),
    mark: (isUsed) => (taken === undefined ? 'plain' : isUsed ? 'used' : 'unused'),
  }
}

function pill(id: string, name: string, mark: Mark): Shape {
  const width = textWidth(name, NAME_SIZE) + 32
  return { id, kind: 'pill', name, text: name, width, height: 30, mark, isGraph: false }
}

function nodeShape(
  name: string,
  {
    isGraph,
    state,
    isShown,
  }: { readonly isGraph: boolean; readonly state: TakenNode | undefined; readonly isShown: boolean },
): Shape {
  const text = shortened(name, LONGEST_NAME)
  const note = state === undefined ? undefined : noteOf(state)
  const inside = Math.max(textWidth(text, NAME_SIZE), textWidth(note ?? '', NOTE_SIZE))
  return {
    id: name,
    kind: 'node',
    name,
    text,
    width: Math.max(72, Math.ceil(inside + (isGraph ? 36 : 28))),
    height: isShown ? 46 : 38,
    mark: isShown ? markOf(state) : 'plain',
    isGraph,
    ...(note === undefined ? {} : { note }),
  }
}

function markOf(state: TakenNode | undefined): Mark {
  if (state === undefined) return 'unused'
  return state.failed > 0 ? 'failed' : state.open > 0 ? 'open' : 'used'
}

function noteOf({ runs, failed, open, waiting }: TakenNode): string {
  const parts = [
    `×${runs}`,
    ...(failed > 0 ? [counted('✕ failed', failed)] : []),
    ...(waiting > 0 ? [counted('… waiting', waiting)] : []),
    ...(open > waiting ? [counted('… not finished', open - waiting)] : []),
  ]
  return parts.join(' ')
}

function counted(what: string, count: number): string {
  return count === 1 ? what : `${what} (${count})`
}

function stroke({ from, to, kind, label }: Way, mark: Mark): Stroke {
  const base = { from, to, kind, isArrow: true, mark }
  if (label === undefined) return base
  const text = shortened(label, LONGEST_LABEL)
  const width = Math.ceil(textWidth(text, NOTE_SIZE)) + 10
  return { ...base, name: label, text, label: { width, height: LABEL_HEIGHT } }
}

/** No node has this name: it has a space. */
function barId(index: number): string {
  return `join ${index}`
}

function bar({ from, to }: Join, index: number, { isUsed, mark }: Used): Shape {
  const id = barId(index)
  const name = `all of ${from.join(', ')}`
  const width = 24 + 16 * from.length
  const isComplete = from.every((one) => isUsed({ from: one, to }))
  return {
    id,
    kind: 'join',
    isJoin: true,
    name,
    text: '',
    width,
    height: 6,
    mark: mark(isComplete),
    isGraph: false,
  }
}

function joinStrokes({ from, to }: Join, index: number, { isUsed, mark }: Used): readonly Stroke[] {
  const id = barId(index)
  const isComplete = from.every((one) => isUsed({ from: one, to }))
  return [
    ...from.map(
      (one): Stroke => ({
        from: one,
        to: id,
        kind: 'edge',
        isArrow: false,
        mark: mark(isUsed({ from: one, to })),
      }),
    ),
    { from: id, to, kind: 'edge', isArrow: true, mark: mark(isComplete) },
  ]
}
