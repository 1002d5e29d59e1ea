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
  /** Called when the answer of a call begins; returns a function to call when its stream has ended for good. */
  readonly watchCall: () => () => void
}

export function httpTransport(
  sdk: Pick<ClientSdk, 'StreamableHTTPClientTransport'>,
  options: HttpTransportOptions,
): HttpTransport {
  const { url, headers, authProvider } = options.target
  return new sdk.StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { ...headers } },
    fetch: watchedFetch(options),
    ...(authProvider === undefined
      ? {}
      : { authProvider: authProvider as NonNullable<HttpOptions['authProvider']> }),
  })
}

function watchedFetch({ maxMessageBytes, watchCall, longestMs }: HttpTransportOptions): typeof fetch {
  const patient = patientRequests(longestMs)
  return async (input, init) => {
    const isCall = typeof init?.body === 'string' && init.body.includes('"method":"tools/call"')
    // Other requests are streams of reports, which are opened again.
    const response = await fetch(input, init?.method === 'POST' ? { ...init, ...patient } : init)
    if (response.body === null) return response
    // A refusal is no answer that could break off: the call fails by its status, or is sent again with a new token.
    const onEnd = isCall && response.ok ? watchCall() : () => {}
    const isStream = response.headers.get('content-type')?.includes('text/event-stream') === true
    const body = watched(response.body, { meter: new Meter(maxMessageBytes, isStream), onEnd })
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

interface Watch {
  readonly meter: Meter
  readonly onEnd: () => void
}

/** The same bytes, which fail at a message that is too long. The package itself does not notice a stream that breaks off. */
function watched(body: ReadableStream<Uint8Array>, { meter, onEnd }: Watch): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  return new ReadableStream({
    pull: async (controller) => {
      try {
        const { done, value } = await reader.read()
        if (!done) {
          meter.add(value)
          controller.enqueue(value)
          return
        }
        controller.close()
      } catch (error) {
        void reader.cancel(error).catch(() => {})
        controller.error(error)
      }
      if (!meter.isResumable) onEnd()
    },
    cancel: (reason) => reader.cancel(reason),
  })
}

const LINE_FEED = 10
const RETURN = 13
/** `i`, `d`, `:`. */
const ID_FIELD = [105, 100, 58]

/** Measures the messages of a body: the events of a stream, or else the whole body. */
class Meter {
  /** True if events have ids: then the package resumes the stream. */
  isResumable = false
  readonly #most: number
  readonly #isStream: boolean
  #bytes = 0
  /** The position in the line. */
  #column = 0
  #isIdSoFar = true

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

  #addToEvent(byte: number): void {
    this.#bytes += 1
    if (byte === RETURN) return
    if (byte === LINE_FEED) {
      // A blank line ends an event.
      if (this.#column === 0) this.#bytes = 0
      this.#column = 0
      this.#isIdSoFar = true
      return
    }
    this.#isIdSoFar &&= byte === ID_FIELD[this.#column]
    this.#column += 1
    if (this.#isIdSoFar && this.#column === ID_FIELD.length) this.isResumable = true
  }
}
