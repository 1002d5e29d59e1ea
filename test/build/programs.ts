/**
 * The programs that tests start as processes. A test run bundles them once with the package, since most of the start of
 * a process is to load many files. Outside of a test run they are started from their sources.
 */
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

/** The variable with the folder of the bundles, in the environment of a test run. */
export const BUILD_VARIABLE = 'HOLDFAST_TEST_BUILD'

export const PROGRAMS = [
  'src/store/sqlite/schema.ts',
  'test/build/from-build.ts',
  'test/corpus/adding-process.ts',
  'test/crash/child.ts',
  'test/flow/research/first-process.ts',
  'test/graph/two-reviews.ts',
  'test/hosts/host-process.ts',
  'test/many/flood-sender.ts',
  'test/many/member.ts',
  'test/observe/logging-process.ts',
  'test/plugin/grants-child.ts',
  'test/recovery/child.ts',
  'test/secrets/child.ts',
  'test/serve/a2a/server-process.ts',
  'test/serve/http/open-stream-process.ts',
  'test/serve/http/processes/server-process.ts',
  'test/store/open-sqlite.ts',
  'test/store/opening-process.ts',
  'test/toolbox/memory-bomb.ts',
] as const

/** True in a test run: there are bundles. */
export function isBuilt(): boolean {
  return process.env[BUILD_VARIABLE] !== undefined
}

/** The file to start: the bundle, or the source where there is none. */
export function programFile(path: (typeof PROGRAMS)[number]): string {
  return fileOf(path, path)
}

/** The file of a module of the package, for a process that imports it. `path`: below src, an entry. */
export function moduleFile(path: string): string {
  return fileOf(`src/${path}`, path)
}

/** The arguments of Node that start the terminal. In configs, wherever they are, `holdfast` is the same package. */
export function terminalArguments(): readonly string[] {
  const hook = isBuilt() ? programFile('test/build/from-build.ts') : resolve('scripts/from-source.ts')
  return ['--import', pathToFileURL(hook).href, moduleFile('cli/bin.ts')]
}

function fileOf(source: string, built: string): string {
  const folder = process.env[BUILD_VARIABLE]
  return folder === undefined ? resolve(source) : join(folder, built.replace(/\.ts$/, '.js'))
}
