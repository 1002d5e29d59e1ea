/**
 * A module that the package starts as a process, `new URL('./worker.ts', import.meta.url)`, is the bundle of the test run: to
 * load the sources one by one is most of the work of such a process. So is a program that a test in src names like this.
 */
import { dirname, relative, resolve } from 'node:path'
import { BUILD_VARIABLE, PROGRAMS } from './programs.ts'

const SOURCES = resolve('src')
const MODULE_BY_PATH = /new URL\('((?:\.{1,2}\/)+[\w/-]+\.ts)', import\.meta\.url\)/g

export const builtModules = {
  name: 'holdfast:built-modules',
  enforce: 'pre' as const,
  transform: {
    filter: { id: `${SOURCES}/**/*.ts`, code: 'import.meta.url' },
    handler: (code: string, id: string): string =>
      code.replace(MODULE_BY_PATH, (url: string, file: string) => {
        const module = resolve(dirname(id), file)
        const program = PROGRAMS.find((path) => resolve(path) === module)
        if (program === undefined && id.endsWith('.test.ts')) return url
        const built = (program ?? relative(SOURCES, module)).replace(/\.ts$/, '.js')
        return `new URL('${built}', \`file://\${process.env['${BUILD_VARIABLE}']}/\`)`
      }),
  },
}
