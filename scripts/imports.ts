/**
 * The import check: reads every source file with a real parser and reports imports against the direction
 * of rooms.ts, files that lie in no room, and cycles. Type-only imports, `import('…')` in types and dynamic
 * imports count like any other. It does not know whether a target exists; the compiler does.
 */
import { globSync, readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { join, posix } from 'node:path'
import { parseSync, Visitor } from 'oxc-parser'
import { findCycles } from './cycles.ts'
import { benchReferees, drivers, outsiders, type Room, roomOf, testPackages } from './rooms.ts'

const packageName = 'holdfast'

interface Import {
  readonly file: string
  readonly line: number
  /** Undefined when the name is computed at run time. */
  readonly specifier: string | undefined
  /** By `import('…')`, so that it is loaded when the line is reached and not before. */
  readonly late: boolean
}

/** The findings in the project at `root`, one line each. */
export function checkImports(root: string): string[] {
  const files = sourceFiles(root)
  const imports = files.flatMap((file) => importsOf(root, file))
  const strays = files.filter((file) => file.startsWith('src/') && !isOutsider(file) && !roomOf(file))
  return [
    ...strays.map((file) => `${file}:1 is in no room (scripts/rooms.ts lists them)`),
    ...imports.flatMap(complaintAbout),
    ...cyclesAmong(imports),
  ]
}

function sourceFiles(root: string): string[] {
  const patterns = ['src', ...outsiders].map((folder) => `${folder}/**/*.{ts,tsx,mts,js,mjs}`)
  const found = globSync(patterns, {
    cwd: root,
    exclude: (name) => /(^|[\\/])(node_modules|dist)$/.test(name),
  })
  return [...new Set(found.map((file) => file.replaceAll('\\', '/')))].toSorted()
}

function importsOf(root: string, file: string): Import[] {
  const text = readFileSync(join(root, file), 'utf8')
  const found: Import[] = []
  const add = (specifier: string | undefined, offset: number, late = false): void => {
    found.push({ file, line: text.slice(0, offset).split('\n').length, specifier, late })
  }
  const visitor = new Visitor({
    ImportDeclaration: (node) => add(node.source.value, node.start),
    ExportAllDeclaration: (node) => add(node.source.value, node.start),
    ExportNamedDeclaration: (node) => node.source && add(node.source.value, node.start),
    ImportExpression: (node) => add(literal(node.source), node.start, true),
    TSImportType: (node) => add(literal(node.source), node.start),
    TSExternalModuleReference: (node) => add(literal(node.expression), node.start),
  })
  visitor.visit(parseSync(file, text).program)
  return found
}

function literal(node: { type: string; value?: unknown }): string | undefined {
  return node.type === 'Literal' && typeof node.value === 'string' ? node.value : undefined
}

function complaintAbout(item: Import): string[] {
  const problem = isOutsider(item.file)
    ? problemOfOutsider(item)
    : isTest(item.file)
      ? problemOfTest(item)
      : problemOfRoom(item)
  return problem ? [`${item.file}:${item.line} ${problem}`] : []
}

function problemOfRoom(item: Import): string | undefined {
  const room = roomOf(item.file)
  if (!room) return undefined
  if (item.specifier === undefined) return `room ${room.name} may not import a computed name`
  if (isBuiltin(item.specifier)) return problemOfBuiltin(room, item.specifier)
  const target = targetOf(item)
  if (!target) return problemOfPackage(room, item.specifier, item.late)
  if (isTest(target)) return `room ${room.name} may not import the test ${target}`
  const other = roomOf(target)
  if (other && (other.name === room.name || room.rooms.includes(other.name))) return undefined
  if (other && item.late && room.lateRooms?.includes(other.name)) return undefined
  const allowed = room.rooms.join(', ') || 'nothing'
  return other
    ? `room ${room.name} may not import room ${other.name}: ${target} (allowed: ${allowed})`
    : `room ${room.name} may not import ${target}, which is in no room (allowed: ${allowed})`
}

function problemOfBuiltin(room: Room, specifier: string): string | undefined {
  const name = specifier.startsWith('node:') ? specifier : `node:${specifier}`
  const owners = drivers[name]
  if (room.pure) return `room ${room.name} may not import ${name} (allowed: no builtin)`
  if (owners === undefined || owners.includes(room.name)) return undefined
  return `room ${room.name} may not import ${name} (allowed: in ${owners.join(', ')})`
}

function problemOfPackage(room: Room, specifier: string, late: boolean): string | undefined {
  const listed = (packages: readonly string[] = []): boolean =>
    packages.some((name) => specifier === name || specifier.startsWith(`${name}/`))
  if (listed(room.packages)) return undefined
  const problem = `room ${room.name} may not import the package ${specifier}`
  if (!listed(room.latePackages)) return problem
  return late ? undefined : `${problem} (allowed: only when it is needed, by import('…'))`
}

function problemOfTest(item: Import): string | undefined {
  if (item.specifier === undefined || isBuiltin(item.specifier)) return undefined
  const target = targetOf(item)
  if (target) return target.startsWith('src/') ? undefined : `a test in src may not import ${target}`
  if (testPackages.includes(item.specifier)) return undefined
  return `a test in src may not import the package ${item.specifier} (allowed: ${testPackages.join(', ')})`
}

function problemOfOutsider(item: Import): string | undefined {
  const home = outsiders.find((folder) => item.file.startsWith(`${folder}/`))
  const target = targetOf(item)
  if (!home || !target || target.startsWith(`${home}/`)) return undefined
  if (home === 'bench' && benchReferees.some((folder) => target.startsWith(folder))) return undefined
  return `${home} may not import ${target} (allowed: public entries, as '${packageName}' or '${packageName}/…')`
}

/** The file a relative import points at, from the root; undefined for packages and builtins. */
function targetOf(item: Import): string | undefined {
  if (!item.specifier?.startsWith('.')) return undefined
  return posix.join(posix.dirname(item.file), item.specifier).replace(/\.js$/, '.ts')
}

function isOutsider(file: string): boolean {
  return outsiders.some((folder) => file.startsWith(`${folder}/`))
}

function isTest(file: string): boolean {
  return /\.test(-d)?\.ts$/.test(file)
}

function cyclesAmong(imports: readonly Import[]): string[] {
  const graph = new Map<string, { target: string; line: number }[]>()
  for (const item of imports) {
    const target = targetOf(item)
    if (target) graph.set(item.file, [...(graph.get(item.file) ?? []), { target, line: item.line }])
  }
  const next = (file: string): string[] => (graph.get(file) ?? []).map((edge) => edge.target)
  return findCycles([...graph.keys()], next).map((cycle) => {
    const [first = '', second = first] = cycle
    const line = graph.get(first)?.find((edge) => edge.target === second)?.line ?? 1
    return `${first}:${line} is in an import cycle: ${[...cycle, first].join(' → ')}`
  })
}

if (import.meta.main) {
  const complaints = checkImports(process.cwd())
  for (const complaint of complaints) console.log(complaint)
  if (complaints.length > 0) process.exitCode = 1
}
