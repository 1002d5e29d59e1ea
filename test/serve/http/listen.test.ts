import { execFile } from 'node:child_process'
import { connect } from 'node:net'
import { setImmediate as nextTick } from 'node:timers/promises'
import { promisify } from 'node:util'
import { getRequestListener } from '@hono/node-server'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { createHost } from '../../../src/host/index.ts'
import { defineTool, memoryStore } from '../../../src/index.ts'
import { createHttp, listen, type Mount, type MountCall } from '../../../src/serve/http/index.ts'
import { ScriptedModel } from '../../../src/testing/index.ts'
import { programFile } from '../../build/programs.ts'
import { until } from '../../turn/kit.ts'
import { open } from './kit.ts'

const agents = (...replies: string[]) => ({ a: { model: new ScriptedModel(replies) } })

/** The whole answer to bytes on a new connection. */
function answerTo(url: string, bytes: string): Promise<string> {
  const { port, hostname } = new URL(url)
  return new Promise((resolve) => {
    let text = ''
    const socket = connect(Number(port), hostname, () => socket.write(bytes))
    socket.on('data', (chunk) => {
      text += chunk.toString()
    })
    socket.on('close', () => resolve(text))
    socket.on('error', () => {})
  })
}

describe('a listening server', () => {
  test('is for this machine alone unless callers are authenticated', async () => {
    const http = await createHttp(createHost({ store: memoryStore(), agents: agents() }))
    for (const hostname of ['0.0.0.0', '::', '192.0.2.1', 'example.com', '127.0.0.1.example.com'])
      await expect(listen(http, { port: 0, hostname })).rejects.toMatchObject({ code: 'invalid-option' })
    const request = (host: string) => `GET /agents HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`
    const { url } = await open({ store: memoryStore(), agents: agents() })
    for (const host of ['localhost', 'localhost:80', '127.0.0.1', '[::1]:4700'])
      expect(await answerTo(url, request(host))).toContain('200 OK')
    // A page whose own name leads here has that name in Host.
    for (const host of ['evil.example', 'localhost.evil.example', '127.0.0.1.nip.io', '0.0.0.0'])
      expect(await answerTo(url, request(host))).toContain('400 Bad Request')
    const authenticate = () => ({ tenant: 'acme', actor: 'ann' })
    const known = await open({ store: memoryStore(), agents: agents() }, { authenticate })
    expect(await answerTo(known.url, request('agents.example'))).toContain('200 OK')
  })

  test('streams beside another server of @hono/node-server, which replaces Response in the whole process', async () => {
    const { Request: request, Response: response } = globalThis
    const printed = vi.spyOn(console, 'error').mockImplementation(() => {})
    onTestFinished(() => {
      Object.assign(globalThis, { Request: request, Response: response })
      printed.mockRestore()
    })
    getRequestListener(() => new Response('other'))
    const { call } = await open({ store: memoryStore(), agents: agents('Hi.') })
    const headers = { accept: 'text/event-stream' }
    const streamed = await call('/conversations/a:1/messages', { json: { message: 'Hi' }, headers })
    expect(await streamed.text()).toContain('turn.end')
    expect((await call('/agents')).status).toBe(200)
    expect(printed.mock.calls).toEqual([])
  })

  test('a request without an end is given up, in its headers and in its body', async () => {
    const config = { store: memoryStore(), agents: agents() }
    const { url } = await open(config, {}, { headersTimeoutMs: 100, requestTimeoutMs: 200 })
    const body =
      'POST /conversations HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{'
    for (const bytes of ['GET /agents HTTP/1.1\r\nX-Slow: ', body])
      expect(await answerTo(url, bytes)).toMatch(/408 Request Timeout[^]*"code":"timeout"/)
  })

  test('a client that leaves in the middle of its body is no failure of the server', async () => {
    const failed: unknown[] = []
    const lines: (string | undefined)[] = []
    const { url } = await open(
      { store: memoryStore(), agents: agents() },
      { onError: (error) => failed.push(error), accessLog: ({ code }) => lines.push(code) },
    )
    const { port, hostname } = new URL(url)
    const head =
      'POST /conversations HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n'
    for (const length of ['Content-Length: 9', 'Transfer-Encoding: chunked']) {
      const socket = connect(Number(port), hostname, () => socket.write(`${head}${length}\r\n\r\n`))
      // The server has read the head when it asks for the body.
      socket.once('data', () => socket.write('1\r\n{\r\n', () => socket.destroy()))
    }
    await until('both requests have ended', async () => lines.length === 2)
    expect([failed, lines]).toEqual([[], ['invalid-request', 'invalid-request']])
  })

  test('a stream ends with the server, a HEAD opens none, and each is released when its reader leaves', async () => {
    const { url, call, http, host } = await open(
      { store: memoryStore(), agents: agents('Hi.') },
      { maxStreamsEach: 2 },
    )
    await (await host.send({ tenant: 'local', actor: 'local', contextId: 'a:1' }, 'Hi')).outcome
    const openStreams = async () =>
      /holdfast_http_streams (\d+)/.exec(await (await call('/metrics')).text())?.[1]
    for (let at = 0; at < 5; at++)
      expect(
        (await call('/conversations/a:1/events', { method: 'HEAD' })).headers.get('content-type'),
      ).toContain('event-stream')
    expect(await openStreams()).toBe('0')
    const leaving = new AbortController()
    await call('/conversations/a:1/events', { signal: leaving.signal })
    const stream = await call('/conversations/a:1/events')
    expect((await call('/conversations/a:1/events')).status).toBe(429)
    leaving.abort()
    await until('it is released', async () => (await openStreams()) === '1')
    http.close()
    expect(await stream.text()).toContain('turn.end')
    expect((await fetch(`${url}/conversations/a:1/events`)).status).toBe(503)
  })

  test('a stream whose reader has left before it began is released', async () => {
    const reached = Promise.withResolvers<void>()
    const released = Promise.withResolvers<void>()
    const handle = async ({ request }: MountCall): Promise<Response> => {
      const left = new Promise((resolve) => request.signal.addEventListener('abort', resolve))
      reached.resolve()
      await left
      // The connection is gone before there is a response.
      await nextTick()
      const body = new ReadableStream({
        pull: (to) => to.enqueue(Buffer.from('x')),
        cancel: released.resolve,
      })
      return new Response(body, { headers: { 'x-accel-buffering': 'no' } })
    }
    const late: Mount = { name: 'late', routes: [{ method: 'GET', path: '/late', handle }] }
    const { call } = await open({ store: memoryStore(), agents: agents('Hi.') }, { mounts: [late] })
    const leaving = new AbortController()
    const left = call('/late', { signal: leaving.signal }).catch(() => {})
    await reached.promise
    leaving.abort()
    await left
    await expect(released.promise).resolves.toBeUndefined()
  })

  test('a caller that waits while the server shuts down is to send the request again', async () => {
    const gate = Promise.withResolvers<void>()
    const slow = defineTool({
      name: 'slow',
      description: 'Slow',
      input: z.object({}),
      run: () => gate.promise.then(() => 'ok'),
    })
    const model = new ScriptedModel([{ calls: [{ tool: 'slow', args: {} }] }])
    const { call, host } = await open({ store: memoryStore(), agents: { a: { model, tools: [slow] } } })
    const answer = call('/conversations/a:1/messages?wait=true', { json: { message: 'Hi' } })
    await until('the tool runs', async () => model.calls.length === 1 && host.load.running === 1)
    await until('it is stored', async () => (await host.store.scan())[0]?.seq === 6)
    const down = host.shutdown()
    gate.resolve()
    await down
    const response = await answer
    expect([response.status, await response.json()]).toEqual([
      503,
      expect.objectContaining({ code: 'shutdown' }),
    ])
  })

  test('a reader that takes nothing and an idle connection are disconnected, a caller that waits is not', async () => {
    const gate = Promise.withResolvers<void>()
    const turns = 12
    const replies = Array.from({ length: turns }, () => 'x'.repeat(1_000_000))
    const model = new ScriptedModel([...replies, () => gate.promise.then(() => 'late')])
    const config = { store: memoryStore(), agents: { a: { model } } }
    const { url, call } = await open(config, {}, { stallMs: 100 })
    const ask = () => call('/conversations/a:1/messages?wait=true', { json: { message: 'Hi' } })
    for (let turn = 0; turn < turns; turn++) await (await ask()).text()
    const waiting = ask()
    const { port, hostname } = new URL(url)
    const socket = connect(Number(port), hostname)
    socket.on('error', () => {}).write('GET /conversations/a:1/events HTTP/1.1\r\nHost: localhost\r\n\r\n')
    const streams = async () => /holdfast_http_streams (\d+)/.exec(await (await call('/metrics')).text())?.[1]
    await until('it is open', async () => (await streams()) === '1')
    await until('it is disconnected', async () => (await streams()) === '0')
    socket.destroy()
    const idle = await open({ store: memoryStore(), agents: agents() }, {}, { keepAliveMs: 100 })
    expect(await answerTo(idle.url, 'GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n')).toContain('200 OK')
    gate.resolve()
    expect((await waiting).status).toBe(200)
  })

  test('an open stream keeps nothing of the 1,000 events that it has sent', async () => {
    const program = programFile('test/serve/http/open-stream-process.ts')
    const { stdout } = await promisify(execFile)(process.execPath, [program])
    expect(Number(stdout)).toBeLessThan(100)
  })
})
