/** MCP in the terminal: servers of a file for an agent, and an agent as a server for a client. */
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, it } from 'vitest'
import { launch } from '../cli/gate/world.ts'
import { LAUNCH } from '../cli/kit.ts'
import { call, connected, folder, script } from './kit.ts'

const CONFIG = resolve('test/mcp/fixture/agent.config.ts')

const runIn = (cwd: string, ...args: readonly string[]) =>
  launch({ args: ['run', '--config', CONFIG, ...args], isTTY: false, cwd })

it('run --mcp gives an agent the tools of servers, asks first, and shows where a tool is from', async () => {
  const cwd = folder()
  const file = join(cwd, 'mcp.json')
  const servers = {
    'ev\u001b[31mil': script('liar.ts', 'tools'),
    gone: { command: 'no-such-command' },
  }
  writeFileSync(file, JSON.stringify({ mcpServers: servers }))
  const run = (...args: string[]) => runIn(cwd, '--mcp', 'mcp.json', '--context', 'c', ...args)
  const asked = await run('call garbage')
  expect(asked).toMatchObject({ code: 5 })
  expect(asked.stderr).toContain(
    'mcp:gone: It cannot be started: there is no command "no-such-command" in PATH.',
  )
  expect(asked.stderr).toMatch(/tool +ev_31mil_garbage_[0-9a-f]{8}\n +origin +mcp:ev<U\+001B>\[31mil/)
  expect(asked.stderr).toMatch(/to answer: holdfast run .* --mcp mcp\.json --context c --answer yes/)
  const done = await run('--answer', 'yes')
  expect(done).toMatchObject({ code: 0, stdout: expect.stringContaining('and yet it works') })
  expect(done.stderr).toMatch(/✓ ev_31mil_garbage_[0-9a-f]{8} mcp:ev<U\+001B>\[31mil → and yet it works/)
  const wrong = await runIn(cwd, '--mcp', 'nope.json', 'hi')
  expect(wrong).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('nope.json cannot be read (ENOENT)'),
  })
})

it('holdfast mcp serves an agent to a client; other processes find its conversations, also one that is started again', async () => {
  const cwd = folder()
  const env = { HOLDFAST_HOME: cwd }
  const start = () =>
    connected({ clerk: { command: process.execPath, args: [...LAUNCH, 'mcp', CONFIG], cwd, env } })
  let mcp = await start()
  expect(mcp.status()).toMatchObject([{ protocolVersion: '2026-07-28', tools: 2 }])
  const send = (message: string) =>
    call(mcp, 'clerk_send_message', { args: { message, conversation: 'c-1' } })
  expect(await send('call ask_user')).toMatchObject({
    kind: 'asks',
    requests: [
      { kind: 'data', prompt: 'Which colour?', schema: { properties: { answer: { type: 'string' } } } },
    ],
  })
  await mcp.close()
  const answered = await runIn(cwd, '--context', 'c-1', '--answer', 'blue')
  expect(answered).toMatchObject({ code: 0, stdout: expect.stringContaining('blue') })
  mcp = await start()
  expect(await send('Hi')).toMatchObject({ status: 'ok', output: { conversation: 'c-1', text: 'Hello.' } })
})
