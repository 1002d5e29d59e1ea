/** Real servers: those of npm over stdio and HTTP, and one of the newest protocol over both. */
import { spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join, resolve } from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import { toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler } from '@modelcontextprotocol/server'
import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../src/store/memory/index.ts'
import { bench, calls } from '../turn/kit.ts'
import { honest } from './fixture/honest.ts'
import { call, closed, connected, folder, isAlive, packaged, script } from './kit.ts'

/** The honest server over HTTP, on loopback. */
async function overHttp(record?: (line: string) => void): Promise<string> {
  const handler = toNodeHandler(createMcpHandler(() => honest(record)))
  const server = closed(
    createServer((request, response) => void handler(request as never, response)),
    (each) => {
      each.closeAllConnections()
      each.close()
    },
  )
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
}

it('a server learns the version of this package', async () => {
  let seen = ''
  const refuse = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await textOf(request)
    seen += body
    const { id = null } = (body === '' ? {} : JSON.parse(body)) as { readonly id?: unknown }
    const error = { code: -32_601, message: 'Method not found' }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ jsonrpc: '2.0', id, error }))
  }
  const server = closed(
    createServer((request, response) => void refuse(request, response)),
    (each) => each.close(),
  )
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as AddressInfo
  await connected({ s: { url: `http://127.0.0.1:${port}/mcp` } })
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly version: string }
  expect(seen).toContain(`{"name":"holdfast","version":"${version}"}`)
})

describe('servers of npm', () => {
  it('everything, filesystem and memory: content, schemas, progress, and an environment without ours', async () => {
    process.env['HOLDFAST_TEST_SECRET'] = 'hidden-4711'
    const here = folder()
    writeFileSync(join(here, 'note.txt'), 'buy cement')
    const mcp = await connected(
      {
        mcpServers: {
          all: {
            ...packaged('everything', 'stdio'),
            trust: true,
            resources: true,
            prompts: true,
            env: { SHOP_TOKEN: '${SHOP_TOKEN}', SHOP_FOLDER: '/srv/shop-folder' },
          },
          fs: { ...packaged('filesystem', here), transport: 'stdio' },
          memory: { ...packaged('memory'), env: { MEMORY_FILE_PATH: join(here, 'memory.json') } },
        },
      },
      { env: { SHOP_TOKEN: 'tk-1234567' } },
    )
    expect(mcp.status().map(({ name, state, protocolVersion }) => [name, state, protocolVersion])).toEqual([
      ['all', 'connected', '2025-11-25'],
      ['fs', 'connected', '2025-11-25'],
      ['memory', 'connected', '2025-11-25'],
    ])
    expect(await call(mcp, 'all_echo', { args: { message: 'hi' } })).toMatchObject({
      status: 'ok',
      output: 'Echo: hi',
    })
    expect(await call(mcp, 'all_echo', { args: { message: 1 } })).toMatchObject({
      status: 'rejected',
      output: { code: 'invalid-arguments' },
    })
    expect(await call(mcp, 'all_get-structured-content', { args: { location: 'Chicago' } })).toMatchObject({
      output: { temperature: 36, conditions: 'Light rain / drizzle', humidity: 82 },
    })
    expect(await call(mcp, 'all_get-tiny-image')).toMatchObject({
      output: [
        { type: 'text' },
        { type: 'image', mediaType: 'image/png', bytes: 4033, artifact: 'mcp-call_1-1' },
        { type: 'text' },
      ],
    })
    const environment = await call(mcp, 'all_get-env')
    expect(environment).toMatchObject({ status: 'ok', output: expect.stringContaining('PATH') })
    expect(JSON.stringify(environment)).not.toContain('hidden-4711')
    // A key in the config is for the server, not for the model and the journal.
    expect(JSON.stringify(environment)).not.toContain('tk-1234567')
    expect(JSON.stringify(environment)).toContain('/srv/shop-folder')
    const progress: unknown[] = []
    await call(mcp, 'all_trigger-long-running-operation', {
      args: { duration: 0.2, steps: 2 },
      progress: (value) => progress.push(value),
    })
    expect(progress[0]).toEqual({ progress: 1, total: 2 })
    expect(
      await call(mcp, 'all_read_resource', { args: { uri: 'demo://resource/dynamic/text/1' } }),
    ).toMatchObject({
      output: [
        {
          type: 'resource',
          uri: 'demo://resource/dynamic/text/1',
          text: expect.stringContaining('Resource 1'),
        },
      ],
    })
    expect(await mcp.getPrompt('all', 'simple-prompt')).toMatchObject({ messages: [{ role: 'user' }] })
    expect((await mcp.resources('all')).length).toBeGreaterThan(0)
    expect(await call(mcp, 'fs_read_text_file', { args: { path: join(here, 'note.txt') } })).toMatchObject({
      output: { content: 'buy cement' },
    })
    expect(await call(mcp, 'fs_read_text_file', { args: { path: '/etc/hostname' } })).toMatchObject({
      status: 'error',
      output: expect.stringContaining('Access denied'),
    })
    await call(mcp, 'memory_create_entities', {
      args: { entities: [{ name: 'Lyon', entityType: 'city', observations: ['on the Rhône'] }] },
    })
    expect(readFileSync(join(here, 'memory.json'), 'utf8')).toContain('Lyon')
    // Over stdio this server does not say which call a question belongs to.
    const together = await Promise.all([
      call(mcp, 'all_trigger-elicitation-request'),
      call(mcp, 'all_trigger-long-running-operation', { args: { duration: 0.2, steps: 1 } }),
      call(mcp, 'all_trigger-elicitation-request'),
    ])
    expect(together).toMatchObject([{ kind: 'asks' }, { status: 'ok' }, { kind: 'asks' }])
    const [asked] = together
    const name = 'requests' in asked ? (asked.requests[0]?.name ?? '') : ''
    expect(
      await call(mcp, 'all_trigger-elicitation-request', { answers: { [name]: { name: 'Ada' } } }),
    ).toMatchObject({
      status: 'ok',
      output: expect.stringContaining('- Name: Ada'),
    })
    const pids = mcp.status().map(({ pid }) => pid ?? 0)
    await mcp.close()
    expect(pids.map(isAlive)).toEqual([false, false, false])
  })

  it('everything over HTTP, with its questions and a session that it forgets', async () => {
    const preload = resolve('test/mcp/fixture/loopback.ts')
    const { command, args } = packaged('everything', 'streamableHttp')
    const start = async (port: number) => {
      const child = spawn(command, ['--import', preload, ...args], {
        env: { ...process.env, PORT: String(port) },
        stdio: ['ignore', 'ignore', 'pipe'],
      })
      const port$ = new Promise<number>((found) => {
        let text = ''
        child.stderr.on('data', (chunk: Buffer) => {
          text += chunk.toString()
          const [, bound] = /loopback:(\d+)/.exec(text) ?? []
          if (bound !== undefined) found(Number(bound))
        })
      })
      closed(child, () => child.kill('SIGKILL'))
      return { child, port: await port$ }
    }
    const first = await start(0)
    const mcp = await connected({
      all: { type: 'http', url: `http://127.0.0.1:${first.port}/mcp`, trust: true },
    })
    expect(await call(mcp, 'all_get-sum', { args: { a: 1, b: 2 } })).toMatchObject({
      output: 'The sum of 1 and 2 is 3.',
    })
    expect(await call(mcp, 'all_trigger-elicitation-request')).toMatchObject({
      kind: 'asks',
      requests: [{ kind: 'data', prompt: 'Please provide inputs for the following fields:' }],
    })
    first.child.kill('SIGKILL')
    await new Promise((exited) => first.child.once('exit', exited))
    expect(await call(mcp, 'all_get-sum', { args: { a: 1, b: 2 } })).toMatchObject({
      status: 'error',
      output: { error: expect.stringContaining('nothing was sent to it') },
    })
    await start(first.port)
    expect(await call(mcp, 'all_get-sum', { args: { a: 2, b: 2 } })).toMatchObject({
      output: 'The sum of 2 and 2 is 4.',
    })
  })
})

