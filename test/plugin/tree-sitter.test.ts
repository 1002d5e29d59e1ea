/** Tree-sitter, which the approval policy and the toolbox share. */
import { spawnSync } from 'node:child_process'
import { pathToFileURL } from 'node:url'
import { expect, it } from 'vitest'

const source = (path: string): string => JSON.stringify(pathToFileURL(`src/${path}`).href)

/** In a process that has not started it yet. */
const PROGRAM = `
import { understand } from ${source('plugin/shell-chain.ts')}
import { LANGUAGES } from ${source('toolbox/definition-languages.ts')}
import { definitionsIn } from ${source('toolbox/definitions.ts')}
import { installedGrammars } from ${source('toolbox/grammars.ts')}
const [, parser] = await Promise.all([understand('ls'), installedGrammars.parser()])
const { definitions } = definitionsIn('class Order {}', parser, await installedGrammars.of(LANGUAGES[0]))
const { commands, why } = await understand('ls')
console.log(JSON.stringify({ definitions, commands, why }))
`

it('reads commands and code if both are first read at the same time', () => {
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', PROGRAM], { encoding: 'utf8' })
  expect(JSON.parse(stdout)).toEqual({
    definitions: [{ line: 1, kind: 'class', name: 'Order' }],
    commands: [{ words: [{ text: 'ls' }], redirections: [] }],
  })
})
