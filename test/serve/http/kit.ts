/** A host over HTTP on loopback, for tests: a real server and the real fetch. */
import { afterEach } from 'vitest'
import { createHost, type Host, type HostConfig } from '../../../src/host/index.ts'
import {
  createHttp,
  type HttpOptions,
  type HttpServer,
  type ListenOptions,
  listen,
} from '../../../src/serve/http/index.ts'

const closing: (() => Promise<unknown>)[] = []

afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

export interface Frame {
  readonly event: string
  readonly id?: number
  readonly data: Record<string, unknown>
}

export interface Opened {
  readonly host: Host
  readonly http: HttpServer
  readonly url: string
  readonly call: (path: string, init?: RequestInit & { readonly json?: unknown }) => Promise<Response>
  readonly close: () => Promise<void>
}

export async function open(
  config: HostConfig,
  options: HttpOptions = {},
  listening: ListenOptions = {},
): Promise<Opened> {
  const host = createHost(config)
  const http = await createHttp(host, options)
  const listener = await listen(http, { port: 0, ...listening })
  const { url } = listener
  const close = async (): Promise<void> => {
    await host.shutdown()
    await listener.close(0)
  }
  closing.push(close)
  const call = (path: string, init: RequestInit & { readonly json?: unknown } = {}): Promise<Response> =>
    fetch(`${url}${path}`, {
      ...init,
      ...(init.json === undefined ? {} : { method: 'POST', body: JSON.stringify(init.json) }),
      headers: {
        ...(init.json === undefined ? {} : { 'content-type': 'application/json' }),
        ...(init.headers as Record<string, string>),
      },
    })
  return { host, http, url, call, close }
}

/** The frames of a stream of Server-Sent Events. */
export async function* frames(response: Response): AsyncGenerator<Frame> {
  let text = ''
  for await (const chunk of (response.body as ReadableStream<Uint8Array>).pipeThrough(
    new TextDecoderStream(),
  )) {
    text += chunk
    const parts = text.split('\n\n')
    text = parts.pop() ?? ''
    for (const part of parts) if (!part.startsWith(':')) yield frameOf(part)
  }
}

function frameOf(part: string): Frame {
  const field = (name: string): string | undefined => new RegExp(`^${name}: (.*)$`, 'm').exec(part)?.[1]
  const id = field('id')
  return {
    event: field('event') ?? '',
    data: JSON.parse(field('data') ?? '{}') as Record<string, unknown>,
    ...(id === undefined ? {} : { id: Number(id) }),
  }
}
