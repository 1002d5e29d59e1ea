/** `holdfast run` as scripts use it: what is printed where, and with which code it ends. */
import type { ChildProcess } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { PATIENCE_MS } from '../patience.ts'
import { inProcess, siteInProcess } from './in-process.ts'
import { FIXTURE, Folders, holdfast, LAUNCH, site, withoutTimes } from './kit.ts'
import { noTmux, TestTerminal } from './tmux.ts'

const folders = new Folders()
afterAll(() => folders.remove())

function lastLine(text: string): Record<string, unknown> {
  return JSON.parse(text.trimEnd().split('\n').at(-1) ?? '') as Record<string, unknown>
}

/** Sends a signal as soon as the process has printed this to standard error. */
function signalAfter(text: string, signal: NodeJS.Signals) {
  return (child: ChildProcess) => {
    let seen = ''
    child.stderr?.on('data', (chunk: Buffer | string) => {
      if (seen.includes(text)) return
      seen += String(chunk)
      if (seen.includes(text)) child.kill(signal)
    })
  }
}

describe.concurrent('one turn', () => {
  it('prints the reply on standard output and what happens meanwhile on standard error', async () => {
    const { code, stdout, stderr } = await site(['run', '--context', 'a', 'quick'], { cwd: folders.make() })
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'Done.\n' })
    expect(withoutTimes(stderr)).toBe(
      'site · scripted/model · a\n→ slow seconds=0.3\n· slow step 1 of 3\n✓ slow → 0.3 seconds are over\n',
    )
  })

  it('tells every event as a line of JSON, and the outcome last', async () => {
    const { code, stdout, stderr } = await siteInProcess(['run', '--json', 'hello'], { cwd: folders.make() })
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string })
    expect(lines.map(({ type }) => type)).toEqual([
      'input',
      'claim',
      'turn.start',
      'model.start',
      'text.delta',
      'text.delta',
      'text.delta',
      'model.end',
      'turn.end',
      'outcome',
    ])
    expect(lines.at(-1)).toMatchObject({
      reason: 'stop',
      exitCode: 0,
      agent: 'site',
      text: 'This is message 1.',
    })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  })

  it('goes on with a conversation that is named', async () => {
    const cwd = folders.make()
    await siteInProcess(['run', '--context', 'trip', 'hello'], { cwd })
    const { stdout } = await siteInProcess(['run', '--context', 'trip', 'again'], { cwd })
    expect(stdout).toBe('This is message 2.\n')
  })

  it('reads the message from standard input', async () => {
    const { code, stdout } = await siteInProcess(['run', '-'], { cwd: folders.make(), input: 'hello\nyou\n' })
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'This is message 1.\n' })
  })

  it('says what failed before it tries again, as a sentence', async () => {
    const config = `import { ScriptedModel } from 'holdfast/testing'
const error = { status: 503, message: 'getaddrinfo ENOTFOUND api.openai.com' }
export default { agents: { site: { model: new ScriptedModel([{ error }, 'Done.']) } } }
`
    const cwd = folders.make({ 'holdfast.config.ts': config })
    const { stdout, stderr } = await inProcess(['run', 'hi'], { cwd })
    expect(stdout).toBe('Done.\n')
    expect(stderr).toContain('! getaddrinfo ENOTFOUND api.openai.com. Trying again.\n')
  })

  it('works without a config, a key or a network, and says which model it asks', async () => {
    const { code, stdout, stderr } = await inProcess(['run', 'List my notes'], { cwd: folders.make() })
    expect(code).toBe(0)
    expect(stdout).toContain('notes')
    expect(stderr).toContain('assistant · reflex (works by rules; for a language model, set ')
    expect(withoutTimes(stderr)).toContain('✓ list_notes → no notes')
  })
})

