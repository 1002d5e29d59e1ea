/** Refused requests store nothing, in every protocol, so that a client may send them again. */
import { afterEach, describe, expect, test } from 'vitest'
import { createHost, type Host, type HostConfig } from '../../src/host/index.ts'
import { memoryStore } from '../../src/index.ts'
import { createHttp, type HttpOptions } from '../../src/serve/http/index.ts'
import { openai } from '../../src/serve/openai/index.ts'
import { ScriptedModel } from '../../src/testing/index.ts'

const hosts: Host[] = []
afterEach(async () => {
  for (const host of hosts.splice(0)) await host.shutdown()
})

const LOCAL = { tenant: 'local', actor: 'local' }

/** A server without sockets. */
async function serve(config: Omit<HostConfig, 'store'>, options: HttpOptions = {}) {
  const host = createHost({ store: memoryStore(), ...config })
  hosts.push(host)
  const http = await createHttp(host, options)
  const post = (path: string, json: unknown, headers: Record<string, string> = {}) =>
    http.fetch(
      new Request(`http://localhost${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(json),
      }),
    )
  const get = (path: string, init: RequestInit = {}) =>
    http.fetch(new Request(`http://localhost${path}`, init))
  const stored = async () => (await host.store.scan({ limit: 100 })).map(({ key }) => key.contextId)
  return { host, http, post, get, stored }
}

/** A turn that runs until its host shuts down. */
const stalls = () => ({ model: new ScriptedModel([{ stall: true, after: 'Well' }]) })
const HISTORY = [
  { role: 'user', content: 'One' },
  { role: 'assistant', content: 'Two' },
  { role: 'user', content: 'Three' },
]

describe('the history of an OpenAI request', () => {
  const chat = { model: 'books', user: 'c', messages: HISTORY }

  test('is not imported for a caller that the agent refuses', async () => {
    const model = new ScriptedModel(['x'])
    const { post, stored } = await serve(
      { agents: { books: { model, trust: 'strict' } } },
      { mounts: [openai()] },
    )
    expect((await post('/v1/chat/completions', chat)).status).toBe(403)
    expect(await stored()).toEqual([])
  })

  test('is not imported while the host is overloaded, and is with the request that has a place', async () => {
    const books = { model: new ScriptedModel(['Four.']) }
    const slow = stalls()
    const { host, post, stored } = await serve(
      { agents: { slow, books }, maxTurns: 1, maxWaiting: 0 },
      { mounts: [openai()] },
    )
    const key = { ...LOCAL, contextId: 'slow:1' }
    const running = await host.send(key, 'Hi')
    await expect.poll(() => slow.model.calls.length).toBe(1)
    expect((await post('/v1/chat/completions', chat)).status).toBe(503)
    expect(await stored()).toEqual(['slow:1'])
    await host.cancel(key)
    await running.outcome
    await expect.poll(() => host.load.running).toBe(0)
    expect(await (await post('/v1/chat/completions', chat)).json()).toMatchObject({
      choices: [{ message: { content: 'Four.' } }],
    })
    const messages = await host.reads.messages({ ...LOCAL, contextId: 'books:c' })
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant'])
  })
})
