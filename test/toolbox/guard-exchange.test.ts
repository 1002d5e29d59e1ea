/** The address guard: TLS, and bounds of time, size, headers and types. Only loopback is ever dialled. */
import type { RequestListener } from 'node:http'
import { type AddressInfo, createServer, connect as netConnect, type Socket } from 'node:net'
import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ManualClock } from '../../src/testing/index.ts'
import { GuardedFetchError, type GuardedFetchOptions, guardedFetch } from '../../src/toolbox/index.ts'
import { AUTHORITY } from './certificate.ts'
import { internet, network, PUBLIC } from './web-kit.ts'

const URL_OF_ALL = 'http://a.example/'

async function failure(url: string, options: GuardedFetchOptions): Promise<GuardedFetchError> {
  const error: unknown = await guardedFetch(url, options).then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (error instanceof GuardedFetchError) return error
  throw new Error('no GuardedFetchError was thrown', { cause: error })
}

async function codeFor(listener: RequestListener, options: GuardedFetchOptions = {}): Promise<string> {
  const { web } = await internet(listener)
  return (await failure(URL_OF_ALL, { ...web, ...options })).code
}

/** A server that is no HTTP server: it gets the connection itself. */
async function rawServer(answer: (socket: Socket) => void): Promise<GuardedFetchOptions> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('data', () => answer(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  })
  return network((server.address() as AddressInfo).port).web
}

describe('TLS', () => {
  it('checks the name in the URL, not the address that is dialled', async () => {
    const { web, dialled } = await internet((request, response) => response.end(request.headers.host), {
      secure: true,
    })
    const options = { ...web, ca: AUTHORITY }
    for (const host of ['secure.example', 'secure.example.', 'a.wild.example', PUBLIC]) {
      const { status, body } = await guardedFetch(`https://${host}/`, options)
      expect([status, Buffer.from(body).toString()]).toEqual([200, host])
    }
    expect(new Set(dialled)).toEqual(new Set([`${PUBLIC} 443`]))
    for (const host of ['other.example', 'a.b.wild.example', 'wild.example', '1.1.1.1']) {
      const { code, cause } = await failure(`https://${host}/`, options)
      expect([host, code, (cause as NodeJS.ErrnoException).code]).toEqual([
        host,
        'unreachable',
        'ERR_TLS_CERT_ALTNAME_INVALID',
      ])
    }
  })

  it('refuses an authority that is not trusted, whatever the environment says', async () => {
    const { web } = await internet((_, response) => response.end(), { secure: true })
    const before = process.env['NODE_TLS_REJECT_UNAUTHORIZED']
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0'
    try {
      expect((await failure('https://secure.example/', web)).code).toBe('unreachable')
    } finally {
      if (before === undefined) delete process.env['NODE_TLS_REJECT_UNAUTHORIZED']
      else process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = before
    }
  })

  it('is not given up by a redirect', async () => {
    const { web } = await internet(
      (_, response) => response.writeHead(301, { location: 'http://secure.example/' }).end(),
      { secure: true },
    )
    const { code, message } = await failure('https://secure.example/', { ...web, ca: AUTHORITY })
    expect([code, message]).toEqual([
      'refused-redirect',
      '"secure.example" redirects from https to plain http, at "secure.example". That is not followed.',
    ])
  })
})

describe('a connection', () => {
  it('uses no proxy of the environment', async () => {
    const names = ['http_proxy', 'HTTP_PROXY', 'https_proxy', 'ALL_PROXY', 'NODE_USE_ENV_PROXY']
    const before = names.map((name) => process.env[name])
    for (const name of names) process.env[name] = name === 'NODE_USE_ENV_PROXY' ? '1' : 'http://127.0.0.1:9'
    try {
      const { web, dialled } = await internet((request, response) => response.end(request.url))
      const { body } = await guardedFetch('http://a.example/x?y#z', web)
      expect([Buffer.from(body).toString(), dialled]).toEqual(['/x?y', [`${PUBLIC} 80`]])
    } finally {
      for (const [at, name] of names.entries())
        if (before[at] === undefined) delete process.env[name]
        else process.env[name] = before[at]
    }
  })

  it('of the system goes to the given addresses', async () => {
    const { port } = await internet((_, response) => response.end('hello'))
    const origin = `http://app.test:${port}`
    const { body } = await guardedFetch(`${origin}/`, {
      allowOrigins: [{ origin, addresses: ['127.0.0.1', '::1'] }],
      // No server is at the first one.
      resolve: () => Promise.resolve(['::1', '127.0.0.1']),
    })
    expect(Buffer.from(body).toString()).toBe('hello')
    const refused = await failure(`http://127.0.0.1:${port}/`, {
      allowOrigins: [{ origin: `http://127.0.0.1:${port}` }],
    })
    expect(refused.code).toBe('refused-address')
  })

  it('that is refused or closed is an error', async () => {
    const { web } = network(undefined)
    expect((await failure(URL_OF_ALL, web)).code).toBe('unreachable')
    expect((await failure(URL_OF_ALL, await rawServer((socket) => socket.destroy()))).code).toBe(
      'bad-response',
    )
  })
})

