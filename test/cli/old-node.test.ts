/** The launcher and the store on a Node that is really too old, where one is installed. */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { dirname, join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { Folders } from './kit.ts'

const folders = new Folders()
afterAll(() => folders.remove())

/** A Node before 22.18 in the usual places. */
function oldNode(): string | undefined {
  return ['/usr/bin/node', '/usr/local/bin/node'].find((path) => {
    const { stdout } = spawnSync(path, ['--version'], { encoding: 'utf8' })
    return /^v(1\d|20|21)\./.test(stdout)
  })
}

const node = oldNode()

it.skipIf(node === undefined)(
  `says which Node is needed, in one line${node === undefined ? ' (not run: no Node before 22 is installed here)' : ''}`,
  () => {
    const launcher = join(folders.make(), 'bin.mjs')
    writeFileSync(launcher, stripTypeScriptTypes(readFileSync('src/cli/bin.ts', 'utf8')))
    const found = execFileSync(node ?? '', ['--version'], { encoding: 'utf8' })
      .trim()
      .slice(1)
    const { status, stdout, stderr } = spawnSync(node ?? '', [launcher, 'chat'], { encoding: 'utf8' })
    expect({ status, stdout }).toEqual({ status: 3, stdout: '' })
    expect(stderr).toBe(
      `holdfast needs Node 22.18 or newer, and this is Node ${found}. Install a newer one from https://nodejs.org\n`,
    )
  },
)

it.skipIf(node === undefined)('says so, too, where a program imports the store', () => {
  const folder = folders.make()
  for (const file of ['store/sqlite/node-sqlite', 'protocol/error']) {
    mkdirSync(join(folder, dirname(file)), { recursive: true })
    const code = stripTypeScriptTypes(readFileSync(`src/${file}.ts`, 'utf8')).replace(
      '../../protocol/index.ts',
      '../../protocol/error.mjs',
    )
    writeFileSync(join(folder, `${file}.mjs`), code)
  }
  const { stderr } = spawnSync(node ?? '', [join(folder, 'store/sqlite/node-sqlite.mjs')], {
    encoding: 'utf8',
  })
  expect(stderr).toMatch(
    /HoldfastError: holdfast\/sqlite needs Node 22.18 or newer, which has SQLite built in, and this is Node \d+/,
  )
})
