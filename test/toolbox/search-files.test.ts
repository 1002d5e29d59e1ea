import { execFileSync } from 'node:child_process'
import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { run as runGenerated } from '../../scripts/toolbox/search.ts'
import { findRipgrep } from '../../src/toolbox/ripgrep.ts'
import { searchWorkspace } from '../../src/toolbox/search-files.ts'
import type { SearchResult } from '../../src/toolbox/search-result.ts'
import { openWorkspace } from '../../src/toolbox/workspace.ts'
import { callTool, type Files, isRunning, type TestFolder, testFolder, toolIn } from './search-kit.ts'

let folder: TestFolder
beforeEach(async () => {
  folder = await testFolder()
})
afterEach(() => folder.remove())

const NEVER = new AbortController().signal

async function search(
  args: { regex: string; path?: string; file_pattern?: string },
  signal: AbortSignal = NEVER,
): Promise<SearchResult> {
  return callTool(await toolIn(folder.root, 'search_files'), { path: '.', ...args }, signal)
}

async function paths(args: { path?: string; file_pattern?: string }): Promise<readonly string[]> {
  return (await search({ regex: 'needle', ...args })).results.map(({ path }) => path)
}

function everywhere(...names: readonly string[]): Files {
  return Object.fromEntries(names.map((name) => [name, 'needle\n']))
}

