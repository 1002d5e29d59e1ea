/**
 * Runs inside a project that has installed the packed package, on each Node it supports: imports one entry
 * and prints, as JSON, the names it exports and every module that was loaded on the way.
 */
import { registerHooks } from 'node:module'

const [entry = ''] = process.argv.slice(2)
const loaded: string[] = []
registerHooks({
  resolve(specifier, context, next) {
    const result = next(specifier, context)
    loaded.push(result.url)
    return result
  },
})
const getBuiltinModule = process.getBuiltinModule.bind(process)
process.getBuiltinModule = (id: string) => {
  loaded.push(id.startsWith('node:') ? id : `node:${id}`)
  return getBuiltinModule(id)
}
const module = (await import(entry)) as object
console.log(JSON.stringify({ names: Object.keys(module).toSorted(), loaded }))
