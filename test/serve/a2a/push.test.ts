/** Push notifications to receivers on loopback that fail now and then; nothing else is dialled. */
import { createHmac } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { TaskState } from '@a2a-js/sdk'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineTool, memoryStore, type Store } from '../../../src/index.ts'
import { a2a, type PushFailure, type PushOptions } from '../../../src/serve/a2a/index.ts'
import { ManualClock, ScriptedModel, type ScriptedStep } from '../../../src/testing/index.ts'
import { internet, PUBLIC } from '../../toolbox/web-kit.ts'
import { until } from '../../turn/kit.ts'
import { open } from '../http/kit.ts'
import { officialClient, requestOf } from './clients.ts'

const SECRET = 'a secret of at least thirty-two bytes'
const RECEIVER = 'http://hooks.example/a2a'

interface Received {
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

type Reaction = number | 'drop' | { readonly to: string }

/** Answers with these reactions, one after the other, then with 204. */
async function receiver(reactions: Reaction[] = [], answers: Record<string, readonly string[]> = {}) {
  const received: Received[] = []
  const react = (response: ServerResponse, reaction: Reaction = 204): void => {
    if (reaction === 'drop') response.destroy()
    else if (typeof reaction === 'number') response.writeHead(reaction).end()
    else response.writeHead(307, { location: reaction.to }).end()
  }
  const found = await internet(
    (request, response) => {
      let body = ''
      request.setEncoding('utf8').on('data', (text: string) => {
        body += text
      })
      request.on('end', () => {
        received.push({ headers: request.headers, body })
        react(response, reactions.shift())
      })
    },
    { answers },
  )
  return { ...found, received }
}

const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  input: z.object({}),
  approve: () => true,
  run: () => 'paid',
})

interface Serving {
  readonly script?: ScriptedStep[]
  readonly push: Partial<PushOptions>
  readonly store?: Store
  readonly output?: z.ZodType
}

async function serve({ script = ['Hello.'], push, store = memoryStore(), output }: Serving) {
  const clock = new ManualClock()
  const failures: PushFailure[] = []
  const options: PushOptions = {
    secret: SECRET,
    allowOrigins: [{ origin: 'http://hooks.example' }],
    clock,
    // The time of a wait passes at once; polls are left out.
    timer: {
      wait: () => Promise.resolve(),
      after: (ms, act) => {
        if (ms >= NEVER_MS) return () => {}
        const timeout = setTimeout(() => {
          clock.advance(ms)
          act()
        })
        return () => clearTimeout(timeout)
      },
    },
    pollMs: NEVER_MS,
    onFailure: (failure) => failures.push(failure),
    ...push,
  }
  const opened = await open(
    {
      store,
      agents: {
        helper: {
          model: new ScriptedModel(script),
          tools: [pay],
          ...(output === undefined ? {} : { output }),
        },
      },
    },
    { mounts: [await a2a({ push: options })] },
  )
  const client = await officialClient('JSONRPC', `${opened.url}/a2a/helper`)
  return { ...opened, client, failures, clock }
}

const NEVER_MS = 1e6

const configOf = (more: object = {}) => ({
  tenant: '',
  id: 'one',
  taskId: '',
  url: RECEIVER,
  token: '',
  authentication: undefined,
  ...more,
})

const withPush = (text: string, config: object = {}, contextId = 'c') => ({
  ...requestOf({ text, contextId }),
  configuration: {
    acceptedOutputModes: [],
    taskPushNotificationConfig: configOf(config),
    historyLength: undefined,
    returnImmediately: false,
  },
})

/** The states and texts of notifications, each attempt. */
const seen = (received: readonly Received[]): string[] =>
  received.map(({ body }) => {
    const { statusUpdate, artifactUpdate } = JSON.parse(body) as {
      statusUpdate?: { status: { state: string } }
      artifactUpdate?: { artifact: { parts: { text: string }[] } }
    }
    return (
      statusUpdate?.status.state.replace('TASK_STATE_', '') ?? `${artifactUpdate?.artifact.parts[0]?.text}`
    )
  })

/** Without the repetitions of a notification. */
const accepted = (received: readonly Received[]): string[] => {
  const ids = received.map(({ headers }) => headers['webhook-id'])
  return seen(received).filter((_, at) => ids.lastIndexOf(ids[at]) === at)
}

