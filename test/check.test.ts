/**
 * Plants mistakes in a project of its own, and sees `npm run check` find them, so that the check cannot pass because it
 * looks at nothing. The project has the settings, the scripts and the packages of this one, and of its sources only the
 * planted ones: a check reads all of them.
 */
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { chosenSteps } from '../scripts/check-steps.ts'
import { usesIn } from '../scripts/output.ts'

const PLANTED: Readonly<Record<string, string>> = {
  'src/protocol/planted.ts': "export { target } from '../store/planted.ts'\n",
  'src/store/planted.ts': 'export const target = 1\n',
  'src/base/planted.ts': "\nimport type { T } from '../protocol/planted.ts'\nexport type U = T\n",
  'src/journal/planted.ts': "export type V = import('../store/memory/planted.ts').T\n",
  'src/journal/planted-late.ts': "export const late = () => import('../store/sqlite/index.ts')\n",
  'src/base/planted-a.ts': "export { b } from './planted-b.ts'\nexport type A = 1\n",
  'src/base/planted-b.ts': "import type { A } from './planted-a.ts'\nexport const b: A = 1\n",
  'src/store/planted-driver.ts': "export { DatabaseSync } from 'node:sqlite'\n",
  'src/testing/planted.ts': "export { it } from 'vitest'\n",
  'src/model/planted.ts': [
    "export const late = (): Promise<unknown> => import('@ai-sdk/openai')",
    "export { openai } from '@ai-sdk/openai'",
    "export type { OpenAIProvider } from '@ai-sdk/openai'",
    "export type P = import('@ai-sdk/openai').OpenAIProvider",
    "export const other = (): Promise<unknown> => import('@ai-sdk/openai-like')",
    "export const inside = (): Promise<unknown> => import('@ai-sdk/openai/internal')\n",
  ].join('\n'),
  'src/model/planted-room.ts': [
    "export const late = (): Promise<unknown> => import('../reflex/index.ts')",
    "export { reflex } from '../reflex/index.ts'\n",
  ].join('\n'),
  'src/tool/planted.ts': "export const late = (): Promise<unknown> => import('@ai-sdk/openai')\n",
  'examples/planted.ts': "import '../src/index.ts'\nimport 'holdfast'\n",
  'bench/planted.ts': "import '../test/vendors/anthropic.ts'\nimport '../test/wire/talk.ts'\n",
  'src/cli/planted.ts': "import '../base/index.ts'\nimport 'holdfast/sqlite'\n",
  'src/utils/planted.ts': 'export const a = 1\n',
  'src/cli/printing.ts': "\nprocess.stdout.write('x')\n",
  'src/tool/printing.ts': "console.warn('x')\nprocess.stderr.write('y')\n",
  'src/turn/printing.ts': "const { stdout } = process\nprocess.emitWarning('x')\n",
}

/** Files without a mistake, of rooms that import each other and of the terminal. */
const CLEAN: Readonly<Record<string, string>> = {
  'src/protocol/index.ts': 'export type Sound = 1\n',
  'src/store/index.ts': "import type { Sound } from '../protocol/index.ts'\nexport const sound: Sound = 1\n",
  'src/cli/sound.ts': "export { Agent } from 'holdfast'\n",
}

interface Checked {
  readonly code: number
  readonly output: string
}

let clean: Checked
let planted: Checked

