/** Servers over HTTP: lost connections, messages that are too large, cancellation, access by OAuth. */
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ClientCredentialsProvider } from '@modelcontextprotocol/client'
import { toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { systemTimer } from '../../src/base/index.ts'
import { entity } from '../../src/grounding/index.ts'
import { call, closed, connected } from './kit.ts'

interface Listening {
  readonly origin: string
  readonly dropAll: () => void
}

async function listening(listener: RequestListener): Promise<Listening> {
  const server = closed(createServer(listener), (each) => {
    each.closeAllConnections()
    each.close()
  })
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  const { port } = server.address() as AddressInfo
  return { origin: `http://127.0.0.1:${port}`, dropAll: () => server.closeAllConnections() }
}

const text = (value: string) => ({ content: [{ type: 'text' as const, text: value }] })

interface Shop {
  readonly started: PromiseWithResolvers<void>
  readonly aborted: PromiseWithResolvers<void>
  readonly release: PromiseWithResolvers<void>
}

function shop({ started, aborted, release }: Shop): McpServer {
  const server = new McpServer({ name: 'shop', version: '1' })
  server.registerTool('wait', { inputSchema: z.object({}) }, async (_, { mcpReq }) => {
    mcpReq.signal.addEventListener('abort', () => aborted.resolve())
    started.resolve()
    await new Promise(() => {})
    return text('never')
  })
  server.registerTool('hold', { inputSchema: z.object({}) }, async () => {
    started.resolve()
    await release.promise
    return text('held')
  })
  server.registerTool('big', { inputSchema: z.object({}) }, () => text('x'.repeat(11 * 1024 * 1024)))
  server.registerTool('long', { inputSchema: z.object({}) }, () => text('y'.repeat(100_000)))
  server.registerTool(
    'projects',
    {
      inputSchema: z.object({ projectId: z.string().optional() }),
      outputSchema: z.object({ projects: z.array(z.object({ id: z.string(), name: z.string() })) }),
    },
    () => ({
      ...text('[]'),
      structuredContent: { projects: [{ id: 'prj-1', name: 'Lyon' }] },
    }),
  )
  return server
}

function shopEvents(): Shop {
  return {
    started: Promise.withResolvers(),
    aborted: Promise.withResolvers(),
    release: Promise.withResolvers(),
  }
}

async function open(): Promise<Listening & Shop> {
  const events = shopEvents()
  const handler = toNodeHandler(createMcpHandler(() => shop(events)))
  return { ...(await listening((request, response) => void handler(request as never, response))), ...events }
}

const DISPATCHER = Symbol.for('undici.globalDispatcher.1')

/** Requests of `fetch` that set no time limits of their own have these. */
function fetchGivesUpAfter(ms: number): void {
  expect(Headers).toBeTypeOf('function')
  const globals = globalThis as unknown as Record<symbol, { dispatch: (...args: object[]) => boolean }>
  const own = closed(globals[DISPATCHER], (before) => {
    globals[DISPATCHER] = before as NonNullable<typeof before>
  })
  globals[DISPATCHER] = {
    dispatch: (options = {}, ...others) =>
      own?.dispatch({ headersTimeout: ms, bodyTimeout: ms, ...options }, ...others) === true,
  }
}

/** What a server of bare HTTP says of itself and of its tools. */
function rawAnswers(names: readonly string[], more: object = {}): Record<string, object> {
  return {
    initialize: {
      protocolVersion: '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: 'raw', version: '1' },
    },
    'tools/list': { tools: names.map((name) => ({ name, inputSchema: { type: 'object' }, ...more })) },
  }
}

describe('a call over HTTP', () => {
  it('may take longer than fetch would wait for an answer', async () => {
    fetchGivesUpAfter(20)
    const { origin, started, release } = await open()
    const silent = await listening(() => {})
    const mcp = await connected({ shop: { url: `${origin}/mcp` } })
    const settled = call(mcp, 'shop_hold')
    await started.promise
    await expect(fetch(silent.origin)).rejects.toThrow('fetch failed')
    release.resolve()
    expect(await settled).toMatchObject({ status: 'ok', output: 'held' })
  })

  it('whose connection is lost has an unknown outcome', async () => {
    const { origin, started, dropAll } = await open()
    const mcp = await connected({ shop: { url: `${origin}/mcp` } })
    const settled = call(mcp, 'shop_wait')
    await started.promise
    dropAll()
    expect(await settled).toMatchObject({ status: 'unknown', output: { code: 'connection-lost' } })
    expect(await call(mcp, 'shop_long')).toMatchObject({ status: 'ok' })
  })

  it('that is cancelled is cancelled at the server, too', async () => {
    const { origin, started, aborted } = await open()
    const mcp = await connected({ shop: { url: `${origin}/mcp` } })
    const stop = new AbortController()
    const settled = call(mcp, 'shop_wait', { signal: stop.signal })
    await started.promise
    stop.abort()
    expect(await settled).toMatchObject({ status: 'unknown', output: { code: 'cancelled' } })
    await aborted.promise
  })

  it('fails at a message that is too large, and keeps a long text as an artifact', async () => {
    const { origin } = await open()
    const mcp = await connected({ shop: { url: `${origin}/mcp` } })
    expect(await call(mcp, 'shop_big')).toMatchObject({
      status: 'unknown',
      output: { error: expect.stringContaining('more than 10485760 bytes') },
    })
    expect(await call(mcp, 'shop_long')).toMatchObject({
      status: 'ok',
      output: { artifact: 'mcp-call_1-1', bytes: 100_000, beginning: 'y'.repeat(2000) },
    })
  })

  it('is lost with a stream that breaks off, and a tool that is safe to repeat runs again', async () => {
    const answers: Record<string, object> = {
      ...rawAnswers(['endless', 'empty', 'flaky'], { annotations: { readOnlyHint: true } }),
      'tools/call': text('at last'),
    }
    let flaky = 0
    const { origin } = await listening((request, response) => {
      let body = ''
      request.on('data', (chunk: Buffer) => {
        body += chunk.toString()
      })
      request.on('end', () => {
        const {
          id,
          method = '',
          params,
        } = JSON.parse(body || '{}') as {
          readonly id?: number
          readonly method?: string
          readonly params?: { readonly name?: string }
        }
        if (request.method !== 'POST') return response.writeHead(405).end()
        if (id === undefined) return response.writeHead(202).end()
        flaky += params?.name === 'flaky' ? 1 : 0
        if (method !== 'tools/call' || flaky === 2) {
          const result = answers[method]
          const said = result === undefined ? { error: { code: -32_601, message: 'no' } } : { result }
          return response
            .writeHead(200, { 'content-type': 'application/json' })
            .end(JSON.stringify({ jsonrpc: '2.0', id, ...said }))
        }
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        if (params?.name !== 'endless') return response.end(': nothing\n\n')
        const more = (): void => {
          while (response.write(`data: ${'x'.repeat(64 * 1024)}\n`)) if (response.destroyed) return
        }
        response.on('drain', more)
        return more()
      })
    })
    const mcp = await connected({ raw: { url: `${origin}/mcp`, trust: ['flaky'] } })
    expect(mcp.status()).toMatchObject([{ state: 'connected', tools: 3, protocolVersion: '2025-06-18' }])
    const lost = {
      status: 'unknown',
      output: { code: 'connection-lost', error: expect.stringContaining('Its answer broke off.') },
    }
    const ends = ['raw_endless', 'raw_empty', 'raw_flaky'].map((name) => call(mcp, name))
    expect(await Promise.all(ends)).toMatchObject([lost, lost, { status: 'ok', output: 'at last' }])
    expect(mcp.status()[0]?.problems.join('\n')).toContain('more than 10485760 bytes')
  })

  it('is resumed where its stream breaks off, and lost if the server does not resume it', async () => {
    const ids = new Map<string, number>()
    const resumed: string[] = []
    const held = { opened: Promise.withResolvers<void>(), closed: Promise.withResolvers<void>() }
    const { origin } = await listening((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        const last = request.headers['last-event-id']
        const stream = { 'content-type': 'text/event-stream' }
        if (typeof last === 'string') resumed.push(last)
        if (last === 'kept') {
          const result = { jsonrpc: '2.0', id: ids.get(last), result: text('at last') }
          return response.writeHead(200, stream).end(`data: ${JSON.stringify(result)}\n\n`)
        }
        if (last === 'held') {
          response.on('close', held.closed.resolve)
          response.writeHead(200, stream).flushHeaders()
          return held.opened.resolve()
        }
        if (request.method !== 'POST') return response.writeHead(last === 'forgotten' ? 404 : 405).end()
        const { id, method, params } = JSON.parse(Buffer.concat(chunks).toString() || '{}') as {
          readonly id?: number
          readonly method?: string
          readonly params?: { readonly name: string }
        }
        if (id === undefined) return response.writeHead(202).end()
        if (method === 'tools/call') {
          const name = params?.name ?? ''
          ids.set(name, id)
          return response.writeHead(200, stream).end(`id: ${name}\nretry: 10\ndata:\n\n`)
        }
        const results = rawAnswers(['kept', 'forgotten', 'never', 'held'])
        const result = results[method ?? '']
        const said = result === undefined ? { error: { code: -32_601, message: 'no' } } : { result }
        response.writeHead(200, { 'content-type': 'application/json' })
        return response.end(JSON.stringify({ jsonrpc: '2.0', id, ...said }))
      })
    })
    const mcp = await connected({ raw: { url: `${origin}/mcp` } })
    const lost = {
      status: 'unknown',
      output: { code: 'connection-lost', error: expect.stringContaining('Its answer broke off.') },
    }
    const ends = ['raw_kept', 'raw_forgotten', 'raw_never'].map((name) => call(mcp, name))
    expect(await Promise.all(ends)).toMatchObject([{ status: 'ok', output: 'at last' }, lost, lost])
    expect(resumed.toSorted()).toEqual(['forgotten', 'forgotten', 'kept', 'never'])
    const stop = new AbortController()
    const cancelled = call(mcp, 'raw_held', { signal: stop.signal })
    await held.opened.promise
    stop.abort()
    expect(await cancelled).toMatchObject({ status: 'unknown', output: { code: 'cancelled' } })
    // Nothing follows a stream whose call has ended.
    await held.closed.promise
  })

  it('runs once where the server has no sessions, whatever status it answers with', async () => {
    const ran: string[] = []
    const { origin } = await listening((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        const { id, method, params } = JSON.parse(Buffer.concat(chunks).toString() || '{}') as {
          readonly id?: number
          readonly method?: string
          readonly params?: { readonly name: string }
        }
        if (request.method !== 'POST') return response.writeHead(405).end()
        if (id === undefined) return response.writeHead(202).end()
        if (method === 'tools/call') {
          ran.push(params?.name ?? '')
          return response.writeHead(Number(params?.name)).end('no such order')
        }
        const results: Record<string, object> = {
          initialize: {
            protocolVersion: '2025-06-18',
            capabilities: { tools: {} },
            serverInfo: { name: 'raw', version: '1' },
          },
          'tools/list': {
            tools: ['400', '404', '503'].map((name) => ({ name, inputSchema: { type: 'object' } })),
          },
        }
        const result = results[method ?? '']
        const said = result === undefined ? { error: { code: -32_601, message: 'no' } } : { result }
        response.writeHead(200, { 'content-type': 'application/json' })
        return response.end(JSON.stringify({ jsonrpc: '2.0', id, ...said }))
      })
    })
    const mcp = await connected({ raw: { url: `${origin}/mcp` } })
    const refused = { status: 'error', output: { error: expect.stringContaining('refused the call') } }
    expect(await call(mcp, 'raw_400')).toMatchObject(refused)
    expect(await call(mcp, 'raw_404')).toMatchObject(refused)
    expect(await call(mcp, 'raw_503')).toMatchObject({ status: 'unknown' })
    expect(ran).toEqual(['400', '404', '503'])
  })

  it('has the ids that the config marks', async () => {
    const { origin } = await open()
    const project = entity('project', { pattern: /^prj-/ })
    const mcp = await connected({
      shop: {
        url: `${origin}/mcp`,
        tools: ['projects', 'long'],
        grounding: {
          projects: {
            input: { projectId: project },
            returns: { 'projects[]': { entity: project, id: 'id', label: 'name' } },
          },
          long: { input: { nothing: project } },
          project: { input: { projectId: project } },
        },
      },
    })
    const [tool] = await mcp.tools()
    expect(JSON.stringify(tool?.parameters)).toContain('"x-entity":"project"')
    const output = { projects: [{ id: 'prj-1', name: 'Lyon' }] }
    expect(tool?.grounding?.seen?.(output, {})).toMatchObject([{ entity: 'project', id: 'prj-1' }])
    // A guard that cannot be put in place leaves no tool without it.
    expect(mcp.status()).toMatchObject([
      {
        tools: 1,
        problems: [
          'It has no tool "project".',
          expect.stringContaining('"long" is left out: The arguments of "shop_long" have no "nothing"'),
        ],
      },
    ])
  })
})

