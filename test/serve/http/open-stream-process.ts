/** Reads 1,000 events of one open stream, and prints how many promises are left of them. Alone, its heap is small. */
import { setImmediate as nextTick } from 'node:timers/promises'
import { queryObjects } from 'node:v8'
import type { HostEvent } from '../../../src/host/index.ts'
import { type HttpServer, listen } from '../../../src/serve/http/index.ts'
import { streamResponse } from '../../../src/serve/http/stream.ts'

const EVENTS = 1000
const FRAME = ': heartbeat\n\n'.length

async function* heartbeats(): AsyncGenerator<HostEvent, void, undefined> {
  for (let at = 0; at < EVENTS; at++) {
    await nextTick()
    yield { type: 'heartbeat' }
  }
  await new Promise(() => {})
}

const promises = (): number => queryObjects(Promise, { format: 'count' })

const failed = (error: unknown): never => {
  throw error
}
const stream = { signal: new AbortController().signal, leave: () => {}, failed }
const http: HttpServer = {
  fetch: async () => streamResponse(heartbeats(), { form: 'sse', stream }),
  isAuthenticated: true,
  document: {},
  close: () => {},
}
const { url } = await listen(http, { port: 0 })
const before = promises()
const { body } = await fetch(url)
const reader = (body as ReadableStream<Uint8Array>).getReader()
for (let bytes = 0; bytes < EVENTS * FRAME; ) bytes += (await reader.read()).value?.length ?? 0
process.stdout.write(`${promises() - before}\n`)
process.exit(0)
