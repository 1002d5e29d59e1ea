/** Reads a command in two ways, by the grammar and by its characters: one that they read differently is not understood. */
import { chainIn, loadGrammar, type WithTree } from './shell-tree.ts'
import { type CommandChain, readChain, ShellProblem } from './shell-words.ts'

const MISSING =
  'commands are not read here. Install web-tree-sitter: npm install web-tree-sitter tree-sitter-bash'

export type LoadGrammar = () => Promise<WithTree | undefined>

export async function understand(
  text: string,
  load: LoadGrammar = loadGrammar,
): Promise<CommandChain | ShellProblem> {
  const plain = readChain(text)
  if (plain instanceof ShellProblem) return plain
  const withTree = await load()
  if (withTree === undefined) return new ShellProblem(MISSING)
  const tree = withTree(text, chainIn)
  if (tree instanceof ShellProblem) return tree
  return JSON.stringify(tree) === JSON.stringify(plain)
    ? plain
    : new ShellProblem('a shell may read it in several ways')
}
