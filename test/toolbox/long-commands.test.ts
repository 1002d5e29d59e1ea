/** Commands that take long or write much, side by side. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'vitest'
import { redactorOf } from '../../src/tool/index.ts'
import { CommandFolder, newMark, processesWith, whyNoSandbox } from './command-kit.ts'

const missing = await whyNoSandbox()

it.concurrent('a command is killed at its time limit with all that it started, also what ignores SIGTERM', async ({
  expect,
}) => {
  const sleep = `sleep ${newMark()}`
  const modes = missing === undefined ? (['required', 'off'] as const) : (['off'] as const)
  const run = async (sandbox: 'required' | 'off') => {
    const own = new CommandFolder()
    await own.load({ sandbox })
    const ran = await own.run(
      `trap '' TERM; echo begun; (trap '' TERM; ${sleep}) & nohup ${sleep} & ${sleep}`,
      { timeout_ms: 500 },
    )
    own.remove()
    return ran
  }
  for (const { status, stopped, stdout, notes } of await Promise.all(modes.map(run))) {
    expect({ status, stopped }).toEqual({ status: 'error', stopped: 'timeout' })
    expect(stdout).toMatch(/^(begun\n)?$/)
    expect(notes?.[0]).toMatch(/killed after 500 ms/)
  }
  await expect.poll(() => processesWith(sleep.slice(6))).toEqual([])
})

it.concurrent('a command that writes 100 MB returns its beginning and its end, and keeps 8 MB as an artifact', async ({
  expect,
}) => {
  const own = new CommandFolder()
  await own.load({ sandbox: missing === undefined ? 'required' : 'off' })
  const {
    status,
    stdout,
    stderr,
    artifact,
    notes = [],
    progress,
    artifacts,
  } = await own.run(
    'echo first; echo warned >&2; yes "$(printf %099d 0)" | head -c 100000000; echo; echo last',
  )
  expect(status).toBe('ok')
  expect(stdout.length).toBeLessThan(17_000)
  expect(stdout).toMatch(
    /^first\n0{99}\n[^]*\[… \d+ characters were left out here; all of it: artifact [^]*last\n$/,
  )
  expect(stderr).toBe('warned\n')
  const { content, info } = await artifacts.read(artifact ?? '')
  expect(info).toMatchObject({ kind: 'file', complete: true })
  expect((content as string).length).toBeGreaterThan(8_000_000)
  expect((content as string).length).toBeLessThan(8_500_000)
  expect((content as string).slice(0, 200)).toContain('first\n')
  expect(notes.join()).toMatch(/first 8388608 characters of the output; \d+ more were dropped/)
  expect(JSON.stringify(progress).length).toBeLessThan(2_000_000)
  own.remove()
})

it.concurrent('a credential in the output is in no result, progress or artifact', async ({ expect }) => {
  const own = new CommandFolder()
  await own.load({ sandbox: 'off' })
  const secret = 'sk-4f9a8b7c6d5e4f3a2b1c'
  writeFileSync(join(own.path, 'token'), secret)
  const { stdout, text, progress, artifacts } = await own.run('yes "line $(cat token)" | head -n 3000', {
    secrets: redactorOf({ token: secret }),
  })
  const { content } = await artifacts.read('command-output.call_1')
  for (const written of [stdout, text, JSON.stringify(progress), content as string]) {
    expect(written).toContain('line ')
    expect(written).not.toContain(secret)
  }
  own.remove()
})

it.concurrent('a credential at the place where a long line is cut is in no result', async ({ expect }) => {
  const own = new CommandFolder()
  await own.load({ sandbox: 'off' })
  const secret = 'sk-4f9a8b7c6d5e4f3a2b1c'
  writeFileSync(join(own.path, 'token'), secret)
  const { stdout, text } = await own.run('printf %07988d 0; cat token; printf %09000d 0', {
    secrets: redactorOf({ token: secret }),
  })
  expect(stdout).toMatch(
    /^0{7988}\[redacted\]…\n\[… 1011 characters were left out here; [^\n]+ …\]\n0{8000}$/,
  )
  expect(text).not.toContain(secret.slice(0, 8))
  own.remove()
})