beforeAll(async () => {
  const copy = mkdtempSync(join(tmpdir(), 'holdfast-check-'))
  try {
    const files = readdirSync('.').filter((name) => /\.(json|ts)$/.test(name))
    for (const name of [...files, '.oxlintrc.json', '.gitignore', 'scripts'])
      cpSync(name, join(copy, name), { recursive: true })
    symlinkSync(resolve('node_modules'), join(copy, 'node_modules'))
    const plant = (sources: Readonly<Record<string, string>>): void => {
      for (const [file, text] of Object.entries(sources)) {
        mkdirSync(dirname(join(copy, file)), { recursive: true })
        writeFileSync(join(copy, file), text)
      }
    }
    plant(CLEAN)
    clean = await check(copy, ['imports', 'output'])
    plant(PLANTED)
    planted = await check(copy, ['imports', 'output', 'lint'])
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
})

function check(cwd: string, steps: readonly string[]): Promise<Checked> {
  return new Promise((settle) => {
    execFile(process.execPath, ['scripts/check.ts', ...steps], { cwd }, (error, stdout, stderr) => {
      settle({ code: error ? 1 : 0, output: stdout + stderr })
    })
  })
}

/** What the check of imports and that of output say of these files, each in the order of its lines. */
function said(...files: readonly string[]): string[] {
  return planted.output
    .split('\n')
    .filter((line) => files.some((file) => line.startsWith(`${file}:`)))
    .toSorted()
}

describe('the check', () => {
  it('runs every step unless some are named, and refuses a name that is none', () => {
    const all = ['format', 'lint', 'types', 'page types', 'imports', 'output', 'dead code']
    expect(chosenSteps([]).map(({ name }) => name)).toEqual(all)
    expect(chosenSteps(['types', 'lint']).map(({ name }) => name)).toEqual(['lint', 'types'])
    expect(() => chosenSteps(['lint', 'spelling'])).toThrow('No such step: spelling')
  })

  it('passes on files without a mistake, and fails for what is planted', () => {
    expect(clean.code).toBe(0)
    expect(clean.output).toMatch(/^ok {3}imports/m)
    expect(clean.output).toMatch(/^ok {3}output/m)
    expect(planted.code).toBe(1)
    for (const step of ['imports', 'output', 'lint']) expect(planted.output).toContain(`FAIL ${step}`)
  })
})

describe('the import check', () => {
  it('refuses an import against the direction of rooms', () => {
    expect(said('src/protocol/planted.ts', 'src/store/planted.ts')).toEqual([
      'src/protocol/planted.ts:1 room protocol may not import room store: src/store/planted.ts (allowed: nothing)',
    ])
  })

  it('counts type-only imports', () => {
    const [base, journal] = said('src/base/planted.ts', 'src/journal/planted.ts')
    expect(base).toContain('src/base/planted.ts:2 room base may not import room protocol')
    expect(journal).toContain('src/journal/planted.ts:1 room journal may not import room store/memory')
  })

  it('counts dynamic imports', () => {
    expect(said('src/journal/planted-late.ts')[0]).toContain(
      'src/journal/planted-late.ts:1 room journal may not import room store/sqlite',
    )
  })

  it('refuses a cycle, also one of types, and names its files', () => {
    expect(said('src/base/planted-a.ts', 'src/base/planted-b.ts')).toContain(
      'src/base/planted-a.ts:1 is in an import cycle: src/base/planted-a.ts → src/base/planted-b.ts → src/base/planted-a.ts',
    )
    expect(planted.output).toContain('import(no-cycle)')
  })

  it('keeps the driver and other packages out of the rooms', () => {
    const [driver, runner] = said('src/store/planted-driver.ts', 'src/testing/planted.ts')
    expect(driver).toContain('src/store/planted-driver.ts:1 room store may not import node:sqlite')
    expect(runner).toContain('src/testing/planted.ts:1 room testing may not import the package vitest')
  })

  it('lets a room import its optional packages when they are needed, and not before', () => {
    const early =
      "room model may not import the package @ai-sdk/openai (allowed: only when it is needed, by import('…'))"
    expect(said('src/model/planted.ts', 'src/tool/planted.ts')).toEqual([
      `src/model/planted.ts:2 ${early}`,
      `src/model/planted.ts:3 ${early}`,
      `src/model/planted.ts:4 ${early}`,
      'src/model/planted.ts:5 room model may not import the package @ai-sdk/openai-like',
      'src/tool/planted.ts:1 room tool may not import the package @ai-sdk/openai',
    ])
  })

  it('lets a room import its late rooms when they are needed, and not before', () => {
    expect(said('src/model/planted-room.ts')).toEqual([
      'src/model/planted-room.ts:2 room model may not import room reflex: src/reflex/index.ts (allowed: protocol, base)',
    ])
  })

  it('lets examples and the command line see public entries only', () => {
    const [example, terminal, ...more] = said('examples/planted.ts', 'src/cli/planted.ts')
    expect(example).toContain('examples/planted.ts:1 examples may not import src/index.ts')
    expect(terminal).toContain('src/cli/planted.ts:1 src/cli may not import src/base/index.ts')
    expect(more).toEqual([])
  })

  it('lets benchmarks see the rules of vendors and no other tests', () => {
    expect(said('bench/planted.ts')).toEqual([
      expect.stringContaining('bench/planted.ts:2 bench may not import test/wire/talk.ts'),
    ])
  })

  it('refuses a file that lies in no room', () => {
    expect(said('src/utils/planted.ts')[0]).toContain('src/utils/planted.ts:1 is in no room')
  })
})

describe('the output check', () => {
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

  it('looks at all of src, and says file and line', () => {
    const found = said('src/cli/printing.ts', 'src/tool/printing.ts', 'src/turn/printing.ts')
    expect(found).toHaveLength(5)
    expect(found[0]).toContain('src/cli/printing.ts:2 prints past the gate (stream): process.stdout.')
  })
})
