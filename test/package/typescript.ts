/**
 * The public types as compilers see them: those of the project and the oldest supported one. Right programs compile,
 * declarations of the package included, and each planted mistake is reported on its line, in words about that mistake.
 */
import assert from 'node:assert/strict'
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { run } from './project.ts'

export interface Compiler {
  readonly version: string
  /** The command and its first arguments. */
  readonly command: readonly [string, ...string[]]
}

export function newestCompiler(): Compiler {
  return compiler([resolve('node_modules/.bin/tsc')])
}

/** Installed into the consumer's folder from its own lock file. */
export function oldestCompiler(folder: string): Compiler {
  const home = join(folder, 'oldest-typescript')
  cpSync('test/package/oldest-typescript', home, { recursive: true })
  run('npm', ['ci', '--prefer-offline', '--no-audit', '--no-fund'], home)
  return compiler([process.execPath, join(home, 'node_modules/typescript/bin/tsc')])
}

function compiler(command: Compiler['command']): Compiler {
  const [program, ...args] = command
  return {
    command,
    version: run(program, [...args, '--version'], '.')
      .replace('Version', '')
      .trim(),
  }
}

/** Fails with what the compiler reports, if it reports anything. */
export function compile({ command: [program, ...args] }: Compiler, folder: string): void {
  run(program, [...args, '-p', '.'], folder)
}

export function checkMistakes(folder: string, by: Compiler): void {
  const home = join(folder, 'mistakes')
  mkdirSync(home, { recursive: true })
  cpSync('test/package/consumer/mistakes.txt', join(home, 'mistakes.ts'))
  writeFileSync(
    join(home, 'tsconfig.json'),
    JSON.stringify({ extends: '../tsconfig.json', include: ['*.ts'] }),
  )
  const reports = reportsOf(by, home)
  const mistakes = mistakesIn(join(home, 'mistakes.ts'))
  assert.deepEqual([...reports.keys()], [...mistakes.keys()], 'each mistake is reported, and nothing else')
  for (const [line, words] of mistakes) {
    const report = reports.get(line) ?? ''
    assert.ok(report.includes(words), `line ${line} should be reported with "${words}", but is as\n${report}`)
  }
}

function mistakesIn(file: string): Map<number, string> {
  const lines = readFileSync(file, 'utf8').split('\n')
  return new Map(
    lines.flatMap((text, index) => {
      const words = / \/\/ error: (.*)$/.exec(text)?.[1]
      return words === undefined ? [] : [[index + 1, words] as const]
    }),
  )
}

/** What is reported of each line, indented lines that explain it included. */
function reportsOf(by: Compiler, folder: string): Map<number, string> {
  const [program, ...args] = by.command
  let output = ''
  try {
    output = run(program, [...args, '-p', '.', '--pretty', 'false'], folder)
  } catch (error) {
    output = String(error)
  }
  const blocks = output.split(/^(?=\S)/m).flatMap((block) => {
    const line = /^mistakes\.ts\((\d+),/.exec(block)?.[1]
    return line === undefined ? [] : [[Number(line), block] as const]
  })
  return new Map(blocks)
}
