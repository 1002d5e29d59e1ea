/**
 * The table of rooms: which folder may import which. The import check enforces it and the documentation shows it.
 * The table knows names only: imports.ts finds and parses files.
 */

export interface Room {
  /** The folder below src/, or `index.ts` for the main entry. */
  readonly name: string
  /** The rooms it may import, besides itself. Type-only and dynamic imports count. */
  readonly rooms: readonly string[]
  /** The rooms it may import only when they are needed, by `import('…')`. */
  readonly lateRooms?: readonly string[]
  /** True when only the files directly in the folder belong to it; each subfolder is then a room of its own. */
  readonly flat?: boolean
  /** True when it may not even import a builtin of Node. */
  readonly pure?: boolean
  /** The third-party packages it may import. */
  readonly packages?: readonly string[]
  /** The third-party packages it may import only when they are needed, by `import('…')`. */
  readonly latePackages?: readonly string[]
}

const ground = ['protocol', 'base']
const parts = [...ground, 'journal', 'model', 'tool', 'grounding', 'hook']
const loop = [...ground, 'journal', 'tool', 'grounding']
const drive = [...ground, 'store', 'journal', 'tool', 'loop']
const agent = [...parts, 'loop', 'turn', 'drive', 'observe', 'store', 'store/memory']
const providers = ['@ai-sdk/openai', '@ai-sdk/anthropic', '@ai-sdk/google', '@ai-sdk/openai-compatible']
const graph = [...drive, 'drive', 'observe', 'store/memory']
const front = [
  ...ground,
  'store',
  'store/memory',
  'journal',
  'model',
  'tool',
  'grounding',
  'hook',
  'loop',
  'turn',
  'observe',
  'agent',
]

export const rooms: readonly Room[] = [
  { name: 'protocol', rooms: [], pure: true },
  { name: 'base', rooms: [] },
  { name: 'terminal', rooms: [], pure: true },
  { name: 'store', rooms: ground, flat: true },
  { name: 'store/memory', rooms: [...ground, 'store'] },
  { name: 'store/sqlite', rooms: [...ground, 'store'] },
  { name: 'journal', rooms: [...ground, 'store'] },
  { name: 'model', rooms: ground, lateRooms: ['reflex'], latePackages: [...providers, 'gpt-tokenizer'] },
  { name: 'reflex', rooms: [...ground, 'model'] },
  { name: 'tool', rooms: ground, latePackages: ['@cfworker/json-schema'] },
  { name: 'grounding', rooms: [...ground, 'tool'] },
  { name: 'hook', rooms: [...ground, 'tool'] },
  { name: 'loop', rooms: loop },
  { name: 'turn', rooms: [...parts, 'loop'] },
  { name: 'observe', rooms: [...ground, 'journal', 'loop', 'terminal'] },
  { name: 'drive', rooms: drive },
  { name: 'agent', rooms: agent },
  { name: 'graph', rooms: graph },
  { name: 'flow', rooms: [...agent, 'agent', 'graph'] },
  { name: 'plugin', rooms: [...ground, 'hook', 'tool', 'model'] },
  { name: 'host', rooms: [...agent, 'agent', 'graph'] },
  { name: 'mcp', rooms: [...ground, 'tool'] },
  { name: 'serve', rooms: [...ground, 'host'] },
  { name: 'testing', rooms: [...front, 'graph'] },
  { name: 'index.ts', rooms: front },
]

/** Database builtins, each with the one room that may import it. Every room may import other builtins. */
export const drivers: Readonly<Record<string, string>> = { 'node:sqlite': 'store/sqlite' }

/** Folders that import the package by its name, through its public entries only. */
export const outsiders: readonly string[] = ['src/cli', 'examples', 'bench', 'studio']

/** Folders of test/ that bench may import: they check the requests of all compared frameworks. */
export const benchReferees: readonly string[] = ['test/vendors/']

/** Packages that a test file in src may import, besides src and builtins. */
export const testPackages: readonly string[] = [
  'vitest',
  'fast-check',
  'zod',
  'valibot',
  'rxjs',
  '@ai-sdk/provider',
  'gpt-tokenizer/encoding/o200k_base',
  ...providers,
]
