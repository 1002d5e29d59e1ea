/** The client on connections that lose answers, end inside one, or stay silent. The server is in this process. */
import { expect, onTestFinished, test } from 'vitest'
import { follow } from '../../../src/client/follow.ts'
import { type ClientEvent, createClient } from '../../../src/client/index.ts'
import { createHost } from '../../../src/host/index.ts'
import { memoryStore } from '../../../src/index.ts'
import { createHttp } from '../../../src/serve/http/index.ts'
import { ScriptedModel, type ScriptedStep } from '../../../src/testing/index.ts'

type Answered = (request: Request, response: Response) => Response | Promise<Response>

const key = { tenant: 'local', actor: 'local', contextId: 'a:1' }

/** A client whose fetch passes every answer to `answered`, which may lose it. */
async function connect(script: ScriptedStep[], answered: Answered) {
  const host = createHost({ store: memoryStore(), agents: { a: { model: new ScriptedModel(script) } } })
  onTestFinished(() => host.shutdown())
  const http = await createHttp(host)
  const client = createClient({
    url: 'http://localhost',
    fetch: async (input, init) => {
      const request = new Request(input, init)
      return answered(request, await http.fetch(request))
    },
  })
  return { host, conversation: client.conversation('a:1') }
}

/** Loses the first answer to a method. */
function losing(method: string, meanwhile = async (): Promise<void> => {}): Answered {
  let isLost = false
  return async (request, response) => {
    if (isLost || request.method !== method) return response
    isLost = true
    await meanwhile()
    throw new TypeError('the connection broke')
  }
}

test('an erased conversation is erased, also if the answer was lost', async () => {
  const { conversation, host } = await connect(['Hello.'], losing('DELETE'))
  await (await host.send(key, 'Hi')).outcome
  await conversation.erase()
  expect(await host.reads.info(key)).toBeUndefined()
  await expect(conversation.erase()).rejects.toMatchObject({ status: 404 })
})

test('a conversation is recreated, also if the answer was lost', async () => {
  const { conversation, host } = await connect(['Hello.'], losing('POST'))
  await (await host.send(key, 'Hi')).outcome
  await host.erase(key)
  await conversation.recreate()
  expect(await host.reads.info(key)).toMatchObject({ turn: 0, status: 'idle' })
  await expect(conversation.recreate()).rejects.toMatchObject({ status: 409, code: 'exists' })
})

test('a repetition of a request that the server did not take is refused as the first would be', async () => {
  let isFirst = true
  const { conversation, host } = await connect(['Hello.'], (_, response) => {
    const answer = isFirst ? new Response(null, { status: 429 }) : response
    isFirst = false
    return answer
  })
  await (await host.send(key, 'Hi')).outcome
  await expect(conversation.recreate()).rejects.toMatchObject({ status: 409, code: 'exists' })
})

test('entries with line separators of Unicode arrive whole', async () => {
  const words = 'one\u2028two\u2029three\u0085four'
  const { conversation, host } = await connect(['Hello.'], (_, response) => response)
  await (await host.send(key, words)).outcome
  const seen: unknown[] = []
  for await (const event of conversation.events()) {
    if (event.type !== 'entry') continue
    seen.push(event.entry.data['message'] ?? event.entry.seq)
    if (event.entry.type === 'turn.end') break
  }
  expect(seen).toEqual([words, 2, 3, 4, 5, 6])
})

test('a cancel that is repeated cancels no later turn', async () => {
  const next = Promise.withResolvers<void>()
  const second = async () => {
    await next.promise
    return 'Second.'
  }
  const { conversation, host } = await connect(
    [{ stall: true, after: 'Hm' }, second],
    losing('POST', async () => {
      await first
      later = (await host.send(key, 'Two')).outcome
      while ((await host.reads.info(key))?.turn !== 2) await new Promise((resolve) => setTimeout(resolve, 1))
    }),
  )
  let later: Promise<unknown> | undefined
  const turn = await host.send(key, 'One')
  const first = turn.outcome
  for await (const { type } of turn) if (type === 'turn.start') break
  await conversation.cancel()
  next.resolve()
  expect(await first).toMatchObject({ status: 'cancelled' })
  expect(await later).toMatchObject({ status: 'completed', text: 'Second.' })
})

test('a message that is sent just before a cancel is cancelled', async () => {
  const { conversation, host } = await connect([{ stall: true, after: 'Hm' }], (_, response) => response)
  await conversation.send('One')
  await conversation.cancel()
  await expect.poll(async () => (await host.reads.info(key))?.outcome).toBe('cancelled')
})

test('an answer that ends in its middle is asked for again, under the same key', async () => {
  const keys: (string | null)[] = []
  const { conversation, host } = await connect(['Hello.'], (request, response) => {
    keys.push(request.headers.get('idempotency-key'))
    if (keys.length > 2) return response
    const broken = new ReadableStream({
      start: (controller) => controller.enqueue(new TextEncoder().encode('{"status":')),
      pull: (controller) =>
        keys.length === 1 ? controller.error(new TypeError('terminated')) : controller.close(),
    })
    return new Response(broken, { status: 200 })
  })
  expect(await conversation.ask('Hi')).toMatchObject({ status: 'completed', text: 'Hello.' })
  expect(keys).toHaveLength(3)
  expect(new Set(keys).size).toBe(1)
  expect((await host.reads.info(key))?.turn).toBe(1)
})

test('a server that takes the connection and answers nothing counts as broken', async () => {
  const { conversation } = await connect([], (request) => {
    return new Promise((_, reject) => {
      request.signal.addEventListener('abort', () => reject(request.signal.reason as Error))
    })
  })
  const stop = new AbortController()
  const events: ClientEvent[] = []
  for await (const event of conversation.events({ silenceMs: 20, signal: stop.signal })) {
    events.push(event)
    stop.abort()
  }
  expect(events).toMatchObject([{ type: 'disconnected', error: { code: 'unreachable' } }])
})

test('a consumer that takes long for one event keeps its connection', async () => {
  const silenceMs = 20
  const body = (signal: AbortSignal) =>
    new ReadableStream<Uint8Array>({
      start: (controller) => {
        signal.addEventListener('abort', () => controller.error(new Error('aborted')))
        for (const seq of [1, 2])
          controller.enqueue(new TextEncoder().encode(`event: entry\ndata: {"seq":${seq}}\n\n`))
      },
    })
  const stop = new AbortController()
  const seen: (string | number)[] = []
  for await (const event of follow(async (_, signal) => new Response(body(signal)), {
    silenceMs,
    signal: stop.signal,
  })) {
    seen.push(event.type === 'entry' ? event.entry.seq : event.type)
    if (event.type === 'disconnected') stop.abort()
    else await new Promise((resolve) => setTimeout(resolve, 3 * silenceMs))
  }
  // After both, the server is silent.
  expect(seen).toEqual(['connected', 1, 2, 'disconnected'])
})
