import { execFileSync, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import {
  chmod,
  chown,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { contentHash, openWorkspace, type Workspace } from '../../src/toolbox/workspace.ts'
import { withFileSteps } from '../crash/file-steps.ts'

let base: string
let root: string
let modes: readonly Workspace[]

beforeEach(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), 'workspace-')))
  root = join(base, 'root')
  await mkdir(join(root, 'a/b'), { recursive: true })
  await writeFile(join(root, 'a/b/file.txt'), 'inside')
  await writeFile(join(base, 'canary.txt'), 'outside')
  await symlink('b/file.txt', join(root, 'a/to-file'))
  await symlink(join(root, 'a'), join(root, 'a/b/to-a'))
  await symlink('../canary.txt', join(root, 'out-relative'))
  await symlink(join(base, 'canary.txt'), join(root, 'out-absolute'))
  await symlink('..', join(root, 'up'))
  await symlink('loop', join(root, 'loop'))
  modes = [await openWorkspace(root), await openWorkspace(root, { confinement: 'paths' })]
})
afterEach(() => rm(base, { recursive: true, force: true }))

const read = (workspace: Workspace, path: string): Promise<string> =>
  workspace.withFile(path, async ({ handle }) => (await handle.readFile()).toString())

const problem = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'none',
    (error: unknown) => (error as { code: string }).code,
  )

