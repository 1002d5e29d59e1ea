/**
 * Plants mistakes in a copy of the project and sees `npm run check` find them, so that the check cannot
 * pass because it looks at nothing. The copy shares node_modules with the project.
 */
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findCycles } from '../scripts/cycles.ts'
import { usesIn } from '../scripts/output.ts'
import { rooms } from '../scripts/rooms.ts'

let copy = ''

beforeAll(() => {
  copy = mkdtempSync(join(tmpdir(), 'holdfast-check-'))
  const files = readdirSync('.').filter((name) => /\.(json|ts)$/.test(name))
  for (const name of [...files, '.oxlintrc.json', '.gitignore', 'scripts', 'src']) {
    cpSync(name, join(copy, name), { recursive: true })
  }
  symlinkSync(resolve('node_modules'), join(copy, 'node_modules'))
})

afterAll(() => {
  rmSync(copy, { recursive: true, force: true })
})

/** Runs the check with some files added to the copy, and takes them away again. */
async function check(planted: Record<string, string>, steps: readonly string[] = []) {
  for (const [file, text] of Object.entries(planted)) {
    mkdirSync(dirname(join(copy, file)), { recursive: true })
    writeFileSync(join(copy, file), text)
  }
  const result = await new Promise<{ code: number; output: string }>((settle) => {
    execFile(process.execPath, ['scripts/check.ts', ...steps], { cwd: copy }, (error, stdout, stderr) => {
      settle({ code: error ? 1 : 0, output: stdout + stderr })
    })
  })
  for (const file of Object.keys(planted)) rmSync(join(copy, file))
  return result
}

describe('the import check', () => {
  it('passes on the project as it is', async () => {
    expect(await check({}, ['imports'])).toEqual({ code: 0, output: expect.stringMatching(/^ok {3}imports/) })
  })

  it('refuses an import against the direction of rooms', async () => {
    const { code, output } = await check({
      'src/protocol/planted.ts': "export { target } from '../store/planted.ts'\n",
      'src/store/planted.ts': 'export const target = 1\n',
    })
    expect(code).toBe(1)
    expect(output).toContain('FAIL imports')
    expect(output).toContain(
      'src/protocol/planted.ts:1 room protocol may not import room store: src/store/planted.ts (allowed: nothing)',
    )
  })

  it('counts type-only imports', async () => {
    const planted = {
      'src/base/planted.ts': "\nimport type { T } from '../protocol/planted.ts'\nexport type U = T\n",
      'src/journal/planted.ts': "export type V = import('../store/memory/planted.ts').T\n",
    }
    const { code, output } = await check(planted, ['imports'])
    expect(code).toBe(1)
    expect(output).toContain('src/base/planted.ts:2 room base may not import room protocol')
    expect(output).toContain('src/journal/planted.ts:1 room journal may not import room store/memory')
  })

  it('counts dynamic imports', async () => {
    const planted = {
      'src/journal/planted.ts': "export const late = () => import('../store/sqlite/index.ts')\n",
    }
    const { code, output } = await check(planted, ['imports'])
    expect(code).toBe(1)
    expect(output).toContain('src/journal/planted.ts:1 room journal may not import room store/sqlite')
  })

  it('refuses a cycle, also one of types, and names its files', async () => {
    const planted = {
      'src/base/planted-a.ts': "export { b } from './planted-b.ts'\nexport type A = 1\n",
      'src/base/planted-b.ts': "import type { A } from './planted-a.ts'\nexport const b: A = 1\n",
    }
    const { code, output } = await check(planted, ['imports', 'lint'])
    expect(code).toBe(1)
    expect(output).toContain('FAIL imports')
    expect(output).toContain(
      'src/base/planted-a.ts:1 is in an import cycle: src/base/planted-a.ts → src/base/planted-b.ts → src/base/planted-a.ts',
    )
    expect(output).toContain('import(no-cycle)')
  })

  it('keeps the driver and other packages out of the rooms', async () => {
    const planted = {
      'src/store/planted.ts': "export { DatabaseSync } from 'node:sqlite'\n",
      'src/testing/planted.ts': "export { it } from 'vitest'\n",
    }
    const { code, output } = await check(planted, ['imports'])
    expect(code).toBe(1)
    expect(output).toContain('src/store/planted.ts:1 room store may not import node:sqlite')
    expect(output).toContain('src/testing/planted.ts:1 room testing may not import the package vitest')
  })

  it('lets a room import its optional packages when they are needed, and not before', async () => {
    const planted = {
      'src/model/planted.ts': [
        "export const late = (): Promise<unknown> => import('@ai-sdk/openai')",
        "export { openai } from '@ai-sdk/openai'",
        "export type { OpenAIProvider } from '@ai-sdk/openai'",
        "export type P = import('@ai-sdk/openai').OpenAIProvider",
        "export const other = (): Promise<unknown> => import('@ai-sdk/openai-like')",
        "export const inside = (): Promise<unknown> => import('@ai-sdk/openai/internal')\n",
      ].join('\n'),
      'src/tool/planted.ts': "export const late = (): Promise<unknown> => import('@ai-sdk/openai')\n",
    }
    const { code, output } = await check(planted, ['imports'])
    expect(code).toBe(1)
    const found = output.split('\n').filter((line) => line.includes('planted.ts'))
    const early =
      "room model may not import the package @ai-sdk/openai (allowed: only when it is needed, by import('…'))"
    expect(found).toEqual([
      `src/model/planted.ts:2 ${early}`,
      `src/model/planted.ts:3 ${early}`,
      `src/model/planted.ts:4 ${early}`,
      'src/model/planted.ts:5 room model may not import the package @ai-sdk/openai-like',
      'src/tool/planted.ts:1 room tool may not import the package @ai-sdk/openai',
    ])
  })

  it('lets examples and the command line see public entries only', async () => {
    const planted = {
      'examples/planted.ts': "import '../src/index.ts'\nimport 'holdfast'\n",
      'src/cli/planted.ts': "import '../base/index.ts'\nimport 'holdfast/sqlite'\n",
    }
    const { code, output } = await check(planted, ['imports'])
    expect(code).toBe(1)
    expect(output).toContain('examples/planted.ts:1 examples may not import src/index.ts')
    expect(output).toContain('src/cli/planted.ts:1 src/cli may not import src/base/index.ts')
    expect(output).not.toContain('planted.ts:2')
  })

  it('refuses a file that lies in no room', async () => {
    const { code, output } = await check({ 'src/utils/planted.ts': 'export const a = 1\n' }, ['imports'])
    expect(code).toBe(1)
    expect(output).toContain('src/utils/planted.ts:1 is in no room')
  })
})