describe('a server of the newest protocol', () => {
  it('over HTTP: structured content, an error, and questions that a person answers', async () => {
    const ran: string[] = []
    const mcp = await connected({ own: { url: await overHttp((line) => ran.push(line)), trust: ['add'] } })
    expect(mcp.status()).toMatchObject([{ protocolVersion: '2026-07-28', transport: 'http' }])
    expect(await call(mcp, 'own_add', { args: { a: 2, b: 3 } })).toMatchObject({
      status: 'ok',
      output: { sum: 5 },
    })
    expect(await call(mcp, 'own_fail')).toMatchObject({
      status: 'error',
      output: expect.stringContaining('no such order'),
    })
    const { agent, model } = bench({
      realTime: true,
      store: memoryStore(),
      script: [calls(['own_greet', {}]), 'Done'],
      tools: mcp.tools,
    })
    const approval = await agent.executeTurn('Greet').outcome
    expect(approval.requests).toMatchObject([{ from: 'approval' }])
    const asked = await agent.answer({ [approval.requests[0]?.requestId ?? '']: true }).outcome
    expect(asked.requests).toMatchObject([
      { kind: 'data', prompt: 'Who is there?', about: { server: 'own', tool: 'greet' } },
    ])
    const done = await agent.answer({ [asked.requests[0]?.requestId ?? '']: { name: 'Ada' } }).outcome
    expect(done.text).toBe('Done')
    expect(JSON.stringify(model.calls.at(-1))).toContain('Hello Ada')
    const signIn = await call(mcp, 'own_sign_in')
    expect(signIn).toMatchObject({
      kind: 'asks',
      requests: [{ kind: 'auth', prompt: 'Sign in first\nhttps://example.com/sign-in?n=1' }],
    })
    const name = 'requests' in signIn ? (signIn.requests[0]?.name ?? '') : ''
    expect(await call(mcp, 'own_sign_in', { answers: { [name]: true } })).toMatchObject({
      output: 'Signed in',
    })
  })

  it('over stdio, killed in mid-call: unknown for a tool that may not be repeated, run again for one that may', async () => {
    for (const [tool, end] of [
      ['order', { status: 'unknown', output: { code: 'connection-lost' } }],
      ['look', { status: 'ok', output: 'look is done' }],
    ] as const) {
      const log = join(folder(), 'log')
      const mcp = await connected({ own: { ...script('honest.ts', 'stdio', log), trust: true } })
      expect(mcp.status()).toMatchObject([{ protocolVersion: '2026-07-28' }])
      // A change of its tools is seen by the next turn.
      await call(mcp, 'own_grow')
      await expect.poll(async () => (await mcp.tools()).map(({ name }) => name)).toContain('own_grown')
      const settled = call(mcp, `own_${tool}`)
      await expect.poll(() => existsSync(log)).toBe(true)
      process.kill(mcp.status()[0]?.pid ?? 0, 'SIGKILL')
      expect(await settled).toMatchObject(end)
      expect(readFileSync(log, 'utf8')).toBe(tool === 'order' ? 'hung\n' : 'hung\nlook\n')
      await mcp.close()
    }
  })
})
