/**
 * The output check: reads every file of src with a real parser and reports code that could print past the gate
 * (src/terminal, src/cli/gate): the streams of the process, the console, warnings, file descriptors, line editors,
 * children that share our streams, and codes that a terminal obeys. It knows names, not values: a stream that comes in by
 * another name is caught where it was taken from the process.
 */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseSync, Visitor, type VisitorObject } from 'oxc-parser'

type Kind = 'stream' | 'console' | 'warning' | 'descriptor' | 'line editor' | 'child' | 'code'

interface Use {
  readonly kind: Kind
  readonly what: string
  readonly offset: number
}

/** Exceptions by file, with their reason. */
const ALLOWED: Readonly<Record<string, readonly Kind[]>> = {
  // The gate itself.
  'src/cli/gate/outputs.ts': ['stream', 'warning'],
  'src/terminal/styled.ts': ['code'],
  // Stacks for developers, only with HOLDFAST_DEBUG, and warnings; control characters are escaped.
  'src/base/debug.ts': ['stream', 'warning'],
  // Turns of an agent with quiet: false, through an Output.
  'src/observe/console.ts': ['stream'],
  // Before there is a gate: two messages, in ASCII.
  'src/cli/bin.ts': ['stream'],
  // Node's line editor, which draws through the gate.
  'src/cli/terminal/line-editor.ts': ['line editor'],
  // Codes that come in from the keyboard.
  'src/cli/terminal/paste-filter.ts': ['code'],
  // Processes of tests that talk to each other through pipes.
  'src/testing/store-contract/worker.ts': ['descriptor', 'line editor'],
  'src/testing/store-contract/child.ts': ['line editor'],
  // Names in folders that are held open: directories only, opened here, never a stream.
  'src/toolbox/workspace-walk.ts': ['descriptor'],
  // Which descriptors a command would inherit: their flags are read, nothing is written.
  'src/toolbox/run-process.ts': ['descriptor'],
  // `npm start` runs the terminal on its own streams.
  'scripts/demo.ts': ['stream', 'child'],
}

const CODES = ['\u001B', '\u0090', '\u009B', '\u009D', '\u009E', '\u009F']
const STREAMS = new Set(['stdout', 'stderr', '_rawDebug', 'getBuiltinModule', 'binding', 'report'])
const MODULES: Readonly<Record<string, Kind>> = {
  'node:process': 'stream',
  'node:tty': 'stream',
  'node:console': 'console',
  'node:readline': 'line editor',
  'node:readline/promises': 'line editor',
  'node:repl': 'line editor',
}

/** The findings in the project at `root`, one line each. */
function checkOutput(root: string): string[] {
  const found = globSync(['src/**/*.{ts,mts,js,mjs}', 'scripts/demo.ts', 'scripts/tour/*.ts'], {
    cwd: root,
  })
  const files = found
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => !/\.test(-d)?\.ts$/.test(file))
  return files.toSorted().flatMap((file) => {
    const text = readFileSync(join(root, file), 'utf8')
    const allowed = ALLOWED[file] ?? []
    return usesIn(file, text)
      .filter(({ kind }) => !allowed.includes(kind))
      .map(
        ({ kind, what, offset }) =>
          `${file}:${text.slice(0, offset).split('\n').length} prints past the gate (${kind}): ${what}. Print through an Output of src/terminal`,
      )
  })
}

interface Node {
  readonly type: string
  readonly start: number
  readonly name?: unknown
  readonly value?: unknown
}

