/**
 * Runs inside a project that has installed the packed package, on each Node it supports: imports one entry
 * and prints, as JSON, the names it exports, every module that was loaded on the way, and what the import has done
 * besides: warnings, listeners of the process, globals, timers and handles.
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
const warnings: string[] = []
process.on('warning', ({ name, message }) => warnings.push(`${name}: ${message}`))
const surroundings = () => [
  ...Object.getOwnPropertyNames(globalThis),
  ...process.eventNames().map((name) => `${String(name)} ${process.listenerCount(name)}`),
  ...process.getActiveResourcesInfo(),
]
// Node opens these when node:util is loaded.
void [process.stdout, process.stderr]
const before = surroundings()
const module = (await import(entry)) as object
const after = surroundings()
await new Promise(setImmediate)
const effects = [...warnings, ...after.filter((thing) => !before.includes(thing))]
console.log(JSON.stringify({ names: Object.keys(module).toSorted(), loaded, effects }))
// A timer that the import started must be reported, not waited for.
process.exit()
