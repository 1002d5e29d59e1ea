/**
 * Streamable HTTP to a server, with a bound on each message, and word of streams that end. Redirects stay at the server's
 * origin.
 */
import type { HttpTarget } from './config.ts'
import type { ClientSdk } from './sdk.ts'

export type HttpTransport = InstanceType<ClientSdk['StreamableHTTPClientTransport']>
type HttpOptions = NonNullable<ConstructorParameters<ClientSdk['StreamableHTTPClientTransport']>[1]>

export interface HttpTransportOptions {
  readonly target: HttpTarget
  readonly maxMessageBytes: number
  /** The longest that a request may take. */
  readonly longestMs: number
  /** The call that is being sent. */
  readonly currentCall: () => SentCall | undefined
}

/** A call, as its transport knows it. */
export interface SentCall {
  /** Aborts when the call has ended: then nothing reads its stream, or resumes it. */
  readonly ended: AbortSignal
  /** The stream of its answer has ended, and is not resumed. */
  readonly onStreamEnd: () => void
}

export function httpTransport(
  sdk: Pick<ClientSdk, 'StreamableHTTPClientTransport'>,
  options: HttpTransportOptions,
): HttpTransport {
  const { url, headers, authProvider } = options.target
  const transport = new sdk.StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { ...headers } },
    fetch: boundedFetch(options),
    ...(authProvider === undefined
      ? {}
      : { authProvider: authProvider as NonNullable<HttpOptions['authProvider']> }),
  })
  const send = transport.send.bind(transport)
  transport.send = (message, more) =>
    send(message, withStream(isCall(message) ? options.currentCall() : undefined, more))
  return transport
}

type SendOptions = Parameters<HttpTransport['send']>[1]

/** The client of the package passes nothing on by which a call would notice that its stream has ended. */
function withStream(call: SentCall | undefined, options: SendOptions): SendOptions {
  if (call === undefined) return options
  const { requestSignal = call.ended } = options ?? {}
  return {
    ...options,
    requestSignal: AbortSignal.any([requestSignal, call.ended]),
    onRequestStreamEnd: call.onStreamEnd,
  }
}

function isCall(message: Parameters<HttpTransport['send']>[0]): boolean {
  return 'method' in message && message.method === 'tools/call'
}

function boundedFetch({ maxMessageBytes, longestMs }: HttpTransportOptions): typeof fetch {
  const patient = patientRequests(longestMs)
  return async (input, init) => {
    // Other requests are streams of reports, which are opened again.
    const response = await fetch(input, init?.method === 'POST' ? { ...init, ...patient } : init)
    if (response.body === null) return response
    const isStream = response.headers.get('content-type')?.includes('text/event-stream') === true
    const body = bounded(response.body, new Meter(maxMessageBytes, isStream))
    const { status, statusText, headers } = response
    const copy = new Response(body, { status, statusText, headers })
    Object.defineProperty(copy, 'url', { value: response.url })
    return copy
  }
}

type Dispatcher = NonNullable<RequestInit['dispatcher']>

/** The requests of this Node's `fetch` go there. It may be a proxy of the program. */
const DISPATCHER = Symbol.for(
  `undici.globalDispatcher.${Number.parseInt(process.versions['undici'] ?? '', 10) < 8 ? 1 : 2}`,
)

/**
 * The `fetch` of Node gives a request up after 5 minutes without a byte of its answer; the limits of a call may be longer.
 * Nothing changes where `fetch` is another.
 */
function patientRequests(longestMs: number): Pick<RequestInit, 'dispatcher'> {
  const current = (): Dispatcher | undefined =>
    (globalThis as { readonly [name: symbol]: Dispatcher | undefined })[DISPATCHER]
  // The first look at `Headers` loads the `fetch` of Node, and with it the dispatcher.
  if (typeof Headers !== 'function' || current() === undefined) return {}
  const limits = { headersTimeout: longestMs, bodyTimeout: longestMs }
  const dispatch: Dispatcher['dispatch'] = (options, handler) =>
    current()?.dispatch({ ...options, ...limits }, handler) === true
  return { dispatcher: { dispatch } as Dispatcher }
}

/** The same bytes, which fail at a message that is too long. */
function bounded(body: ReadableStream<Uint8Array>, meter: Meter): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  return new ReadableStream({
    pull: async (controller) => {
      try {
        const { done, value } = await reader.read()
        if (done) return controller.close()
        meter.add(value)
        controller.enqueue(value)
      } catch (error) {
        void reader.cancel(error).catch(() => {})
        controller.error(error)
      }
    },
    cancel: (reason) => reader.cancel(reason),
  })
}

const LINE_FEED = 10
const RETURN = 13

/** Measures the messages of a body: the events of a stream, or else the whole body. */
class Meter {
  readonly #most: number
  readonly #isStream: boolean
  #bytes = 0
  #isAtLineStart = true

  constructor(most: number, isStream: boolean) {
    this.#most = most
    this.#isStream = isStream
  }

  add(chunk: Uint8Array): void {
    if (this.#isStream) for (const byte of chunk) this.#addToEvent(byte)
    else this.#bytes += chunk.length
    if (this.#bytes > this.#most)
      throw new Error(`The server sent a message of more than ${this.#most} bytes.`)
  }

  /** A blank line ends an event. */
  #addToEvent(byte: number): void {
    this.#bytes += 1
    if (byte === RETURN) return
    if (byte === LINE_FEED && this.#isAtLineStart) this.#bytes = 0
    this.#isAtLineStart = byte === LINE_FEED
  }
}
