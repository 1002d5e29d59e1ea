/** MCP in the terminal: servers of a file for an agent, and an agent as a server for a client. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { expect, it } from 'vitest'
import { launch } from '../cli/gate/world.ts'
import { cleanEnv, LAUNCH } from '../cli/kit.ts'
import { until } from '../turn/kit.ts'
import { call, closed, connected, folder, script } from './kit.ts'

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

it('holdfast mcp serves an agent to a client, and other processes find its conversations', async () => {
  const cwd = folder()
  const env = { HOLDFAST_HOME: cwd }
  const mcp = await connected({
    clerk: { command: process.execPath, args: [...LAUNCH, 'mcp', CONFIG], cwd, env },
  })
  expect(mcp.status()).toMatchObject([{ protocolVersion: '2026-07-28', tools: 2 }])
  const args = { message: 'call ask_user', conversation: 'c-1' }
  expect(await call(mcp, 'clerk_send_message', { args })).toMatchObject({
    kind: 'asks',
    requests: [
      { kind: 'data', prompt: 'Which colour?', schema: { properties: { answer: { type: 'string' } } } },
    ],
  })
  await mcp.close()
  const answered = await runIn(cwd, '--context', 'c-1', '--answer', 'blue')
  expect(answered).toMatchObject({ code: 0, stdout: expect.stringContaining('blue') })
})

it('a client of holdfast mcp goes on with its conversation after kill -9 in the middle of a call, whose effect is one', async () => {
  const cwd = folder()
  const effects = join(cwd, 'effects.log')
  const start = async () => {
    const client = closed(new Client({ name: 'test', version: '1' }), (each) => each.close())
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [...LAUNCH, 'mcp', CONFIG],
      cwd,
      env: cleanEnv({ HOLDFAST_HOME: cwd }) as Record<string, string>,
    })
    await client.connect(transport)
    const send = async (message: string) => {
      const sent = { message, conversation: 'c-1' }
      const { structuredContent } = await client.callTool({ name: 'send_message', arguments: sent })
      return structuredContent as { readonly status: string; readonly text: string }
    }
    return { send, pid: transport.pid ?? 0 }
  }
  const first = await start()
  expect(await first.send('My name is Ada.')).toMatchObject({ text: 'Hello.' })
  const lost = first.send('call act').catch((error: unknown) => error)
  await until('the effect has happened', () => existsSync(effects) && readFileSync(effects, 'utf8') !== '')
  process.kill(first.pid, 'SIGKILL')
  expect(await lost).toBeInstanceOf(Error)

  const second = await start()
  const { status, text } = await second.send('recall')
  expect(status).toBe('completed')
  expect(text).toContain('My name is Ada.')
  expect(text).toMatch(/"toolName":"act".*whether it happened is unknown/)
  expect(readFileSync(effects, 'utf8')).toBe('acted\n')
})
