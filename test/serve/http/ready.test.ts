/** `GET /ready` says whether there is a known reason to refuse a message now. */
import { expect, onTestFinished, test } from 'vitest'
import { createHost, type HostConfig } from '../../../src/host/index.ts'
import { HoldfastError, memoryStore } from '../../../src/index.ts'
import { createHttp, type HttpOptions } from '../../../src/serve/http/index.ts'
import { faultyStore, ManualClock, ScriptedModel } from '../../../src/testing/index.ts'

async function server(config: Partial<HostConfig> = {}, options: HttpOptions = {}) {
  const model = new ScriptedModel(() => 'Hello.')
  const host = createHost({ store: memoryStore(), agents: { a: { model } }, ...config })
  onTestFinished(() => host.shutdown())
  const http = await createHttp(host, options)
  const ready = async () => {
    const response = await http.fetch(new Request('http://localhost/ready'))
    const { status, code } = (await response.json()) as { status: unknown; code?: string }
    return [response.status, code ?? status, response.headers.has('retry-after')]
  }
  return { host, http, ready }
}

const READY = [200, 'ready', false]

test('a server whose store answers is ready', async () => {
  const { ready } = await server()
  expect(await ready()).toEqual(READY)
})

test('a server whose store does not answer is not ready, and the operator sees why', async () => {
  const failures: unknown[] = []
  const away = new Error('The disk is away.')
  const store = Object.assign(memoryStore(), { due: () => Promise.reject(away) })
  const { ready } = await server({ store }, { onError: (error) => failures.push(error) })
  expect(await ready()).toEqual([503, 'not-ready', true])
  expect(failures).toMatchObject([{ cause: away }])
})

test('a server whose store hangs is not ready', async () => {
  const failures: unknown[] = []
  const timer = new ManualClock()
  const asked = Promise.withResolvers<void>()
  const due = () => {
    asked.resolve()
    return new Promise<never>(() => {})
  }
  const store = Object.assign(memoryStore(), { due })
  const { ready } = await server({ store, timer }, { onError: (error) => failures.push(error) })
  const answer = ready()
  await asked.promise
  timer.advance(3_000)
  expect(await answer).toEqual([503, 'not-ready', true])
  expect(failures).toMatchObject([{ cause: { message: 'The store has not answered for 3000 ms.' } }])
})

test.each(['store-full', 'store-failed'] as const)(
  'a server whose store refuses a message (%s) is not ready until one is taken, or for 10 seconds',
  async (code) => {
    let isFull = true
    const store = faultyStore(memoryStore(), [{ at: () => isFull, how: 'refuse', code }])
    const clock = new ManualClock()
    const { host, ready } = await server({ store, clock }, { onError: () => {} })
    const send = async () => {
      const turn = await host.send({ tenant: 'local', actor: 'local', contextId: 'a:1' }, 'Hi')
      return (await turn.outcome).error?.code
    }
    expect(await ready()).toEqual(READY)
    expect(await send()).toBe(code)
    expect(await ready()).toEqual([503, 'not-ready', true])
    clock.advance(10_000)
    expect(await ready()).toEqual(READY)
    expect(await send()).toBe(code)
    expect(await ready()).toEqual([503, 'not-ready', true])
    isFull = false
    expect(await send()).toBeUndefined()
    expect(await ready()).toEqual(READY)
  },
)

test('a failure of another store in a turn leaves the server ready', async () => {
  const model = new ScriptedModel(() => {
    throw new HoldfastError('store-failed', { message: 'The corpus is away.' })
  })
  const { host, ready } = await server({ agents: { a: { model } } })
  const turn = await host.send({ tenant: 'local', actor: 'local', contextId: 'a:1' }, 'Hi')
  expect(await turn.outcome).toMatchObject({ status: 'failed', turn: 1 })
  expect(await ready()).toEqual(READY)
})

test('a server is not ready once its host shuts down', async () => {
  const { host, ready } = await server()
  const closed = host.shutdown()
  expect(await ready()).toEqual([503, 'shutdown', true])
  await closed
  expect(await ready()).toEqual([503, 'shutdown', true])
})

test('a server is not ready once it closes', async () => {
  const { http, ready } = await server()
  http.close()
  expect(await ready()).toEqual([503, 'shutdown', true])
})

test('a host without a place for one more message is not ready until there is one', async () => {
  const go = Promise.withResolvers<void>()
  const model = new ScriptedModel(async () => {
    await go.promise
    return 'Done.'
  })
  const { host, ready } = await server({ agents: { a: { model } }, maxTurns: 1, maxWaiting: 0 })
  const turn = await host.send({ tenant: 'local', actor: 'local', contextId: 'a:1' }, 'Hi')
  expect(await ready()).toEqual([503, 'overloaded', true])
  go.resolve()
  await turn.outcome
  await expect.poll(ready).toEqual(READY)
})
