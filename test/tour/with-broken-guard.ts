/** `node --import`: the tour gets broken-guard.ts instead of its own wiring. */
import { registerHooks } from 'node:module'

const own = new URL('../../scripts/tour/wiring.ts', import.meta.url).href
const broken = new URL('broken-guard.ts', import.meta.url).href

registerHooks({
  resolve: (specifier, context, next) => {
    const found = next(specifier, context)
    return found.url === own && context.parentURL !== broken ? { ...found, url: broken } : found
  },
})
