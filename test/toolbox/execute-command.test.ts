/** execute_command: output, exit codes, limits and ends of commands, in the sandbox and without it. */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Json } from '../../src/protocol/index.ts'
import { loadTools } from '../../src/toolbox/index.ts'
import { findSandbox } from '../../src/toolbox/sandbox.ts'
import { CommandFolder, newMark, processesWith, whyNoSandbox } from './command-kit.ts'

const missing = await whyNoSandbox()
let folder: CommandFolder
let mark = ''

beforeEach(() => {
  folder = new CommandFolder()
  mark = newMark()
})

afterEach(() => folder.remove())

function textOf(progress: readonly Json[]): string {
  const parts = progress as readonly { readonly output: readonly { stream: string; text: string }[] }[]
  return parts.flatMap(({ output }) => output.map(({ stream, text }) => `${stream}: ${text}`)).join('')
}

describe.each(['required', 'off'] as const)('a command with sandbox: %s', (sandbox) => {
  beforeEach(async (context) => {
    context.skip(sandbox === 'required' && missing !== undefined, missing)
    await folder.load({ sandbox })
  })

  it('returns its output and its exit code; only 0 is no failure', async () => {
    expect(await folder.run('echo out; echo err >&2')).toMatchObject({
      status: 'ok',
      exitCode: 0,
      signal: null,
      stdout: 'out\n',
      stderr: 'err\n',
      sandbox: sandbox === 'off' ? 'none' : 'bwrap',
    })
    expect(await folder.run('echo out; exit 3')).toMatchObject({
      status: 'error',
      exitCode: 3,
      stdout: 'out\n',
    })
    expect(await folder.run('no-such-command')).toMatchObject({ status: 'error', exitCode: 127 })
  })

  it('starts in the folder, or in the folder inside it that is named', async () => {
    mkdirSync(join(folder.path, 'sub'))
    writeFileSync(join(folder.path, 'file'), '')
    symlinkSync('/usr', join(folder.path, 'away'))
    expect(await folder.run('pwd; echo new > made')).toMatchObject({ stdout: `${folder.path}\n` })
    expect(folder.read('made')).toBe('new\n')
    expect(await folder.run('pwd', { cwd: 'sub' })).toMatchObject({ stdout: `${folder.path}/sub\n` })
    for (const cwd of ['..', '/usr', 'away', 'file', 'none'])
      expect(await folder.run('touch ran', { cwd })).toMatchObject({ status: 'error' })
    expect(folder.has('ran')).toBe(false)
  })

  it('can open its own output again, and reads no input', async () => {
    expect(await folder.run('echo x > /dev/stderr; echo y | tee /dev/stderr; cat; read line')).toMatchObject({
      stdout: 'y\n',
      stderr: 'x\ny\n',
      exitCode: 1,
    })
  })

  it('inherits neither the environment nor open files', async () => {
    process.env['HOLDFAST_TEST_TOKEN'] = mark
    try {
      await folder.load({ sandbox, env: { GREETING: 'hello' } })
      const { stdout } = await folder.run('env; echo --; ls -l /proc/self/fd')
      expect(stdout).not.toContain(mark)
      const [environment = '', files = ''] = stdout.split('--')
      const names = environment.split('\n').flatMap((line) => /^(\w+)=/.exec(line)?.[1] ?? [])
      const allowed = /^(PATH|LANG|LANGUAGE|LC_\w+|TZ|TERM|HOME|TMPDIR|GREETING|PWD|OLDPWD|SHLVL|_)$/
      expect(names.filter((name) => !allowed.test(name))).toEqual([])
      expect(environment).toContain('GREETING=hello')
      expect(environment).toContain('TERM=dumb')
      const open = files
        .split('\n')
        .flatMap((line) => /(\d+) -> (.*)/.exec(line)?.slice(1, 3).join(' ') ?? [])
      const expected = /^(0 \/dev\/null|[12] .*holdfast-pipes.*|\d+ \/dev\/null|\d+ \/proc\/\d+\/fd)$/
      expect(open.filter((line) => !expected.test(line))).toEqual([])
    } finally {
      delete process.env['HOLDFAST_TEST_TOKEN']
    }
  })

  it('looks for programs in no folder of PATH that it can write itself', async () => {
    const linked = new CommandFolder()
    const bin = join(folder.path, 'bin')
    mkdirSync(bin)
    for (const planted of [join(folder.path, 'ls'), join(bin, 'ls')])
      writeFileSync(planted, '#!/bin/sh\necho planted\n', { mode: 0o755 })
    const outside = `#!/bin/sh\ntouch '${linked.path}/outside'\nexec /usr/bin/mkfifo "$@"\n`
    writeFileSync(join(bin, 'mkfifo'), outside, { mode: 0o755 })
    symlinkSync(bin, join(linked.path, 'bin'))
    const path = process.env['PATH']
    process.env['PATH'] = [
      '',
      '.',
      'bin',
      folder.path,
      bin,
      `/usr/../${bin}`,
      join(linked.path, 'bin'),
      path,
    ].join(':')
    try {
      expect((await folder.run('ls')).stdout).not.toContain('planted')
      expect((await folder.run('echo "$PATH"')).stdout).not.toMatch(/^:|::|commands-/)
      await folder.load({ sandbox, env: { PATH: `${bin}:${path}` } })
      expect((await folder.run('ls')).stdout).toBe('planted\n')
      expect(linked.has('outside')).toBe(false)
    } finally {
      process.env['PATH'] = path
      linked.remove()
    }
  })

  it('has a private home that is empty each time', async () => {
    const { stdout } = await folder.run('ls -A "$HOME" "$TMPDIR"; touch "$HOME/left" && echo "$HOME"')
    expect(stdout).toMatch(sandbox === 'off' ? /holdfast-command-\w+\n$/ : /\/tmp\n$/)
    expect((await folder.run('ls -A "$HOME"')).stdout).not.toContain('left')
  })

  it('publishes output while it runs, in order', async () => {
    const seen = Promise.withResolvers<void>()
    const running = folder.run('echo one; echo two >&2; while [ ! -e go ]; do sleep 0.05; done; echo three', {
      onProgress: () => seen.resolve(),
    })
    await seen.promise
    writeFileSync(join(folder.path, 'go'), '')
    const { progress, stdout } = await running
    expect(progress.length).toBeGreaterThan(1)
    expect(textOf(progress)).toMatch(
      /^(stdout: one\nstderr: two\n|stderr: two\nstdout: one\n)stdout: three\n$/,
    )
    expect(stdout).toBe('one\nthree\n')
  })

  it('keeps escapes as they are, and says which bytes it could not keep', async () => {
    const { stdout, notes = [] } = await folder.run(
      String.raw`printf 'a\033[31mb\0c\377\342\202\n\342\202\254'`,
    )
    expect(stdout).toBe('a\u001b[31mb\0c\uFFFD\uFFFD\n€')
    expect(notes.filter((note) => note.includes('UTF-8'))).toHaveLength(1)
    const fine = await folder.run(String.raw`printf '\357\277\275 was there before'`)
    expect(fine.stdout).toBe('\uFFFD was there before')
    expect((fine.notes ?? []).filter((note) => note.includes('UTF-8'))).toEqual([])
  })

  it('may clean up when it is stopped', async () => {
    const cancel = new AbortController()
    const { stopped, stdout } = await folder.run(
      `trap 'echo cleaned; exit 9' TERM; echo ready; while :; do sleep 0.05; done`,
      { signal: cancel.signal, onProgress: () => cancel.abort() },
    )
    expect({ stopped, stdout }).toEqual({ stopped: 'cancelled', stdout: 'ready\ncleaned\n' })
  })

  it('is killed when it is cancelled, and says what it had written', async () => {
    const cancel = new AbortController()
    const { status, stopped, stdout } = await folder.run(`echo begun; sleep ${mark}`, {
      signal: cancel.signal,
      onProgress: () => cancel.abort(),
    })
    expect({ status, stopped, stdout }).toEqual({ status: 'error', stopped: 'cancelled', stdout: 'begun\n' })
    await expect.poll(() => processesWith(mark)).toEqual([])
  })

  it('ends with its shell, and takes background processes with it', async () => {
    expect(await folder.run(`nohup sleep ${mark} & sleep ${mark} & echo done`)).toMatchObject({
      status: 'ok',
      stdout: 'done\n',
    })
    await expect.poll(() => processesWith(mark)).toEqual([])
  })

  it('does not wait for a process that left the group and holds the output', async () => {
    const { status, stdout } = await folder.run(
      `setsid bash -c 'touch away; sleep ${mark}' & while [ ! -e away ]; do sleep 0.02; done; echo done`,
    )
    expect({ status, stdout }).toEqual({ status: 'ok', stdout: 'done\n' })
    // Without a sandbox it lives on, as the guide says.
    await expect.poll(() => processesWith(mark).length > 0).toBe(sandbox === 'off')
    for (const pid of processesWith(mark)) process.kill(pid, 'SIGKILL')
  })

  it('reports the signal that ended it', async () => {
    expect(await folder.run('kill -9 $$')).toMatchObject(
      sandbox === 'off'
        ? { status: 'error', exitCode: null, signal: 'SIGKILL' }
        : { status: 'error', exitCode: 137, notes: ['Exit code 137 is how a shell reports SIGKILL.'] },
    )
  })
})

