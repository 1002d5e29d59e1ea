/** `holdfast research`: a question in a pipe, as JSON, over several turns, and in a terminal. */
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { launch } from './gate/world.ts'
import { inProcess } from './in-process.ts'
import { Folders, holdfast } from './kit.ts'
import { noTmux, TestTerminal } from './tmux.ts'

const CONFIG = resolve('test/cli/fixture/research.config.ts')
const GATE = 'When does the gate of the Granville dock open?'
const folders = new Folders()
afterAll(() => folders.remove())

const ask = (cwd: string, ...args: string[]) =>
  launch({ args: ['research', '--config', CONFIG, ...args], isTTY: false, cwd })

describe('holdfast research', () => {
  it('prints the answer with its sources and pages, and the searches to standard error', async () => {
    const cwd = folders.make()
    const ran = await ask(cwd, GATE)
    expect(ran.code).toBe(0)
    expect(ran.stdout).toBe(
      [
        'Sentences from the sources, quoted as they stand. This answer is extractive: no language model wrote it.',
        '',
        '- The gate of the dock opens 2 hours before high tide [1].',
        '',
        'Sources',
        '[1] Harbours of the bay · page 3 · harbours-of-the-bay.pdf',
        '    “The gate of the dock opens 2 hours before high tide.”',
        '',
      ].join('\n'),
    )
    expect(ran.stderr).toMatch(
      /^reflex · research-\S+\n✓ searched your documents .*1 passage.*\n(?:.*\n)*confidence 0\.67\n$/,
    )
  })

  it('show prints questions, answers and sources, and finds the conversation by its id alone', async () => {
    const cwd = folders.make()
    await ask(cwd, '--context', 'h', GATE)
    await ask(cwd, '--context', 'vague', 'Tell me about it')
    const run = (...args: string[]) => launch({ args: [...args, '--config', CONFIG], isTTY: false, cwd })
    const shown = (await run('show', 'h')).stdout
      .replace(/^.* · last active .*$/m, 'FACTS')
      .replaceAll(/0 in, 0 out · [\d.]+s/g, 'COST')
    expect(shown).toBe(
      [
        'research:h',
        'FACTS',
        '',
        `› ${GATE}`,
        `  searched your documents: found 1 passage for "${GATE}".`,
        'Sentences from the sources, quoted as they stand. This answer is extractive: no language model wrote it.',
        '',
        '- The gate of the dock opens 2 hours before high tide [1].',
        'Sources',
        '[1] Harbours of the bay · page 3 · harbours-of-the-bay.pdf',
        '    “The gate of the dock opens 2 hours before high tide.”',
        'confidence 0.67',
        'turn 1 · stop · COST',
        '',
      ].join('\n'),
    )
    expect((await run('show', 'vague')).stdout).toMatch(
      /\n› Tell me about it\nWhat does "it" refer to: which document, author or subject\?\nturn 1/,
    )
    expect((await run('sessions')).stdout).toMatch(/^h +research +1 /m)
    expect((await run('show', 'h', '--agent', 'research')).code).toBe(0)
  })

  it('--context asks on, a clarification ends with code 5 and the command to type', async () => {
    const cwd = folders.make()
    const vague = await ask(cwd, '--context', 'tides', 'Tell me about it')
    expect(vague.code).toBe(5)
    expect(vague.stdout).toBe('What does "it" refer to: which document, author or subject?\n')
    expect(vague.stderr).toContain('--context tides "…"')
    const answered = await ask(cwd, '--context', 'tides', 'gate of the Granville dock')
    expect(answered.stdout).toContain('opens 2 hours before high tide [1].')
    const follow = await ask(cwd, '--context', 'tides', '--json', 'And its wet dock?')
    const last = JSON.parse(follow.stdout.trim().split('\n').at(-1) ?? '') as object
    expect(last).toMatchObject({
      type: 'outcome',
      exitCode: 0,
      status: 'completed',
      contextId: 'tides',
      isClarification: false,
      messageCount: 6,
      sources: [{ number: 1, title: 'Harbours of the bay', page: 3 }],
    })
  })

  it('the command to type has the corpus and the agent of the question', async () => {
    const cwd = folders.make({ 'notes.md': '# Tides\n\nThe gate opens 2 hours before high tide.\n' })
    const of = ['--corpus', 'my tides.db']
    await inProcess(['research', 'add', ...of, 'notes.md'], { cwd })
    const args = ['research', ...of, '--agent', 'assistant', '--context', 'a', 'Tell me about it']
    const { stderr } = await inProcess(args, { cwd })
    expect(stderr).toContain(
      `to go on: holdfast research --agent assistant --corpus 'my tides.db' --context a "…"\n`,
    )
  })

  it('says what is wrong, and what to do', async () => {
    const cwd = folders.make()
    expect(await ask(cwd, '--web', 'nothign', GATE)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Did you mean nothing?'),
    })
    expect(await ask(cwd)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('holdfast research "…"'),
    })
    expect(await ask(cwd, '--continue')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--context ID'),
    })
    expect(await inProcess(['research', GATE], { cwd })).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('There are no documents to search'),
    })
  })

  it('a terminal shows the answer and no trace of the live lines', async () => {
    const ran = await launch({
      args: ['research', '--config', CONFIG, GATE],
      isTTY: true,
      cwd: folders.make(),
    })
    expect(ran.code).toBe(0)
    expect(ran.stdout).toContain('opens 2 hours before high tide')
    expect(ran.stdout).toContain('page 3')
  })

  /** A config whose search waits for a file, and prints a line. */
  const SLOW = `import config from '${pathToFileURL(CONFIG).href}'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
const search = async (corpus, ...query) => {
  console.log('looking around')
  while (!existsSync(join(process.env.HOLDFAST_HOME, 'open'))) await new Promise((next) => setTimeout(next, 50))
  return corpus.search(...query)
}
const slow = (corpus) => ({ ...corpus, search: (...query) => search(corpus, ...query) })
export default { ...config, research: { ...config.research, corpus: () => slow(config.research.corpus()) } }
`

  it('left at SIGTERM, it says so in its last line, and goes on with --continue', async () => {
    const cwd = folders.make({ 'slow.config.ts': SLOW })
    const env = { HOLDFAST_HOME: join(cwd, 'data') }
    const args = ['research', '--config', 'slow.config.ts', '--context', 'a', '--json']
    const { code, stdout } = await holdfast([...args, GATE], {
      cwd,
      env,
      meanwhile: (child) => child.stderr?.once('data', () => child.kill('SIGTERM')),
    })
    const last = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as object
    expect([code, last]).toEqual([
      143,
      { type: 'outcome', contextId: 'a', exitCode: 143, status: 'paused', reason: 'left' },
    ])
    writeFileSync(join(cwd, 'data/open'), '')
    const next = await holdfast([...args, '--continue'], { cwd, env })
    expect(next.code).toBe(0)
    expect(next.stdout).toContain('opens 2 hours before high tide')
  })

  it.skipIf(noTmux !== '')(
    `a chat keeps what is typed and printed meanwhile in its place${noTmux}`,
    async () => {
      const cwd = folders.make({ 'slow.config.ts': SLOW })
      const config = join(cwd, 'slow.config.ts')
      const terminal = new TestTerminal({ cwd, config, args: ['--agent', 'research'] })
      try {
        await terminal.until(/›/)
        await terminal.ask(GATE, /^¦ looking around\n. searching/m)
        terminal.say('/new')
        writeFileSync(join(cwd, 'data/open'), '')
        const screen = await terminal.until(
          /confidence [\d.]+\n\n› \/new\nresearch · reflex · research-\S+\n\n›$/,
        )
        expect(screen).toContain('opens 2 hours before high tide [1]')
        await terminal.leave()
      } finally {
        terminal.close()
      }
    },
  )

  it('a chat does not open a last conversation that was erased', async () => {
    const cwd = folders.make()
    await ask(cwd, '--context', 'main', GATE)
    const erase = ['erase', '--config', CONFIG, 'research:main', '--yes']
    expect(await launch({ args: erase, isTTY: false, cwd })).toMatchObject({ code: 0 })
    const args = ['chat', '--config', CONFIG, '--agent', 'research']
    const { both } = await launch({ args, isTTY: true, cwd, typed: ['/exit'] })
    expect(both).toMatch(/research · reflex · \d{4}-\d\d-\d\d/)
    const refused = await ask(cwd, '--context', 'main', GATE)
    expect(refused).toMatchObject({ code: 1, stderr: expect.not.stringContaining('to go on') })
  })

  it.skipIf(noTmux !== '')(`chat --agent research talks about one subject${noTmux}`, async () => {
    const cwd = folders.make()
    const terminal = new TestTerminal({ cwd, config: CONFIG, args: ['--agent', 'research'] })
    try {
      expect(await terminal.until(/›/)).toContain('research · reflex · main')
      await terminal.ask('Tell me about it', 'What does "it" refer to')
      await terminal.ask('gate of the Granville dock', 'opens 2 hours before high tide [1]')
      expect(await terminal.until(/confidence [\d.]+\n\n›$/)).toContain('[1] Harbours of the bay · page 3')
      await terminal.ask('/ned x', '✗ /ned is no command. Did you mean /new? Type /help to list them.')
      await terminal.ask('/new', /research · reflex · research-\S+/)
      await terminal.leave()
    } finally {
      terminal.close()
    }
  })
})
