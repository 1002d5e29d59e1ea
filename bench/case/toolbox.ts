/** The tools that look through a repository, beside the programs that people use for it. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { rgPath } from '@vscode/ripgrep'
import { fakeToolContext } from 'holdfast/testing'
import { loadTools } from 'holdfast/toolbox'
import { TOOLBOX } from '../kit/budgets.ts'
import { interleave, millisOf } from '../kit/measure.ts'
import { type Case, compare } from '../kit/result.ts'

/** In every file, and in one of a thousand. */
const COMMON = 'return value'
const RARE = 'needle'
const DEFINITION = '^(export )?(class|function|interface|type|const) '

export const toolbox: Case = {
  name: 'toolbox',
  title: 'listing, searching and outlining a repository of 10,000 files',
  measured:
    'a call of the tool, as an agent makes it, against the program: list_files (recursive, with sizes) against git ls-files, which reads only an index, and rg --files, search_files against rg on all cores, list_code_definition_names of the whole repository, which ends when its result is full, against a regex for definitions in rg. Memory is the most that a process had that calls each tool once, against one that only loads them.',
  notMeasured: 'the journal; a cold disk; loading the grammars, which takes a fifth of a second once.',
  run: async (lab) => {
    const root = lab.path('repository')
    makeRepository(root)
    const tools = new Map((await loadTools({ cwd: root, toolIds: TOOLS })).map((tool) => [tool.name, tool]))
    const call = (name: string, input: object) => () =>
      millisOf(1, () => tools.get(name)?.run({ path: '.', ...input }, fakeToolContext()))
    const rg = (regex: string) => () =>
      programMillis(rgPath, ['--line-number', `--regexp=${regex}`, './'], root)
    const figures = await interleave(
      { rounds: lab.short ? 3 : 15, seconds: 2 * lab.seconds },
      {
        gitList: () => programMillis('git', ['ls-files'], root),
        rgList: () => programMillis(rgPath, ['--files', './'], root),
        list: call('list_files', { recursive: true }),
        rgFew: rg(RARE),
        few: call('search_files', { regex: RARE }),
        rgMany: rg(COMMON),
        many: call('search_files', { regex: COMMON }),
        rgDefinitions: rg(DEFINITION),
        definitions: call('list_code_definition_names', {}),
      },
    )
    const { gitList, rgList, list, rgFew, few, rgMany, many, rgDefinitions, definitions } = figures
    const lines: readonly Line[] = [
      { what: 'list_files', baseline: ['git ls-files', gitList], subject: list },
      { what: 'list_files', baseline: ['rg --files', rgList], subject: list, budget: 'list' },
      { what: 'search_files, few matches', baseline: ['rg', rgFew], subject: few, budget: 'few' },
      { what: 'search_files, in every file', baseline: ['rg', rgMany], subject: many, budget: 'many' },
      { what: 'definitions', baseline: ['rg', rgDefinitions], subject: definitions, budget: 'definitions' },
    ]
    return [
      ...lines.map(({ what, baseline, subject, budget }) =>
        compare({
          what,
          unit: 'ms',
          baseline,
          subject: ['tool', subject],
          budget: budget && TOOLBOX[budget],
        }),
      ),
      compare({
        what: 'peak memory',
        unit: 'MB',
        baseline: ['loaded', [peakMegabytes(root, [])]],
        subject: ['called', [peakMegabytes(root, CALLS)]],
        budget: TOOLBOX.memory,
      }),
    ]
  },
}

interface Line {
  readonly what: string
  readonly baseline: readonly [name: string, figures: readonly number[]]
  readonly subject: readonly number[]
  readonly budget?: keyof typeof TOOLBOX
}

const TOOLS = ['list_files', 'search_files', 'list_code_definition_names']
const CALLS: readonly (readonly [tool: string, input: object])[] = [
  ['list_files', { path: '.', recursive: true }],
  ['search_files', { path: '.', regex: COMMON }],
  ['list_code_definition_names', { path: '.' }],
]

const FILES = 10_000
const FILES_IN_FOLDER = 20

/** Folders with TypeScript of 2 KB each, known to git. */
function makeRepository(root: string): void {
  for (let file = 0; file < FILES; file++) {
    const folder = join(root, `src/part-${Math.floor(file / FILES_IN_FOLDER)}`)
    if (file % FILES_IN_FOLDER === 0) mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, `file-${file}.ts`), sourceText(file))
  }
  for (const args of [
    ['init', '--quiet'],
    ['add', '--all'],
  ])
    programMillis('git', args, root)
}

function sourceText(file: number): string {
  const functions = Array.from(
    { length: 12 },
    (_, index) =>
      `export function step${index}(value: number): number {\n  const next = value * ${index}\n  if (next > ${file}) throw new Error('too large: ' + next)\n  return next\n}\n`,
  )
  const head = `/** Part ${file} of the repository${file % 1000 === 0 ? `, with a ${RARE}` : ''}. */\n`
  return `${head}export interface Part${file} {\n  readonly value: number\n}\n\n${functions.join('\n')}\nexport class Holder${file} {\n  get(value: number): number {\n    ${COMMON}\n  }\n}\n`
}

function programMillis(program: string, args: readonly string[], cwd: string): number {
  const start = performance.now()
  const { status, error, stderr } = spawnSync(program, args, { cwd, maxBuffer: 256 * 1024 * 1024 })
  if (error !== undefined) throw error
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} failed:\n${stderr.toString()}`)
  return performance.now() - start
}

/** The most memory that a process has while it loads the tools and makes these calls. */
function peakMegabytes(root: string, calls: typeof CALLS): number {
  const code = `
    import { fakeToolContext } from 'holdfast/testing'
    import { loadTools } from 'holdfast/toolbox'
    const tools = await loadTools(${JSON.stringify({ cwd: root, toolIds: TOOLS })})
    for (const [name, input] of ${JSON.stringify(calls)})
      await tools.find((tool) => tool.name === name).run(input, fakeToolContext())
    console.log(process.resourceUsage().maxRSS / 1024)`
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', code], {
    cwd: import.meta.dirname,
  })
  if (status !== 0) throw new Error(`A child process failed:\n${stderr.toString()}`)
  return Number(stdout.toString())
}
