import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type DefinitionLanguage, languageOf } from '../../src/toolbox/definition-languages.ts'
import { definitionsIn } from '../../src/toolbox/definitions.ts'
import { Grammars, INSTALLED, type TreeSitter } from '../../src/toolbox/grammars.ts'
import {
  type DefinitionsResult,
  type ListDefinitionsOptions,
  listDefinitions,
} from '../../src/toolbox/list-code-definition-names.ts'
import { openWorkspace } from '../../src/toolbox/workspace.ts'
import { LANGUAGE_CASES } from './definition-cases.ts'
import { callTool, type TestFolder, testFolder, toolIn } from './search-kit.ts'

let folder: TestFolder
beforeEach(async () => {
  folder = await testFolder()
})
afterEach(() => folder.remove())

async function definitions(path: string): Promise<DefinitionsResult> {
  return callTool(await toolIn(folder.root, 'list_code_definition_names'), { path })
}

async function listWith(
  path: string,
  options: Omit<ListDefinitionsOptions, 'signal'>,
): Promise<DefinitionsResult> {
  const { signal } = new AbortController()
  return listDefinitions(await openWorkspace(folder.root), { path }, { signal, ...options })
}

describe('the definitions of a file', () => {
  it.each(LANGUAGE_CASES)('are those at its top level: $file', async ({ file, text, expected }) => {
    await folder.add({ [file]: text })
    expect(await definitions(file)).toEqual({
      definitions: expected.length,
      results: [{ path: file, definitions: expected }],
    })
  })

  it('are those that parse, if it is broken', async () => {
    await folder.add({ 'a.ts': 'class A { m() {} }\nfunction ( {{{\nexport function last() {}\n' })
    const { results } = await definitions('a.ts')
    expect(results[0]).toMatchObject({ path: 'a.ts', syntaxErrors: true })
    expect(results[0]?.definitions).toEqual(expect.arrayContaining(['1: class A', '1: method A.m']))
  })

  it('are bounded, and the rest is counted', async () => {
    const name = `f${'x'.repeat(60)}`
    const text = Array.from({ length: 2000 }, (_, index) => `function ${name}${index}() {}`).join('\n')
    await folder.add({
      'a.js': text,
      'b.js': `const a = '${'x'.repeat(600_000)}'`,
      'c.js': 'function f() {}',
    })
    const { definitions: shown, results } = await definitions('a.js')
    expect(shown + (results[0]?.notShown ?? 0)).toBe(2000)
    expect(JSON.stringify(results).length).toBeLessThan(45_000)
    await expect(definitions('b.js')).rejects.toThrow(
      '"b.js" is larger than 512 KB. Search it with search_files.',
    )
    expect(await definitions('.')).toMatchObject({
      definitions: shown,
      leftOut: '2 more source files not listed. Give the path of a folder below to see them.',
    })
  })

  it('have names on one line, not too long', async () => {
    await folder.add({ 'a.js': `class A { [\n'x'\n]() {} ['${'y'.repeat(200)}']() {} }` })
    expect((await definitions('a.js')).results[0]?.definitions).toEqual([
      '1: class A',
      "1: method A.[ 'x' ]",
      `3: method A.['${'y'.repeat(98)}…`,
    ])
  })

  it('are listed for a path inside of the working folder, in a known language', async () => {
    await writeFile(join(folder.base, 'canary.ts'), 'function canary() {}')
    await symlink('../canary.ts', join(folder.root, 'out.ts'))
    await folder.add({ 'a.css': 'a {}' })
    await expect(definitions('../canary.ts')).rejects.toThrow('outside of the working folder')
    await expect(definitions('out.ts')).rejects.toThrow('outside of the working folder')
    await expect(definitions('none.ts')).rejects.toThrow('"none.ts" does not exist')
    await expect(definitions('a.css')).rejects.toThrow(
      '"a.css" is in no language with known definitions (TypeScript, TSX, JavaScript, Python, Go, Rust, Bash).',
    )
  })
})

