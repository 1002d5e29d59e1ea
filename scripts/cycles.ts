/**
 * Finds cycles in a directed graph, one for each strongly connected component: a shortest one through its first node.
 */

export function findCycles(nodes: readonly string[], next: (node: string) => readonly string[]): string[][] {
  const reported = new Set<string>()
  const cycles: string[][] = []
  for (const start of nodes) {
    if (reported.has(start)) continue
    const cycle = shortestWayBack(start, next)
    if (!cycle) continue
    cycles.push(cycle)
    for (const node of cycle) reported.add(node)
  }
  return cycles
}

/** Breadth first from `start` until it is met again; the nodes on the way, `start` first. */
function shortestWayBack(start: string, next: (node: string) => readonly string[]): string[] | undefined {
  const ways = [[start]]
  const seen = new Set<string>()
  for (let way = ways.shift(); way; way = ways.shift()) {
    for (const node of next(way.at(-1) ?? start)) {
      if (node === start) return way
      if (seen.has(node)) continue
      seen.add(node)
      ways.push([...way, node])
    }
  }
  return undefined
}
