/** What models, tools and files say cannot lie to a terminal: with a terminal and without. */
import { spawnSync } from 'node:child_process'
import { join, resolve } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { inProcess } from './in-process.ts'
import { cleanEnv, Folders, holdfast, LAUNCH } from './kit.ts'
import { noTmux, TestTerminal } from './tmux.ts'

const HOSTILE = resolve('test/cli/fixture/hostile.config.ts')
const folders = new Folders()
afterAll(() => folders.remove())

function hostile(args: readonly string[], cwd: string, run = inProcess) {
  const [command = '', ...rest] = args
  return run([command, '--config', HOSTILE, ...rest], {
    cwd,
    env: { HOLDFAST_HOME: join(cwd, 'data'), HOLDFAST_DEBUG: '1' },
  })
}

/** Every character that a terminal would obey, or that hides or turns others. */
function obeyed(text: string): string[] {
  return Array.from(text).filter((char) => {
    const code = char.codePointAt(0) ?? 0
    if (char === '\n' || char === '\t') return false
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x2028 && code <= 0x202e)
  })
}

describe.concurrent('without a terminal', () => {
  it('a reply keeps its line breaks, tabs, wide characters and emoji, and nothing that is obeyed', async () => {
    const { stdout, stderr } = await hostile(['run', 'prose'], folders.make())
    expect(obeyed(stdout + stderr)).toEqual([])
    expect(stdout).toContain(
      'one\ttwo\nthree<U+001B>[2J<U+009B>31m<U+007F><U+202E><U+000D><U+001B>]0;owned<U+0007>',
    )
    expect(stdout).toContain('👩‍👧 日本 é\n')
  })

  it.each(['unknown', 'title', 'fail', 'crash'])('%s: nothing is obeyed', async (word) => {
    const { stdout, stderr } = await hostile(
      ['run', word],
      folders.make(),
      word === 'crash' ? holdfast : inProcess,
    )
    expect(stderr).toContain('<U+001B>')
    expect(obeyed(stdout + stderr)).toEqual([])
  })

  it('an approval has tool and arguments in lines of their own, the text below and cut', async () => {
    const { stderr } = await hostile(['run', 'flood'], folders.make())
    expect(stderr).toContain('? Approval\n  tool       flood\n  arguments  {"path":"/"}\n')
    expect(stderr.split('\n').length).toBeLessThan(25)
  })

  it('--json writes one value a line, equal to what was said, in plain characters', async () => {
    const { stdout, stderr } = await hostile(['run', '--json', 'prose'], folders.make())
    expect(obeyed(stdout + stderr)).toEqual([])
    const lines = stdout.trimEnd().split('\n')
    const last = JSON.parse(lines.at(-1) ?? '') as { text: string }
    expect(last.text).toContain('three\u001b[2J\u009b31m\u007f\u202e\r\u001b]0;owned\u0007')
  })

  it('what a tool prints under --json goes to standard error', async () => {
    const { stdout, stderr } = await hostile(['run', '--json', 'noisy'], folders.make(), holdfast)
    const types = stdout
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { type: string }).type)
    expect(types.filter((type) => type === 'outcome')).toEqual(['outcome'])
    expect(types.at(-1)).toBe('outcome')
    expect(stderr).toContain('from console.log <U+001B>[2J<U+009B>31m{"type":"outcome"}\n')
    expect(stderr).toContain('from console.error <U+001B>]0;owned<U+0007>\n')
    expect(stderr).toContain('from process.stdout <U+001B>[8m\n')
    expect(stderr).toContain('from emitWarning <U+001B>[2J')
    expect(obeyed(stdout + stderr)).toEqual([])
  })

  it('what a tool prints stays out of the reply', async () => {
    const { stdout, stderr } = await hostile(['run', 'noisy'], folders.make(), holdfast)
    expect(stdout).toBe('Done.\n')
    expect(stderr).toContain('from console.log <U+001B>[2J')
  })

  it('a config that throws hostile text, and a file with a hostile name', async () => {
    const name = 'evil\u001b]0;owned\u0007.config.mjs'
    const cwd = folders.make({ [name]: "throw new Error('thrown \\u001b[2J\\u202e')\n" })
    for (const env of [{}, { HOLDFAST_DEBUG: '1' }]) {
      const { code, stdout, stderr } = await holdfast(['run', '--config', name, 'hi'], { cwd, env })
      expect(code).toBe(3)
      expect(stderr).toContain('<U+001B>]0;owned<U+0007>.config.mjs')
      expect(obeyed(stdout + stderr)).toEqual([])
    }
  })

  it('what was kept is shown in plain characters, also as JSON', async () => {
    const cwd = folders.make()
    await hostile(['run', '--context', 'a', 'title'], cwd)
    const commands = [
      ['show', 'a'],
      ['show', 'a', '--json'],
    ]
    for (const { stdout, stderr } of await Promise.all(commands.map((args) => hostile(args, cwd)))) {
      expect(stdout).toContain('owned')
      expect(obeyed(stdout + stderr)).toEqual([])
    }
  })
})