test('a flaky receiver gets every notification at least once and in order, signed, with its token and credentials', async () => {
  const { received, web } = await receiver([500, 'drop', 204, 503, 204, 'drop', 429, 204])
  const { client, failures, host } = await serve({ push: web })
  const secrets = { token: 'tok-1', authentication: { scheme: 'Bearer', credentials: 'cred-1' } }
  await client.sendMessage(withPush('Hi', secrets))
  await until('the last is accepted', () => accepted(received).includes('COMPLETED') && received.length === 8)
  expect(seen(received)).toEqual([
    ...['WORKING', 'WORKING', 'WORKING'],
    ...['Hello.', 'Hello.'],
    ...['COMPLETED', 'COMPLETED', 'COMPLETED'],
  ])
  expect(accepted(received)).toEqual(['WORKING', 'Hello.', 'COMPLETED'])
  for (const { headers, body } of received) {
    const signed = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${body}`
    const signature = createHmac('sha256', SECRET).update(signed).digest('base64')
    expect(headers['webhook-signature']).toBe(`v1,${signature}`)
    expect(headers['x-a2a-notification-token']).toBe('tok-1')
    expect(headers.authorization).toBe('Bearer cred-1')
    expect(headers['content-type']).toBe('application/a2a+json')
  }
  expect(failures).toEqual([])
  const key = { tenant: 'local', actor: 'local', contextId: 'helper:c' }
  const [name = ''] = await host.documents.names(key, 'push.')
  const stored = await host.store.read({ ...key, contextId: `helper:c/~${name}` })
  expect(JSON.stringify(stored)).not.toMatch(/tok-1|cred-1/)
  await until('it is over', async () => (await host.documents.read(key, name)).value?.['closed'] === 'ended')
})

test('a notification is given up after its attempts and recorded, and the next ones are sent', async () => {
  const { received, web } = await receiver([500, 500, 500])
  const { client, failures, host } = await serve({ push: { ...web, attempts: 3 } })
  await client.sendMessage(withPush('Hi'))
  await until('the last is accepted', () => received.length === 5)
  expect(seen(received)).toEqual(['WORKING', 'WORKING', 'WORKING', 'Hello.', 'COMPLETED'])
  const failure = { attempts: 3, reason: 'The receiver answered 500.' }
  expect(failures).toEqual([
    { tenant: 'local', actor: 'local', taskId: 'c.1', configId: 'one', url: RECEIVER, ...failure },
  ])
  const key = { tenant: 'local', actor: 'local', contextId: 'helper:c' }
  const [name = ''] = await host.documents.names(key, 'push.1.')
  expect((await host.documents.read(key, name)).value?.['failures']).toMatchObject([failure])
})

test('each notification of an entry with several has its own attempts, and a receiver that stays down is left', async () => {
  const { received, web } = await receiver(Array.from({ length: 40 }, () => 500))
  const output = z.object({ x: z.number() })
  const { client, failures, host } = await serve({
    push: { ...web, attempts: 2 },
    script: ['{"x":1}'],
    output,
  })
  await client.sendMessage(withPush('Hi'))
  const key = { tenant: 'local', actor: 'local', contextId: 'helper:c' }
  const [name = ''] = await host.documents.names(key, 'push.1.')
  const closed = async () => (await host.documents.read(key, name)).value?.['closed']
  await until('it is over', async () => received.length > 12 || (await closed()) === 'ended')
  const ids = received.map(({ headers }) => headers['webhook-id'])
  expect([...new Set(ids)].map((id) => ids.filter((each) => each === id).length)).toEqual([2, 2, 2, 2])
  expect(failures.map(({ attempts }) => attempts)).toEqual([2, 2, 2, 2])
})

test('a task that waits is notified, and what comes after the answer', async () => {
  const { received, web } = await receiver()
  const { client } = await serve({ push: web, script: [{ calls: [{ tool: 'pay', args: {} }] }, 'Paid.'] })
  await client.sendMessage(withPush('Pay'))
  await until('it waits', () => seen(received).includes('INPUT_REQUIRED'))
  await client.sendMessage(requestOf({ text: 'yes', taskId: 'c.1' }))
  await until('it has ended', () => seen(received).includes('COMPLETED'))
  expect(seen(received)).toEqual(['WORKING', 'INPUT_REQUIRED', 'WORKING', 'Paid.', 'COMPLETED'])
})

test('another process goes on with the deliveries of one that has stopped, with the same ids', async () => {
  const { received, web } = await receiver([503])
  const store = memoryStore()
  const slow = { ...web, timer: { wait: () => Promise.resolve(), after: () => () => {} } }
  const first = await serve({ push: slow, store })
  await first.client.sendMessage(withPush('Hi'))
  await until('the first attempt', () => received.length === 1)
  const key = { tenant: 'local', actor: 'local', contextId: 'helper:c' }
  const [name = ''] = await first.host.documents.names(key, 'push.')
  const attempts = async () => (await first.host.documents.read(key, name)).value?.['attempts']
  await until('the failure is stored', async () => (await attempts()) === 1)
  await first.close()
  const clock = new ManualClock()
  clock.advance(60_000)
  const second = await serve({ push: { ...web, clock }, store })
  await until('the rest', () => seen(received).includes('COMPLETED'))
  expect(seen(received)).toEqual(['WORKING', 'WORKING', 'Hello.', 'COMPLETED'])
  expect(received[1]?.headers['webhook-id']).toBe(received[0]?.headers['webhook-id'])
  expect(second.failures).toEqual([])
})

test('configs are kept, listed and deleted, over both transports, by the owner of the task alone', async () => {
  const { received, web } = await receiver()
  const { client, url } = await serve({
    push: web,
    script: [{ calls: [{ tool: 'pay', args: {} }] }, 'Paid.'],
  })
  await client.sendMessage(requestOf({ text: 'Pay', contextId: 'c' }))
  const rest = await officialClient('HTTP+JSON', `${url}/a2a/helper`)
  const taskId = 'c.1'
  for (const [at, each] of [client, rest].entries()) {
    const secrets = { token: 't', authentication: { scheme: 'Bearer', credentials: 'secret' } }
    const made = await each.createTaskPushNotificationConfig(configOf({ id: `n${at}`, taskId, ...secrets }))
    expect(made).toMatchObject({ id: `n${at}`, taskId, url: RECEIVER, token: 't' })
    const one = await each.getTaskPushNotificationConfig({ tenant: '', taskId, id: `n${at}` })
    expect(one).toMatchObject({ token: 't', authentication: { scheme: 'Bearer', credentials: '' } })
    const place = { tenant: '', taskId, pageSize: 0, pageToken: '' }
    expect((await each.listTaskPushNotificationConfig(place)).configs).toHaveLength(1)
    await each.deleteTaskPushNotificationConfig({ tenant: '', taskId, id: `n${at}` })
    expect((await each.listTaskPushNotificationConfig(place)).configs).toEqual([])
    await expect(each.getTaskPushNotificationConfig({ tenant: '', taskId, id: `n${at}` })).rejects.toThrow(
      /not found/,
    )
    await expect(each.createTaskPushNotificationConfig(configOf({ taskId: 'c.99' }))).rejects.toThrow(
      /not found/,
    )
  }
  const done = await client.sendMessage(requestOf({ text: 'yes', taskId }))
  expect(done).toMatchObject({ status: { state: TaskState.TASK_STATE_COMPLETED } })
  expect(received).toEqual([])
})

test('a message that is sent again has one config, whose deliveries go on where they were; deleted configs are no more', async () => {
  const { received, web } = await receiver()
  const { client } = await serve({ push: web })
  const place = { tenant: '', taskId: 'c.1', pageSize: 0, pageToken: '' }
  const sent = withPush('Hi', { id: '' })
  for (let time = 0; time < 2; time++) {
    await client.sendMessage(sent)
    await until('all is delivered', () => seen(received).includes('COMPLETED'))
  }
  expect((await client.listTaskPushNotificationConfig(place)).configs).toHaveLength(1)
  for (let time = 0; time < 11; time++) {
    const { id } = await client.createTaskPushNotificationConfig(configOf({ id: '', taskId: 'c.1' }))
    await client.deleteTaskPushNotificationConfig({ tenant: '', taskId: 'c.1', id })
  }
  expect((await client.listTaskPushNotificationConfig(place)).configs).toHaveLength(1)
  expect(seen(received)).toEqual(['WORKING', 'Hello.', 'COMPLETED'])
})

test('private addresses, other ports and schemes, redirects and names that lead inside are refused', async () => {
  const inside = { 'inside.example': ['10.0.0.7'], 'both.example': ['93.184.216.34', '127.0.0.1'] }
  const { received, web, dialled } = await receiver([{ to: 'http://127.0.0.1/' }, 302, 204], inside)
  const { client, failures } = await serve({
    push: { ...web, attempts: 2 },
    // One for each message whose receiver can be kept.
    script: Array.from({ length: 6 }, () => 'Hello.'),
  })
  for (const url of ['http://127.0.0.1:9/', 'ftp://hooks.example/', 'http://u:p@hooks.example/', 'nonsense'])
    await expect(client.sendMessage(withPush('Hi', { url }, 'refused'))).rejects.toThrow(/URL|Port/)
  for (const [at, url] of [
    'https://10.0.0.1/',
    'https://[::1]/',
    'http://169.254.169.254/latest',
    'https://inside.example/',
    'https://both.example/',
  ].entries()) {
    await client.sendMessage(withPush('Hi', { url }, `inside-${at}`))
    await until('it is given up', () => failures.filter((each) => each.url === url).length === 3)
    expect(failures.findLast((each) => each.url === url)).toMatchObject({ attempts: 1 })
  }
  expect([received, dialled]).toEqual([[], []])
  await client.sendMessage(withPush('Hi', {}, 'redirected'))
  await until('the rest is accepted', () => seen(received).includes('COMPLETED'))
  expect(failures.at(-1)).toMatchObject({ url: RECEIVER, attempts: 2, reason: 'The receiver answered 302.' })
  expect(seen(received)).toEqual(['WORKING', 'WORKING', 'Hello.', 'COMPLETED'])
  expect(new Set(dialled)).toEqual(new Set(['93.184.216.34 80']))
})

test.each([
  // The notifications are working, the text and completed; the receiver refuses the first that it gets.
  { when: 'public, then private', second: '10.0.0.7', expected: ['WORKING', 'Hello.', 'COMPLETED'] },
  { when: 'public, then loopback', second: '::ffff:127.0.0.1', expected: ['WORKING', 'Hello.', 'COMPLETED'] },
  { when: 'private, then public', first: '10.0.0.7', expected: ['Hello.', 'Hello.', 'COMPLETED'] },
])(
  'a name whose answer changes between two attempts ($when) is refused at that attempt, recorded and not dialled',
  async ({ first = PUBLIC, second = PUBLIC, expected }) => {
    const { received, web, dialled } = await receiver([500])
    const left = [first, second]
    const attempts = first === PUBLIC ? 2 : 1
    const resolve = async (): Promise<readonly string[]> => [left.shift() ?? PUBLIC]
    const { client, failures, host } = await serve({ push: { ...web, resolve, allowOrigins: [] } })
    await client.sendMessage(withPush('Hi', { url: 'http://changing.example/' }))
    await until('the last is accepted', () => seen(received).includes('COMPLETED'))
    expect(seen(received)).toEqual(expected)
    expect(left).toEqual([])
    expect(dialled).toEqual(Array(3).fill(`${PUBLIC} 80`))
    expect(failures).toMatchObject([{ attempts, reason: expect.stringMatching(/address/i) as string }])
    const key = { tenant: 'local', actor: 'local', contextId: 'helper:c' }
    const [name = ''] = await host.documents.names(key, 'push.')
    expect((await host.documents.read(key, name)).value?.['failures']).toMatchObject([{ attempts }])
  },
)

test('a receiver of 0.3 gets the whole task, and secrets are long', async () => {
  const { received, web } = await receiver()
  const { call } = await serve({ push: web })
  const message = { kind: 'message', role: 'user', messageId: 'm', parts: [{ kind: 'text', text: 'Hi' }] }
  const params = { message, configuration: { blocking: true, pushNotificationConfig: { url: RECEIVER } } }
  const response = await call('/a2a/helper', {
    json: { jsonrpc: '2.0', id: 1, method: 'message/send', params },
  })
  expect(await response.json()).toMatchObject({ result: { kind: 'task', status: { state: 'completed' } } })
  await until('it is received', () => received.length === 3)
  expect(received.map(({ body }) => JSON.parse(body) as unknown)).toMatchObject([
    { kind: 'task', status: { state: 'working' } },
    { kind: 'task', status: { state: 'working' }, artifacts: [{ artifactId: '~reply' }] },
    { kind: 'task', status: { state: 'completed' }, metadata: { reason: 'stop' } },
  ])
  await expect(a2a({ push: { secret: 'short' } })).rejects.toThrow(/32 bytes/)
})
