import { createHmac } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { describe, expect, test } from 'vitest'
import {
  type RequestNotice,
  type WebhookFailure,
  type WebhookOptions,
  webhook,
} from '../../src/host/index.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { internet } from '../toolbox/web-kit.ts'
import { until } from '../turn/kit.ts'

const SECRET = 'a secret of at least thirty-two bytes'
const notice = (contextId: string, requestId = 'r1'): RequestNotice => ({
  key: { tenant: 'acme', actor: 'ann', contextId },
  requests: [{ requestId, kind: 'confirmation', prompt: 'Pay?' }],
})

interface Received {
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/** A receiver that answers with these, one after the other, then with 204. Of a text: the status is 200. */
async function receiver(answers: (number | string)[], more: Partial<WebhookOptions> = {}) {
  const clock = new ManualClock()
  const received: Received[] = []
  const failures: WebhookFailure[] = []
  const { web } = await internet((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text
    })
    request.on('end', () => {
      received.push({ headers: request.headers, body })
      const answer = answers.shift() ?? 204
      if (typeof answer === 'number') response.writeHead(answer).end()
      else response.writeHead(200).write(answer)
    })
  })
  const send = webhook({
    url: 'http://hooks.example/requests',
    allowOrigins: [{ origin: 'http://hooks.example' }],
    secret: SECRET,
    clock,
    timer: { wait: (ms, options) => clock.wait(ms, options), after: () => () => {} },
    onFailure: (failure) => failures.push(failure),
    ...web,
    ...more,
  })
  return { send, clock, received, failures }
}

const contextsIn = (received: readonly Received[]): string[] =>
  received.map(({ body }) => {
    const { data } = JSON.parse(body) as {
      data: { key: { contextId: string }; requests: { requestId: string }[] }
    }
    return `${data.key.contextId} ${data.requests[0]?.requestId}`
  })

describe('a webhook', () => {
  test('is signed over its id, its time and its body', async () => {
    const { send, received, clock } = await receiver([])
    send(notice('a:1'))
    await until('it is received', () => received.length === 1)
    const [{ headers, body } = { headers: {}, body: '' }] = received
    const timestamp = String(Math.floor(clock.now() / 1000))
    expect(headers['webhook-timestamp']).toBe(timestamp)
    const signed = `${String(headers['webhook-id'])}.${timestamp}.${body}`
    const expected = createHmac('sha256', SECRET).update(signed).digest('base64')
    expect(headers['webhook-signature']).toBe(`v1,${expected}`)
    expect(JSON.parse(body)).toEqual({
      type: 'request.open',
      timestamp: new Date(clock.now()).toISOString(),
      data: notice('a:1'),
    })
  })

  test('is repeated under the same id, in order for each conversation, while others go on', async () => {
    const { send, received, clock, failures } = await receiver([503])
    send(notice('a:1', 'first'))
    await until('the first attempt', () => received.length === 1)
    send(notice('a:1', 'second'))
    send(notice('a:2'))
    await until('the other conversation', () => received.length === 2)
    clock.advance(1000)
    await until('the rest', () => received.length === 4)
    expect(contextsIn(received)).toEqual(['a:1 first', 'a:2 r1', 'a:1 first', 'a:1 second'])
    const ids = received.map(({ headers }) => headers['webhook-id'])
    expect(ids[0]).toBe(ids[2])
    expect(new Set(ids).size).toBe(3)
    expect(failures).toEqual([])
  })

  test('is given up after its attempts, and the next of the conversation is sent', async () => {
    const { send, received, clock, failures } = await receiver([500, 302, 404], { attempts: 3 })
    send(notice('a:1', 'first'))
    send(notice('a:1', 'second'))
    for (const [count, ms] of [
      [1, 1000],
      [2, 2000],
    ] as const) {
      await until('an attempt', () => received.length === count)
      await until('it waits', () => {
        clock.advance(ms)
        return received.length > count
      })
    }
    await until('the next', () => received.length === 4)
    expect(contextsIn(received)).toEqual(['a:1 first', 'a:1 first', 'a:1 first', 'a:1 second'])
    expect(failures).toEqual([
      { notice: notice('a:1', 'first'), attempts: 3, reason: 'The receiver answered 404.' },
    ])
  })

  test('is accepted by the status: the body of the answer may be large, and need not end', async () => {
    const { send, received, failures } = await receiver(['x'.repeat(70_000), 'x'], { attempts: 1 })
    for (const id of ['r1', 'r2', 'r3']) send(notice('a:1', id))
    await until('all are received', () => received.length === 3)
    expect(failures).toEqual([])
  })

  test('reaches no machine inside, and reports why', async () => {
    const { send, received, failures } = await receiver([], { url: 'http://127.0.0.1:9/', allowOrigins: [] })
    send(notice('a:1'))
    await until('it is given up', () => failures.length === 1)
    expect(failures[0]).toMatchObject({ attempts: 1 })
    expect(received).toEqual([])
  })

  test('keeps a bounded number, and reports those that wait when it stops', async () => {
    const { send, received, failures } = await receiver([500], { maxPending: 1 })
    send(notice('a:1'))
    await until('an attempt', () => received.length === 1)
    send(notice('a:2'))
    expect(failures.map(({ reason }) => reason)).toEqual(['1 notices wait already.'])
    await send.stop()
    expect(failures.map(({ reason }) => reason)).toEqual(['1 notices wait already.', 'The host has stopped.'])
  })

  test('needs a long secret and an address', () => {
    expect(() => webhook({ url: 'https://a.example', secret: 'short' })).toThrow('32 bytes')
    expect(() => webhook({ url: 'https://a.example', secret: 'whsec_AAAA' })).toThrow('32 bytes')
    for (const url of ['nowhere', 'ftp://a.example'])
      expect(() => webhook({ url, secret: SECRET })).toThrow('must be an address')
  })
})
