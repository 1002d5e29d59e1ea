/**
 * Public signatures: every type that a declaration of an entry leads to has a name in some entry, so that a user can
 * annotate any value that the package returns or takes. Reads declaration files; private members have no types there.
 */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseSync } from 'oxc-parser'

type Program = ReturnType<typeof parseSync>['program']
type Statement = Program['body'][number]

/** A declaration, by its file and its name in that file. */
interface Place {
  readonly file: string
  readonly name: string
  /** True for `export type`: a class that comes so is not constructed. */
  readonly isType?: boolean
}

interface DeclarationFile {
  readonly declared: ReadonlyMap<string, readonly Statement[]>
  /** Names that the file imports, or exports from another file, with the place that they stand for. */
  readonly imported: ReadonlyMap<string, Place>
  readonly exported: ReadonlyMap<string, Place>
}

/** The declarations that the entries lead to and that none of them exports, each with the way to it. */
export function unnamedTypes(entries: readonly string[]): string[] {
  const read = reader()
  const exported = entries.flatMap((file) => [...read(file).exported.values()])
  const named = exported.map((place) => ({ ...declarationOf(place, read), isType: place.isType ?? false }))
  const ways = new Map(named.map((place) => [keyOf(place), place.name]))
  const unnamed: string[] = []
  const queue: Place[] = [...named]
  for (let place = queue.shift(); place !== undefined; place = queue.shift()) {
    for (const name of namesUsedBy(place, read)) {
      const used = declarationOf({ file: place.file, name }, read)
      if (ways.has(keyOf(used)) || !isDeclared(used, read)) continue
      const way = `${ways.get(keyOf(place))} → ${used.name}`
      ways.set(keyOf(used), way)
      queue.push(used)
      if (isHeld(used, read)) unnamed.push(`${used.file}: ${way}`)
    }
  }
  return unnamed.toSorted()
}

type Read = (file: string) => DeclarationFile

function reader(): Read {
  const known = new Map<string, DeclarationFile>()
  return (file) => {
    const found = known.get(file) ?? parse(file)
    known.set(file, found)
    return found
  }
}

function parse(file: string): DeclarationFile {
  const { program, module } = parseSync(file, readFileSync(file, 'utf8'))
  const declared = new Map<string, Statement[]>()
  for (const statement of program.body) {
    for (const name of namesDeclaredBy(declarationIn(statement)))
      declared.set(name, [...(declared.get(name) ?? []), statement])
  }
  const imported = new Map<string, Place>()
  for (const { moduleRequest, entries } of module.staticImports)
    for (const { importName, localName } of entries)
      imported.set(localName.value, { file: fileOf(moduleRequest.value, file), name: importName.name ?? '' })
  const exported = new Map<string, Place>()
  for (const { entries } of module.staticExports)
    for (const { exportName, importName, localName, moduleRequest, isType } of entries) {
      const name = exportName.name ?? ''
      if (moduleRequest)
        exported.set(name, { file: fileOf(moduleRequest.value, file), name: importName.name ?? '', isType })
      else exported.set(name, { file, name: localName.name ?? name, isType })
    }
  return { declared, imported, exported }
}

function declarationIn(statement: Statement): Statement | null {
  return statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement
}

function namesDeclaredBy(node: unknown): string[] {
  const { id, declarations } = (node ?? {}) as {
    readonly id?: { readonly name?: string }
    readonly declarations?: readonly { readonly id: { readonly name?: string } }[]
  }
  return [id, ...(declarations ?? []).map((each) => each.id)].flatMap((each) => each?.name ?? [])
}

function fileOf(specifier: string, file: string): string {
  const path = join(dirname(file), specifier.replace(/\.(js|ts)$/, '.d.ts'))
  return specifier.startsWith('.') && existsSync(path) ? path : specifier
}

/** Follows imports and re-exports to the file that declares it. */
function declarationOf(place: Place, read: Read): Place {
  if (!place.file.endsWith('.d.ts')) return place
  const { declared, imported, exported } = read(place.file)
  const next = declared.has(place.name) ? undefined : (imported.get(place.name) ?? exported.get(place.name))
  return next === undefined || keyOf(next) === keyOf(place) ? place : declarationOf(next, read)
}

function isDeclared({ file, name }: Place, read: Read): boolean {
  return file.endsWith('.d.ts') && read(file).declared.has(name)
}

/**
 * Interfaces, classes and aliases that their files export. A generic alias computes a type: a user holds its result. A
 * declaration that its file keeps is a detail of the type around it.
 */
function isHeld({ file, name }: Place, read: Read): boolean {
  const { declared, exported } = read(file)
  if (!exported.has(name)) return false
  return (declared.get(name) ?? []).some((statement) => {
    const node = declarationIn(statement)
    if (node?.type === 'TSTypeAliasDeclaration') return !node.typeParameters
    return node?.type === 'TSInterfaceDeclaration' || node?.type === 'ClassDeclaration'
  })
}

function namesUsedBy({ file, name, isType = true }: Place, read: Read): ReadonlySet<string> {
  const names = new Set<string>()
  for (const statement of read(file).declared.get(name) ?? [])
    collect(declarationIn(statement), { names, isType })
  return names
}

interface Named {
  readonly type: string
  readonly name?: string
  readonly kind?: string
  readonly key?: { readonly value?: string }
}

interface Collected {
  readonly names: Set<string>
  readonly isType: boolean
}

/** Members that begin with `~` are for the package's own parts. */
function collect(node: unknown, into: Collected): void {
  if (Array.isArray(node)) for (const each of node) collect(each, into)
  if (typeof node !== 'object' || node === null || !('type' in node)) return
  const { type, name, key, kind } = node as Named
  if (key?.value?.startsWith('~') || (kind === 'constructor' && into.isType)) return
  if (type === 'Identifier' && name !== undefined) into.names.add(name)
  for (const [field, child] of Object.entries(node)) if (field !== 'key') collect(child, into)
}

function keyOf({ file, name }: Place): string {
  return `${file}#${name}`
}
