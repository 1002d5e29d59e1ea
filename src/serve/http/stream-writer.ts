/**
 * Writes endless responses to Node's own response, in a loop. @hono/node-server reads a body by a chain of promises that
 * each keep the next, so a stream that stays open would cost memory for every event that it has ever sent.
 */
import type { ServerResponse } from 'node:http'
import { isStream } from '../sse-response.ts'
import type { HttpConnection } from './address.ts'
import type { HttpServer } from './app.ts'

/** The sign of @hono/node-server for a response that is written already. */
const ALREADY_SENT = { 'x-hono-already-sent': 'true' }

/** Passed on by @hono/node-server. */
interface NodeConnection extends HttpConnection {
  readonly outgoing: unknown
}

export function writingStreams(fetch: HttpServer['fetch']) {
  return async (request: Request, connection: NodeConnection): Promise<Response> => {
    const response = await fetch(request, connection)
    if (!isStream(response) || response.body === null) return response
    const { status, headers, body } = response
    await writeStream(
      body,
      (connection.outgoing as ServerResponse).writeHead(status, Object.fromEntries(headers)),
    )
    // A clone is always the platform's: @hono/node-server may have replaced Response, and overlooks the header in its own.
    return new Response(null, { headers: ALREADY_SENT }).clone()
  }
}

/** A reader that leaves cancels the body at once, also while it has nothing to send. A body that fails cuts the connection. */
async function writeStream(body: ReadableStream<Uint8Array>, outgoing: ServerResponse): Promise<void> {
  outgoing.flushHeaders()
  const reader = body.getReader()
  const leave = (): void => void reader.cancel().catch(() => {})
  outgoing.once('close', leave)
  // A reader that left before there was a response closes nothing any more.
  if (outgoing.destroyed) leave()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done || outgoing.destroyed) break
      if (!outgoing.write(value)) await drained(outgoing)
    }
    outgoing.end()
  } catch {
    outgoing.destroy()
  } finally {
    outgoing.off('close', leave)
  }
}

function drained(outgoing: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const go = (): void => {
      outgoing.off('drain', go).off('close', go)
      resolve()
    }
    outgoing.on('drain', go).on('close', go)
    if (outgoing.destroyed) go()
  })
}
