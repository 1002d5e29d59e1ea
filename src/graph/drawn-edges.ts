/** The edges of a graph as drawn: one line for each pair of nodes, and joins separately. */
import { END, type GraphDefinition } from './definition.ts'

export interface DrawnEdge {
  readonly from: string
  readonly to: string
  readonly kind: 'edge' | 'branch'
  /** The answers that lead there, unless the only one is the node's name. */
  readonly label?: string
}

/** `to` waits for all of `from`, which are two or more. */
export interface DrawnJoin {
  readonly from: readonly string[]
  readonly to: string
}

export interface DrawnGraph {
  /** Edges before branches, each in the order of definition. */
  readonly edges: readonly DrawnEdge[]
  readonly joins: readonly DrawnJoin[]
}

export function drawnEdges({ nodes, edges, branches }: GraphDefinition): DrawnGraph {
  const single = new Map<string, DrawnEdge>()
  const joins = new Map<string, DrawnJoin>()
  for (const { from: sources, to } of edges) {
    const from = [...new Set(sources)]
    const [only = ''] = from
    if (from.length === 1) single.set(`${only}>${to}`, { from: only, to, kind: 'edge' })
    else joins.set(`${from.join('+')}>${to}`, { from, to })
  }
  const answers = new Map<string, { readonly from: string; readonly to: string; readonly all: Set<string> }>()
  for (const { from, paths } of branches) {
    const targets = paths ?? Object.fromEntries([...nodes.keys(), END].map((name) => [name, name]))
    for (const [answer, to] of Object.entries(targets)) {
      const known = answers.get(`${from}>${to}`) ?? { from, to, all: new Set() }
      known.all.add(answer)
      answers.set(`${from}>${to}`, known)
    }
  }
  const drawnBranches = [...answers.values()].map(({ from, to, all }): DrawnEdge => {
    const edge = { from, to, kind: 'branch' as const }
    if (all.size === 1 && all.has(to)) return edge
    return { ...edge, label: [...all].map((answer) => (answer === END ? 'END' : answer)).join(', ') }
  })
  return { edges: [...single.values(), ...drawnBranches], joins: [...joins.values()] }
}
