/** A client that leaves while its message waits for the turn of another, on servers that cancel turns of those who leave. */
import { expect, onTestFinished, test } from 'vitest'
import { createHost } from '../../src/host/index.ts'
import { memoryStore } from '../../src/index.ts'
import { agUi } from '../../src/serve/ag-ui/index.ts'
import { createHttp } from '../../src/serve/http/index.ts'
import { openai } from '../../src/serve/openai/index.ts'
import { sseResponse } from '../../src/serve/sse-response.ts'
import { ScriptedModel } from '../../src/testing/index.ts'
import { until } from '../turn/kit.ts'

const key = { tenant: 'local', actor: 'local', contextId: 'helper:c' }
const headers = { 'content-type': 'application/json' }

const chat = (content: string) => ({
  path: '/v1/chat/completions',
  body: { model: 'helper', user: 'c', stream: true, messages: [{ role: 'user', content }] },
})
const run = (content: string) => ({
  path: '/ag-ui/helper',
  body: { threadId: 'c', runId: content, messages: [{ id: content, role: 'user', content }] },
})

test.each([
  ['OpenAI', openai({ onDisconnect: 'cancel' }), chat],
  ['AG-UI', agUi({ onAbort: 'cancel' }), run],
])('%s: the turn of the one who left is cancelled, and no other', async (_, mount, requestOf) => {
  const go = Promise.withResolvers<void>()
  const slow = async () => {
    await go.promise
    return 'Done.'
  }
  const model = new ScriptedModel([slow, { stall: true, after: 'Hm' }])
  const host = createHost({ store: memoryStore(), agents: { helper: { model } } })
  onTestFinished(() => host.shutdown())
  const http = await createHttp(host, { mounts: [mount] })
  const send = async (text: string, signal?: AbortSignal): Promise<Response> => {
    const { path, body } = requestOf(text)
    const init = { method: 'POST', headers, body: JSON.stringify(body), ...(signal ? { signal } : {}) }
    return http.fetch(new Request(`http://localhost${path}`, init))
  }
  const first = await send('one')
  const leaving = new AbortController()
  const second = await send('two', leaving.signal)
  leaving.abort()
  await second.text().catch(() => {})
  go.resolve()
  expect(await first.text()).toContain('Done.')
  await until('both have ended', async () => {
    const info = await host.reads.info(key)
    return info?.turn === 2 && info.status === 'idle'
  })
  const entries = await host.reads.entries(key, {})
  const ends = entries.filter(({ type }) => type === 'turn.end').map(({ data }) => data['outcome'])
  expect(ends).toEqual(['stop', 'cancelled'])
})

test('a reader that leaves while a frame is made is no failure', async () => {
  const [asked, more] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  async function* frames(): AsyncGenerator<string, void, undefined> {
    yield 'one'
    asked.resolve()
    await more.promise
    yield 'two'
  }
  const failures: unknown[] = []
  const failed = (error: unknown) => {
    failures.push(error)
    return { status: 500, code: 'internal', detail: '' }
  }
  const stream = { signal: new AbortController().signal, leave: () => {}, failed }
  const reader = sseResponse(frames(), { stream, failed: () => '' }).body?.getReader()
  await reader?.read()
  await asked.promise
  const left = reader?.cancel()
  more.resolve()
  await left
  expect(failures).toEqual([])
})
