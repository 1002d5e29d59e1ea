/**
 * `node --import scripts/from-source.ts FILE`: lets `holdfast` and its entries mean the sources, so that the terminal and
 * its tests run without a build. Configs in other folders get the same sources.
 */
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

const root = new URL('../', import.meta.url)
const manifest = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as {
  name: string
  exports: Record<string, string | { readonly default: string }>
}

const sources = new Map(
  Object.entries(manifest.exports).flatMap(([entry, target]) => {
    if (typeof target === 'string') return []
    const source = target.default.replace('./dist/', './src/').replace(/\.js$/, '.ts')
    return [[`${manifest.name}${entry.slice(1)}`, new URL(source, root).href]]
  }),
)

registerHooks({
  resolve: (specifier, context, next) => {
    const url = sources.get(specifier)
    return url === undefined ? next(specifier, context) : { url, shortCircuit: true }
  },
})
