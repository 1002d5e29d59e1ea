/**
 * A server of Node around the fetch handler, bounded against slow and greedy connections. Answers that Node itself would
 * give to malformed requests are problems, too.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, BlockList, isIP } from 'node:net'
import type { Duplex } from 'node:stream'
import {
  checkOptions,
  HoldfastError,
  invalidOption,
  type OptionSet,
  quote,
  shown,
} from '../../protocol/index.ts'
import { badRequest, type Problem, problemOf, problemResponse } from '../problem.ts'
import type { HttpServer } from './app.ts'
import { nodeServer } from './packages.ts'
import { writingStreams } from './stream-writer.ts'

export interface ListenOptions {
  /** Default: 4700. 0 is any free port. */
  readonly port?: number
  /** The address to bind. Default: 127.0.0.1. Others need `authenticate`. */
  readonly hostname?: string
  /** The most connections at once. Default: 12,000. */
  readonly maxConnections?: number
  /** The limit for the headers of a request. Default: 10 s. */
  readonly headersTimeoutMs?: number
  /** The limit for a whole request, its body included. Default: 30 s. */
  readonly requestTimeoutMs?: number
  /** A connection without a request is closed after so long. Default: 5 s. */
  readonly keepAliveMs?: number
  /** A reader that takes nothing for so long is disconnected. Default: 60 s. */
  readonly stallMs?: number
}

export interface HttpListener {
  readonly url: string
  readonly port: number
  /** Accepts nothing more, ends open streams, and waits for requests under way, at most `graceMs` (10 s). */
  close(graceMs?: number): Promise<void>
}

const LISTEN: OptionSet<ListenOptions> = {
  place: 'listen()',
  options: {
    port: { least: 0 },
    hostname: 'a text',
    maxConnections: { least: 1 },
    headersTimeoutMs: { leastMs: 1 },
    requestTimeoutMs: { leastMs: 1 },
    keepAliveMs: { leastMs: 1 },
    stallMs: { leastMs: 1 },
  },
  foreign: { host: 'hostname', address: 'hostname' },
}

const MAX_HEADER_BYTES = 16 * 1024
const MAX_REQUESTS_PER_SOCKET = 10_000
const GRACE_MS = 10_000

/** Serves until it is closed. Rejects if the address is taken, or if it is not a loopback address and nobody is authenticated. */
export async function listen(http: HttpServer, options: ListenOptions = {}): Promise<HttpListener> {
  if (typeof (http as Partial<HttpServer> | undefined)?.fetch !== 'function')
    throw invalidOption(
      'listen()',
      `needs a server first, made by await createHttp(host), not ${shown(http)}`,
    )
  checkOptions(options, LISTEN)
  const { port = 4700, hostname = '127.0.0.1' } = options
  const isLocal = isLoopback(hostname)
  if (!isLocal && !http.isAuthenticated)
    throw new HoldfastError('invalid-option', {
      message: `${quote(hostname)} can be reached from other machines, and this server authenticates nobody. Set authenticate, such as apiKeyAuth([…]) or await bearerAuth({ … }) of holdfast/http, or listen on 127.0.0.1.`,
    })
  const { getRequestListener } = await nodeServer()
  const fetch = http.isAuthenticated ? http.fetch : localOnly(http.fetch)
  const server = serverWith(
    getRequestListener(writingStreams(fetch), {
      overrideGlobalObjects: false,
      errorHandler: (error) => problemResponse(requestProblem(error)),
    }),
    options,
  )
  await bind(server, port, hostname)
  const { port: bound } = server.address() as AddressInfo
  return {
    url: `http://${isIP(hostname) === 6 ? `[${hostname}]` : hostname}:${bound}`,
    port: bound,
    close: (graceMs = GRACE_MS) => closeServer(server, http, graceMs),
  }
}

type Listener = (request: IncomingMessage, response: ServerResponse) => unknown