describe('a search', () => {
  it('returns matching lines with numbers and context, by file, in the order of paths', async () => {
    await folder.add({
      'b.txt': 'one\r\ntwo needle\r\nthree\r\nfour\r\n',
      'a/z.txt': 'needle 1\nneedle 2\nx\ny\nz needle',
      'a-b.txt': 'nothing\n',
    })
    expect(await search({ regex: 'needle( \\d)?$' })).toEqual({
      matches: 4,
      files: 2,
      results: [
        { path: 'a/z.txt', matches: 3, lines: ['1:needle 1', '2:needle 2', '3-x', '4-y', '5:z needle'] },
        { path: 'b.txt', matches: 1, lines: ['1-one', '2:two needle', '3-three'] },
      ],
    })
    expect(await search({ regex: 'absent' })).toEqual({ matches: 0, files: 0, results: [] })
    expect((await toolIn(folder.root, 'search_files')).display?.(await search({ regex: 'z needle' }))).toBe(
      '1 matching line in 1 file',
    )
  })

  it('is of one file or of a folder, given as a path inside of the working folder', async () => {
    await folder.add(everywhere('a/x.txt', 'a/b/y.txt', 'c.txt'))
    await symlink('a/b', join(folder.root, 'to-b'))
    expect(await paths({ path: 'a/' })).toEqual(['a/b/y.txt', 'a/x.txt'])
    expect(await paths({ path: join(folder.root, 'a/b') })).toEqual(['a/b/y.txt'])
    expect(await paths({ path: './c.txt' })).toEqual(['c.txt'])
    expect(await paths({ path: 'to-b' })).toEqual(['a/b/y.txt'])
    await expect(paths({ path: '../root' })).rejects.toThrow('outside of the working folder')
    await expect(paths({ path: 'none' })).rejects.toThrow('"none" does not exist')
    execFileSync('sh', ['-c', 'mkfifo "$0"', join(folder.root, 'pipe')])
    await expect(paths({ path: 'pipe' })).rejects.toThrow('"pipe" is a device, a pipe or a socket')
    await expect(search({ path: '.', regex: '' })).rejects.toThrow('short')
  })

  it('leaves out ignored files, binary files and the folders of git and of the runtime', async () => {
    await folder.add({
      ...everywhere(
        'a.ts',
        'b.log',
        'keep.log',
        'dist/c.ts',
        '.github/d.yml',
        '.git/e',
        '.holdfast/f',
        'a/node_modules/g',
      ),
      '.gitignore': 'dist/\n*.log\n!keep.log\n',
      'binary.txt': 'needle\0',
    })
    expect(await paths({})).toEqual(['.github/d.yml', 'a.ts', 'keep.log'])
    expect(await paths({ path: 'dist' })).toEqual(['dist/c.ts'])
    expect(await paths({ path: 'a/node_modules' })).toEqual(['a/node_modules/g'])
  })

  it('searches a binary file that is named, and numbers its lines as they are', async () => {
    await folder.add({ 'data.bin': 'needle\n\0\0\nlast needle' })
    expect(await search({ path: 'data.bin', regex: 'needle' })).toEqual({
      matches: 2,
      files: 1,
      results: [{ path: 'data.bin', matches: 2, lines: ['1:needle', '2-\0\0', '3:last needle'] }],
    })
  })

  it('takes a glob of names, of paths, and of what to leave out', async () => {
    await folder.add({
      ...everywhere('a.ts', 'a.js', 's/b.ts', 's/t/b.js', 's/t/c.test.ts', 'x:y.ts', 'dist/d.ts', '-d.md'),
      '.gitignore': 'dist/\n',
      '.git/HEAD': '',
    })
    expect(await paths({ file_pattern: '*.ts' })).toEqual(['a.ts', 's/b.ts', 's/t/c.test.ts', 'x:y.ts'])
    expect(await paths({ file_pattern: '**/*.js' })).toEqual(['a.js', 's/t/b.js'])
    expect(await paths({ file_pattern: '*.{js,md}' })).toEqual(['-d.md', 'a.js', 's/t/b.js'])
    expect(await paths({ file_pattern: '!*.ts' })).toEqual(['-d.md', 'a.js', 's/t/b.js'])
    expect(await paths({ file_pattern: 's/**/*.ts' })).toEqual(['s/b.ts', 's/t/c.test.ts'])
    expect(await paths({ file_pattern: '!s/**' })).toEqual(['-d.md', 'a.js', 'a.ts', 'x:y.ts'])
    expect(await paths({ file_pattern: 'x:*' })).toEqual(['x:y.ts'])
    expect(await paths({ file_pattern: '-*' })).toEqual(['-d.md'])
    expect(await paths({ file_pattern: '' })).toHaveLength(7)
    expect(await paths({ file_pattern: '*' })).toHaveLength(7)
    await expect(paths({ file_pattern: '[' })).rejects.toThrow('error parsing glob')
    await expect(paths({ file_pattern: 'a\0' })).rejects.toThrow('NUL')
    expect(await paths({ file_pattern: './s/*.ts' })).toEqual(['s/b.ts'])
    expect(await paths({ file_pattern: './*.js' })).toEqual(['a.js'])
    expect(await paths({ file_pattern: '!./s/**' })).toEqual(['-d.md', 'a.js', 'a.ts', 'x:y.ts'])
  })

  it('reports the files that cannot be read', async () => {
    await folder.add(everywhere('a.txt', 'b.txt'))
    const failing = await fakeRipgrep('echo "rg: ./b.txt: Permission denied (os error 13)" >&2; exit 2', [
      ['a.txt', 'needle'],
    ])
    expect((await runWith(failing)).notes).toEqual([
      'Some files could not be read: "./b.txt: Permission denied (os error 13)"',
    ])
  })
})

