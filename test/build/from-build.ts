/** `node --import from-build.js FILE`: resolves `holdfast` and its entries to the bundles that this file is among. */
import { registerHooks } from 'node:module'
import { readEntries } from '../../scripts/entries.ts'

const folder = new URL('../../', import.meta.url)
const bundles = new Map(
  readEntries(new URL('../', folder)).map(({ specifier, path }) => [
    specifier,
    new URL(`${path}.js`, folder).href,
  ]),
)

registerHooks({
  resolve: (specifier, context, next) => {
    const url = bundles.get(specifier)
    return url === undefined ? next(specifier, context) : { url, shortCircuit: true }
  },
})
