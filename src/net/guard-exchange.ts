/**
 * One request and its response over one new connection to a checked address. Bounds the headers, the type and the body.
 * Must not resolve names.
 */
import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import { isIP, connect as netConnect, type Socket } from 'node:net'
import { connect as tlsConnect } from 'node:tls'
import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate, inflateRaw } from 'node:zlib'
import { quote } from '../protocol/index.ts'
import { GuardedFetchError, hostOf } from './guard-target.ts'

export interface ConnectTarget {
  /** The checked addresses; nothing else may be dialled. */
  readonly addresses: readonly string[]
  readonly port: number
  readonly signal: AbortSignal
}

/** Resolves to a connected socket, or rejects. */
export type ConnectAddress = (target: ConnectTarget) => Promise<Socket>

export interface Request {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array | undefined
  readonly types: readonly string[]
  readonly maxBytes: number
  readonly readBody: boolean
  readonly ca: string | undefined
  readonly connect: ConnectAddress
  readonly addresses: readonly string[]
  readonly signal: AbortSignal
}

export interface Exchange {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly mediaType: string
  readonly body: Uint8Array
  readonly location?: string
}

const MAX_HEADER_BYTES = 16 * 1024

export async function exchange(url: URL, request: Request): Promise<Exchange> {
  const socket = await openSocket(url, request)
  try {
    const response = await sendRequest(url, request, socket)
    return await readResponse(response, request)
  } finally {
    socket.destroy()
  }
}

async function openSocket(url: URL, request: Request): Promise<Socket> {
  const { addresses, signal, connect } = request
  const isSecure = url.protocol === 'https:'
  const port = url.port === '' ? (isSecure ? 443 : 80) : Number(url.port)
  let socket: Socket
  try {
    socket = await connect({ addresses, port, signal })
  } catch (error) {
    // No cause: its message has the address, and a tool's result the messages of all causes.
    const { code } = (error ?? {}) as { readonly code?: unknown }
    throw unreachable(url, `does not answer${typeof code === 'string' ? ` (${code})` : ''}`)
  }
  socket.on('error', () => {})
  if (signal.aborted) {
    socket.destroy()
    throw signal.reason
  }
  return isSecure ? secureSocket(url, socket, request) : socket
}

export const systemConnect: ConnectAddress = ({ addresses, port, signal }) =>
  new Promise((resolve, reject) => {
    const found = addresses.map((address) => ({ address, family: isIP(address) }))
    const socket = netConnect({
      // A name that only the pinned lookup knows: whatever it answers, no resolver is asked.
      host: 'checked.invalid',
      port,
      signal,
      autoSelectFamily: true,
      lookup: (_host, { all }, done) => {
        const [first] = found
        if (all) done(null, found)
        else done(null, first?.address ?? '', first?.family)
      },
    })
    socket.once('connect', () => resolve(socket))
    socket.on('error', reject)
  })

/** TLS for the name in the URL, whatever address is dialled, and whatever NODE_TLS_REJECT_UNAUTHORIZED is. */
function secureSocket(url: URL, socket: Socket, { ca, signal }: Request): Promise<Socket> {
  const host = hostOf(url).replace(/\.$/, '')
  return new Promise((resolve, reject) => {
    const secure = tlsConnect({
      socket,
      host,
      ...(isIP(host) === 0 ? { servername: host } : {}),
      ...(ca === undefined ? {} : { ca }),
      rejectUnauthorized: true,
      ALPNProtocols: ['http/1.1'],
    })
    const abort = (): void => void secure.destroy()
    signal.addEventListener('abort', abort)
    secure.once('close', () => {
      signal.removeEventListener('abort', abort)
      socket.destroy()
      reject(unreachable(url, 'has closed the connection'))
    })
    secure.once('secureConnect', () => resolve(secure))
    secure.on('error', (error) => reject(unreachable(url, 'has no valid certificate, or no TLS', error)))
  })
}

function sendRequest(url: URL, request: Request, socket: Socket): Promise<IncomingMessage> {
  const { method, headers, body, signal } = request
  return new Promise((resolve, reject) => {
    const sent = httpRequest({
      createConnection: () => socket,
      method,
      path: `${url.pathname}${url.search}`,
      headers: {
        accept: '*/*',
        'user-agent': 'holdfast',
        ...headers,
        // Node gives the bodies of GET and DELETE no length by itself, and servers would not read them.
        ...(body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }),
        host: url.host,
        'accept-encoding': 'gzip, br, deflate',
        connection: 'close',
      },
      maxHeaderSize: MAX_HEADER_BYTES,
      insecureHTTPParser: false,
      signal,
    })
    sent.once('response', resolve)
    sent.on('error', (error) => reject(badResponse('is no HTTP', error)))
    sent.once('close', () => reject(badResponse('was not sent')))
    sent.end(body)
  })
}

