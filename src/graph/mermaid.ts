/** A graph as a Mermaid flowchart, optionally with the trace of a run. */
import { END, type GraphDefinition, START } from './definition.ts'
import { type DrawnEdge, type DrawnJoin, drawnEdges } from './drawn-edges.ts'
import type { RunTrace, TracedNode } from './run-trace.ts'

export interface MermaidOptions {
  /** From `flow.trace()`: used nodes and edges are thick and counted, unused ones fade. */
  readonly trace?: RunTrace
}

type Mark = 'used' | 'unused' | 'failed' | 'open'

interface Line {
  readonly text: string
  /** Mermaid styles links by their position among all links. */
  readonly isLink?: true
  readonly mark?: Mark | undefined
}

const NODE_STYLES: Readonly<Record<Mark, string>> = {
  used: 'stroke-width:3px',
  unused: 'opacity:0.6',
  failed: 'stroke-width:3px,stroke:#c62828',
  open: 'stroke-width:3px,stroke-dasharray:3 4',
}
const USED_LINK = 'stroke-width:3px'
const UNUSED_LINK = 'opacity:0.6'

/**
 * Branches are dotted, and labelled with the answer where it differs from the node's name; a join meets in a circle
 * `all`. A nested graph is a block: edges to it lead to its start, edges from it leave its end. Its run has a trace of
 * its own, so the block is unmarked inside.
 */
export function toMermaid(graph: GraphDefinition, { trace }: MermaidOptions): string {
  const lines = new Flowchart(graph, { prefix: '', trace }).lines()
  const title = trace === undefined ? [] : ['---', `title: "${runTitle(trace)}"`, '---']
  const body = [...lines.map(({ text }) => text), ...(trace === undefined ? [] : styleLines(lines))]
  return `${[...title, 'flowchart TD', ...body.map((text) => `  ${text}`)].join('\n')}\n`
}

function runTitle({ turn, outcome }: RunTrace): string {
  return turn === 0 ? 'not run yet' : `turn ${turn}: ${outcome ?? 'not ended'}`
}

function styleLines(lines: readonly Line[]): readonly string[] {
  const links = lines.filter(({ isLink }) => isLink)
  const marked = (mark: Mark): number[] => links.flatMap((link, index) => (link.mark === mark ? [index] : []))
  const linkStyle = (mark: Mark, style: string): string[] =>
    marked(mark).length === 0 ? [] : [`linkStyle ${marked(mark).join(',')} ${style}`]
  return [
    ...Object.entries(NODE_STYLES).map(([mark, style]) => `classDef ${mark} ${style}`),
    ...linkStyle('used', USED_LINK),
    ...linkStyle('unused', UNUSED_LINK),
  ]
}

class Flowchart {
  readonly #graph: GraphDefinition
  /** Keeps the ids of a nested graph unique. */
  readonly #prefix: string
  readonly #trace: RunTrace | undefined
  readonly #ids: ReadonlyMap<string, string>
  readonly #usedEdges: ReadonlySet<string>
  readonly #left: ReadonlySet<string>

  constructor(
    graph: GraphDefinition,
    { prefix, trace }: { readonly prefix: string; readonly trace: RunTrace | undefined },
  ) {
    this.#graph = graph
    this.#prefix = prefix
    this.#trace = trace
    this.#ids = new Map([...graph.nodes.keys()].map((name, index) => [name, `${prefix}n${index + 1}`]))
    this.#usedEdges = new Set(trace?.edges.map(({ from, to }) => `${from}>${to}`))
    this.#left = new Set(trace?.edges.map(({ from }) => from))
  }

