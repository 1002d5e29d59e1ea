/** The definitions in a source text, by its syntax tree. Reads no files. */
import { systemClock } from '../base/index.ts'
import type { Grammar, Parser, QueryMatch, SyntaxNode } from './grammars.ts'

export interface Definition {
  /** From 1: where the name is. */
  readonly line: number
  readonly kind: string
  /** With the names around it: `Agent.start`. */
  readonly name: string
}

export interface Definitions {
  readonly definitions: readonly Definition[]
  /** The text has syntax errors: some definitions may be missing. */
  readonly isBroken: boolean
}

/** Ends the work on texts that are made to be slow. */
const MOST_MS = 2_000

/** The definitions in the order of the text; undefined if it takes too long. The syntax tree is freed. */
export function definitionsIn(text: string, parser: Parser, grammar: Grammar): Definitions | undefined {
  const deadline = systemClock.now() + MOST_MS
  const progressCallback = (): boolean => systemClock.now() > deadline
  parser.setLanguage(grammar.language)
  const tree = parser.parse(text, null, { progressCallback })
  if (tree === null) {
    parser.reset()
    return undefined
  }
  try {
    const matches = grammar.query.matches(tree.rootNode, { progressCallback })
    if (progressCallback()) return undefined
    return { definitions: listed(candidatesIn(matches)), isBroken: tree.rootNode.hasError }
  } finally {
    tree.delete()
  }
}

interface Candidate extends Definition {
  readonly of?: string
  readonly start: number
  readonly end: number
}

interface Candidates {
  readonly byNode: ReadonlyMap<number, Candidate>
  readonly exported: ReadonlySet<string>
}

const NO_KINDS: ReadonlySet<string> = new Set(['name', 'of', 'object', 'exported', 'same'])

function candidatesIn(matches: readonly QueryMatch[]): Candidates {
  const byNode = new Map<number, Candidate>()
  const exported = new Set<string>()
  const notScopes = new Set<number>()
  for (const { captures } of matches) {
    const node = (name: string): SyntaxNode | undefined =>
      captures.find((capture) => capture.name === name)?.node
    const listedName = node('exported')?.text
    if (listedName !== undefined) exported.add(listedName)
    const same = node('same')?.id
    if (same !== undefined) notScopes.add(same)
    const definition = captures.find(({ name }) => !NO_KINDS.has(name))
    if (definition === undefined) continue
    const { name: kind, node: at } = definition
    if (rankOf(byNode.get(at.id)?.kind) >= rankOf(kind)) continue
    byNode.set(at.id, candidateAt(at, { kind, name: node('name'), of: node('of') }))
  }
  for (const id of notScopes) byNode.delete(id)
  return { byNode, exported }
}

/** Of two patterns for one node, the more exact one counts. */
function rankOf(kind: string | undefined): number {
  if (kind === undefined) return 0
  return { scope: 1, local: 2, constant: 3, type: 4 }[kind] ?? 5
}

interface CandidateParts {
  readonly kind: string
  readonly name: SyntaxNode | undefined
  readonly of: SyntaxNode | undefined
}

function candidateAt(at: SyntaxNode, { kind, name, of }: CandidateParts): Candidate {
  return {
    line: (name ?? at).startPosition.row + 1,
    kind,
    name: name === undefined ? 'default' : kind === 'impl' ? typeName(name) : shortText(name),
    ...(of === undefined ? {} : { of: typeName(of) }),
    start: at.startIndex,
    end: at.endIndex,
  }
}

const LONGEST_NAME = 100

/** A name can be an expression: one line, not too long. */
function shortText({ text }: SyntaxNode): string {
  const line = text.replaceAll(/\s+/g, ' ')
  return line.length > LONGEST_NAME ? `${line.slice(0, LONGEST_NAME)}…` : line
}

/** Without pointers and type arguments. */
function typeName(node: SyntaxNode): string {
  return shortText(node)
    .replace(/^[*&\s]+/, '')
    .replace(/[<[].*$/, '')
}

/** Code around a definition, from the outside to the inside. */
interface Around {
  readonly end: number
  /** Of the definitions inside. */
  readonly prefix: string
  readonly hasMethods: boolean
  /** The code is that of a function. */
  readonly isHidden: boolean
}

const FUNCTION_KINDS: ReadonlySet<string> = new Set(['function', 'method', 'scope'])
const METHOD_OWNERS: ReadonlySet<string> = new Set(['class', 'trait', 'impl'])
const NOT_LISTED: ReadonlySet<string> = new Set(['scope', 'impl'])

function listed({ byNode, exported }: Candidates): readonly Definition[] {
  const sorted = [...byNode.values()].toSorted((a, b) => a.start - b.start || b.end - a.end)
  const around: Around[] = []
  return sorted.flatMap((candidate) => {
    while ((around.at(-1)?.end ?? Number.POSITIVE_INFINITY) <= candidate.start) around.pop()
    const outer = around.at(-1) ?? { prefix: '', hasMethods: false, isHidden: false }
    const { kind, line, end, of } = candidate
    const name = `${outer.prefix}${of === undefined ? '' : `${of}.`}${candidate.name}`
    around.push({
      end,
      prefix: `${name}.`,
      hasMethods: METHOD_OWNERS.has(kind),
      isHidden: outer.isHidden || FUNCTION_KINDS.has(kind),
    })
    if (outer.isHidden || NOT_LISTED.has(kind) || (kind === 'local' && !exported.has(candidate.name)))
      return []
    return [{ line, kind: shownKind(kind, outer.hasMethods), name }]
  })
}

function shownKind(kind: string, isMember: boolean): string {
  if (kind === 'local') return 'constant'
  return kind === 'function' && isMember ? 'method' : kind
}