describe('the definitions of a folder', () => {
  it('are by file, in the order of paths; links, ignored files and other languages are left out', async () => {
    await mkdir(join(folder.base, 'outside'))
    await writeFile(join(folder.base, 'outside/canary.ts'), 'function canary() {}')
    await symlink('../outside', join(folder.root, 'out'))
    await folder.add({
      'b.ts': 'interface B {}',
      'a/x.py': 'def x(): pass',
      'a/-\n.go': 'package a\nfunc G() {}',
      'a/empty.ts': '',
      'dist/c.ts': 'function c() {}',
      'node_modules/d/e.js': 'function e() {}',
      'style.css': '',
      'README.md': '',
      LICENSE: '',
      '.gitignore': 'dist\n',
      '.git/HEAD': '',
    })
    expect(await definitions('.')).toEqual({
      definitions: 3,
      results: [
        { path: 'a/-\n.go', definitions: ['2: function G'] },
        { path: 'a/x.py', definitions: ['1: function x'] },
        { path: 'b.ts', definitions: ['1: interface B'] },
      ],
      notes: ['4 files in other languages (no extension, .md, .css).'],
    })
    expect((await definitions('a')).results).toHaveLength(2)
    expect(await definitions('dist')).toMatchObject({ definitions: 1 })
    const tool = await toolIn(folder.root, 'list_code_definition_names')
    expect(tool.display?.(await definitions('.'))).toBe('3 definitions in 3 files')
  })
})

describe('a missing package', () => {
  const missing = (): never => {
    throw new Error('not installed')
  }
  const { load } = INSTALLED
  const locate = (specifier: string): string =>
    specifier.includes('-go') ? missing() : createRequire(import.meta.url).resolve(specifier)

  it('is an error with the command to install it', async () => {
    await folder.add({ 'a.go': 'package a', 'b.js': '' })
    const noParser = new Grammars({ load: async () => missing(), locate })
    await expect(listWith('b.js', { grammars: noParser })).rejects.toThrow('npm install web-tree-sitter')
    await expect(listWith('a.go', { grammars: new Grammars({ load, locate }) })).rejects.toThrow(
      'npm install tree-sitter-go',
    )
    await expect(listWith('.', { program: null })).rejects.toThrow('npm install @vscode/ripgrep')
  })

  it('leaves out the files of its language in a folder, which is said', async () => {
    await folder.add({ 'a.go': 'package a', 'b.js': 'function b() {}', 'c.go': 'package c' })
    expect(await listWith('.', { grammars: new Grammars({ load, locate }) })).toEqual({
      definitions: 1,
      results: [{ path: 'b.js', definitions: ['1: function b'] }],
      notes: ['2 files left out: npm install tree-sitter-go to list them.'],
    })
  })
})

it('does not grow in memory over 2,000 files', async () => {
  // A module of its own: its memory is seen only by the caller that starts it.
  const url = `${pathToFileURL(createRequire(import.meta.url).resolve('web-tree-sitter')).href.replace(/cjs$/, 'js')}?memory`
  const treeSitter = (await import(/* @vite-ignore */ url)) as TreeSitter
  const module: { readonly HEAPU8?: Uint8Array } = {}
  await treeSitter.Parser.init(module)
  const grammars = new Grammars({
    load: async () => treeSitter,
    locate: createRequire(import.meta.url).resolve,
  })
  const text = Array.from(
    { length: 20 },
    (_, index) => `export class C${index} { m() { return ${index} } }`,
  ).join('\n')
  await folder.add({ 'a.ts': text, 'b.ts': text })
  const heap = (): number => module.HEAPU8?.buffer.byteLength ?? 0
  const first = await listWith('.', { grammars })
  const before = heap()
  const grammar = await grammars.of(languageOf('a.ts') as DefinitionLanguage)
  for (let calls = 0; calls < 100; calls++) {
    const parser = await grammars.parser()
    for (let files = 0; files < 20; files++) definitionsIn(text, parser, grammar)
    parser.delete()
  }
  expect(await listWith('.', { grammars })).toEqual(first)
  expect([before > 0, heap()]).toEqual([true, before])
})
