/** Measures the sources without tests: files and lines by room, and the names that each entry exports. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseSync } from 'oxc-parser'
import { readEntries } from './entries.ts'
import { outsiders, rooms } from './rooms.ts'

export interface FileLengths {
  readonly files: number
  readonly lines: number
  readonly median: number
  readonly p90: number
  readonly max: number
  readonly longest: string
}

export interface RoomSize extends FileLengths {
  readonly room: string
}

export interface EntrySize {
  readonly entry: string
  readonly values: number
  readonly types: number
}

export interface Size {
  readonly total: FileLengths
  readonly rooms: readonly RoomSize[]
  readonly entries: readonly EntrySize[]
}

interface SourceFile {
  readonly path: string
  readonly lines: number
}

/** Measures the checkout at `root`. */
export function measureSize(root: string): Size {
  const files = sourceFiles(root)
  const byRoom = Map.groupBy(files, ({ path }) => roomOf(path))
  return {
    total: lengthsOf(files),
    rooms: [...byRoom]
      .map(([room, own]) => ({ room, ...lengthsOf(own) }))
      .toSorted((a, b) => b.lines - a.lines),
    entries: readEntries(pathToFileURL(`${root}/`)).map(({ specifier, path }) => ({
      entry: specifier,
      ...exportsOf(join(root, 'src', `${path}.ts`)),
    })),
  }
}

function sourceFiles(root: string): readonly SourceFile[] {
  return globSync('src/**/*.ts', { cwd: root })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => !/\.test(-d)?\.ts$/.test(path))
    .map((path) => ({ path, lines: readFileSync(join(root, path), 'utf8').split('\n').length - 1 }))
}

/** The room of rooms.ts that the file lies in; in a checkout with other rooms, its folder. */
function roomOf(path: string): string {
  const names = [...rooms.map(({ name }) => name), ...outsiders.map((folder) => folder.replace(/^src\//, ''))]
  const inside = path.replace(/^src\//, '')
  const found = names.filter((name) => inside === name || inside.startsWith(`${name}/`))
  return found.toSorted((a, b) => b.length - a.length)[0] ?? inside.split('/')[0] ?? ''
}

function lengthsOf(files: readonly SourceFile[]): FileLengths {
  const sorted = files.toSorted((a, b) => a.lines - b.lines)
  const at = (share: number): number => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)]?.lines ?? 0
  return {
    files: sorted.length,
    lines: sorted.reduce((sum, { lines }) => sum + lines, 0),
    median: at(0.5),
    p90: at(0.9),
    max: at(1),
    longest: sorted.at(-1)?.path ?? '',
  }
}

/** An entry lists its names: `export *` is refused by the package test. */
function exportsOf(file: string): { readonly values: number; readonly types: number } {
  const { module } = parseSync(file, readFileSync(file, 'utf8'))
  const names = module.staticExports.flatMap(({ entries }) => entries)
  const types = names.filter(({ isType }) => isType).length
  return { values: names.length - types, types }
}
