/** A graph as text that Mermaid draws. */
import { END, type GraphDefinition, START } from '../definition.ts'
import { drawnWays, type Way } from './ways.ts'

/**
 * A Mermaid flowchart. Branches are dotted and say the answer where it is not the name of the node; several that are
 * waited for meet in a circle `all`. A graph inside is a block: ways to it lead to its start, ways from it leave its end.
 */
export function toMermaid(graph: GraphDefinition): string {
  return `${['flowchart TD', ...linesOf(graph, '').map((line) => `  ${line}`)].join('\n')}\n`
}

/** `prefix`: makes the ids of a graph inside different from all others. */
function linesOf(graph: GraphDefinition, prefix: string): readonly string[] {
  const ids = new Map([...graph.nodes.keys()].map((name, index) => [name, `${prefix}n${index + 1}`]))
  const start = `${prefix}start`
  const stop = `${prefix}stop`
  const hasInner = (name: string): boolean => graph.nodes.get(name)?.inner !== undefined
  const into = (name: string): string =>
    name === END ? stop : hasInner(name) ? `${ids.get(name)}_start` : `${ids.get(name)}`
  const outOf = (name: string): string =>
    name === START ? start : hasInner(name) ? `${ids.get(name)}_stop` : `${ids.get(name)}`
  const { ways, joins } = drawnWays(graph)
  const endsSomewhere = prefix !== '' || [...ways, ...joins].some(({ to }) => to === END)
  return [
    `${start}(["START"])`,
    ...[...graph.nodes.values()].flatMap(({ name, inner }) => nodeLines(`${ids.get(name)}`, name, inner)),
    ...(endsSomewhere ? [`${stop}(["END"])`] : []),
    ...ways.map((way) => `${outOf(way.from)} ${arrow(way)} ${into(way.to)}`),
    ...joins.flatMap(({ from, to }, index) => {
      const all = `${prefix}all${index + 1}`
      return [`${all}(("all"))`, ...from.map((name) => `${outOf(name)} --- ${all}`), `${all} --> ${into(to)}`]
    }),
  ]
}

function nodeLines(id: string, name: string, inner: GraphDefinition | undefined): readonly string[] {
  if (inner === undefined) return [`${id}["${escaped(name)}"]`]
  return [`subgraph ${id}["${escaped(name)}"]`, ...linesOf(inner, `${id}_`).map((line) => `  ${line}`), 'end']
}

function arrow({ kind, label }: Way): string {
  if (kind === 'edge') return '-->'
  return label === undefined ? '-.->' : `-.->|"${escaped(label)}"|`
}

/** Whatever could mean something to Mermaid, or to the page that shows it, is written by its number. */
function escaped(text: string): string {
  return text.toWellFormed().replace(/[^\p{L}\p{M}\p{N} _,-]/gu, (sign) => `#${sign.codePointAt(0)};`)
}
