/** The entries of the package: import name, file of `exports` in package.json, source. */
import { readFileSync } from 'node:fs'

export interface Entry {
  /** `holdfast/sqlite`. */
  readonly specifier: string
  /** The path below dist and src, without extension: `store/sqlite/index`. */
  readonly path: string
}

export function readEntries(root: URL): Entry[] {
  const manifest = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as {
    readonly name: string
    readonly exports: Readonly<Record<string, string | { readonly default: string }>>
  }
  return Object.entries(manifest.exports).flatMap(([entry, target]) => {
    if (typeof target === 'string') return []
    const path = target.default.replace(/^\.\/dist\/|\.js$/g, '')
    return [{ specifier: `${manifest.name}${entry.slice(1)}`, path }]
  })
}