describe('a large result', () => {
  it('shows the first lines of each file and of the search, and counts all', async () => {
    await folder.add(
      Object.fromEntries(
        Array.from({ length: 30 }, (_, index) => [
          `f${String(index).padStart(2, '0')}`,
          'needle\n'.repeat(50),
        ]),
      ),
    )
    const result = await search({ regex: 'needle' })
    expect(result).toMatchObject({ matches: 1500, files: 30 })
    expect(result.results.map(({ matches, lines }) => [matches, lines.length])).toEqual(
      Array.from({ length: 10 }, () => [50, 20]),
    )
    expect(result.leftOut).toBe(
      'Shown are 200 of 1500 matching lines. Narrow the regex, the path or the file_pattern to see the others.',
    )
  })

  it('has at most 40 KB of lines', async () => {
    const long = `${'x'.repeat(380)}\n`
    await folder.add(
      Object.fromEntries(
        Array.from({ length: 40 }, (_, index) => [`f${index}`, `${long}${long}needle ${long}`]),
      ),
    )
    const result = await search({ regex: 'needle' })
    const shown = result.results.flatMap(({ lines }) => lines).join('\n').length
    expect([shown > 30_000, shown < 45_000, result.matches]).toEqual([true, true, 40])
  })

  it('cuts long lines around the match, and leaves out lines of more than 64 KB', async () => {
    await folder.add({
      'a.min.js': `${'ä'.repeat(1000)}needle${'ö'.repeat(1000)}\n`,
      'b.min.js': `${'x'.repeat(200_000)}needle\nneedle\n`,
    })
    const { results, notes, leftOut } = await search({ regex: 'needle' })
    expect(results[0]?.lines).toEqual([`1:…${'ä'.repeat(50)}needle${'ö'.repeat(147)}…`])
    expect(results[1]).toEqual({ path: 'b.min.js', matches: 2, lines: ['2:needle'] })
    expect(notes).toEqual(['1 matching line of more than 64 KB not shown.'])
    expect(leftOut).toContain('Shown are 2 of 3')
  })

  it('shows a line of many matches', async () => {
    await folder.add({ 'a.txt': `,"submatches":[${'x'.repeat(5000)}\n` })
    expect(await search({ regex: '.' })).toEqual({
      matches: 1,
      files: 1,
      results: [{ path: 'a.txt', matches: 1, lines: [`1:,"submatches":[${'x'.repeat(385)}…`] }],
    })
  })
})

describe('a regex', () => {
  it('is an error with the message of ripgrep if it is invalid', async () => {
    await folder.add(everywhere('a'))
    await expect(search({ regex: '(' })).rejects.toThrow('unclosed group')
    await expect(search({ regex: '[z-a]' })).rejects.toThrow('invalid character class range')
    const lookAround = search({ regex: 'a(?=b)' })
    await expect(lookAround).rejects.toThrow(
      'look-around, including look-ahead and look-behind, is not supported',
    )
    await expect(lookAround).rejects.not.toThrow('pcre2')
    await expect(search({ regex: 'a\nb' })).rejects.toThrow('a match stays within a line')
    await expect(search({ regex: 'a\0b' })).rejects.toThrow('NUL')
  })

  it.each([
    '--pre=touch',
    '-e',
    '--',
    '--files',
    '-',
    '--no-ignore',
    '-f/etc/passwd',
    '--regexp=x',
    '$(x)',
    '`x`',
    ';x',
  ])('is never an option: %s', async (regex) => {
    const escaped = regex.replace(/[$()]/g, '\\$&')
    await folder.add({ 'a.txt': `it has ${regex} in it\n` })
    expect((await search({ regex: escaped })).results).toEqual([
      { path: 'a.txt', matches: 1, lines: [`1:it has ${regex} in it`] },
    ])
  })

  it('has no effect through the environment or config files', async () => {
    await folder.add({ 'a.txt': 'needle\n', config: '--files-with-matches\n--invert-match\n' })
    process.env['RIPGREP_CONFIG_PATH'] = join(folder.root, 'config')
    try {
      expect(await paths({ file_pattern: '*.txt' })).toEqual(['a.txt'])
    } finally {
      delete process.env['RIPGREP_CONFIG_PATH']
    }
    const program = await fakeRipgrep('env >&2; exit 2')
    process.env['SECRET_OF_THE_TEST'] = 'x'
    try {
      await expect(runWith(program)).rejects.not.toThrow('SECRET_OF_THE_TEST')
    } finally {
      delete process.env['SECRET_OF_THE_TEST']
    }
  })
})