describe('a list of resources or prompts for a model', () => {
  it('has the first 200, and says how many are left out', async () => {
    const library = (): McpServer => {
      const server = new McpServer({ name: 'library', version: '1' })
      for (let at = 0; at < 203; at += 1) {
        server.registerPrompt(`p${at}`, {}, () => ({ messages: [] }))
        server.registerResource(`r${at}`, `lib://${at}`, {}, () => ({ contents: [] }))
      }
      return server
    }
    const handler = toNodeHandler(createMcpHandler(library))
    const { origin } = await listening((request, response) => void handler(request as never, response))
    const mcp = await connected({ lib: { url: `${origin}/mcp`, resources: true, prompts: true } })
    for (const kind of ['resources', 'prompts'])
      expect(await call(mcp, `lib_list_${kind}`)).toMatchObject({
        status: 'ok',
        output: { [kind]: Array.from({ length: 200 }, () => ({ name: expect.any(String) })), more: 3 },
      })
  })
})

describe('a server that wants OAuth', () => {
  it('gets a token of the authorisation server by the provider of the config', async () => {
    const handler = toNodeHandler(createMcpHandler(() => shop(shopEvents())))
    const seen: string[] = []
    const json = (response: ServerResponse, body: object, status = 200) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    }
    const answer = (request: IncomingMessage, response: ServerResponse): void => {
      const { url = '', headers } = request
      if (url.startsWith('/.well-known/oauth-protected-resource'))
        return json(response, { resource: `${origin}/mcp`, authorization_servers: [origin] })
      if (url.startsWith('/.well-known/'))
        return json(response, {
          issuer: origin,
          authorization_endpoint: `${origin}/authorize`,
          token_endpoint: `${origin}/token`,
          response_types_supported: ['code'],
          grant_types_supported: ['client_credentials'],
          token_endpoint_auth_methods_supported: ['client_secret_basic'],
        })
      if (url === '/token') {
        seen.push(`token ${headers.authorization ?? ''}`)
        return json(response, { access_token: 'at-1', token_type: 'Bearer', expires_in: 3600 })
      }
      if (headers.authorization !== 'Bearer at-1') {
        seen.push('refused')
        response.setHeader(
          'www-authenticate',
          `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`,
        )
        return json(response, { error: 'invalid_token' }, 401)
      }
      void handler(request as never, response)
    }
    const { origin } = await listening(answer)
    const authProvider = new ClientCredentialsProvider({
      clientId: 'me',
      clientSecret: 'cs-1',
      expectedIssuer: origin,
    })
    const mcp = await connected({ shop: { url: `${origin}/mcp`, authProvider } })
    expect(await call(mcp, 'shop_long')).toMatchObject({ status: 'ok' })
    expect(seen).toEqual(['refused', `token Basic ${Buffer.from('me:cs-1').toString('base64')}`])
    const without = await connected({ shop: { url: `${origin}/mcp` } })
    expect(without.status()).toMatchObject([
      {
        state: 'failed',
        tools: 0,
        error: 'It wants authorisation. Set `headers`, or `authProvider` in a program.',
      },
    ])
  })

  it('that refuses the token in mid-session gets a new one, and the call takes the time that it needs', async () => {
    const events = shopEvents()
    const handler = toNodeHandler(createMcpHandler(() => shop(events)))
    let token = 1
    const { origin } = await listening((request, response) => {
      const isKnown = request.headers.authorization === `Bearer at-${token}`
      if (isKnown) void handler(request as never, response)
      else response.writeHead(401).end('{}')
    })
    const asked: number[] = []
    const authProvider = {
      token: async () => `at-${asked.length + 1}`,
      onUnauthorized: async () => void asked.push(token),
    }
    const mcp = await connected({ shop: { url: `${origin}/mcp`, authProvider } })
    const timers = closed(vi.spyOn(systemTimer, 'after'), (spy) => spy.mockRestore())
    token = 2
    const settled = call(mcp, 'shop_hold')
    await events.started.promise
    // Of the answer that is still to come, no stream has ended.
    for (const [, act] of timers.mock.calls.filter(([ms]) => ms === 2000)) act()
    events.release.resolve()
    expect(await settled).toMatchObject({ status: 'ok', output: 'held' })
    expect(asked).toEqual([2])
  })
})