it('output that just fits is returned whole, and one more character is left to the artifact', async () => {
  await folder.load({ sandbox: 'off' })
  const whole = await folder.run('head -c 16000 /dev/zero | tr "\\0" "é"')
  expect(whole.artifact).toBe(undefined)
  const fits = await folder.run('head -c 16000 /dev/zero | tr "\\0" "y"')
  expect([fits.stdout.length, fits.artifact]).toEqual([16_000, undefined])
  const over = await folder.run('head -c 16001 /dev/zero | tr "\\0" "y"')
  expect(over.stdout).toContain(
    '[… 1 characters were left out here; all of it: artifact command-output.call_1 …]',
  )
  expect((await over.artifacts.read('command-output.call_1')).content).toBe('y'.repeat(16_001))
})

describe('the sandbox', () => {
  it('is in the description, in the question and in the result if there is none', async () => {
    const tool = await folder.load({ sandbox: 'off' })
    expect(tool.description).toMatch(/There is no sandbox: it was switched off/)
    if (typeof tool.approve !== 'function') throw new Error('approve is no function')
    const call = {
      tool: tool.name,
      input: { command: 'ls\u202e' },
      callId: 'c',
      principal: { tenant: 't', actor: 'a' },
    }
    expect(await tool.approve(call)).toMatch(/^There is no sandbox: .* Run "ls\\u\{202e\}"\?$/)
    expect(await tool.preview?.(call.input, { signal: new AbortController().signal })).toBe('in .:\nls\u202e')
    expect((await folder.run('true')).notes).toEqual([
      "It ran without a sandbox: it was switched off (sandbox: 'off').",
    ])
  })

  it('asks for every command, too', async (context) => {
    context.skip(missing !== undefined, missing)
    const tool = await folder.load({ sandbox: 'required' })
    if (typeof tool.approve !== 'function') throw new Error('approve is no function')
    const call = {
      tool: tool.name,
      input: { command: 'ls' },
      callId: 'c',
      principal: { tenant: 't', actor: 'a' },
    }
    expect(await tool.approve(call)).toBe('Run "ls", in the sandbox?')
    const long = { ...call, input: { command: 'x'.repeat(5000), cwd: 'a' } }
    expect(await tool.approve(long)).toMatch(
      /^Run "x{4000}…" \(5000 characters; this is the beginning\) in "a", in/,
    )
    expect([tool.replay, tool.exclusive, tool.verify]).toEqual(['never', true, undefined])
    expect(tool.description).toMatch(/in a sandbox: .* no network/)
    expect((await folder.load({ sandbox: 'required', network: true })).description).toMatch(/network access/)
  })

  it.runIf(process.platform === 'linux')(
    'that is missing or forbidden is said, with the reason',
    async () => {
      const options = { root: folder.path, network: false, readable: [] }
      expect(await findSandbox({ ...options, candidates: ['/nonexistent/bwrap'] })).toEqual({
        kind: 'none',
        why: 'bwrap is not installed (Debian: apt-get install bubblewrap)',
      })
      const forbidden = join(folder.path, 'bwrap')
      writeFileSync(
        forbidden,
        '#!/bin/sh\necho "bwrap: No permissions to create new namespace" >&2\nexit 1\n',
        {
          mode: 0o755,
        },
      )
      expect(await findSandbox({ ...options, candidates: [forbidden] })).toEqual({
        kind: 'none',
        why: `${forbidden} does not work here: bwrap: No permissions to create new namespace`,
      })
    },
  )

  it.runIf(process.platform === 'linux')('that is required and impossible refuses to load', async () => {
    await expect(
      loadTools({ cwd: '/', toolIds: ['execute_command'], sandbox: 'required' }),
    ).rejects.toMatchObject({
      code: 'invalid-option',
      message: expect.stringMatching(/'required', and there is no sandbox: .*Make bubblewrap work/),
    })
    const others = await loadTools({ cwd: '/', toolIds: ['read_todo_list'], sandbox: 'required' })
    expect(others).toHaveLength(1)
  })

  it.each([
    [{ sandbox: 'yes' }, /sandbox must be/],
    [{ env: { A: 1 } }, /env must have texts/],
    [{ env: { 'A=B': 'c' } }, /env must have texts/],
    [{ readable: ['relative'] }, /readable must have absolute paths/],
    [{ readable: ['/'] }, /readable must have absolute paths/],
    [{ readable: ['/nonexistent/path'] }, /readable must have absolute paths/],
    [{ network: 'on' }, /network must be/],
  ])('options %o are refused', async (options, message) => {
    await expect(folder.load(options as never)).rejects.toThrow(message)
  })

  it('shows the paths of `readable`, and lets nobody write there', async (context) => {
    context.skip(missing !== undefined, missing)
    // Not in /dev, where the folders of tests may be: commands have devices of their own.
    const other = new CommandFolder('/var/tmp')
    writeFileSync(join(other.path, 'tool'), 'seen')
    await folder.load({ sandbox: 'required', readable: [other.path] })
    expect(await folder.run(`cat ${other.path}/tool; echo x > ${other.path}/tool`)).toMatchObject({
      stdout: 'seen',
      exitCode: 1,
    })
    expect(other.read('tool')).toBe('seen')
    other.remove()
  })
})

it('a command with a NUL character, and one that is too long, are refused before anything runs', async () => {
  await folder.load({ sandbox: 'off' })
  expect(await folder.run('touch ran\0')).toMatchObject({
    status: 'error',
    text: expect.stringMatching(/NUL/),
  })
  expect(await folder.run(`touch ran #${'😀'.repeat(39_000)}`)).toMatchObject({
    status: 'error',
    text: expect.stringMatching(
      /^The command has 156011 bytes, and at most 131071 can be run\. Write a script/,
    ),
  })
  const { input } = folder.tool ?? (await folder.load())
  const tooLong = await input['~standard'].validate({ command: 'x'.repeat(40_001) })
  expect(tooLong.issues).toHaveLength(1)
  expect(folder.has('ran')).toBe(false)
})
