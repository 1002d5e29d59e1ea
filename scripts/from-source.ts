/**
 * `node --import scripts/from-source.ts FILE`: resolves `holdfast` and its entries to the sources, so that the terminal
 * and its tests run without a build. Configs in other folders get the same sources.
 */
import { registerHooks } from 'node:module'
import { readEntries } from './entries.ts'

const root = new URL('../', import.meta.url)
const sources = new Map(
  readEntries(root).map(({ specifier, path }) => [specifier, new URL(`src/${path}.ts`, root).href]),
)

registerHooks({
  resolve: (specifier, context, next) => {
    const url = sources.get(specifier)
    return url === undefined ? next(specifier, context) : { url, shortCircuit: true }
  },
})