function serverWith(listener: Listener, options: ListenOptions): Server {
  const { maxConnections = 12_000, headersTimeoutMs = 10_000, requestTimeoutMs = 30_000 } = options
  const answering = new Answering()
  const server = createServer(
    {
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: headersTimeoutMs,
      requestTimeout: Math.max(headersTimeoutMs, requestTimeoutMs),
      connectionsCheckingInterval: Math.max(50, Math.min(5000, headersTimeoutMs / 2)),
      keepAliveTimeout: options.keepAliveMs ?? 5000,
      // A request without it is answered below, with a problem.
      requireHostHeader: false,
    },
    (request, response) => {
      answering.add(response)
      void listener(request, response)
    },
  )
  server.maxConnections = maxConnections
  server.maxRequestsPerSocket = MAX_REQUESTS_PER_SOCKET
  // A socket after its requests is idle, one with unread output is stalled; any other waits for a turn, which may take long.
  server.setTimeout(options.stallMs ?? 60_000, (socket) => {
    if (socket.writableLength > 0 || answering.isIdle(socket)) socket.destroy()
  })
  server.on('checkExpectation', (_, response) => writeProblem(response, EXPECTATION))
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable || !answering.isFree(socket)) socket.destroy()
    else socket.end(rawProblem(CLIENT_ERRORS[error.code ?? ''] ?? MALFORMED))
  })
  return server
}

/** Answers under way, by connection: an answer to a malformed request must not be read as a part of another. */
class Answering {
  readonly #open = new WeakMap<Duplex, Set<ServerResponse>>()

  add(response: ServerResponse): void {
    const { socket } = response.req
    const open = this.#open.get(socket) ?? new Set()
    this.#open.set(socket, open.add(response))
    response.once('close', () => open.delete(response))
  }

  /** True after the last answer; before the first request, the limit for headers counts. */
  isIdle(socket: Duplex): boolean {
    return this.#open.get(socket)?.size === 0
  }

  /** True if nothing is under way but the request that is malformed itself, in its body. */
  isFree(socket: Duplex): boolean {
    const [first, ...more] = this.#open.get(socket) ?? []
    if (first === undefined) return true
    return more.length === 0 && !first.headersSent && !first.req.complete
  }
}

const MALFORMED: Problem = { status: 400, code: 'invalid-request', detail: 'This is no valid HTTP request.' }
const EXPECTATION: Problem = {
  status: 417,
  code: 'invalid-request',
  detail: 'Only Expect: 100-continue is known.',
}
const CLIENT_ERRORS: Readonly<Record<string, Problem>> = {
  HPE_HEADER_OVERFLOW: {
    status: 431,
    code: 'too-large',
    detail: `The headers may have ${MAX_HEADER_BYTES} bytes.`,
  },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: {
    status: 413,
    code: 'too-large',
    detail: 'The chunk extensions are too long.',
  },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, code: 'timeout', detail: 'The request came too slowly.' },
}

function requestProblem(error: unknown): Problem {
  return error instanceof Error && error.name === 'RequestError' ? MALFORMED : problemOf(error)
}

function rawProblem(problem: Problem): string {
  const { status, title, body } = plainProblem(problem)
  return `HTTP/1.1 ${status} ${title}\r\nContent-Type: application/problem+json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`
}

function writeProblem(response: ServerResponse, problem: Problem): void {
  const { status, body } = plainProblem(problem)
  response.writeHead(status, { 'content-type': 'application/problem+json', connection: 'close' }).end(body)
}

function plainProblem({ status, code, detail }: Problem) {
  const title = { 400: 'Bad Request', 408: 'Request Timeout', 413: 'Content Too Large' }[status] ?? 'Refused'
  return { status, title, body: JSON.stringify({ type: 'about:blank', title, status, code, detail }) }
}

/** Without authentication, a page whose name resolves to this machine must not reach the agents: its name is in Host. */
function localOnly(fetch: HttpServer['fetch']): HttpServer['fetch'] {
  return async (request, connection) => {
    if (isLoopback(new URL(request.url).hostname)) return fetch(request, connection)
    return problemResponse(
      badRequest('Without authentication, call this server as localhost or by its loopback address.').problem,
    )
  }
}

const LOOPBACK = new BlockList()
LOOPBACK.addSubnet('127.0.0.0', 8)
LOOPBACK.addAddress('::1', 'ipv6')

function isLoopback(hostname: string): boolean {
  const name = hostname.replace(/^\[(.*)\]$/, '$1')
  const version = isIP(name)
  return version === 0 ? name === 'localhost' : LOOPBACK.check(name, version === 6 ? 'ipv6' : 'ipv4')
}

function bind(server: Server, port: number, hostname: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, hostname, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

async function closeServer(server: Server, http: HttpServer, graceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  http.close()
  server.closeIdleConnections()
  const until = performance.now() + graceMs
  // A connection becomes idle when its answer has ended, and one may have been accepted in the last moment.
  const sweep = setInterval(() => {
    if (performance.now() < until) server.closeIdleConnections()
    else server.closeAllConnections()
  }, 20)
  await closed
  clearInterval(sweep)
}
