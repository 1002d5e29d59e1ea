/** Streamable HTTP to a server, with a bound on each message. Redirects stay at the server's origin. */
import type { HttpTarget } from './config.ts'
import type { ClientSdk } from './sdk.ts'

export type HttpTransport = InstanceType<ClientSdk['StreamableHTTPClientTransport']>
type HttpOptions = NonNullable<ConstructorParameters<ClientSdk['StreamableHTTPClientTransport']>[1]>

export function httpTransport(
  sdk: Pick<ClientSdk, 'StreamableHTTPClientTransport'>,
  { url, headers, authProvider }: HttpTarget,
  maxMessageBytes: number,
): HttpTransport {
  return new sdk.StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { ...headers } },
    fetch: boundedFetch(maxMessageBytes),
    ...(authProvider === undefined
      ? {}
      : { authProvider: authProvider as NonNullable<HttpOptions['authProvider']> }),
  })
}

/** A fetch whose response body fails at a message that is too long: an event of a stream, or else the whole body. */
function boundedFetch(most: number): typeof fetch {
  return async (input, init) => {
    const response = await fetch(input, init)
    if (response.body === null) return response
    const isStream = response.headers.get('content-type')?.includes('text/event-stream') === true
    const body = response.body.pipeThrough(bounded(most, isStream))
    const { status, statusText, headers } = response
    const copy = new Response(body, { status, statusText, headers })
    Object.defineProperty(copy, 'url', { value: response.url })
    return copy
  }
}

const LINE_FEED = 10
const RETURN = 13

function bounded(most: number, isStream: boolean): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0
  let isLineEmpty = false
  return new TransformStream({
    transform: (chunk, controller) => {
      if (!isStream) bytes += chunk.length
      else
        for (const byte of chunk) {
          bytes += 1
          // A blank line ends an event.
          if (byte === LINE_FEED && isLineEmpty) bytes = 0
          if (byte !== RETURN) isLineEmpty = byte === LINE_FEED
        }
      if (bytes > most) controller.error(new Error(`The server sent a message of more than ${most} bytes.`))
      else controller.enqueue(chunk)
    },
  })
}
