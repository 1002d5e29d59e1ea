/** `holdfast task`: a task that takes two plans, in a terminal, in a pipe, interrupted and killed. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { GraphEvent } from 'holdfast/graph'
import type { Styled } from 'holdfast/terminal'
import { afterAll, describe, expect, it } from 'vitest'
import { EXIT, exitCodeOfTask } from '../../src/cli/exit-code.ts'
import { taskOptions } from '../../src/cli/task/task-options.ts'
import { TaskPrinter } from '../../src/cli/task/task-printer.ts'
import { emulate } from './gate/emulator.ts'
import { launch } from './gate/world.ts'
import { Folders, holdfast } from './kit.ts'
import { noTmux, type TerminalOptions, TestTerminal } from './tmux.ts'

const CONFIG = resolve('test/cli/fixture/task.config.ts')
const folders = new Folders()
afterAll(() => folders.remove())

const SUM = 'export function sum(a, b) {\n  return a - b\n}\n'
/** A test that costs no Node to start. */
const TEST = 'grep "return a + b" sum.mjs\n'
const RULES = [
  { tool: 'read_file', decision: 'allow' },
  { tool: 'replace_in_file', path: '**', decision: 'allow' },
  { tool: 'execute_command', command: ['sh test.sh'], decision: 'allow' },
]

function folder(): string {
  return folders.make({
    'sum.mjs': SUM,
    'test.sh': TEST,
    'policy.json': JSON.stringify({ rules: RULES }),
  })
}

const sumOf = (cwd: string) => readFileSync(join(cwd, 'sum.mjs'), 'utf8').match(/a . b/)?.[0]
const TASK = ['task', '--config', CONFIG, 'Make the test pass']
const CRITERION = ['--criterion', 'tests=sh test.sh']
const POLICY = ['--policy', 'policy.json']

/** Without ids, and without the output of the test. */
const steady = (text: string) =>
  text
    .replaceAll(/task-[\w-]+/g, 'ID')
    .replaceAll(/(\$ sh test.sh).*/g, '$1')
    .replaceAll(/(tests passed:).*/g, '$1')
    .replaceAll(/\d+ in, \d+ out/g, 'TOKENS')
    .replaceAll(/ \d+\.\ds$/gm, '')
    .trimEnd()
    .split('\n')