describe.concurrent('exit codes', () => {
  it('1 for a turn that failed, with the way to try again', async () => {
    const { code, stderr } = await siteInProcess(['run', '--context', 'a', 'fail'], { cwd: folders.make() })
    expect(code).toBe(1)
    expect(stderr).toContain('✗ The model does not want to.\n  to try again: holdfast run --config')
  })

  it('4 for a turn that a limit ended, with the way to go on', async () => {
    const { code, stderr } = await siteInProcess(['run', '--agent', 'tired', 'go'], { cwd: folders.make() })
    expect(code).toBe(4)
    expect(stderr).toMatch(/! stopped by the limit on iterations\n {2}to go on: holdfast run .*--continue\n$/)
  })

  it('a conversation of another agent than the default one is found by its full name, or by its id where that is clear', async () => {
    const cwd = folders.make()
    writeFileSync(
      join(cwd, 'holdfast.config.ts'),
      `import config from '${pathToFileURL(FIXTURE).href}'\nconst { site } = config.agents\nexport default { default: 'site', agents: { site, payer: site } }\n`,
    )
    await inProcess(['run', '--context', 'payer:j1', 'order'], { cwd })
    await inProcess(['run', '--agent', 'payer', '--context', 'j2', 'order'], { cwd })
    const byName = await inProcess(['run', '--context', 'payer:j2', '--answer', 'yes'], { cwd })
    const byId = await inProcess(['run', '--context', 'j1', '--answer', 'yes'], { cwd })
    expect([byName, byId].map(({ code, stdout }) => ({ code, stdout }))).toEqual([
      { code: 0, stdout: 'Done.\n' },
      { code: 0, stdout: 'Done.\n' },
    ])
    const again = await inProcess(['run', '--context', 'j1', '--answer', 'yes'], { cwd })
    expect({ code: again.code, stderr: again.stderr }).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Nothing waits for an answer in this conversation.'),
    })
  })

  it('5 for a question, and 0 when it is answered by another process', async () => {
    const cwd = folders.make()
    const asked = await siteInProcess(['run', '--context', 'a', 'order'], { cwd })
    expect(asked.code).toBe(5)
    expect(asked.stderr).toContain(
      '? Approval\n  tool       order\n  arguments  {"bags":20}\n  its text │ Order 20 bags?\n  to answer: holdfast run',
    )
    const wrong = await siteInProcess(['run', '--context', 'a', '--answer', 'maybe'], { cwd })
    expect(wrong.code).toBe(2)
    expect(wrong.stderr).toMatch(/--answer "maybe" does not answer \S+\. Type yes or no; "no, too many" adds/)
    const going = await siteInProcess(['run', '--context', 'a', '--continue'], { cwd })
    expect(going.code).toBe(1)
    expect(going.stderr).toContain('✗ There is nothing to continue: a waits for an answer.\n? Approval\n')
    expect(going.stderr).toMatch(/\n {2}to answer: holdfast run .*--context a --answer yes\n$/)
    const stranger = await siteInProcess(['run', '--context', 'a', '--answer', 'x=yes'], { cwd })
    expect(stranger.code).toBe(2)
    expect(stranger.stderr).toContain('Nothing waits for "x". Waiting:')
    const both = await siteInProcess(['run', '--context', 'a', '--answer', 'no', '--answer', 'yes'], { cwd })
    expect(both.code).toBe(2)
    expect(both.stderr).toContain('Give one --answer for each request. Waiting:')
    const yes = await siteInProcess(['run', '--context', 'a', '--answer', 'yes'], { cwd })
    expect({ code: yes.code, stdout: yes.stdout }).toEqual({ code: 0, stdout: 'Done.\n' })
    const over = await siteInProcess(['run', '--context', 'a', '--continue'], { cwd })
    expect(over.code).toBe(1)
    expect(over.stderr).toMatch(
      /✗ There is nothing to continue\. To send a message: holdfast run .*--context a "…"\n$/,
    )
    expect(withoutTimes(yes.stderr)).toContain('✓ order → 20 bags are on their way')
  })

  it('1 for a turn whose tool waits for what can never come', async () => {
    const cwd = folders.make()
    writeFileSync(
      join(cwd, 'holdfast.config.ts'),
      `import config from '${pathToFileURL(FIXTURE).href}'
const { site } = config.agents
const tools = site.tools.map((tool) => ({ ...tool, run: () => new Promise(() => {}) }))
export default { agents: { site: { ...site, tools } } }
`,
    )
    const { code, stdout, stderr } = await holdfast(['run', '--json', 'quick'], { cwd })
    expect(code).toBe(1)
    expect(lastLine(stdout)).toMatchObject({ type: 'outcome', error: { code: 'unfinished' } })
    expect(stderr).toContain('The command ended before it was done')
  })

  it('0 for an answer with a = in it, which names no request', async () => {
    const cwd = folders.make()
    await siteInProcess(['run', '--context', 'a', 'form'], { cwd })
    const json = '{"street":"a=b","number":1}'
    const { code, stdout } = await siteInProcess(['run', '--context', 'a', '--answer', json], { cwd })
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'Done.\n' })
  })

  it('0 for an answer in a store that the config has opened', async () => {
    const cwd = folders.make()
    const write = (name: string, store: string) =>
      writeFileSync(
        join(cwd, name),
        `import config from '${pathToFileURL(FIXTURE).href}'\nimport { sqliteStore } from 'holdfast/sqlite'\nconst open = () => sqliteStore('${join(cwd, 'own.db')}')\nexport default { ...config, store: ${store} }\n`,
      )
    write('first.config.ts', 'open')
    write('holdfast.config.ts', 'open()')
    await inProcess(['run', '--config', 'first.config.ts', '--context', 'a', 'order'], { cwd })
    const { code, stdout } = await inProcess(['run', '--context', 'a', '--answer', 'yes'], { cwd })
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'Done.\n' })
  })

  it('130 for Ctrl-C, which cancels the turn', async () => {
    const cwd = folders.make()
    const meanwhile = signalAfter('→ slow', 'SIGINT')
    const { code, stderr } = await site(['run', '--context', 'a', 'slow'], { cwd, meanwhile })
    expect(code).toBe(130)
    expect(stderr).toContain('— cancelled')
    const { stdout } = await siteInProcess(['sessions', '--json'], { cwd })
    expect(JSON.parse(stdout)).toMatchObject([{ id: 'a', outcome: 'cancelled', status: 'idle' }])
  })

  it('143 for SIGTERM, which pauses the turn between two effects; --continue goes on with it', async () => {
    const cwd = folders.make()
    const meanwhile = signalAfter('→ slow', 'SIGTERM')
    const { code, stderr } = await site(['run', '--context', 'a', 'medium'], { cwd, meanwhile })
    expect(code).toBe(143)
    expect(stderr).toMatch(/✓ slow .*1\.5 seconds are over\npaused\. To go on: holdfast run .* --continue\n$/)
    const next = await siteInProcess(['run', '--context', 'a', '--continue', '--json'], { cwd })
    expect(next.code).toBe(0)
    expect(lastLine(next.stdout)).toMatchObject({ reason: 'stop', text: 'Done.', turn: 1 })
    const shown = await siteInProcess(['show', 'a', '--json'], { cwd })
    const { turns } = JSON.parse(shown.stdout) as { turns: { steps: { type: string }[] }[] }
    expect(turns.flatMap(({ steps }) => steps.map(({ type }) => type))).toEqual(['call', 'text'])
  })
})

