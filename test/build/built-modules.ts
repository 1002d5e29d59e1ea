/**
 * A module that the package starts as a process, `new URL('./worker.ts', import.meta.url)`, is the bundle of the test run: to
 * load the sources one by one is most of the work of such a process. So is a program that a test in src names like this.
 */
import { registerHooks } from 'node:module'
import { dirname, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { BUILD_VARIABLE, PROGRAMS } from './programs.ts'

const SOURCES = resolve('src')
const SOURCES_URL = new URL('../../src/', import.meta.url).href
const MODULE_BY_PATH = /new URL\('((?:\.{1,2}\/)+[\w/-]+\.ts)', import\.meta\.url\)/g

registerHooks({
  load: (url, context, next) => {
    const loaded = next(url, context)
    const { source } = loaded
    if (!url.startsWith(SOURCES_URL) || !source) return loaded
    const code = typeof source === 'string' ? source : new TextDecoder().decode(source)
    return code.includes('import.meta.url') ? { ...loaded, source: withBundles(code, url) } : loaded
  },
})

function withBundles(code: string, url: string): string {
  const path = fileURLToPath(url)
  return code.replace(MODULE_BY_PATH, (named: string, file: string) => {
    const module = resolve(dirname(path), file)
    const program = PROGRAMS.find((each) => resolve(each) === module)
    if (program === undefined && path.endsWith('.test.ts')) return named
    const built = (program ?? relative(SOURCES, module)).replace(/\.ts$/, '.js')
    return `new URL('${built}', \`file://\${process.env['${BUILD_VARIABLE}']}/\`)`
  })
}
