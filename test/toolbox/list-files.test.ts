import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { type Box, box } from './kit.ts'

async function filled(): Promise<Box> {
  const made = await box()
  const { root } = made
  for (const folder of ['src/deep', 'empty', 'node_modules/x', '.git'])
    mkdirSync(join(root, folder), { recursive: true })
  for (const file of [
    'b.txt',
    'a.txt',
    'src/one.ts',
    'src/deep/two.ts',
    'node_modules/x/y',
    '.gitignore',
    'two\nlines',
  ])
    writeFileSync(join(root, file), 'x'.repeat(file.length))
  symlinkSync('src', join(root, 'to-src'))
  symlinkSync('/etc/passwd', join(root, 'to-outside'))
  symlinkSync('nowhere', join(root, 'to-nowhere'))
  return made
}

it('lists one folder, sorted, with kinds and sizes', async () => {
  const { call } = await filled()
  expect((await call('list_files', { path: '.' })).split('\n')).toEqual([
    'ok: Contents of the working folder:',
    '',
    '[DIR]  .git/',
    '[FILE] .gitignore (10 bytes)',
    '[FILE] a.txt (5 bytes)',
    '[FILE] b.txt (5 bytes)',
    '[DIR]  empty/',
    '[DIR]  node_modules/',
    '[DIR]  src/',
    '[LINK] to-nowhere -> nowhere (leads nowhere)',
    '[LINK] to-outside -> /etc/passwd (outside, cannot be used)',
    '[LINK] to-src -> src (a folder)',
    '[FILE] "two\\nlines" (9 bytes)',
  ])
  expect(await call('list_files', { path: 'empty' })).toBe('ok: Nothing in empty.')
  expect(await call('list_files', { path: 'to-src/deep' })).toBe(
    'ok: Contents of src/deep:\n\n[FILE] src/deep/two.ts (15 bytes)',
  )
})

it('enters folders whose names alone are no paths', async () => {
  const { root, call } = await box()
  for (const folder of ['~/in', 'file:']) mkdirSync(join(root, folder), { recursive: true })
  writeFileSync(join(root, 'file:/x'), '')
  symlinkSync('in', join(root, '~/link'))
  expect(await call('list_files', { path: '.', recursive: true })).toBe(
    [
      'ok: Contents of the working folder:',
      '',
      '[DIR]  file:/',
      '[FILE] file:/x (0 bytes)',
      '[DIR]  ~/',
      '[DIR]  ~/in/',
      '[LINK] ~/link -> in (a folder)',
    ].join('\n'),
  )
  expect(await call('list_files', { path: './~' })).toBe(
    'ok: Contents of ~:\n\n[DIR]  ~/in/\n[LINK] ~/link -> in (a folder)',
  )
  expect(await call('list_files', { path: '~/in' })).toMatch(/begin it with "\.\/" for a name with "~"\.$/)
})

it('writes a name with any sort of line end in one line', async () => {
  const { root, call } = await box()
  writeFileSync(join(root, 'a\u2028b\u0085c'), '')
  expect(await call('list_files', { path: '.' })).toMatch(/\n\[FILE\] "a\\u2028b\\u0085c" \(0 bytes\)$/)
})

it('lists folders below, but not those that are large and rarely meant', async () => {
  const { call } = await filled()
  const lines = (await call('list_files', { path: '.', recursive: true })).split('\n')
  expect(lines.filter((line) => /src|node_modules|git\//.test(line))).toEqual([
    '[DIR]  .git/ (not entered)',
    '[DIR]  node_modules/ (not entered)',
    '[DIR]  src/',
    '[DIR]  src/deep/',
    '[FILE] src/deep/two.ts (15 bytes)',
    '[FILE] src/one.ts (10 bytes)',
    '[LINK] to-src -> src (a folder)',
  ])
  expect(await call('list_files', { path: 'node_modules', recursive: true })).toContain(
    '[FILE] node_modules/x/y (16 bytes)',
  )
})

it('refuses what is no folder', async () => {
  const { call } = await filled()
  expect(await call('list_files', { path: 'a.txt' })).toMatch(/^error: "a.txt" is no folder/)
  expect(await call('list_files', { path: 'nothing' })).toMatch(/^error: "nothing" does not exist/)
  expect(await call('list_files', { path: '..' })).toMatch(/^error: ".." is outside/)
})

it('shows the first of many files, and counts the rest', async () => {
  const { call, root } = await box()
  for (let folder = 0; folder < 12; folder++) {
    mkdirSync(join(root, `d${folder}`))
    for (let file = 0; file < 150; file++) writeFileSync(join(root, `d${folder}`, `f${file}`), '')
  }
  const lines = (await call('list_files', { path: '.', recursive: true })).split('\n')
  expect(lines.filter((line) => line.startsWith('['))).toHaveLength(1000)
  expect(lines.at(-1)).toBe('812 more entries, not shown. List a folder by its own path.')
  for (let file = 0; file < 900; file++) writeFileSync(join(root, `d1`, `g${file}`), '')
  const flat = (await call('list_files', { path: 'd1' })).split('\n')
  expect([flat[2], flat[1001], flat.at(-1)]).toEqual([
    '[FILE] d1/f0 (0 bytes)',
    expect.stringMatching(/^\[FILE\] d1\/g8\d+ \(0 bytes\)$/),
    '50 more entries, not shown. List a folder by its own path.',
  ])
})
