/** Checks a graph before it runs: finds every mistake that would only show at run time. */
import { HoldfastError } from '../protocol/index.ts'
import { END, type GraphDefinition, START } from './definition.ts'

/** Throws `invalid-graph` with all problems. */
export function checkGraph(graph: GraphDefinition): void {
  const problems = [...unknownNames(graph)]
  if (problems.length === 0) problems.push(...unreachable(graph))
  if (problems.length === 0) return
  throw new HoldfastError('invalid-graph', {
    message: `The graph ${graph.name} cannot be run: ${problems.join('; ')}.`,
    details: { problems },
  })
}

function* unknownNames({ nodes, edges, branches }: GraphDefinition): Generator<string> {
  const isTarget = (name: string): boolean => nodes.has(name) || name === START || name === END
  if (nodes.size === 0) yield 'it has no nodes'
  for (const { from, to } of edges) {
    if (from.length === 0) yield `an edge to ${to} begins nowhere`
    for (const name of [...from, to]) if (!isTarget(name)) yield `an edge names ${name}, which is no node`
    if (from.includes(END)) yield 'nothing can come after END'
    if (to === START) yield 'nothing can lead back to START; name the first node instead'
    if (from.length > 1 && from.includes(START)) yield `START cannot be one of several that ${to} waits for`
  }
  for (const { from, paths = {} } of branches) {
    if (!isTarget(from)) yield `a branch begins at ${from}, which is no node`
    if (from === END) yield 'nothing can come after END'
    for (const [answer, to] of Object.entries(paths))
      if (!isTarget(to) || to === START)
        yield `the answer ${answer} after ${from} leads to ${to}, which is no node`
  }
}

function* unreachable(graph: GraphDefinition): Generator<string> {
  const targets = targetsOf(graph)
  if (!targets.has(START)) yield 'it has no beginning; add an edge from START, or setEntryPoint()'
  for (const node of graph.nodes.keys())
    if (!targets.has(node)) yield `${node} leads nowhere; add an edge to END if it is the last`
  const reached = closure(START, (node) => targets.get(node))
  for (const node of graph.nodes.keys()) if (!reached.has(node)) yield `nothing leads to ${node}`
}

/** The possible targets of each node. A branch without paths may lead anywhere. */
function targetsOf({ nodes, edges, branches }: GraphDefinition): Map<string, Set<string>> {
  const targets = new Map<string, Set<string>>()
  const add = (from: string, to: string): void => {
    const known = targets.get(from) ?? new Set()
    known.add(to)
    targets.set(from, known)
  }
  for (const { from, to } of edges) for (const one of from) add(one, to)
  for (const { from, paths } of branches)
    for (const to of paths === undefined ? [...nodes.keys(), END] : Object.values(paths)) add(from, to)
  return targets
}

function closure(from: string, next: (node: string) => Iterable<string> | undefined): Set<string> {
  const seen = new Set([from])
  for (const node of seen) for (const to of next(node) ?? []) seen.add(to)
  return seen
}
