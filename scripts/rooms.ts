/**
 * The table of rooms: which folder may import which. The import check enforces it and the documentation shows it.
 * The table knows names only: imports.ts finds and parses files.
 */

export interface Room {
  /** The folder below src/, or `index.ts` for the main entry. `serve/*`: each folder in serve, a room of its own. */
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
/** All that runs an agent or a graph. */
const runtime = [...agent, 'agent', 'graph']
const flow = [...runtime, 'plugin', 'mcp', 'toolbox', 'corpus', 'terminal']
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
  { name: 'store/postgres', rooms: [...ground, 'store'] },
  { name: 'journal', rooms: [...ground, 'store'] },
  { name: 'model', rooms: ground, lateRooms: ['reflex'], latePackages: [...providers, 'gpt-tokenizer'] },
  { name: 'reflex', rooms: [...ground, 'model'] },
  { name: 'tool', rooms: ground, latePackages: ['@cfworker/json-schema'] },
  { name: 'grounding', rooms: [...ground, 'tool'] },
  { name: 'hook', rooms: [...ground, 'tool'] },
  { name: 'loop', rooms: loop },
  { name: 'turn', rooms: [...parts, 'loop'] },
  { name: 'drive', rooms: drive },
  { name: 'agent', rooms: agent },
  { name: 'graph', rooms: graph },
  { name: 'net', rooms: ground },
  {
    name: 'toolbox',
    rooms: [...ground, 'tool', 'grounding', 'net'],
    lateRooms: ['mcp'],
    latePackages: ['@vscode/ripgrep', 'web-tree-sitter', 'turndown', 'diff'],
  },
  // Type-only: the packages are loaded when they are needed.
  {
    name: 'mcp',
    rooms: [...ground, 'tool', 'grounding'],
    packages: [
      '@modelcontextprotocol/client',
      '@modelcontextprotocol/client/stdio',
      '@modelcontextprotocol/server',
      '@modelcontextprotocol/server/stdio',
    ],
  },
  {
    name: 'remote',
    rooms: [...ground, 'tool', 'drive', 'graph'],
    // Type-only: the package is loaded when it is needed.
    packages: ['@a2a-js/sdk', '@a2a-js/sdk/client', '@a2a-js/sdk/errors'],
  },
  { name: 'plugin', rooms: [...ground, 'hook', 'tool', 'model'], latePackages: ['web-tree-sitter'] },
  { name: 'observe', rooms: [...ground, 'hook', 'journal', 'store', 'loop', 'terminal'] },
  // Type-only: the package is loaded when it is needed.
  { name: 'observe/otel', rooms: [...ground, 'loop'], packages: ['@opentelemetry/api'] },
  {
    name: 'corpus',
    rooms: [...ground, 'tool', 'model'],
    flat: true,
    latePackages: ['unpdf', 'mammoth', 'linkedom'],
  },
  { name: 'corpus/sqlite', rooms: [...ground, 'corpus', 'tool', 'model'] },
  {
    name: 'corpus/web',
    rooms: [...ground, 'corpus', 'net'],
    latePackages: ['@mozilla/readability', 'linkedom'],
  },
  { name: 'flow', rooms: flow, flat: true },
  { name: 'flow/plan-verify', rooms: [...flow, 'flow'] },
  { name: 'flow/*', rooms: [...flow, 'flow'] },
  { name: 'replay', rooms: runtime },
  { name: 'evals', rooms: [...runtime, 'replay', 'observe'] },
  { name: 'host', rooms: [...runtime, 'observe', 'net'] },
  { name: 'serve', rooms: [...ground, 'host', 'tool'], flat: true },
  {
    name: 'serve/http',
    rooms: [...ground, 'host', 'serve', 'tool'],
    // Type-only: the packages are loaded when they are needed.
    packages: ['hono', 'jose', '@hono/node-server'],
  },
  {
    name: 'serve/a2a',
    rooms: [...ground, 'host', 'serve', 'tool', 'net'],
    // Type-only: the packages are loaded when they are needed.
    packages: ['@a2a-js/sdk', '@a2a-js/sdk/server', '@a2a-js/sdk/errors', '@a2a-js/sdk/compat/v0_3/server'],
  },
  { name: 'serve/ag-ui', rooms: [...ground, 'host', 'serve', 'tool'], packages: ['@ag-ui/core'] },
  { name: 'serve/acp', rooms: [...ground, 'host', 'serve', 'tool'], packages: ['@agentclientprotocol/sdk'] },
  { name: 'serve/research', rooms: [...ground, 'host', 'serve', 'tool', 'corpus'] },
  { name: 'serve/*', rooms: [...ground, 'host', 'serve', 'tool'] },
  { name: 'client', rooms: ['protocol'], pure: true },
  { name: 'engine', rooms: [...runtime, 'host'], flat: true },
  { name: 'engine/*', rooms: [...runtime, 'host', 'engine'] },
  { name: 'testing', rooms: [...front, 'graph'] },
  { name: 'index.ts', rooms: front },
  {
    name: 'entry',
    rooms: [
      ...front,
      'graph',
      'corpus',
      'corpus/sqlite',
      'corpus/web',
      'flow/plan-verify',
      'flow/exploration',
      'flow/reflexion',
      'flow/research',
      'remote',
      'serve/a2a',
    ],
  },
]

/** The room of a file, by its path from the root of the project. Each folder of `serve/*` has its own name. */
export function roomOf(file: string): Room | undefined {
  const path = file.replace(/^src\//, '')
  if (path === file) return undefined
  const nearest = rooms
    .map((room) => (room.name.endsWith('/*') ? { ...room, name: folderIn(room.name, path) } : room))
    .filter(({ name }) => path === name || path.startsWith(`${name}/`))
    .toSorted((a, b) => b.name.length - a.name.length)[0]
  const nested = nearest && path.slice(nearest.name.length + 1).includes('/')
  return nearest?.flat && nested ? undefined : nearest
}

/** `serve/http` for `serve/*` and a path in that folder; the pattern itself for other paths. */
function folderIn(pattern: string, path: string): string {
  const [parent, folder, ...rest] = path.split('/')
  return `${parent}/*` === pattern && folder !== undefined && rest.length > 0
    ? `${parent}/${folder}`
    : pattern
}

/** The rooms that a room leads to, over any number of imports. */
export function roomsBelow(name: string): ReadonlySet<string> {
  const below = new Set<string>()
  const visit = (from: string): void => {
    for (const next of rooms.find((room) => room.name === from)?.rooms ?? []) {
      if (below.has(next)) continue
      below.add(next)
      visit(next)
    }
  }
  visit(name)
  return below
}

/** Database builtins, each with the rooms that may import it. Every room may import other builtins. */
export const drivers: Readonly<Record<string, readonly string[]>> = {
  'node:sqlite': ['store/sqlite', 'corpus/sqlite'],
}

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