/** The uses in one file that could print past the gate, exceptions included. */
export function usesIn(file: string, text: string): readonly Use[] {
  const finder = new UseFinder(/^(src\/cli|src\/terminal|scripts)\//.test(file))
  const visitor = new Visitor({
    ImportDeclaration: (node) => finder.seeImport(node),
    ExportNamedDeclaration: ({ source }) => source && finder.seeModule(source),
    ExportAllDeclaration: ({ source }) => finder.seeModule(source),
    ImportExpression: ({ source }) => finder.seeModule(source),
    MemberExpression: (node) => finder.seeMember(node),
    Property: (node) => finder.seeProperty(node),
    VariableDeclarator: (node) => finder.seeVariable(node),
    Identifier: (node) => finder.seeName(node),
    CallExpression: (node) => finder.seeCall(node),
    Literal: (node) => typeof node.value === 'string' && finder.seeText(node.value, node),
    TemplateElement: (node) => finder.seeText(node.value.cooked ?? '', node),
  })
  visitor.visit(parseSync(file, text).program)
  return finder.uses
}

class UseFinder {
  readonly uses: Use[] = []
  /** In the terminal even the process as a whole, codes and children count. */
  readonly #isTerminal: boolean
  /** Identifiers that were looked at with what is around them, or are only names of fields. */
  readonly #seen = new Set<number>()
  /** Names for functions of node:fs, and for all of it. */
  readonly #files = new Set<string>()

  constructor(isTerminal: boolean) {
    this.#isTerminal = isTerminal
  }

  seeImport({ source, specifiers }: Parsed<'ImportDeclaration'>): void {
    this.seeModule(source)
    if (!/^(node:)?fs(\/promises)?$/.test(source.value)) return
    for (const { local } of specifiers) this.#files.add(local.name)
  }

  seeModule(source: Node): void {
    const name = String(source.value).replace(/^(?!node:)/, 'node:')
    const kind = Object.hasOwn(MODULES, name) ? MODULES[name] : undefined
    if (kind !== undefined) this.#add(kind, name, source)
  }

  seeMember(node: Parsed<'MemberExpression'>): void {
    const object: Node = node.object
    const property: Node = node.property
    const name = node.computed ? literalOf(property) : String(property.name)
    if (!node.computed) this.#seen.add(property.start)
    if (object.type !== 'Identifier') return
    if (object.name === 'globalThis' && (name === undefined || /^(process|console)$/.test(name)))
      this.#add('stream', `globalThis.${name ?? '[…]'}`, node)
    if (object.name !== 'process') return
    this.#seen.add(object.start)
    if (name === undefined || STREAMS.has(name)) this.#add('stream', `process.${name ?? '[…]'}`, node)
    if (name === 'emitWarning') this.#add('warning', 'process.emitWarning', node)
  }

  seeProperty({ key, computed, value, shorthand }: Property): void {
    if (!computed && !shorthand) this.#seen.add(key.start)
    if (String(key.name ?? key.value) === 'fd' && isTerminalNumber(value))
      this.#add('descriptor', 'fd: 1 or 2', value)
  }

  seeVariable({ id, init }: Parsed<'VariableDeclarator'>): void {
    if (id.type !== 'ObjectPattern' || init?.type !== 'Identifier' || init.name !== 'process') return
    const names = id.properties.map((each) =>
      each.type === 'Property' ? String((each.key as Node).name) : '…',
    )
    for (const name of names) if (STREAMS.has(name)) this.#add('stream', `process.${name}`, init)
    if (!names.includes('…')) this.#seen.add(init.start)
  }

  seeName(node: Node): void {
    if (this.#seen.has(node.start)) return
    if (node.name === 'console') this.#add('console', 'console', node)
    if (node.name === 'process' && this.#isTerminal) this.#add('stream', 'the whole of process', node)
  }

  seeCall({ callee, arguments: [first] }: Parsed<'CallExpression'>): void {
    const named: Node = callee.type === 'MemberExpression' ? callee.object : callee
    if (first !== undefined && this.#files.has(String(named.name)) && isTerminalNumber(first))
      this.#add('descriptor', 'a write to descriptor 1 or 2', first)
  }

  seeText(text: string, node: Node): void {
    if (/^\/dev\/(tty|stdout|stderr|fd|pts)|^\/proc\/self\/fd/.test(text)) this.#add('descriptor', text, node)
    if (!this.#isTerminal) return
    if (text === 'inherit') this.#add('child', "stdio 'inherit'", node)
    if (CODES.some((code) => text.includes(code))) this.#add('code', 'an escape in a text', node)
  }

  #add(kind: Kind, what: string, { start }: Node): void {
    this.uses.push({ kind, what, offset: start })
  }
}

/** A node of this type, as the parser gives it. */
type Parsed<T extends keyof VisitorObject> = Parameters<NonNullable<VisitorObject[T]>>[0]

interface Property {
  readonly key: Node
  readonly computed: boolean
  readonly value: Node
  readonly shorthand: boolean
}

function literalOf(node: Node): string | undefined {
  return node.type === 'Literal' && typeof node.value === 'string' ? node.value : undefined
}

function isTerminalNumber(node: Node): boolean {
  return node.type === 'Literal' && (node.value === 1 || node.value === 2)
}

if (import.meta.main) {
  const complaints = checkOutput(process.cwd())
  for (const complaint of complaints) console.log(complaint)
  if (complaints.length > 0) process.exitCode = 1
}