describe('holdfast task', () => {
  it('--mcp starts servers; one that fails is named, and the task goes on', async () => {
    const cwd = folder()
    writeFileSync(
      join(cwd, 'mcp.json'),
      JSON.stringify({ mcpServers: { gone: { command: 'no-such-command' } } }),
    )
    const run = (file: string) =>
      launch({ args: [...TASK, ...CRITERION, ...POLICY, '--mcp', file], isTTY: false, cwd })
    const wrong = await run('nope.json')
    expect(wrong).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('nope.json cannot be read (ENOENT)'),
    })
    const ran = await run('mcp.json')
    expect(ran.stderr).toContain(
      'mcp:gone: It cannot be started: there is no command "no-such-command" in PATH.',
    )
    expect([ran.code, sumOf(cwd)]).toEqual([0, 'a + b'])
  })

  it('prints the steps to standard error and the answer to standard output', async () => {
    const cwd = folder()
    const ran = await launch({ args: [...TASK, ...CRITERION, ...POLICY], isTTY: false, cwd })
    expect(steady(ran.stderr)).toEqual([
      'scripted/model · ID',
      'Plan 1',
      '  1. Read sum.mjs.',
      '  2. Mend it.',
      '  3. Run the test.',
      '✓ read_file path=sum.mjs → [sum.mjs: 3 lines, 45 bytes.] export function sum(a, b) { return a - b }',
      'Todo: 0 of 2 done; next: 1. [ ] Read sum.mjs',
      '✓ replace_in_file path=sum.mjs diff="------- SEARCH return a - b ======= re…',
      '  Updated sum.mjs: 1 block replaced, now 45 bytes.',
      '  ✗ execute_command command="sh test.sh" → $ sh test.sh',
      '✗ not verified',
      '  - tests fails',
      'Plan 2',
      '  1. Run the test and read what it says.',
      '  2. Mend sum.mjs.',
      '  3. Run the test again.',
      '✗ execute_command command="sh test.sh" → $ sh test.sh',
      '✓ replace_in_file path=sum.mjs diff="------- SEARCH return a * b ======= re…',
      '  Updated sum.mjs: 1 block replaced, now 45 bytes.',
      'Todo: 2 of 2 done',
      '  ✓ execute_command command="sh test.sh" → $ sh test.sh',
      '✓ verified',
      '  - tests passed:',
      '  - criterion tests: passed',
      '✓ Verified by the criteria and a model. 2 plans · TOKENS',
    ])
    expect([ran.code, ran.stdout, sumOf(cwd)]).toEqual([0, 'sum() adds: the test passes.\n', 'a + b'])
  })

  it('shows the diff of a change, takes answers, and goes on in a later process', async () => {
    const cwd = folder()
    const typed = ['y', '']
    const first = await launch({ args: [...TASK, ...CRITERION], isTTY: true, cwd, typed })
    const { lines } = await emulate(first.both)
    expect(lines.join('\n')).toContain('  │ -  return a - b\n  │ +  return a * b')
    expect(lines.join('\n')).toContain('tool       execute_command')
    expect([first.code, sumOf(cwd)]).toEqual([EXIT.inputRequired, 'a * b'])
    const args = ['task', '--config', CONFIG, '--continue']
    const later = await launch({ args, isTTY: true, cwd, typed: ['y', 'y'] })
    const seen = (await emulate(later.both)).lines
    expect(seen.join('\n')).toContain('Make the test pass\nPlan 2\n  1. Run the test')
    expect([later.code, sumOf(cwd)]).toEqual([0, 'a + b'])
    const again = await launch({ args, isTTY: false, cwd })
    expect([again.code, again.stdout]).toEqual([0, 'sum() adds: the test passes.\n'])
    expect(again.stderr).toMatch(
      /This task has ended; nothing was run\.\n {2}for a further round: holdfast task --config \S+ --continue \S+ "…"\n$/,
    )
  })

  it('a rejection goes to the model, and without an answer in a pipe the task waits', async () => {
    const cwd = folder()
    const args = [...TASK, ...CRITERION]
    const rejected = await launch({ args, isTTY: true, cwd, typed: ['n, not that file', 'n', ''] })
    expect((await emulate(rejected.both)).lines.join('\n')).toContain('not that file')
    expect(sumOf(cwd)).toBe('a - b')
    const piped = await launch({ args, isTTY: false, cwd })
    expect(piped.code).toBe(EXIT.inputRequired)
    expect(piped.stderr).toContain('+  return a * b')
    expect(piped.stderr).toMatch(/to answer: holdfast task --config \S+ --continue task-\S+ --answer yes\n/)
  })

  it('posts the answers that are given while another question is left open', async () => {
    const cwd = folder()
    const args = ['task', '--config', CONFIG, '--no-planning', 'Write two files']
    const first = await launch({ args, isTTY: true, cwd, typed: ['n, not that file', ''] })
    expect(first.code).toBe(EXIT.inputRequired)
    const goOn = ['task', '--config', CONFIG, '--continue']
    const later = await launch({ args: goOn, isTTY: true, cwd, typed: ['y', ''] })
    expect(later.code).toBe(0)
    expect(readdirSync(cwd).filter((name) => name.endsWith('.txt'))).toEqual(['two.txt'])
  })

  it('--answer answers from a script, and --continue alone prints how', async () => {
    const cwd = folder()
    const first = await launch({ args: [...TASK, ...CRITERION], isTTY: false, cwd })
    const [, id = ''] = /· (task-\S+)/.exec(first.stderr) ?? []
    const continueTurn = (...more: string[]) =>
      launch({ args: ['task', '--config', CONFIG, '--continue', ...more], isTTY: false, cwd })
    const way = `to answer: holdfast task --config ${CONFIG} --continue ${id} --answer yes\n`
    const alone = await continueTurn(id)
    expect([alone.code, alone.stderr.includes(way)]).toEqual([EXIT.inputRequired, true])
    const odd = await continueTurn(id, '--answer', 'perhaps')
    expect([odd.code, sumOf(cwd)]).toEqual([EXIT.usage, 'a - b'])
    expect(odd.stderr).toContain('Type yes or no')
    const both = await continueTurn(id, 'More', '--answer', 'yes')
    expect([both.code, both.stderr]).toEqual([
      EXIT.usage,
      expect.stringContaining('--answer takes no message'),
    ])
    const changed = await continueTurn(id, '--answer', 'yes')
    expect([changed.code, sumOf(cwd)]).toEqual([EXIT.inputRequired, 'a * b'])
    expect(changed.stderr).toContain(way)
    const run = ['run', '--config', CONFIG, '--context', id, '--answer', 'yes']
    const elsewhere = await launch({ args: run, isTTY: false, cwd })
    expect([elsewhere.code, elsewhere.stderr]).toEqual([
      EXIT.usage,
      expect.stringContaining(`${id} is a task. Type: holdfast task --continue ${id} --answer …`),
    ])
    expect((await continueTurn('--answer', 'yes')).code).toBe(EXIT.inputRequired)
    const done = await continueTurn('--answer', 'yes')
    expect([done.code, done.stdout, sumOf(cwd)]).toEqual([0, 'sum() adds: the test passes.\n', 'a + b'])
    const shown = await launch({ args: ['show', '--config', CONFIG, id], isTTY: false, cwd })
    expect(shown.stdout).not.toContain('▸')
    expect(shown.stdout.match(/^✓ replace_in_file path=sum.mjs/gm)).toHaveLength(2)
    const over = await continueTurn('--answer', 'yes')
    expect([over.code, over.stderr]).toEqual([
      EXIT.usage,
      expect.stringContaining('Nothing waits for an answer in this task.'),
    ])
  })

  it('read from a terminal with -, ends with its question, since nobody can answer any more', async () => {
    const cwd = folder()
    const args = ['task', '--config', CONFIG, ...CRITERION, '-']
    const { code, both } = await launch({ args, isTTY: true, cwd, input: 'Make the test pass\n' })
    expect(code).toBe(5)
    expect(both).toContain('tool       replace_in_file')
    expect(both).toMatch(/to answer: holdfast task .*--continue task-\S+ --answer yes\n/)
    expect(sumOf(cwd)).toBe('a - b')
  })

  it('has exit codes for every end', async () => {
    const cwd = folder()
    const failing = [...TASK, ...POLICY, '--criterion', 'never=false']
    const once = await launch({ args: [...failing, '--no-planning'], isTTY: false, cwd })
    expect([once.code, once.stdout]).toEqual([EXIT.notVerified, 'sum() adds now.\n'])
    expect((await launch({ args: failing, isTTY: false, cwd: folder() })).code).toBe(EXIT.limit)
    expect(exitCodeOfTask('no-verdict')).toBe(EXIT.noVerdict)
    const codes = Object.values(EXIT)
    expect(new Set(codes).size).toBe(codes.length)
  })

  it('a message after --continue is a further round of the task, the last one or that of the id', async () => {
    const cwd = folder()
    const first = await launch({ args: [...TASK, ...CRITERION, ...POLICY], isTTY: false, cwd })
    const [, id = ''] = /· (task-\S+)/.exec(first.stderr) ?? []
    const round = (...words: string[]) =>
      launch({ args: ['task', '--config', CONFIG, '--continue', ...words], isTTY: false, cwd })
    const shown = await launch({ args: ['show', '--config', CONFIG, id], isTTY: false, cwd })
    expect(steady(shown.stdout).slice(3, 12)).toEqual([
      '› Make the test pass',
      'Plan 1',
      '  1. Read sum.mjs.',
      '  2. Mend it.',
      '  3. Run the test.',
      '✓ read_file path=sum.mjs → [sum.mjs: 3 lines, 45 bytes.] export function sum(a, b) { return a - b }',
      'Todo: 0 of 2 done; next: 1. [ ] Read sum.mjs',
      expect.stringContaining('✓ replace_in_file path=sum.mjs diff='),
      expect.stringContaining('Updated sum.mjs'),
    ])
    expect(shown.stdout).toContain('\nsum() adds: the test passes.\n✓ verified\n')
    expect(shown.stdout).not.toContain('planIteration')
    const told = await round('Now explain it')
    expect([told.code, told.stdout]).toEqual([0, 'It adds, as the test asks.\n'])
    expect(told.stderr).toContain(id)
    expect(told.stderr).toContain('Plan 1\n  1. Explain it.')
    const named = await round(`task:${id}`, 'Now', 'explain it')
    expect([named.code, named.stdout]).toEqual([0, 'It adds, as the test asks.\n'])
  })

  it('--json has every event, and the results last', async () => {
    const cwd = folder()
    const { stdout, code } = await launch({
      args: [...TASK, ...CRITERION, ...POLICY, '--json'],
      isTTY: false,
      cwd,
    })
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { readonly type: string })
    expect(lines.filter(({ type }) => type === 'node.end')).toHaveLength(18)
    expect(lines.at(-1)).toMatchObject({
      type: 'outcome',
      exitCode: 0,
      ended: 'verified',
      finalAnswer: 'sum() adds: the test passes.',
      planIteration: 2,
    })
    expect(code).toBe(0)
  })

  it.each([
    [['task'], 'Say what is to be done', EXIT.usage],
    [['task', 'x', '--criterion', 'tests'], 'must be NAME=COMMAND', EXIT.usage],
    [['task', '--continue'], 'There is no task here yet', EXIT.usage],
    [['task', '--answer', 'yes'], '--answer needs --continue', EXIT.usage],
    [['task', '--continue', 'other'], 'There is no task "other" here', EXIT.unusable],
    [['task', 'x', '--policy', 'sum.mjs'], 'cannot be read', EXIT.unusable],
    [['task', 'x', '--cwd', 'nowhere'], 'nowhere is not a folder', EXIT.usage],
    [['task', '--continue', 'Now'], 'For a message of one word, give the id, too', EXIT.unusable],
    [['task', 'x', '--model', 'reflex'], 'reflex cannot plan a task', EXIT.unusable],
    [['task', 'x', '--agent', 'rules'], 'reflex cannot plan a task', EXIT.unusable],
  ])('refuses %j', async (args, message, code) => {
    const ran = await launch({ args: [...args, '--config', CONFIG], isTTY: false, cwd: folder() })
    expect(ran.stderr).toContain(message)
    expect(ran.code).toBe(code)
  })

  it('does not go on when its folder is gone', () => {
    const given = { value: () => undefined, values: () => [], has: () => false }
    const saved = { cwd: join(folder(), 'gone'), planning: true, criteria: [] }
    const continueTurn = (): unknown => taskOptions(given, '.', saved)
    expect(continueTurn).toThrow(/gone, which is no longer a folder/)
    expect(continueTurn).toThrow(expect.objectContaining({ exitCode: EXIT.unusable }))
  })

  it('erased, it leaves no options, and is not the last task any more', async () => {
    const cwd = folder()
    const run = (...args: readonly string[]) =>
      launch({ args: [...args, '--config', CONFIG], isTTY: false, cwd })
    await run('task', 'Make the test pass')
    const [file = ''] = readdirSync(join(cwd, 'tasks'))
    expect((await run('erase', file.replace('.json', ''), '--yes')).code).toBe(0)
    expect(readdirSync(join(cwd, 'tasks'))).toEqual([])
    expect((await run('task', '--continue')).stderr).toContain('There is no task here yet.')
  })

  it('killed in the middle, it goes on and ends as it would have', async () => {
    const cwd = folder()
    const env = { HOLDFAST_HOME: join(cwd, 'data') }
    const killed = await holdfast([...TASK, ...CRITERION, ...POLICY], {
      cwd,
      env,
      meanwhile: (child) =>
        child.stderr?.on('data', (text: string) => {
          if (text.includes('Plan 2')) child.kill('SIGKILL')
        }),
    })
    expect(killed.code).toBe(null)
    const { code, stdout, stderr } = await holdfast(['task', '--config', CONFIG, '--continue'], { cwd, env })
    expect([code, stdout, sumOf(cwd)]).toEqual([0, 'sum() adds: the test passes.\n', 'a + b'])
    expect(stderr).not.toContain('a - b')
    expect(stderr).not.toContain('\u001b')
  })

  it(`stops at Ctrl-C in a terminal, and goes on${noTmux}`, async () => {
    if (noTmux !== '') return
    const cwd = folder()
    const env = { HOLDFAST_HOME: join(cwd, 'data') }
    const open = (command: readonly string[]): TestTerminal =>
      new TestTerminal({ cwd, command, env, rows: 40 } satisfies TerminalOptions)
    const { LAUNCH } = await import('./kit.ts')
    const slow = ['--criterion', 'tests=if test -f go; then sh test.sh; else sleep 600; fi']
    const first = open([...LAUNCH, ...TASK, ...slow, ...POLICY])
    try {
      const screen = await first.until(/⠋|⠙|⠹|⠸|⠼|⠴|⠦|⠧|⠇|⠏/)
      expect(screen).toContain('scripted/model')
      await first.until(
        /Todo: 0 of 2 done\n {2}1\. \[ \] Read sum\.mjs\n {2}2\. \[ \] Mend it\n. execute_command/,
      )
      first.press('C-c')
      await first.until('left with 130')
      writeFileSync(join(cwd, 'go'), '')
    } finally {
      first.close()
    }
    const second = open([...LAUNCH, 'task', '--config', CONFIG, '--continue'])
    try {
      expect(await second.until('left with 0')).toContain('sum() adds: the test passes.')
    } finally {
      second.close()
    }
  })
})

describe('the lines below a running task', () => {
  it('are the todo list around the next item, and the current step', () => {
    let live: readonly Styled[] = []
    const printer = new TaskPrinter({
      columns: 60,
      print: () => {},
      setLive: (lines) => {
        live = lines
      },
    })
    printer.start()
    const event = (type: string, data: object) => ({ type, data, path: [] }) as unknown as GraphEvent
    const list = Array.from({ length: 12 }, (_, at) => `${at + 1}. [${at < 5 ? 'x' : ' '}] Item ${at + 1}`)
    printer.event(event('node.end', { node: 'tools', update: { todoList: list.join('\n') } }))
    printer.event(event('graph.step', { tasks: [{ task: 'agent.4', node: 'agent' }] }))
    const shown = live.map(String)
    printer.stop()
    expect(shown.slice(0, -1)).toEqual([
      'Todo: 5 of 12 done, 4 not shown',
      ...list.slice(3, 11).map((item) => `  ${item}`),
    ])
    expect(shown.at(-1)).toMatch(/^. thinking {2}0\.0s$/)
    expect(live.map(String)).toEqual([])
  })
})