it('a call of a killed process, also of its sub-agent, is not printed as a start', async () => {
  const config = `import { agentTool, defineTool, jsonSchema } from 'holdfast'
import { ScriptedModel } from 'holdfast/testing'
const model = (tool) =>
  new ScriptedModel(({ prompt }) => (prompt.at(-1)?.role === 'tool' ? 'Done.' : { calls: [{ tool, args: { bags: 5 } }] }))
const properties = { bags: { type: 'number' } }
const order = defineTool({
  name: 'order', description: 'Orders.', replay: 'never', input: jsonSchema({ type: 'object', properties }),
  run: () => new Promise((resolve) => setTimeout(resolve, 60_000)),
})
const clerk = agentTool({ name: 'clerk', description: 'Orders.', agent: { model: model('order'), tools: [order] }, prompt: () => 'Order', input: jsonSchema({ type: 'object', properties }) })
export default { agents: { site: { model: model('order'), tools: [order] }, boss: { model: model('clerk'), tools: [clerk] } }, default: 'site' }
`
  const cwd = folders.make({ 'holdfast.config.ts': config })
  const continued = async (agent: string) => {
    const meanwhile = signalAfter('→ order', 'SIGKILL')
    await holdfast(['run', '--agent', agent, '-c', agent, 'go'], { cwd, meanwhile })
    return inProcess(['run', '--agent', agent, '-c', agent, '--continue'], { cwd })
  }
  const own = await continued('site')
  expect(own.stderr).not.toContain('→ order')
  expect(own.stderr).toContain('· order bags=5 · started before this command\n✗ order → outcome unknown')
  const below = await continued('boss')
  expect(below.stderr).not.toContain('→ order')
  expect(below.stderr).not.toContain('→ clerk')
  expect(below.stderr).toContain('· order bags=5 · started before this command\n')
})

