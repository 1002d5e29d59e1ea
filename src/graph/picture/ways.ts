/** What of a graph is drawn as lines: edges and branches between two places once each, joins by themselves. */
import { END, type GraphDefinition } from '../definition.ts'

export interface Way {
  readonly from: string
  readonly to: string
  readonly kind: 'edge' | 'branch'
  /** The answers that lead there, unless the only one is the name of the place. */
  readonly label?: string
}

/** `to` waits for all of them; they are two or more. */
export interface Join {
  readonly from: readonly string[]
  readonly to: string
}

export interface Drawn {
  /** Edges first, each in the order in which it was added. */
  readonly ways: readonly Way[]
  readonly joins: readonly Join[]
}

export function drawnWays({ nodes, edges, branches }: GraphDefinition): Drawn {
  const ways = new Map<string, Way>()
  const joins = new Map<string, Join>()
  for (const edge of edges) {
    const from = [...new Set(edge.from)]
    const [only = ''] = from
    const { to } = edge
    if (from.length === 1) ways.set(pair(only, to), { from: only, to, kind: 'edge' })
    else joins.set(pair(from.join('+'), to), { from, to })
  }
  const answers = new Map<
    string,
    { readonly from: string; readonly to: string; readonly said: Set<string> }
  >()
  for (const { from, paths } of branches) {
    const given = paths ?? Object.fromEntries([...nodes.keys(), END].map((name) => [name, name]))
    for (const [answer, to] of Object.entries(given)) {
      const known = answers.get(pair(from, to)) ?? { from, to, said: new Set() }
      known.said.add(answer)
      answers.set(pair(from, to), known)
    }
  }
  return { ways: [...ways.values(), ...[...answers.values()].map(branchWay)], joins: [...joins.values()] }
}

function branchWay({
  from,
  to,
  said,
}: {
  readonly from: string
  readonly to: string
  readonly said: ReadonlySet<string>
}): Way {
  const isPlain = said.size === 1 && said.has(to)
  return { from, to, kind: 'branch', ...(isPlain ? {} : { label: [...said].map(placeName).join(', ') }) }
}

function pair(from: string, to: string): string {
  return `${from}>${to}`
}

/** END is written as people know it. */
function placeName(answer: string): string {
  return answer === END ? 'END' : answer
}
