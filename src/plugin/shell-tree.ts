/**
 * Reads a command with the grammar of tree-sitter-bash, by a list of node kinds: all others are problems. The packages
 * are optional and loaded when a command is judged.
 */
import { createRequire } from 'node:module'
import { startOnce } from '../tool/index.ts'
import {
  type CommandChain,
  type Redirection,
  type Separator,
  ShellProblem,
  type SimpleCommand,
} from './shell-words.ts'

/** The part of a syntax tree that is read. */
export interface TreeNode {
  readonly type: string
  readonly text: string
  readonly isNamed: boolean
  readonly isMissing: boolean
  readonly hasError: boolean
  readonly children: readonly (TreeNode | null)[]
}

/** The tree of a text, given to a function; undefined if the packages are not installed. */
export type WithTree = <T>(text: string, read: (root: TreeNode) => T) => T

let loading: Promise<WithTree | undefined> | undefined

export function loadGrammar(): Promise<WithTree | undefined> {
  loading ??= load().catch(() => {
    // The packages may be there the next time.
    loading = undefined
    return undefined
  })
  return loading
}

async function load(): Promise<WithTree> {
  const { Language, Parser } = await import('web-tree-sitter')
  const path = createRequire(import.meta.url).resolve('tree-sitter-bash/tree-sitter-bash.wasm')
  await startOnce(Parser, () => Parser.init())
  const parser = new Parser()
  parser.setLanguage(await Language.load(path))
  return (text, read) => {
    const tree = parser.parse(text)
    if (tree === null) throw new Error('The command has no syntax tree.')
    try {
      return read(tree.rootNode)
    } finally {
      tree.delete()
    }
  }
}

export function chainIn(root: TreeNode): CommandChain | ShellProblem {
  if (root.hasError) return new ShellProblem('it is no valid command')
  const chain: MutableChain = { commands: [], separators: [] }
  const problem = readStatement(root, chain)
  if (problem !== undefined) return problem
  // A separator at the end separates nothing.
  return { commands: chain.commands, separators: chain.separators.slice(0, chain.commands.length - 1) }
}

interface MutableChain {
  readonly commands: SimpleCommand[]
  readonly separators: Separator[]
}

const STATEMENTS: ReadonlySet<string> = new Set(['program', 'list', 'pipeline'])
const SEPARATORS: ReadonlySet<string> = new Set<Separator>(['&&', '||', ';', '|', '\n'])

function readStatement(node: TreeNode, chain: MutableChain): ShellProblem | undefined {
  if (node.type === 'command') return readCommand(node, chain)
  if (node.type === 'redirected_statement') return readRedirected(node, chain)
  if (!STATEMENTS.has(node.type)) return unknown(node)
  for (const child of node.children) {
    if (child === null) continue
    const problem = child.isNamed ? readStatement(child, chain) : readSeparator(child, chain)
    if (problem !== undefined) return problem
  }
  return undefined
}

function readSeparator(node: TreeNode, chain: MutableChain): ShellProblem | undefined {
  // The grammar has line breaks with the spaces around them.
  const type = /^[ \t]*\n\s*$/.test(node.type) || /^[ \t]*\n\s*$/.test(node.text) ? '\n' : node.type
  if (!SEPARATORS.has(type)) return unknown(node)
  const isFirst = chain.separators.length < chain.commands.length
  if (isFirst) chain.separators.push(type as Separator)
  // A line break after an operator belongs to it.
  return isFirst || type === '\n' ? undefined : unknown(node)
}

function readCommand(node: TreeNode, chain: MutableChain): ShellProblem | undefined {
  // Line breaks between two commands are not always nodes.
  if (chain.separators.length < chain.commands.length) chain.separators.push('\n')
  const words: { text: string; isQuoted?: true }[] = []
  for (const child of node.children) {
    if (child === null) continue
    const inner = child.type === 'command_name' && child.children.length === 1 ? child.children[0] : child
    const word = inner ? wordIn(inner) : undefined
    if (word === undefined) return unknown(inner ?? child)
    words.push(word)
  }
  chain.commands.push({ words, redirections: [] })
  return undefined
}

function wordIn(node: TreeNode): { text: string; isQuoted?: true } | undefined {
  if (node.isMissing) return undefined
  if ((node.type === 'word' || node.type === 'number') && isLeaf(node)) return { text: node.text }
  if (node.type === 'raw_string' && isLeaf(node)) return { text: node.text.slice(1, -1), isQuoted: true }
  if (node.type === 'string' && node.children.every((child) => child !== null && isPlainPart(child)))
    return { text: node.text.slice(1, -1), isQuoted: true }
  if (node.type !== 'concatenation') return undefined
  const parts = node.children.map((child) => (child === null ? undefined : wordIn(child)))
  if (parts.some((part) => part === undefined)) return undefined
  const text = parts.map((part) => part?.text ?? '').join('')
  return parts.some((part) => part?.isQuoted) ? { text, isQuoted: true } : { text }
}

function isLeaf(node: TreeNode): boolean {
  return node.children.length === 0
}

function isPlainPart({ type, isMissing }: TreeNode): boolean {
  return !isMissing && (type === '"' || type === 'string_content')
}

function readRedirected(node: TreeNode, chain: MutableChain): ShellProblem | undefined {
  const [body, ...redirects] = node.children
  if (!body || redirects.length === 0) return unknown(node)
  const problem = readStatement(body, chain)
  if (problem !== undefined) return problem
  const redirections: Redirection[] = []
  for (const redirect of redirects) {
    const read = redirect ? redirectionIn(redirect) : undefined
    if (read === undefined) return unknown(redirect ?? node)
    redirections.push(read)
  }
  const last = chain.commands.at(-1)
  if (last === undefined || last.redirections.length > 0) return unknown(node)
  chain.commands[chain.commands.length - 1] = { ...last, redirections }
  return undefined
}

const OPERATORS: Readonly<Record<string, Redirection['kind']>> = {
  '>': 'write',
  '>>': 'write',
  '>|': 'write',
  '&>': 'write',
  '&>>': 'write',
  '<': 'read',
  '>&': 'join',
}

function redirectionIn({ type, children }: TreeNode): Redirection | undefined {
  if (type !== 'file_redirect') return undefined
  const parts = children.filter((child) => child?.type !== 'file_descriptor')
  const [operator, destination, ...rest] = parts
  const kind = operator && !operator.isNamed ? OPERATORS[operator.type] : undefined
  const target = destination ? wordIn(destination) : undefined
  if (kind === undefined || target === undefined || rest.length > 0) return undefined
  return { kind, target: target.text }
}

function unknown({ type, isMissing, isNamed }: TreeNode): ShellProblem {
  if (isMissing) return new ShellProblem('a part of it is missing')
  return new ShellProblem(isNamed ? `it has a ${type.replaceAll('_', ' ')}` : `it has ${type}`)
}