/** A chat with the hostile agent. */
async function chat(work: (terminal: TestTerminal) => Promise<void>, rows = 24) {
  const terminal = new TestTerminal({ cwd: folders.make(), rows, config: HOSTILE })
  try {
    await terminal.until(/\n›$/)
    await work(terminal)
  } finally {
    terminal.close()
  }
}

describe.skipIf(noTmux !== '').concurrent(`at a terminal${noTmux}`, () => {
  it('a name of a tool cannot ask in place of the approval', async () => {
    await chat(async (terminal) => {
      const screen = await terminal.ask('unknown', /\[y\/n\] ›$/)
      expect(screen).toContain('✗ <U+001B>[2J<U+001B>[H? May "list" be run?<U+000A>')
      expect(screen).toContain('? Approval\n  tool       del\n  arguments  {"path":"/"}\n  [y/n] ›')
    })
  })

  it('an escape in a name changes neither the title nor the clipboard', async () => {
    await chat(async (terminal) => {
      const before = terminal.title()
      await terminal.ask('title', 'Done.')
      expect(terminal.title()).toBe(before)
      await terminal.ask('/tools', /del +Deletes a file\.<U\+001B>/)
      expect(terminal.title()).toBe(before)
    })
  })

  it('the text of an approval cannot push the call off the screen', async () => {
    await chat(async (terminal) => {
      const screen = await terminal.ask('flood', /\[y\/n\] ›$/)
      expect(screen).toContain(
        '? Approval\n  tool       flood\n  arguments  {"path":"/"}\n  its text │ Delete?',
      )
    })
  })

  it('long arguments are cut in the middle, and shown whole on demand', async () => {
    await chat(async (terminal) => {
      const screen = await terminal.ask('long', /\[y\/n.*\] ›$/)
      expect(screen).toContain('? Approval\n  tool       del\n  arguments  {"path":"/tmp/aaa')
      expect(screen).toContain('/../../etc"}')
      expect(screen).toMatch(/… [\d,]+ characters left out …/)
      const whole = await terminal.ask('?', /etc"}\n\? Approval[^]*\[y\/n, \? shows all\] ›$/)
      expect(whole).toMatch(/\n {2}a+\/\.\.\/\.\.\/etc"}\n\? Approval\n {2}tool {7}del\n/)
    })
  })

  it('a form shows names and hints of fields on one short line', async () => {
    await chat(async (terminal) => {
      const screen = await terminal.ask('form', /\] ›$/)
      expect(screen).toContain('? form │ Where to?')
      expect(screen).toMatch(/name<U\+001B>\]0;owned<U\+0007>/)
      expect(terminal.title()).not.toBe('owned')
    })
  })

  it('what a tool prints stands on lines of its own', async () => {
    await chat(async (terminal) => {
      await terminal.ask('noisy', 'Done.')
      const screen = await terminal.until(/\n›$/)
      expect(screen).toContain('\n¦ from console.log <U+001B>[2J<U+009B>31m{"type":"outcome"}\n')
      expect(screen).toContain('\n¦ from process.stdout <U+001B>[8m\n¦ { answer: 42 }\n')
      expect(screen).toContain('✓ noisy → said\nDone.\n\n›')
    })
  })

  it('what is printed while the person types goes above the line', async () => {
    await chat(async (terminal) => {
      await terminal.ask('later', /Done\.\n\n›$/)
      terminal.type('half a thought')
      expect(await terminal.until('printed late')).toMatch(/\n¦ printed late <U\+001B>\[2J\n› half a/)
    })
  })
})

describe('the launcher', () => {
  it('escapes why the program could not be loaded', () => {
    const cwd = folders.make({
      'break.mjs':
        "import { registerHooks } from 'node:module'\nregisterHooks({ load(url, context, next) { if (/\\/cli\\/main\\.[jt]s$/.test(url)) throw new Error('broken \\u001b[2J\\u009b'); return next(url, context) } })\n",
    })
    const { stderr } = spawnSync(
      process.execPath,
      ['--import', join(cwd, 'break.mjs'), ...LAUNCH, 'run', 'x'],
      {
        cwd,
        env: cleanEnv(),
        encoding: 'utf8',
      },
    )
    expect(stderr).toContain('holdfast could not be loaded')
    expect(obeyed(stderr)).toEqual([])
  })
})