describe('names and contents', () => {
  it('may be hostile', async () => {
    const names = [
      '-rf',
      '--pre',
      'a\nb.txt',
      'a\u001b[31m.txt',
      '$(touch x)',
      'a b',
      '*',
      '{"type":"match"',
      'ü',
      '~',
    ]
    await folder.add(everywhere(...names))
    expect((await paths({})).toSorted()).toEqual(names.toSorted())
    for (const name of names) expect(await paths({ path: `./${name}` })).toEqual([name])
    expect(await paths({ path: '--pre' })).toEqual(['--pre'])
  })

  it('may be no UTF-8, which is said', async () => {
    await folder.add({ 'a.txt': Buffer.from([0x6e, 0xff, 0x6e, 0x65, 0x65, 0x64, 0x6c, 0x65, 0x0a]) })
    await writeFile(Buffer.concat([Buffer.from(`${folder.root}/b`), Buffer.from([0xfe])]), 'needle\n')
    expect(await search({ regex: 'needle' })).toEqual({
      matches: 2,
      files: 2,
      results: [
        { path: 'a.txt', matches: 1, lines: ['1:n\uFFFDneedle'] },
        { path: 'b\uFFFD', matches: 1, lines: [] },
      ],
      leftOut:
        'Shown are 1 of 2 matching lines. Narrow the regex, the path or the file_pattern to see the others.',
      notes: [
        'Bytes that are not valid UTF-8 are shown as \uFFFD.',
        '1 file name not valid UTF-8: invalid bytes are shown as \uFFFD, and the lines are not shown.',
      ],
    })
  })

  it('may have a byte order mark, or be UTF-16', async () => {
    const text = 'first\nneedle ä\n'
    const bigEndian = Buffer.from(`\uFEFF${text}`, 'utf16le').swap16()
    await folder.add({ a: `\uFEFF${text}`, b: Buffer.from(`\uFEFF${text}`, 'utf16le'), c: bigEndian })
    const lines = ['1-first', '2:needle ä']
    expect((await search({ regex: '^needle' })).results).toEqual(
      ['a', 'b', 'c'].map((path) => ({ path, matches: 1, lines })),
    )
  })
})

describe('the working folder', () => {
  it('is not left by links', async () => {
    await mkdir(join(folder.base, 'outside'))
    await writeFile(join(folder.base, 'outside/canary.txt'), 'needle\n')
    await folder.add(everywhere('in.txt', 'd/in.txt'))
    await symlink('../outside', join(folder.root, 'out'))
    await symlink(join(folder.base, 'outside/canary.txt'), join(folder.root, 'canary.txt'))
    await symlink('../../outside', join(folder.root, 'd/out'))
    expect(await paths({})).toEqual(['d/in.txt', 'in.txt'])
    for (const path of ['out', 'canary.txt', 'd/out', 'out/canary.txt'])
      await expect(paths({ path })).rejects.toThrow('outside')
  })

  it('has every line that is shown, whatever ripgrep was led to read', async () => {
    await writeFile(join(folder.base, 'canary.txt'), 'needle outside\n')
    await folder.add({ 'in.txt': 'needle inside\n', 'other.txt': 'changed since\n' })
    await symlink('../canary.txt', join(folder.root, 'link.txt'))
    const lines: readonly FakeMatch[] = [
      ['in.txt', 'needle inside'],
      ['link.txt', 'needle outside'],
      ['../canary.txt', 'needle outside'],
      ['other.txt', 'needle gone'],
    ]
    expect(await runWith(await fakeRipgrep('exit 0', lines))).toEqual({
      matches: 1,
      files: 1,
      results: [{ path: 'in.txt', matches: 1, lines: ['1:needle inside'] }],
      notes: ['3 matching lines left out, changed during the search.'],
    })
  })
})

