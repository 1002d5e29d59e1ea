/** `holdfast research add | list | remove`. */
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { inProcess } from './in-process.ts'
import { Folders } from './kit.ts'

const folders = new Folders()
let cwd = ''
const research = (...args: string[]) => inProcess(['research', ...args], { cwd })

beforeAll(() => {
  cwd = folders.make()
  mkdirSync(join(cwd, 'papers'))
  writeFileSync(join(cwd, 'papers/tides.md'), '# Tides\n\nThe gauge was moved in May.')
  writeFileSync(join(cwd, 'papers/kelp.txt'), 'Kelp grows fast.')
  writeFileSync(join(cwd, 'scan.pdf'), 'not a PDF')
})
afterAll(() => folders.remove())

describe('documents', () => {
  it('are none at first', async () => {
    expect(await research('list')).toEqual({
      code: 0,
      stdout: '',
      stderr: 'No documents yet. holdfast research add FILES adds some.\n',
    })
    expect((await research('list', '--json')).stdout).toBe('[]\n')
  })

  it('that do not exist make no corpus', async () => {
    expect(await research('add', 'nope.pdf')).toEqual({
      code: 1,
      stdout: 'Added 0 documents with 0 passages; 0 unchanged, 1 skipped.\n',
      stderr: 'skipped nope.pdf: There is no such file.\n',
    })
    expect(existsSync(join(cwd, '.holdfast'))).toBe(false)
  })

  it('are added from files and folders, and those that cannot be read are named', async () => {
    expect(await research('add', 'papers', 'scan.pdf', 'none.txt')).toEqual({
      code: 1,
      stdout: 'Added 2 documents with 2 passages; 0 unchanged, 2 skipped.\n',
      stderr: 'skipped scan.pdf: The file is no PDF.\nskipped none.txt: There is no such file.\n',
    })
    expect(await research('add', 'papers')).toEqual({
      code: 0,
      stdout: 'Added 0 documents with 0 passages; 2 unchanged, 0 skipped.\n',
      stderr: '',
    })
    expect(readFileSync(join(cwd, '.holdfast/.gitignore'), 'utf8')).toBe('*\n')
    expect(statSync(join(cwd, '.holdfast')).mode & 0o777).toBe(0o700)
    const { code, stdout } = await research('add', 'scan.pdf', '--json')
    expect([code, JSON.parse(stdout)]).toMatchObject([
      1,
      { added: [], unchanged: [], skipped: [{ code: 'malformed' }] },
    ])
  })

  it('of other kinds in a folder are named, and are no failure', async () => {
    const other = folders.make({
      'more/kelp.txt': 'Kelp grows fast.',
      'more/blob.bin': 'x',
      'more/a/b.PNG': 'x',
    })
    const add = (...args: string[]) => inProcess(['research', 'add', 'more', ...args], { cwd: other })
    expect(await add()).toEqual({
      code: 0,
      stdout: 'Added 1 document with 1 passage; 0 unchanged, 0 skipped, 2 of other kinds.\n',
      stderr: 'not read, since they are no documents: more/a/b.PNG, more/blob.bin\n',
    })
    expect(JSON.parse((await add('--json')).stdout)).toMatchObject({
      ignored: [join(other, 'more/a/b.PNG'), join(other, 'more/blob.bin')],
    })
  })

  it('are listed and removed by their id', async () => {
    const { stdout } = await research('list')
    const [titles, kelp, tides] = stdout.trimEnd().split('\n')
    expect(titles).toMatch(/^TITLE +PAGES +PASSAGES +ID +SOURCE$/)
    expect(kelp).toMatch(/^kelp\.txt +- +1 +[0-9a-f]{16} +papers\/kelp\.txt$/)
    expect(tides).toMatch(/^Tides +- +1 +[0-9a-f]{16} +papers\/tides\.md$/)
    const id = /[0-9a-f]{16}/.exec(kelp ?? '')?.[0] ?? ''
    expect(await research('remove', id)).toMatchObject({
      code: 0,
      stdout: 'Removed kelp.txt with 1 passage.\n',
    })
    expect(await research('remove', id)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('There is no document'),
    })
    expect(JSON.parse((await research('list', '--json')).stdout)).toMatchObject([
      { title: 'Tides', pages: null },
    ])
  })
})

describe('the corpus of the config', () => {
  const config = (corpus: string) =>
    `import { sqliteCorpus } from 'holdfast/research'
const file = () => sqliteCorpus(new URL('own.db', import.meta.url).pathname)
export default { agents: { helper: { model: 'reflex' } }, research: { corpus: ${corpus} } }
`

  it('gets the documents that are added, so that questions find them', async () => {
    const home = folders.make({
      'holdfast.config.ts': config('file'),
      'tides.md': '# Tides\n\nThe gauge of Dunmore was moved in May 1998.',
    })
    const run = (...args: string[]) => inProcess(['research', ...args], { cwd: home })
    expect((await run('add', 'nope.md')).code).toBe(1)
    expect(await run('add', 'tides.md')).toMatchObject({ code: 0, stderr: '' })
    expect((await run('When was the gauge of Dunmore moved?')).stdout).toContain('in May 1998')
    const [listed] = JSON.parse((await run('list', '--json')).stdout) as { id: string }[]
    expect(await run('remove', listed?.id ?? '')).toMatchObject({ code: 0 })
    expect((await run('list', '--json')).stdout).toBe('[]\n')
    expect(existsSync(join(home, '.holdfast/corpus.db'))).toBe(false)
  })

  it('is listed, and not changed if it takes no documents', async () => {
    const home = folders.make({
      'holdfast.config.ts': config('() => ({ documents: async () => [], close: async () => {} })'),
      'tides.md': 'Tides',
    })
    const run = (...args: string[]) => inProcess(['research', ...args], { cwd: home })
    expect(await run('list')).toMatchObject({ code: 0 })
    for (const args of [
      ['add', 'tides.md'],
      ['remove', 'x'],
    ])
      expect(await run(...args)).toMatchObject({
        code: 3,
        stderr: expect.stringContaining('research.corpus takes no documents from this command'),
      })
    expect(await run('add', 'tides.md', '--corpus', 'other.db')).toMatchObject({ code: 0 })
  })
})

it('a file that is no corpus is left alone', async () => {
  writeFileSync(join(cwd, 'other.db'), 'text '.repeat(500))
  expect(await research('list', '--corpus', 'other.db')).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('is no SQLite database'),
  })
})

it('wrong usage says what to type', async () => {
  expect(await research('add')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('holdfast research add FILES'),
  })
  expect(await research('list', 'all')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Type holdfast research list.'),
  })
  expect(await research('remove')).toMatchObject({ code: 2 })
  expect((await research('--help')).stdout).toContain('holdfast research add papers/ notes.md')
})
