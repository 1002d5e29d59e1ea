/**
 * Bundles src into dist: one file for each entry of the package and for the terminal's launcher, and one for each room that
 * the main entry loads, so that a module exists once however it was imported, and the number of files does not grow with
 * the number of entries. Packages, the package itself included, are not bundled.
 */
import { dirname, isAbsolute, relative, resolve } from 'node:path'
import { type Plugin, rolldown } from 'rolldown'
import { readEntries } from './entries.ts'
import { roomOf, rooms, roomsBelow } from './rooms.ts'

const LAUNCHER = 'cli/bin'

export interface BundleOptions {
  /** The folder that is written; `dist` if not given. */
  readonly dir?: string
  /** Programs beside the package, that import its sources: paths below the root. They keep their paths in `dir`. */
  readonly programs?: readonly string[]
}

export async function bundle({ dir = 'dist', programs = [] }: BundleOptions = {}): Promise<void> {
  const paths = [...readEntries(new URL('../', import.meta.url)).map(({ path }) => path), LAUNCHER]
  const build = await rolldown({
    input: {
      ...Object.fromEntries(paths.map((path) => [path, `src/${path}.ts`])),
      ...Object.fromEntries(programs.map((path) => [path.replace(/\.ts$/, ''), path])),
    },
    platform: 'node',
    external: (id) => !id.startsWith('.') && !isAbsolute(id),
    transform: { target: 'es2024' },
    // Every log is an error, and these depend on the speed of the machine.
    checks: { bundlerTimings: false },
    plugins: [filesByPath],
    onLog: (_level, log) => {
      throw new Error(log.message)
    },
  })
  await build.write({
    dir,
    sourcemap: true,
    // Their text is in the maps, and contracts are in the declarations.
    comments: { jsdoc: false },
    minifyInternalExports: false,
    codeSplitting: { groups: sharedRooms() },
    entryFileNames: '[name].js',
    // A module that is loaded late keeps its path: cli/main finds package.json from there.
    chunkFileNames: ({ facadeModuleId }) =>
      facadeModuleId ? `${pathOf(facadeModuleId)}.js` : 'chunks/[name].js',
  })
  await build.close()
}

/** Rooms that the main entry does not load, and several other entries do. */
const SHARED: readonly string[] = ['net', 'flow', 'host', 'serve']

/** The rooms that are one chunk each, from the bottom up: a group takes its imports along, unless another has them. */
function sharedRooms(): { name: string; test: (module: string) => boolean }[] {
  const shared = roomsBelow('index.ts')
  return rooms
    .filter(({ name }) => shared.has(name) || SHARED.includes(name))
    .map((room) => ({
      name: room.name.replaceAll('/', '-'),
      test: (module) => roomOf(`src/${pathOf(module)}`) === room,
    }))
}

/** Ignores examples in comments. */
const FILE_BY_PATH = /(?<!^ *\*.*)new URL\('(\.\/[\w-]+\.ts)', import\.meta\.url\)/gm

/** `new URL('./worker.ts', import.meta.url)` names a module for another process: it is an entry of its own. */
const filesByPath: Plugin = {
  name: 'files-by-path',
  transform: {
    filter: { code: 'import.meta.url' },
    handler(code, id) {
      const changed = code.replace(FILE_BY_PATH, (_, file: string) => {
        const path = resolve(dirname(id), file)
        const reference = this.emitFile({ type: 'chunk', id: path, name: pathOf(path) })
        return `new URL(import.meta.ROLLUP_FILE_URL_${reference})`
      })
      // Lines stay where they are.
      return { code: changed, map: null }
    },
  },
}

function pathOf(module: string): string {
  return relative('src', module).replaceAll('\\', '/').replace(/\.ts$/, '')
}