describe('a body', () => {
  const page = Buffer.from('<p>hello</p>'.repeat(1000))
  const encodings: Record<string, Buffer> = {
    gzip: gzipSync(page),
    'x-gzip': gzipSync(page),
    br: brotliCompressSync(page),
    deflate: deflateSync(page),
    ' GZIP ': gzipSync(page),
    identity: page,
  }

  it('is decompressed', async () => {
    for (const [encoding, bytes] of [
      ...Object.entries(encodings),
      ['deflate', deflateRawSync(page)] as const,
    ]) {
      const { web } = await internet((_, response) =>
        response.writeHead(200, { 'content-encoding': encoding }).end(bytes),
      )
      expect([encoding, page.equals((await guardedFetch(URL_OF_ALL, web)).body)]).toEqual([encoding, true])
    }
  })

  it('is bounded before and after decompression', async () => {
    const bomb = Buffer.alloc(6_000_000)
    const bombs = {
      gzip: gzipSync(bomb),
      br: brotliCompressSync(bomb, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
      deflate: deflateSync(bomb),
    }
    for (const [encoding, bytes] of Object.entries(bombs)) {
      expect(bytes.length).toBeLessThan(100_000)
      expect([
        encoding,
        await codeFor((_, to) => to.writeHead(200, { 'content-encoding': encoding }).end(bytes)),
      ]).toEqual([encoding, 'too-large'])
    }
    const maxBytes = 1000
    expect(await codeFor((_, to) => to.end(Buffer.alloc(1001)), { maxBytes })).toBe('too-large')
    expect(
      await codeFor((_, to) => to.writeHead(200, { 'content-length': 1e12 }).write('x'), { maxBytes }),
    ).toBe('too-large')
    const endless: RequestListener = (_, to) => {
      const more = (): void => void (to.destroyed || (to.write(Buffer.alloc(65536)), setImmediate(more)))
      more()
    }
    expect(await codeFor(endless)).toBe('too-large')
    const { web } = await internet((_, to) => to.end(Buffer.alloc(1000)))
    expect((await guardedFetch(URL_OF_ALL, { ...web, maxBytes })).body.length).toBe(1000)
  })

  it.each(['GET', 'POST', 'DELETE'])('comes after the whole body of the request: %s', async (method) => {
    const { web } = await internet((request, response) => request.pipe(response))
    const { body } = await guardedFetch(URL_OF_ALL, { ...web, method, body: 'é' })
    expect(Buffer.from(body).toString()).toBe('é')
  })

  it('to HEAD has the headers of a body of any length, and none', async () => {
    const { web } = await internet((_, to) =>
      to.writeHead(200, { 'content-length': 1e12, 'content-type': 'image/png' }).end(),
    )
    for (const method of ['HEAD', 'head']) {
      const { status, headers, body } = await guardedFetch(URL_OF_ALL, { ...web, method })
      expect([status, headers['content-length'], body.length]).toEqual([200, '1000000000000', 0])
    }
  })

  it('in several or unknown encodings, damaged or broken off is an error', async () => {
    const twice = gzipSync(gzipSync(page))
    const broken: readonly (readonly [string, Buffer])[] = [
      ['gzip, gzip', twice],
      ['constructor', page],
      ['gzip', page],
      ['gzip', gzipSync(page).subarray(0, 40)],
      ['br', page],
    ]
    for (const [encoding, bytes] of broken)
      expect(await codeFor((_, to) => to.writeHead(200, { 'content-encoding': encoding }).end(bytes))).toBe(
        'bad-response',
      )
    const short = await rawServer((socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhell'))
    expect((await failure(URL_OF_ALL, short)).code).toBe('bad-response')
  })
})

it('a request has the method, the headers and the body of the caller', async () => {
  const { web } = await internet((request, response) => {
    const { host, 'content-type': type, 'content-length': length } = request.headers
    response.write(JSON.stringify([request.method, request.url, host, type, length]))
    request.pipe(response)
  })
  const options = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"é":1}' }
  const { body } = await guardedFetch('http://hooks.example/in?a=1#b', { ...web, ...options })
  expect(Buffer.from(body).toString()).toBe(
    '["POST","/in?a=1","hooks.example","application/json","8"]{"é":1}',
  )
})

describe('a response', () => {
  it('with endless or malformed headers is an error', async () => {
    const heads = [
      `HTTP/1.1 200 OK\r\n${'X-Long: y\r\n'.repeat(20_000)}`,
      `HTTP/1.1 200 OK\r\nX: ${'y'.repeat(100_000)}\r\n\r\n`,
      'SSH-2.0-OpenSSH_9.9\r\n\r\n',
      'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n',
    ]
    for (const head of heads) {
      const server = await rawServer((socket) => socket.end(head))
      expect([head.slice(0, 40), (await failure(URL_OF_ALL, server)).code]).toEqual([
        head.slice(0, 40),
        'bad-response',
      ])
    }
  })

  it('of a type that is not on the list is refused by name, before its body is read', async () => {
    const types = ['text/*', 'application/json', 'application/*+json']
    const seen: unknown[] = []
    for (const type of ['text/html; charset=x', 'TEXT/Plain', 'application/ld+json', 'application/json']) {
      const { web } = await internet((_, to) => to.writeHead(200, { 'content-type': type }).end('{}'))
      seen.push((await guardedFetch(URL_OF_ALL, { ...web, types })).mediaType)
    }
    expect(seen).toEqual(['text/html', 'text/plain', 'application/ld+json', 'application/json'])
    for (const type of ['application/pdf', 'application/jsonx', 'text', 'image/png', '']) {
      const { web } = await internet((_, to) =>
        to.writeHead(200, type === '' ? {} : { 'content-type': type }).write('endless'),
      )
      const { code, message } = await failure(URL_OF_ALL, { ...web, types })
      expect(code).toBe('refused-type')
      expect(message).toContain(`"${type || 'application/octet-stream'}"`)
    }
  })

  it('of any status is returned', async () => {
    const { web } = await internet((_, to) => to.writeHead(404, { 'retry-after': '7' }).end('gone'))
    expect(await guardedFetch(URL_OF_ALL, web)).toMatchObject({
      status: 404,
      headers: { 'retry-after': '7' },
    })
  })
})

describe('the time limit', () => {
  const slow: Record<string, (socket: Socket) => void> = {
    'a server that is silent': () => {},
    'a server that stops in its headers': (socket) => socket.write('HTTP/1.1 200 OK\r\nX: '),
    'a server that stops in its body': (socket) =>
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nh'),
    'a server that answers again and again': (socket) => {
      const more = (): void => {
        if (socket.destroyed) return
        socket.write('HTTP/1.1 100 Continue\r\n\r\n')
        setTimeout(more, 1)
      }
      more()
    },
  }

  for (const [name, answer] of Object.entries(slow))
    it(`ends ${name}`, async () => {
      const clock = new ManualClock()
      const { promise, resolve: reached } = Promise.withResolvers<Socket>()
      const web = await rawServer((socket) => {
        answer(socket)
        reached(socket)
      })
      const failed = failure(URL_OF_ALL, { ...web, timer: clock, timeoutMs: 30_000 })
      const socket = await promise
      const closed = new Promise((resolve) => socket.once('close', resolve))
      clock.advance(30_000)
      expect(await failed).toMatchObject({
        code: 'timeout',
        message: 'The response was not complete after 30000 ms.',
      })
      await closed
    })

  it('ends a server that sends one byte after another', async () => {
    const web = await rawServer((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n')
      const more = (): void => {
        if (!socket.destroyed) socket.write('x', () => setTimeout(more, 1))
      }
      more()
    })
    expect((await failure(URL_OF_ALL, { ...web, timeoutMs: 100 })).code).toBe('timeout')
  })

  it('ends a resolver, a connector and a handshake that never answer', async () => {
    const never = (): Promise<never> => new Promise(() => {})
    const { web } = network(undefined)
    const silent = await rawServer(() => {})
    for (const [url, options] of [
      [URL_OF_ALL, { ...web, resolve: never }],
      [URL_OF_ALL, { ...web, connect: never }],
      ['https://a.example/', silent],
    ] as const)
      expect((await failure(url, { ...options, timeoutMs: 20 })).code).toBe('timeout')
  })

  it('ends a connection that comes too late', async () => {
    const clock = new ManualClock()
    const { port } = await internet((_, response) => response.end())
    const [asked, late] = [Promise.withResolvers<void>(), Promise.withResolvers<Socket>()]
    const connect = (): Promise<Socket> => {
      asked.resolve()
      return late.promise
    }
    const failed = failure('https://a.example/', {
      ...network(undefined).web,
      connect,
      timer: clock,
      timeoutMs: 1000,
    })
    await asked.promise
    clock.advance(1000)
    expect((await failed).code).toBe('timeout')
    const socket = netConnect({ host: '127.0.0.1', port })
    const closed = new Promise((resolve) => socket.once('close', resolve))
    await new Promise<void>((resolve) => socket.once('connect', () => resolve()))
    late.resolve(socket)
    await closed
    expect(socket.bytesWritten).toBe(0)
  })

  it('is not the signal of the caller, whose reason is thrown', async () => {
    const controller = new AbortController()
    const web = await rawServer(() => controller.abort(new Error('stopped by the caller')))
    await expect(guardedFetch(URL_OF_ALL, { ...web, signal: controller.signal })).rejects.toThrow(
      'stopped by the caller',
    )
    await expect(guardedFetch(URL_OF_ALL, { ...web, signal: controller.signal })).rejects.toThrow(
      'stopped by the caller',
    )
  })
})