const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308]

async function readResponse(response: IncomingMessage, request: Request): Promise<Exchange> {
  const { headers, statusCode: status = 0 } = response
  const mediaType = mediaTypeOf(headers)
  if (REDIRECTS.includes(status) && headers.location !== undefined)
    return { status, headers, mediaType, body: new Uint8Array(), location: utf8(headers.location) }
  if (!isEmpty(response) && !request.types.some((type) => matches(type, mediaType)))
    throw new GuardedFetchError(
      'refused-type',
      `The response has the type ${quote(mediaType)}. Accepted are ${request.types.join(', ')}.`,
    )
  const hasBody = request.readBody && request.method !== 'HEAD'
  if (!hasBody) return { status, headers, mediaType, body: new Uint8Array() }
  const encoded = await readBody(response, request.maxBytes)
  return { status, headers, mediaType, body: await decoded(encoded, headers, request.maxBytes) }
}

/** A response that has no content by its status or its headers, and so no type. */
function isEmpty({ statusCode, headers }: IncomingMessage): boolean {
  return statusCode === 204 || statusCode === 304 || headers['content-length'] === '0'
}

/** Header values arrive as Latin-1; servers write addresses in UTF-8. */
function utf8(location: string): string {
  return Buffer.from(location, 'latin1').toString('utf8')
}

function mediaTypeOf({ 'content-type': type = '' }: IncomingHttpHeaders): string {
  const [mediaType = ''] = type.split(';')
  return mediaType.trim().toLowerCase() || 'application/octet-stream'
}

/** True for the type itself, and for a pattern with one `*`. */
function matches(pattern: string, mediaType: string): boolean {
  const [start = '', end] = pattern.split('*')
  if (end === undefined) return start === mediaType
  return (
    mediaType.length >= start.length + end.length && mediaType.startsWith(start) && mediaType.endsWith(end)
  )
}

async function readBody(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  if (Number(response.headers['content-length'] ?? 0) > maxBytes) throw tooLarge(maxBytes)
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > maxBytes) throw tooLarge(maxBytes)
      chunks.push(chunk)
    }
  } catch (error) {
    throw error instanceof GuardedFetchError ? error : badResponse('broke off', error)
  }
  return Buffer.concat(chunks)
}

type Decompress = (bytes: Buffer, options: { readonly maxOutputLength: number }) => Promise<Buffer>

const [unzip, unbrotli, undeflate, undeflateRaw] = [
  promisify(gunzip),
  promisify(brotliDecompress),
  promisify(inflate),
  promisify(inflateRaw),
] as readonly Decompress[] as readonly [Decompress, Decompress, Decompress, Decompress]

const DECOMPRESS: Readonly<Record<string, Decompress>> = {
  gzip: unzip,
  'x-gzip': unzip,
  br: unbrotli,
  // Some servers leave out the header of zlib, whose low four bits are 8.
  deflate: (bytes, options) => (((bytes[0] ?? 0) & 15) === 8 ? undeflate : undeflateRaw)(bytes, options),
}

/** Several codings over each other are refused: only bombs need them. */
async function decoded(
  bytes: Buffer,
  { 'content-encoding': header = 'identity' }: IncomingHttpHeaders,
  maxBytes: number,
): Promise<Uint8Array> {
  const coding = header.trim().toLowerCase()
  if (coding === 'identity' || bytes.length === 0) return bytes
  const decompress = Object.hasOwn(DECOMPRESS, coding) ? DECOMPRESS[coding] : undefined
  if (decompress === undefined) throw badResponse(`has the encoding ${quote(coding)}, which is not known`)
  try {
    return await decompress(bytes, { maxOutputLength: maxBytes })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(maxBytes)
    throw badResponse('cannot be decompressed', error)
  }
}

function unreachable(url: URL, why: string, cause?: unknown): GuardedFetchError {
  return new GuardedFetchError('unreachable', `${quote(url.host)} ${why}.`, cause)
}

function badResponse(why: string, cause?: unknown): GuardedFetchError {
  return new GuardedFetchError('bad-response', `The response ${why}.`, cause)
}

function tooLarge(maxBytes: number): GuardedFetchError {
  return new GuardedFetchError('too-large', `The response has more than ${maxBytes} bytes.`)
}