describe('the working folder', () => {
  it('holds by handle on Linux', () => {
    expect(modes.map(({ confinement }) => confinement)).toEqual(['handles', 'paths'])
  })

  it('reads relative and absolute paths, and links that stay inside', async () => {
    const paths = [
      'a/b/file.txt',
      './a//b/./file.txt',
      'a/b/../b/file.txt',
      `${root}/a/b/file.txt`,
      'a/to-file',
      'a/b/to-a/b/file.txt',
      'a/b/to-a/../a/to-file',
    ]
    for (const workspace of modes)
      for (const path of paths) expect([path, await read(workspace, path)]).toEqual([path, 'inside'])
  })

  it('refuses the journals of conversations, by any name and link', async () => {
    await mkdir(join(root, '.holdfast'))
    await writeFile(join(root, '.holdfast/journal.db'), 'secret')
    await symlink('.holdfast', join(root, 'a/../to-journals'))
    await symlink(join(root, '.holdfast/journal.db'), join(root, 'to-journal'))
    await mkdir(join(root, 'a/.holdfast'))
    await writeFile(join(root, 'a/.holdfast/own.txt'), 'inside')
    const paths = [
      '.holdfast/journal.db',
      './a/../.holdfast/journal.db',
      '.HoldFast/journal.db',
      '.holdfa\u017ft/journal.db',
      '.holdfa\ufb06/journal.db',
      '.hold\u200dfast/journal.db',
      `${root}/.holdfast/journal.db`,
      'to-journals/journal.db',
      'to-journal',
    ]
    for (const workspace of modes) {
      for (const path of paths)
        expect([path, await problem(read(workspace, path))]).toEqual([path, 'outside'])
      const write = workspace.write('.holdfast/new.txt', { content: 'x', id: 'i' })
      expect(await problem(write)).toBe('outside')
      expect(await problem(workspace.withFolder('.holdfast', async () => 0))).toBe('outside')
      expect(await read(workspace, 'a/.holdfast/own.txt')).toBe('inside')
    }
  })

  it('is not opened while the name of its journals is a link, or a file', async () => {
    await symlink('a', join(root, '.holdfast'))
    await expect(openWorkspace(root)).rejects.toThrow('.holdfast" is a link')
    await rm(join(root, '.holdfast'))
    await writeFile(join(root, '.holdfast'), '')
    await expect(openWorkspace(root)).rejects.toThrow('.holdfast" is no folder')
  })

  it('refuses paths that leave it or are none', async () => {
    const refused: Record<string, string> = {
      '../canary.txt': 'outside',
      'a/../../canary.txt': 'outside',
      [`${base}/canary.txt`]: 'outside',
      [`${root}-other/x`]: 'outside',
      '/etc/passwd': 'outside',
      'out-relative': 'outside',
      'out-absolute': 'outside',
      'up/canary.txt': 'outside',
      loop: 'invalid-path',
      '': 'invalid-path',
      'a\0b': 'invalid-path',
      '~/x': 'invalid-path',
      'file:///etc/passwd': 'invalid-path',
      ['d/'.repeat(2000)]: 'missing',
      ['n'.repeat(300)]: 'invalid-path',
      'a/b/file.txt/': 'wrong-kind',
      'a/b': 'wrong-kind',
      'no/such': 'missing',
    }
    for (const workspace of modes)
      for (const [path, code] of Object.entries(refused))
        expect([path, await problem(read(workspace, path))]).toEqual([path, code])
  })

  it('refuses pipes and devices, and does not wait for them', async () => {
    execFileSync('sh', ['-c', 'mkfifo "$0"', join(root, 'pipe')])
    for (const workspace of modes) {
      expect(await problem(read(workspace, 'pipe'))).toBe('wrong-kind')
      expect(await problem(workspace.write('pipe', { content: 'x', id: '1' }))).toBe('wrong-kind')
    }
  })

  it('writes atomically, keeps permissions and links, and leaves no temporary file', async () => {
    await chmod(join(root, 'a/b/file.txt'), 0o640)
    for (const workspace of modes) {
      const written = await workspace.write('a/to-file', { content: 'new é', id: '1' })
      expect(written).toEqual({ path: 'a/b/file.txt', created: false, bytes: 6 })
    }
    expect(await readFile(join(root, 'a/b/file.txt'), 'utf8')).toBe('new é')
    expect((await stat(join(root, 'a/b/file.txt'))).mode & 0o777).toBe(0o640)
    expect(await readlink(join(root, 'a/to-file'))).toBe('b/file.txt')
    expect(await readdir(join(root, 'a/b'))).toEqual(['file.txt', 'to-a'])
  })

  it.skipIf(process.getuid?.() !== 0)(
    'keeps the group of a file of another user, and gives no other group its rights',
    async () => {
      const folder = join(root, 'a/b')
      await chmod(base, 0o755)
      await chmod(folder, 0o777)
      for (const [name, group, mode] of [
        ['shared', 4321, 0o660],
        ['foreign', 5432, 0o676],
      ] as const) {
        await writeFile(join(folder, name), 'before')
        await chown(join(folder, name), 1234, group)
        await chmod(join(folder, name), mode)
      }
      const module = new URL('../../src/toolbox/workspace.ts', import.meta.url).href
      const program = `const { openWorkspace } = await import(${JSON.stringify(module)})
        process.setgroups([4321]); process.setegid(1000); process.seteuid(1000)
        const workspace = await openWorkspace(${JSON.stringify(folder)})
        for (const name of ['shared', 'foreign']) await workspace.write(name, { content: 'after', id: '1' })`
      execFileSync(process.execPath, ['--input-type=module', '--eval', program])
      const access = async (name: string): Promise<unknown[]> => {
        const { uid, gid, mode } = await stat(join(folder, name))
        return [uid, gid, (mode & 0o777).toString(8)]
      }
      expect(await access('shared')).toEqual([1000, 4321, '660'])
      expect(await access('foreign')).toEqual([1000, 1000, '666'])
    },
  )

  it('creates folders on the way of a write, and none outside', async () => {
    for (const [index, workspace] of modes.entries()) {
      expect((await workspace.write(`new${index}/deep/x`, { content: 'x', id: '1' })).created).toBe(true)
      expect(await problem(workspace.write(`up/new/x`, { content: 'x', id: '1' }))).toBe('outside')
      expect(await problem(workspace.write('fresh/', { content: 'x', id: '1' }))).toBe('invalid-path')
    }
    expect((await readdir(base)).toSorted()).toEqual(['canary.txt', 'root'])
  })

  it('leaves no folder behind that a refused write has created', async () => {
    const names = async (): Promise<string[]> =>
      [...(await readdir(root)), ...(await readdir(join(root, 'a')))].toSorted()
    const before = await names()
    const refused: Record<string, string> = {
      'new/../../x': 'outside',
      'new/deep/../../../x': 'outside',
      'new/deep/../../up/x': 'outside',
      'a/new/deep/x': 'changed',
      'a/new/../../.holdfast/x': 'outside',
      'new/../out-absolute': 'outside',
    }
    for (const workspace of modes)
      for (const [path, code] of Object.entries(refused)) {
        const write = workspace.write(path, { content: 'x', id: '1', expected: contentHash('other') })
        expect([path, await problem(write)]).toEqual([path, code])
        expect([path, await names()]).toEqual([path, before])
      }
    const [workspace] = modes as [Workspace]
    await workspace.write('passed/../a/kept/x', { content: 'x', id: '1' })
    expect(await names()).toEqual([...before, 'kept'].toSorted())
    expect(await readdir(join(root, 'a/kept'))).toEqual(['x'])
  })

  it('writes nothing if the content is not the expected one', async () => {
    const [workspace] = modes as [Workspace]
    const write = (expected: string | null): Promise<string> =>
      problem(workspace.write('a/b/file.txt', { content: 'new', id: '1', expected }))
    expect(await write(null)).toBe('changed')
    expect(await write(contentHash('other'))).toBe('changed')
    expect(await readFile(join(root, 'a/b/file.txt'), 'utf8')).toBe('inside')
    expect(await write(contentHash('inside'))).toBe('none')
  })

  it('removes the temporary files of one writer only', async () => {
    const [workspace] = modes as [Workspace]
    const prefix = (id: string): string => `.holdfast-${contentHash(id).slice(0, 20)}-`
    await writeFile(join(root, 'a', `${prefix('mine')}1.tmp`), '')
    await writeFile(join(root, 'a', `${prefix('other')}1.tmp`), '')
    await workspace.removeTemporary('a/x', 'mine')
    await workspace.removeTemporary('no/such/x', 'mine')
    expect((await readdir(join(root, 'a'))).toSorted()).toEqual([`${prefix('other')}1.tmp`, 'b', 'to-file'])
  })

  it('is the folder of a child process, also when its path is swapped', async () => {
    const [workspace] = modes as [Workspace]
    const seen = await workspace.withFolder('a/b', async ({ cwd, path }) => {
      expect(path).toBe('a/b')
      execFileSync('mv', [join(root, 'a'), join(root, 'moved')])
      await symlink(base, join(root, 'a'))
      return spawnSync('ls', { cwd, encoding: 'utf8' }).stdout
    })
    expect(seen).toBe('file.txt\nto-a\n')
  })

  it('refuses a working folder that was replaced', async () => {
    await rename(root, join(base, 'moved'))
    await mkdir(root)
    await writeFile(join(root, 'x'), 'x')
    for (const workspace of modes) expect(await problem(read(workspace, 'x'))).toBe('changed')
  })

  it('of several writers at once that expect the same content, one writes', async () => {
    const [, other] = modes as [Workspace, Workspace]
    const inner = await openWorkspace(join(root, 'a'))
    for (const expected of [contentHash('inside'), null]) {
      const name = expected === null ? 'new.txt' : 'file.txt'
      const outcomes = await Promise.all(
        [inner, other, inner, other].map((workspace, index) => {
          const path = workspace === inner ? `b/${name}` : `a/b/to-a/b/${name}`
          return problem(workspace.write(path, { content: `by ${index}`, id: `call ${index}`, expected }))
        }),
      )
      expect(outcomes.toSorted()).toEqual(['changed', 'changed', 'changed', 'none'])
      expect(await readFile(join(root, 'a/b', name), 'utf8')).toBe(`by ${outcomes.indexOf('none')}`)
    }
    expect((await readdir(join(root, 'a/b'))).toSorted()).toEqual(['file.txt', 'new.txt', 'to-a'])
  })

  it('a new file does not replace one that another process has made meanwhile', async () => {
    const [workspace] = modes as [Workspace]
    let steps = 0
    const meanwhile = {
      // Creation, content and sync of the temporary file; the fourth step gives it its name.
      fileStep: async <T>(step: () => Promise<T>): Promise<T> => {
        steps += 1
        if (steps === 4) writeFileSync(join(root, 'new.txt'), 'of another')
        return step()
      },
    }
    const write = withFileSteps(meanwhile, () =>
      workspace.write('new.txt', { content: 'late', id: 'call', expected: null }),
    )
    expect(await problem(write)).toBe('changed')
    expect(await readFile(join(root, 'new.txt'), 'utf8')).toBe('of another')
    expect((await readdir(root)).filter((name) => name.endsWith('.tmp'))).toEqual([])
  })

  it('a writer that was only frozen writes nothing once its temporary file is removed', async () => {
    const [workspace] = modes as [Workspace]
    const [reached, resumed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let steps = 0
    const frozen = {
      // Creation, content and sync of the temporary file; the fourth step is the rename.
      fileStep: async <T>(step: () => Promise<T>): Promise<T> => {
        steps += 1
        if (steps === 4) {
          reached.resolve()
          await resumed.promise
        }
        return step()
      },
    }
    const write = withFileSteps(frozen, () =>
      workspace.write('a/b/file.txt', { content: 'late', id: 'call' }),
    )
    const outcome = problem(write)
    await reached.promise
    expect(await readdir(join(root, 'a/b'))).toHaveLength(3)
    await workspace.removeTemporary('a/b/file.txt', 'call')
    resumed.resolve()
    expect(await outcome).toBe('missing')
    expect(await readFile(join(root, 'a/b/file.txt'), 'utf8')).toBe('inside')
    expect(await readdir(join(root, 'a/b'))).toEqual(['file.txt', 'to-a'])
  })
})