  lines(): readonly Line[] {
    const { edges, joins } = drawnEdges(this.#graph)
    const hasEnd = this.#prefix !== '' || [...edges, ...joins].some(({ to }) => to === END)
    const isFinished = this.#trace?.edges.some(({ to }) => to === END) ?? false
    const isStarted = isFinished || (this.#trace?.nodes.length ?? 0) > 0
    return [
      this.#pill(`${this.#prefix}start`, 'START', isStarted),
      ...[...this.#graph.nodes.values()].flatMap(({ name, inner }) => this.#node(name, inner)),
      ...(hasEnd ? [this.#pill(`${this.#prefix}stop`, 'END', isFinished)] : []),
      ...edges.map((edge) =>
        this.#link(`${this.#source(edge.from)} ${arrow(edge)} ${this.#target(edge.to)}`, this.#isUsed(edge)),
      ),
      ...joins.flatMap((join, index) => this.#join(join, `${this.#prefix}all${index + 1}`)),
    ]
  }

  #pill(id: string, text: string, isUsed: boolean): Line {
    const mark = this.#mark(isUsed)
    return { text: `${id}(["${text}"])${classOf(mark)}`, mark }
  }

  #node(name: string, inner: GraphDefinition | undefined): readonly Line[] {
    const id = this.#ids.get(name) ?? ''
    const state = this.#trace?.nodes.find(({ node }) => node === name)
    const mark = this.#trace === undefined ? undefined : nodeMark(state)
    const label = (gap: string): string =>
      `["${escaped(name)}${state === undefined ? '' : `${gap}${note(state)}`}"]`
    if (inner === undefined) return [{ text: `${id}${label('<br/>')}${classOf(mark)}`, mark }]
    const block = new Flowchart(inner, { prefix: `${id}_`, trace: undefined }).lines()
    return [
      // Mermaid reserves one line above a block.
      { text: `subgraph ${id}${label(' ')}` },
      ...block.map((line) => ({ ...line, text: `  ${line.text}` })),
      { text: 'end' },
      ...(mark === undefined ? [] : [{ text: `class ${id} ${mark}` }]),
    ]
  }

  #join({ from, to }: DrawnJoin, id: string): readonly Line[] {
    const arrived = from.map((one) => this.#isUsed({ from: one, to }))
    const isComplete = arrived.every(Boolean)
    const mark = this.#mark(isComplete)
    return [
      { text: `${id}(("all"))${classOf(mark)}`, mark },
      ...from.map((one, index) => this.#link(`${this.#source(one)} --- ${id}`, arrived[index] ?? false)),
      this.#link(`${id} --> ${this.#target(to)}`, isComplete),
    ]
  }

  #link(text: string, isUsed: boolean): Line {
    return { text, isLink: true, mark: this.#mark(isUsed) }
  }

  #mark(isUsed: boolean): Mark | undefined {
    if (this.#trace === undefined) return undefined
    return isUsed ? 'used' : 'unused'
  }

  /**
   * The trace has END only for the last step, but every node that others continued from also used its plain edge to END.
   */
  #isUsed({ from, to, kind }: Pick<DrawnEdge, 'from' | 'to'> & Partial<DrawnEdge>): boolean {
    return this.#usedEdges.has(`${from}>${to}`) || (kind === 'edge' && to === END && this.#left.has(from))
  }

  #source(name: string): string {
    if (name === START) return `${this.#prefix}start`
    return `${this.#ids.get(name)}${this.#hasInner(name) ? '_stop' : ''}`
  }

  #target(name: string): string {
    if (name === END) return `${this.#prefix}stop`
    return `${this.#ids.get(name)}${this.#hasInner(name) ? '_start' : ''}`
  }

  #hasInner(name: string): boolean {
    return this.#graph.nodes.get(name)?.inner !== undefined
  }
}

function nodeMark(state: TracedNode | undefined): Mark {
  if (state === undefined) return 'unused'
  return state.failed > 0 ? 'failed' : state.open > 0 ? 'open' : 'used'
}

/** The border's meaning in words, for readers of the text and for those who see no colours. */
function note({ runs, failed, open, waiting }: TracedNode): string {
  return [
    `×${runs}`,
    ...(failed > 0 ? [counted('failed', failed)] : []),
    ...(waiting > 0 ? [counted('waiting', waiting)] : []),
    ...(open > waiting ? [counted('not finished', open - waiting)] : []),
  ].join(', ')
}

function counted(state: string, count: number): string {
  return count === 1 ? state : `${count} ${state}`
}

function classOf(mark: Mark | undefined): string {
  return mark === undefined ? '' : `:::${mark}`
}

function arrow({ kind, label }: DrawnEdge): string {
  if (kind === 'edge') return '-->'
  return label === undefined ? '-.->' : `-.->|"${escaped(label)}"|`
}

/** Escapes characters that Mermaid or HTML interpret by their number. */
function escaped(text: string): string {
  return text.toWellFormed().replace(/[^\p{L}\p{M}\p{N} _,-]/gu, (sign) => `#${sign.codePointAt(0)};`)
}