describe('the output check', () => {
  it('passes on the project as it is', async () => {
    expect(await check({}, ['output'])).toEqual({ code: 0, output: expect.stringMatching(/^ok {3}output/) })
  })

  it.each([
    ['stream', "process.stdout.write('x')"],
    ['stream', "process['stderr'].write('x')"],
    ['stream', 'const { stdout } = process'],
    ['stream', 'const { env, ...rest } = process'],
    ['stream', 'const other = process'],
    ['stream', "const name = 'std' + 'out'\nprocess[name]"],
    ['stream', "globalThis.process.stdout.write('x')"],
    ['stream', "globalThis['console'].log('x')"],
    ['stream', "import { stdout } from 'node:process'"],
    ['stream', "import tty from 'tty'"],
    ['stream', "process.getBuiltinModule('node:process')"],
    ['stream', "process._rawDebug('x')"],
    ['console', "console.log('x')"],
    ['console', 'const { log } = console'],
    ['console', "import { Console } from 'node:console'"],
    ['warning', "process.emitWarning('x')"],
    ['line editor', "import { createInterface } from 'node:readline'"],
    ['line editor', "export const late = () => import('node:readline/promises')"],
    ['descriptor', "import { writeSync } from 'node:fs'\nwriteSync(1, 'x')"],
    ['descriptor', "import * as fs from 'fs'\nfs.appendFileSync(2, 'x')"],
    ['descriptor', "import { createWriteStream } from 'node:fs'\ncreateWriteStream('', { fd: 1 })"],
    ['descriptor', "export const path = '/dev/tty'"],
    ['child', "export const options = { stdio: 'inherit' }"],
    ['code', String.raw`export const clear = '\x1b[2J'`],
    ['code', 'export const c1 = (text: string) => `\\u009b31m${text}`'],
  ] as const)('finds a %s in the terminal: %s', (kind, text) => {
    expect(usesIn('src/cli/planted.ts', text).map((use) => use.kind)).toContain(kind)
  })

  it('finds nothing where there is nothing', () => {
    const text = "import { writeFileSync } from 'node:fs'\nwriteFileSync('a', process.env['B'] ?? '')\n"
    expect(
      usesIn('src/cli/planted.ts', `${text}export const o = { process: 1, console: 2, fd: 3 }.console`),
    ).toEqual([])
  })

  it('looks at all of src, and says file and line', async () => {
    const planted = {
      'src/cli/planted.ts': "\nprocess.stdout.write('x')\n",
      'src/tool/planted.ts': "console.warn('x')\nprocess.stderr.write('y')\n",
      'src/turn/planted.ts': "const { stdout } = process\nprocess.emitWarning('x')\n",
    }
    const { code, output } = await check(planted, ['output'])
    expect(code).toBe(1)
    expect(output).toContain('src/cli/planted.ts:2 prints past the gate (stream): process.stdout.')
    expect(output.split('\n').filter((line) => line.includes('planted.ts'))).toHaveLength(5)
  })
})

describe('the table of rooms', () => {
  it('names only rooms that exist in it, and has no cycle', () => {
    const byName = new Map(rooms.map((room) => [room.name, room.rooms]))
    expect(rooms.flatMap((room) => room.rooms).filter((name) => !byName.has(name))).toEqual([])
    expect(findCycles([...byName.keys()], (name) => byName.get(name) ?? [])).toEqual([])
  })
})
