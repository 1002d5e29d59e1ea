/**
 * `npm run test:package`: tests what a user would get. Builds, packs, installs the tarball into an empty
 * project and uses it there, on this Node and on the oldest supported one, with this TypeScript and the oldest.
 * `--update` writes the names of the public surface to exports.json instead of comparing them.
 */
import assert from 'node:assert/strict'
import { readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { checkLoads, checkSources, checkStacks } from './bundle.ts'
import { install, makeFolder, nameAll, oldestNode, pack, play, probe, run } from './project.ts'
import { unnamedTypes } from './reach.ts'
import { compareWithList, declaredNames, entriesOf, type Names, type Surface, writeList } from './surface.ts'
import { checkMistakes, compile, newestCompiler, oldestCompiler } from './typescript.ts'

const { values: options } = parseArgs({ options: { update: { type: 'boolean', default: false } } })
const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as {
  name: string
  version: string
  exports: Record<string, unknown>
}
const entries = entriesOf(manifest)
const folder = makeFolder()

function timed<T>(name: string, work: () => T): T {
  const started = performance.now()
  const result = work()
  console.log(`ok   ${name} ${((performance.now() - started) / 1000).toFixed(1)} s`)
  return result
}

function checkFiles(files: readonly string[]): void {
  const published =
    /^(package\.json|LICENSE|[A-Z]+\.md|bin\/holdfast\.js|docs\/.+\.(md|png)|examples\/.+\.ts|examples\/papers\/.+\.(pdf|docx|html|md|txt|json)|prompts\/.+\.md|dist\/.+(\.js|\.js\.map|\.d\.ts)|dist\/page\/.+\.(html|css|svg|md))$/
  const strays = files.filter((file) => !published.test(file) || file.includes('.test.'))
  assert.deepEqual(strays, [], 'only what is built, written and shown is published')
}

/** Links of the published pages lead to files that are published, too. */
function checkLinks(files: readonly string[]): void {
  const pages = files.filter((file) => file.endsWith('.md'))
  const dead = pages.flatMap((page) =>
    [...readFileSync(page, 'utf8').matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)]
      .map(([, link = '']) => join(dirname(page), link))
      .filter((target) => !files.some((file) => file === target || file.startsWith(`${target}/`)))
      .map((target) => `${page} → ${target}`),
  )
  assert.deepEqual(dead, [], 'every link leads to a published file')
}

function readSurface(): Surface {
  const surface = [...entries].map(([entry, types]): [string, Names] => {
    const { names } = probe(folder, process.execPath, entry)
    const declared = declaredNames(join(folder, 'node_modules', manifest.name, types))
    const missing = names.filter((name) => !declared.includes(name))
    assert.deepEqual(missing, [], `${entry} declares every name it exports`)
    return [entry, { values: names, types: declared.filter((name) => !names.includes(name)) }]
  })
  return Object.fromEntries(surface)
}

function checkSurface(surface: Surface): void {
  if (options.update) return writeList(surface)
  const changes = compareWithList(surface)
  const advice = 'the public surface changed; if that is meant, run npm run test:package -- --update'
  assert.deepEqual(changes, [], advice)
}

/** Without the other entries, the types of the root alone lead to names that it does not have. */
function checkNames(): void {
  const files = [...entries.values()].map((types) => join(folder, 'node_modules', manifest.name, types))
  assert.deepEqual(unnamedTypes(files), [], 'every type of a public signature has a name in some entry')
  assert.ok(unnamedTypes(files.slice(0, 1)).some((found) => found.endsWith('LanguageModel → ModelCall')))
}

function checkOldestNode(surface: Surface): void {
  const node = oldestNode()
  for (const entry of entries.keys()) {
    assert.deepEqual(probe(folder, node, entry).names, surface[entry]?.values, `${entry} on the oldest Node`)
  }
}

/** The command that npm links, on each Node. */
function checkCommand(): void {
  const command = join(folder, 'node_modules/.bin/holdfast')
  for (const node of [process.execPath, oldestNode()])
    assert.equal(run(node, ['--no-warnings', command, '--version'], folder).trim(), manifest.version)
}

try {
  timed('build', () => run('npm', ['run', 'build'], '.'))
  const { tarball, files } = timed('pack', () => pack(folder))
  timed('published files', () => checkFiles(files))
  timed('links', () => checkLinks(files))
  timed('install', () => install(folder, tarball))
  const surface = timed('import every entry', readSurface)
  timed(options.update ? 'exports.json written' : 'exports as listed', () => checkSurface(surface))
  timed('types have names', checkNames)
  timed('sources are in one chunk', () => checkSources(folder))
  timed('oldest Node', () => checkOldestNode(surface))
  timed('command', checkCommand)
  for (const node of [process.execPath, oldestNode()]) {
    timed('imports are small and late', () => checkLoads(folder, node, entries.keys()))
    timed('stack traces', () => checkStacks(folder, node))
    console.log(`     ${timed('an agent', () => play(folder, node, 'agent.ts'))}`)
    console.log(`     ${timed('store contract', () => play(folder, node, 'contract.ts'))}`)
  }
  const names = Object.entries(surface).map(
    ([entry, { values, types }]) => [entry, [...values, ...types]] as const,
  )
  nameAll(folder, new Map(names))
  for (const compiler of [newestCompiler(), oldestCompiler(folder)]) {
    timed(`consumer types, TypeScript ${compiler.version}`, () => compile(compiler, folder))
    timed(`mistakes, TypeScript ${compiler.version}`, () => checkMistakes(folder, compiler))
  }
  timed('publint', () => run('publint', ['run', tarball, '--strict'], '.'))
  timed('attw', () =>
    run('attw', [tarball, '--profile', 'esm-only', '--exclude-entrypoints', './package.json'], '.'),
  )
} finally {
  rmSync(folder, { recursive: true, force: true })
}