describe.concurrent('whoever reads the output', () => {
  it('may leave early, and nothing is said about it', async () => {
    const meanwhile = (child: ChildProcess) => child.stdout?.once('data', () => child.stdout?.destroy())
    const { code, stderr } = await site(['run', '--json', 'essay'], { cwd: folders.make(), meanwhile })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  })

  it('gets colours only if it wants them', async () => {
    const cwd = folders.make()
    const plain = await siteInProcess(['run', 'quick'], { cwd })
    const forced = await siteInProcess(['run', 'quick'], { cwd, env: { FORCE_COLOR: '1' } })
    const off = await siteInProcess(['run', '--no-color', 'quick'], { cwd, env: { FORCE_COLOR: '1' } })
    expect(plain.stderr).not.toContain('\x1b')
    expect(forced.stderr).toContain('\x1b[32m✓\x1b[39m slow')
    expect(off.stderr).not.toContain('\x1b')
  })
})

describe.skipIf(noTmux !== '').concurrent(`in a terminal${noTmux}`, () => {
  it('pauses the turn when the terminal is closed', async () => {
    const cwd = folders.make()
    const command = [...LAUNCH, 'run', '--config', FIXTURE, '--context', 'a', 'gate']
    const terminal = new TestTerminal({ cwd, command })
    await terminal.until(/gate {2}/)
    terminal.close()
    writeFileSync(join(cwd, 'data', 'open'), '')
    const status = async () => {
      const { stdout } = await siteInProcess(['sessions', '--json'], { cwd })
      return (JSON.parse(stdout) as { status: string }[])[0]?.status
    }
    await vi.waitUntil(async () => (await status()) !== 'running', PATIENCE_MS)
    expect(await status()).toBe('paused')
  })

  it('leaves a visible cursor when an error ends the process in mid-turn', async () => {
    const config = `import config from '${pathToFileURL(FIXTURE).href}'
const { site } = config.agents
const run = () => new Promise(() => setTimeout(() => { throw new Error('later') }, 100))
export default { agents: { site: { ...site, tools: site.tools.map((tool) => ({ ...tool, run })) } } }
`
    const cwd = folders.make({ 'holdfast.config.ts': config })
    const terminal = new TestTerminal({ cwd, command: [...LAUNCH, 'run', 'quick'] })
    try {
      expect(await terminal.until('left with 1')).toContain('holdfast: later')
      expect(terminal.hasCursor).toBe(true)
    } finally {
      terminal.close()
    }
  })
})
