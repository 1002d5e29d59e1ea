/** The entries of the package: each name is in one of them, the root stays small, and guide and compiler know them all. */
import { globSync, readFileSync } from 'node:fs'
import { parseSync } from 'oxc-parser'
import { expect, it } from 'vitest'
import { readEntries } from '../scripts/entries.ts'

interface Names {
  readonly values: readonly string[]
  readonly types: readonly string[]
}

const ENTRIES = readEntries(new URL('../', import.meta.url))
const SURFACE = JSON.parse(readFileSync('test/package/exports.json', 'utf8')) as Record<string, Names>
const NAMES = Object.entries(SURFACE).flatMap(([entry, { values, types }]) =>
  [...values, ...types].map((name) => ({ entry, name })),
)

it('a name is in one entry', () => {
  const homes = Map.groupBy(NAMES, ({ name }) => name)
  expect([...homes.values()].filter((found) => found.length > 1)).toEqual([])
})

it('the root has at most 65 names', () => {
  expect(NAMES.filter(({ entry }) => entry === 'holdfast').length).toBeLessThanOrEqual(65)
})

it('the compiler finds the sources of every entry', () => {
  const { compilerOptions } = JSON.parse(readFileSync('tsconfig.json', 'utf8')) as {
    readonly compilerOptions: { readonly paths: Record<string, readonly string[]> }
  }
  const paths = ENTRIES.map(({ specifier, path }) => [specifier, [`./src/${path}.ts`]])
  expect(compilerOptions.paths).toEqual(Object.fromEntries(paths))
})

it('the guide has a row for every entry, with its values', () => {
  const rows = readFileSync('docs/guide/entries.md', 'utf8').matchAll(
    /^\| `(holdfast[\w/-]*)` \|.*\| (.*) \|$/gm,
  )
  const listed = [...rows].map(([, entry = '', cell = '']) => ({ entry, ...valuesIn(cell) }))
  expect(listed.map(({ entry }) => entry).toSorted()).toEqual(
    ENTRIES.map(({ specifier }) => specifier).toSorted(),
  )
  const wrong = listed.flatMap(({ entry, names, isPart }) => {
    const values = SURFACE[entry]?.values ?? []
    const unlisted = isPart ? [] : values.filter((name) => !names.includes(name))
    return [...unlisted, ...names.filter((name) => !values.includes(name))].map((name) => `${entry} ${name}`)
  })
  expect(wrong).toEqual([])
})

/** A cell that ends with dots names some of the values. */
function valuesIn(cell: string): { readonly names: readonly string[]; readonly isPart: boolean } {
  const names = cell.startsWith('types only')
    ? []
    : [...cell.matchAll(/`(\w+)`/g)].map(([, name = '']) => name)
  return { names, isPart: cell.endsWith('…') }
}

it('a file of src/entry has exports of other files and nothing else', () => {
  const others = globSync('src/entry/*.ts').flatMap((file) =>
    parseSync(file, readFileSync(file, 'utf8'))
      .program.body.filter(
        (statement) => statement.type !== 'ExportNamedDeclaration' || statement.source === null,
      )
      .map(({ type }) => `${file} ${type}`),
  )
  expect(others).toEqual([])
})

/** Shortcuts of the stores in this package: `contextKey`, `decode`, all derivations and `structuredClone` do the same. */
const SPEED_ONLY = ['KeyCheck', 'copyHead', 'derivationsByType', 'isShared', 'jsonCopy', 'readerData']

it('holdfast/store has what the stores of this package use, and nothing else', () => {
  const memory = valuesFromStoreRoom('src/store/memory/**/*.ts')
  const own = new Set([...memory, ...valuesFromStoreRoom('src/store/sqlite/**/*.ts')])
  const values = SURFACE['holdfast/store']?.values ?? []
  expect(memory.filter((name) => ![...values, ...SPEED_ONLY].includes(name))).toEqual([])
  expect(values.filter((name) => !own.has(name))).toEqual([])
})

/** The values that these files import from files of the room `store`. */
function valuesFromStoreRoom(pattern: string): string[] {
  return globSync(pattern)
    .filter((file) => !file.endsWith('.test.ts'))
    .flatMap((file) => parseSync(file, readFileSync(file, 'utf8')).module.staticImports)
    .filter(({ moduleRequest }) => /^(?:\.\.\/)+[\w-]+\.ts$/.test(moduleRequest.value))
    .flatMap(({ entries }) => entries)
    .flatMap(({ importName, isType }) => (isType || importName.name === null ? [] : [importName.name]))
}
