/**
 * What a bundle must not change for its user: an entry loads few files and nothing early, no module exists twice, classes
 * keep their names, and stack traces lead to lines of the sources.
 */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { probe, run } from './project.ts'

/** An entry is one file, and one for each room that it needs; more entries do not make them more. */
const MOST_FILES = 19

/** On the oldest Node, loading the driver is what makes Node itself warn. */
const SQLITE_WARNING = /^ExperimentalWarning: SQLite /

export function checkLoads(folder: string, node: string, entries: Iterable<string>): void {
  const dist = pathToFileURL(join(folder, 'node_modules/holdfast/dist/')).href
  for (const entry of entries) {
    const { loaded, effects } = probe(folder, node, entry)
    const own = [...new Set(loaded)].filter((url) => url.startsWith(dist))
    const foreign = loaded.filter((url) => url.startsWith('file:') && !own.includes(url))
    const hasDriver = /^holdfast\/sqlite\b/.test(entry)
    const unexpected = effects.filter((effect) => !(hasDriver && SQLITE_WARNING.test(effect)))
    assert.ok(own.length > 0 && own.length <= MOST_FILES, `${entry} loads ${own.length} files`)
    assert.deepEqual(foreign, [], `${entry} loads no other package`)
    assert.equal(loaded.includes('node:sqlite'), hasDriver, `${entry} and node:sqlite`)
    assert.deepEqual(unexpected, [], `importing ${entry} has no side effects`)
  }
  const early = probe(folder, node, `${dist}cli/main.js`).loaded.filter((url) =>
    /^node:sqlite$|\/dist\/(index|store\/|cli\/command\/)/.test(url),
  )
  assert.deepEqual(early, [], 'the terminal loads the runtime and its commands when they are needed')
}

/** Every chunk with code has a map with the text of its sources, and each source is in one chunk. */
export function checkSources(folder: string): void {
  const home = join(folder, 'node_modules/holdfast')
  const chunkOf = new Map<string, string>()
  // The page is a program of its own, for browsers.
  const chunks = globSync('dist/**/*.js', { cwd: home, exclude: ['dist/page/**'] })
  for (const chunk of chunks) {
    const text = readFileSync(join(home, chunk), 'utf8')
    const renamed = /\bclass \w+\$\d|\b\w+\$\d+ = class\b/.exec(text)?.[0]
    assert.equal(renamed, undefined, `${chunk} renames a class: ${renamed}`)
    if (/^(?:(?:import|export) .*\s*)+$/.test(text)) continue
    const { sources, sourcesContent } = JSON.parse(readFileSync(join(home, `${chunk}.map`), 'utf8')) as {
      readonly sources: readonly string[]
      readonly sourcesContent: readonly string[]
    }
    for (const [index, source] of sources.entries()) {
      const path = join(dirname(chunk), source)
      assert.equal(chunkOf.get(path), undefined, `${path} is in ${chunk} and in another chunk`)
      assert.equal(sourcesContent[index], readFileSync(path, 'utf8'), `the map of ${chunk} has ${path}`)
      chunkOf.set(path, chunk)
    }
  }
  for (const needed of ['src/agent/agent.ts', 'src/store/sqlite/open.ts', 'src/cli/main.ts'])
    assert.ok(chunkOf.has(needed), `${needed} is in a map`)
}

/** The errors of several entries: the innermost line is the one that made the error, and each function is in its file. */
export function checkStacks(folder: string, node: string): void {
  const output = run(node, ['--no-warnings', '--enable-source-maps', 'entries.ts'], folder)
  for (const stack of JSON.parse(output) as string[]) {
    const frames = framesOf(stack, join(folder, 'node_modules/holdfast'))
    const [innermost] = frames
    assert.ok(innermost !== undefined && frames.length > 1, stack)
    assert.match(innermost.text, /new HoldfastError\(/, stack)
    for (const { name, source } of frames) assert.ok(source.includes(name), `${name} is not there:\n${stack}`)
  }
}

interface Frame {
  readonly name: string
  readonly source: string
  /** The source's line. */
  readonly text: string
}

function framesOf(stack: string, home: string): Frame[] {
  return [...stack.matchAll(/^ +at (?:async )?(?:new )?([\w.]+) \((.+):(\d+):\d+\)$/gm)]
    .map(([, name = '', place = '', line]) => {
      const path = place.startsWith('file:') ? fileURLToPath(place) : place
      return { name: name.split('.').at(-1) ?? '', path, line: Number(line) }
    })
    .filter(({ path }) => path.startsWith(home))
    .map(({ name, path, line }) => {
      const file = path.slice(home.length + 1)
      assert.match(file, /^src\//, stack)
      const source = readFileSync(file, 'utf8')
      return { name, source, text: source.split('\n')[line - 1] ?? '' }
    })
}
