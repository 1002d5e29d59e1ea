/**
 * The public surface: the names of every entry, values and types apart, compared with the committed list in
 * exports.json. A name that comes, goes or changes kind is a decision, so it must show in a diff.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseSync } from 'oxc-parser'

export interface Names {
  readonly values: readonly string[]
  readonly types: readonly string[]
}
export type Surface = Readonly<Record<string, Names>>

const listFile = join(dirname(fileURLToPath(import.meta.url)), 'exports.json')

/** The entries of the package by the name a consumer imports, with the path of their declarations. */
export function entriesOf(manifest: { name: string; exports: Record<string, unknown> }): Map<string, string> {
  const code = Object.entries(manifest.exports).filter(([path]) => path !== './package.json')
  const entries = code.map(([path, target]): [string, string] => {
    const types = typeof target === 'object' && target && 'types' in target ? target.types : undefined
    if (typeof types !== 'string') throw new Error(`The entry ${path} in package.json has no types`)
    return [path.replace('.', manifest.name), types]
  })
  return new Map(entries)
}

/** Every name a declaration file exports. Entries list their names: `export *` has none to list. */
export function declaredNames(file: string): string[] {
  const { module } = parseSync(file, readFileSync(file, 'utf8'))
  const names = module.staticExports.flatMap((statement) =>
    statement.entries.map((entry) => entry.exportName.name),
  )
  if (module.staticExports.some((statement) => statement.entries.some((entry) => isStar(entry)))) {
    throw new Error(`${file} has an "export *": an entry names its exports`)
  }
  return names.filter((name) => name !== null).toSorted()
}

function isStar(entry: { importName: { kind: string }; exportName: { kind: string } }): boolean {
  return entry.importName.kind === 'AllButDefault' && entry.exportName.kind === 'None'
}

export function compareWithList(surface: Surface): string[] {
  const listed = JSON.parse(readFileSync(listFile, 'utf8')) as Surface
  const entries = [...new Set([...Object.keys(listed), ...Object.keys(surface)])]
  return entries.flatMap((entry) => {
    const before = labels(listed[entry])
    const now = labels(surface[entry])
    return [
      ...now.filter((label) => !before.includes(label)).map((label) => `${entry}: new ${label}`),
      ...before.filter((label) => !now.includes(label)).map((label) => `${entry}: gone ${label}`),
    ]
  })
}

export function writeList(surface: Surface): void {
  writeFileSync(listFile, `${JSON.stringify(surface, null, 2)}\n`)
}

function labels(names: Names | undefined): string[] {
  return [
    ...(names?.values ?? []).map((name) => `value ${name}`),
    ...(names?.types ?? []).map((name) => `type ${name}`),
  ]
}