describe('ripgrep', () => {
  it('is killed when the call is cancelled, and at its time limit', async () => {
    expect((await toolIn(folder.root, 'search_files')).timeoutMs).toBe(60_000)
    await folder.add(everywhere('a'))
    const marker = `600.${process.pid}`
    const program = await fakeRipgrep(`exec sleep ${marker}`)
    const stop = new AbortController()
    const run = runWith(program, stop.signal)
    await expect.poll(() => isRunning(`sleep ${marker}`)).toBe(true)
    stop.abort(new Error('stopped'))
    await expect(run).rejects.toThrow('stopped')
    expect(isRunning(`sleep ${marker}`)).toBe(false)
    await expect(search({ regex: 'needle' }, stop.signal)).rejects.toThrow('stopped')
  })

  it('may end early, which is an error', async () => {
    await expect(runWith(await fakeRipgrep('kill -9 $$'))).rejects.toThrow('ripgrep was ended by SIGKILL')
    await expect(runWith(await fakeRipgrep('echo "not json"; exit 0', []))).rejects.toThrow(
      'Nothing was searched',
    )
    await expect(runWith(join(folder.base, 'none'))).rejects.toThrow('ripgrep cannot be started')
  })

  it('is that of the package, else that of the PATH, but never one that a model could have written', async () => {
    const missing = { load: () => Promise.reject(new Error('not installed')) }
    const bin = join(folder.base, 'bin')
    await mkdir(bin)
    await folder.add({ rg: '', 'node_modules/.bin/rg': '' })
    for (const path of [
      join(bin, 'rg'),
      join(folder.root, 'rg'),
      join(folder.root, 'node_modules/.bin/rg'),
    ]) {
      await writeFile(path, '#!/bin/sh\n')
      await chmod(path, 0o755)
    }
    await symlink(folder.root, join(folder.base, 'linked'))
    const linked = `${folder.base}/linked:${folder.base}/linked/node_modules/.bin`
    const inside = `:.:${folder.root}:${folder.root}/node_modules/.bin:${folder.root}/../root/:${linked}`
    expect(await findRipgrep(folder.root)).toMatch(/@vscode\/ripgrep.*\/rg$/)
    expect(await findRipgrep(folder.root, { ...missing, path: `${inside}:${bin}` })).toBe(join(bin, 'rg'))
    expect(await findRipgrep(folder.root, { ...missing, path: inside })).toBeNull()
    await expect(
      searchWorkspace(
        await openWorkspace(folder.root),
        { path: '.', regex: 'x' },
        { signal: NEVER, program: null },
      ),
    ).rejects.toThrow('search_files needs ripgrep, which is not installed: npm install @vscode/ripgrep')
  })
})

type FakeMatch = readonly [path: string, text: string]

/** A program that prints matches as ripgrep does, each at the start of its file, and then runs a script. */
async function fakeRipgrep(script: string, matches?: readonly FakeMatch[]): Promise<string> {
  const records = (matches ?? []).flatMap(([path, text]) => [
    { type: 'begin', data: { path: { text: `./${path}` } } },
    {
      type: 'match',
      data: { lines: { text: `${text}\n` }, line_number: 1, absolute_offset: 0, submatches: [{ start: 0 }] },
    },
  ])
  const output = [...records, ...(records.length > 0 ? [{ data: {}, type: 'summary' }] : [])]
  const program = join(folder.base, 'fake-rg')
  await writeFile(join(folder.base, 'output'), output.map((record) => `${JSON.stringify(record)}\n`).join(''))
  await writeFile(program, `#!/bin/sh\ncat '${folder.base}/output'\n${script}\n`)
  await chmod(program, 0o755)
  return program
}

async function runWith(program: string, signal: AbortSignal = NEVER): Promise<SearchResult> {
  return searchWorkspace(
    await openWorkspace(folder.root),
    { path: '.', regex: 'needle' },
    { signal, program },
  )
}

it('finds what JavaScript finds on random trees, and nothing in a folder that is swapped for a link', async () => {
  const { faults, ...tried } = await runGenerated({ count: 30, report: () => {} })
  expect(faults).toEqual([])
  expect(tried).toEqual({ trees: 30, raced: 30, texts: 210 })
})
