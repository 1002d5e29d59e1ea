/** The exploration of a folder: exact sequences, every limit, and what is reached when one is met. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { type ExplorationOptions, exploration } from '../../src/entry/flows.ts'
import { categoryOf, inventoryFrom, tierOf } from '../../src/flow/exploration/inventory.ts'
import { memoryStore, type Store } from '../../src/index.ts'
import { faultyStore, ScriptedModel } from '../../src/testing/index.ts'

const folders: string[] = []
afterEach(() => {
  for (const each of folders.splice(0)) rmSync(each, { recursive: true, force: true })
})

function folder(files: Readonly<Record<string, string>>): string {
  const made = mkdtempSync(join(tmpdir(), 'holdfast-explore-'))
  folders.push(made)
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(made, name, '..'), { recursive: true })
    writeFileSync(join(made, name), text)
  }
  return made
}

const LINE = 'a line of the table\n'
const FILES = {
  'README.md': '# Sums\n',
  'src/sum.ts': 'export const sum = 1\n',
  'data/small.csv': 'a,b\n1,2\n',
  'data/big.csv': LINE.repeat(6000),
  'logo.png': 'no text',
}

async function nodesOf(store: Store, contextId: string): Promise<string[]> {
  const entries = await store.read({ tenant: 'local', actor: 'local', contextId })
  return entries.flatMap(({ type, data }) => (type === 'node.end' ? [data['node'] as string] : []))
}

function explore(replies: readonly string[], options: Partial<ExplorationOptions> = {}) {
  const model = new ScriptedModel([...replies])
  const store = memoryStore()
  const cwd = options.cwd ?? folder(FILES)
  const run = () => exploration({ model, store, contextId: 'x', cwd, ...options })
  const prompt = (at: number): string => JSON.stringify(model.calls[at]?.prompt)
  return { model, store, cwd, run, prompt }
}

describe('an exploration', () => {
  test('lists, reads, takes notes, and writes its report', async () => {
    const { run, store, cwd, prompt, model } = explore(['Notes of all.', '# Report\nAll is fine.'], {
      focus: 'Which tables are there?',
    })
    const results = await run()
    expect(results).toMatchObject({
      ended: 'done',
      reportPath: 'notes/exploration_report.md',
      report: '# Report\nAll is fine.\n',
      notes: ['Notes of all.'],
    })
    expect(results.files).toEqual([
      { path: 'README.md', bytes: 7, category: 'docs', tier: 'small', reading: 'full' },
      { path: 'src/sum.ts', bytes: 21, category: 'code', tier: 'small', reading: 'full' },
      { path: 'data/big.csv', bytes: 120_000, category: 'data', tier: 'large', reading: 'preview' },
      { path: 'data/small.csv', bytes: 8, category: 'data', tier: 'small', reading: 'full' },
      { path: 'logo.png', bytes: 7, category: 'media', tier: 'small', reading: 'not-read' },
    ])
    expect(await nodesOf(store, 'x')).toEqual(['list', 'read', 'report', 'save'])
    expect(readFileSync(join(cwd, 'notes/exploration_report.md'), 'utf8')).toBe('# Report\nAll is fine.\n')
    expect(prompt(0)).toContain('Which tables are there?')
    expect(prompt(0)).toContain('export const sum = 1')
    expect(prompt(0)).toContain('lines 1 to 2500 of 6000, 50000 of 120000 bytes')
    expect(prompt(0)).not.toContain('no text')
    expect(prompt(1)).toContain('Notes of all.')
    expect(prompt(1)).toContain('- logo.png (media, 7 bytes, not read)')
    expect(model.calls).toHaveLength(2)
  })

  test('previews lines, reads in batches that fit, and replaces an earlier report', async () => {
    const cwd = folder({ ...FILES, 'out/report.md': 'An earlier report.\n' })
    const { run, store, prompt } = explore(['One.', 'Two.', 'Three.', '# New'], {
      cwd,
      preview: { lines: 3 },
      fullReadBytes: 20,
      maxContextTokens: 2000,
      reportPath: 'out/report.md',
    })
    expect(await run()).toMatchObject({ ended: 'done', notes: ['One.', 'Two.', 'Three.'] })
    expect(await nodesOf(store, 'x')).toEqual(['list', 'read', 'read', 'read', 'report', 'save'])
    expect(readFileSync(join(cwd, 'out/report.md'), 'utf8')).toBe('# New\n')
    expect(prompt(1)).toContain('lines 1 to 3 of 6000')
    expect([0, 1, 2, 3].map(prompt).join('')).not.toContain('earlier report')
  })

  test.each(['"odd.md', 'odd\n.md', 'odd\u2028.md'])(
    'reads a file with the name %j, and never its own report',
    async (odd) => {
      const cwd = folder({
        [odd]: 'An odd file.\n',
        'notes/report.md': 'An earlier report.\n',
        '"r".md': 'Old.',
      })
      const reports = { './notes/report.md': '"r".md', [join(cwd, '"r".md')]: 'notes/report.md' }
      for (const [reportPath, other] of Object.entries(reports)) {
        const { run, prompt } = explore(['One.', '# New'], { cwd, reportPath })
        expect((await run()).files.map(({ path }) => path).toSorted()).toEqual([odd, other].toSorted())
        expect(prompt(0)).toContain('An odd file.')
      }
    },
  )

  test.each([{}, { bytes: 0 }, { lines: 1.5 }, { bytes: 9, lines: 9 }])(
    'refuses the preview %j, with which it would read nothing',
    async (preview) => {
      const { run } = explore([], { preview: preview as never })
      await expect(run()).rejects.toThrow('preview must be { bytes } or { lines }, a whole number from 1 on')
    },
  )

  test('reads at most maxFiles, and lists the others', async () => {
    const { run, prompt } = explore(['One.', '# Short'], { maxFiles: 1 })
    const { files } = await run()
    expect(files.map(({ reading }) => reading)).toEqual(['full', ...Array(4).fill('not-read')])
    expect(prompt(0)).not.toContain('export const sum')
  })

  test('a limit returns the notes so far with the inventory, and a second call goes on', async () => {
    const { run, store, cwd, model } = explore(['Notes of all.', '# Report'], { limits: { steps: 2 } })
    const stopped = await run()
    expect(stopped).toMatchObject({
      ended: 'limit',
      reason: 'The limit on steps (2) was reached.',
      reportPath: null,
      notes: ['Notes of all.'],
    })
    expect(stopped.report).toMatch(
      /^# Exploration, not finished\n\n## Notes\n\nNotes of all\.\n\n## Inventory\n\n5 files\. By category: docs 1, code 1, data 2, media 1\./,
    )
    const done = await exploration({ model, store, contextId: 'x', cwd })
    expect(done).toMatchObject({ ended: 'done', report: '# Report\n' })
    expect(await exploration({ model, store, contextId: 'x', cwd })).toEqual(done)
    expect(model.calls).toHaveLength(2)
  })

  test('a model that fails, a cancelled run and a limit on cost keep the inventory', async () => {
    const failed = await explore([]).run()
    expect(failed).toMatchObject({ ended: 'failed', notes: [] })
    expect(failed.files).toHaveLength(5)
    const signal = AbortSignal.abort()
    expect(await explore(['One.'], { signal }).run()).toMatchObject({ ended: 'cancelled', reportPath: null })
    const few = await explore(['Notes.', '# Report'], { limits: { tokens: 10 } }).run()
    expect(few).toMatchObject({ ended: 'limit', notes: ['Notes.'], reportPath: null })
  })

  test('a report that cannot be written fails, and is in the results', async () => {
    const cwd = folder({ ...FILES, 'notes/exploration_report.md/file.txt': 'x' })
    const results = await explore(['Notes.', '# Report'], { cwd }).run()
    expect(results).toMatchObject({ ended: 'failed', report: '# Report\n', reportPath: null })
    expect(results.reason).toContain('The report cannot be written to notes/exploration_report.md')
  })

  test.each([
    [{}, 'exploration() needs a model.'],
    [{ model: 'x/y', preview_kb: 1 }, 'preview: { bytes }'],
    [{ model: 'x/y', maxFiles: 0 }, 'maxFiles'],
    [{ model: 'reflex' }, 'reflex follows rules and cannot take notes of files'],
  ])('%j is refused', async (options, message) => {
    await expect(exploration(options as never)).rejects.toThrow(message)
  })
})

test('sizes have tiers, at 10 KB, 100 KB and 1 MB', () => {
  const sizes = [0, 10_000, 10_001, 100_000, 100_001, 1_000_000, 1_000_001]
  expect(sizes.map(tierOf)).toEqual(['small', 'small', 'medium', 'medium', 'large', 'large', 'huge'])
})

test('names have categories; a name that looks like a size is a name', () => {
  const names = ['a.TS', 'x/package.json', 'y.json', 'Dockerfile', 'noext', 'a.b/c', 'p.pdf', 'x/constructor']
  expect(names.map(categoryOf)).toEqual([
    'code',
    'config',
    'data',
    'config',
    'other',
    'other',
    'media',
    'other',
  ])
  const listing = '[FILE] a (1 bytes).md (2 bytes)\n[DIR]  x/\n[FILE] "n\\nl" (1 byte)'
  const options = { maxFiles: 9, fullReadBytes: 9, reportPath: 'r.md' }
  expect(inventoryFrom(listing, options).map(({ path, bytes }) => [path, bytes])).toEqual([
    ['a (1 bytes).md', 2],
    ['n\nl', 1],
  ])
})

test('a folder that cannot be listed is no empty folder: nothing is written about it', async () => {
  const model = new ScriptedModel(['report'])
  const cwd = folder(FILES)
  // The first append comes after the options were checked, and before the folder is listed.
  const removing = (_: unknown, append: number): boolean => {
    if (append === 1) rmSync(cwd, { recursive: true, force: true })
    return false
  }
  const store = faultyStore(memoryStore(), [{ at: removing, how: 'stall', when: 'before' }])
  const { ended, reason } = await exploration({ model, cwd, store })
  expect([ended, reason, model.calls.length]).toEqual([
    'failed',
    'The folder cannot be listed: "." does not exist. List the folder to see what is there.',
    0,
  ])
})

test('a report that cannot be written says why, in words', async () => {
  const model = new ScriptedModel(['notes', 'report'])
  const { ended, reason } = await exploration({
    model,
    cwd: folder({ 'a.md': 'x' }),
    reportPath: '../out.md',
  })
  expect([ended, reason]).toEqual([
    'failed',
    'The report cannot be written to ../out.md: "../out.md" is outside of the working folder. Give a path inside of it.',
  ])
})
