/** Real clients and real server processes: every client has a conversation across a server that is killed. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { programFile } from '../../build/programs.ts'
import { until } from '../../turn/kit.ts'
import { CLIENTS, type ClientName, connect, officialClient, type Seen, type TestClient } from './clients.ts'

const folder = mkdtempSync(join(tmpdir(), 'holdfast-a2a-'))
const children = new Set<ChildProcess>()

interface Server {
  readonly url: string
  readonly kill: () => Promise<void>
}

async function start(port = 0): Promise<Server> {
  const child = fork(
    programFile('test/serve/a2a/server-process.ts'),
    [folder, String(port), receiver.origin],
    {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    },
  )
  children.add(child)
  const exited = once(child, 'exit')
  const [message] = (await Promise.race([
    once(child, 'message'),
    exited.then(([code]) => {
      throw new Error(`The server has ended with ${String(code)}`)
    }),
  ])) as [{ url: string }]
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL')
    await exited
  }
  return { url: message.url, kill }
}

const agentUrl = ({ url }: Server): string => `${url}/a2a/helper`
const effects = (): string[] =>
  existsSync(join(folder, 'effects.log'))
    ? readFileSync(join(folder, 'effects.log'), 'utf8').split('\n').filter(Boolean)
    : []
const count = (name: string): number => effects().filter((each) => each === name).length

async function all(stream: AsyncIterable<Seen>): Promise<Seen[]> {
  const seen: Seen[] = []
  for await (const each of stream) seen.push(each)
  return seen
}

const states = (seen: readonly Seen[]): (string | undefined)[] =>
  seen.filter(({ kind }) => kind !== 'artifact').map(({ state }) => state)

/** The text that a client ends up with, by the rules of `append`. */
const joined = (seen: readonly Seen[]): string =>
  seen
    .filter(({ kind }) => kind === 'artifact')
    .reduce((text, each) => (each.append ? text + (each.text ?? '') : (each.text ?? '')), '')

/** In 0.3 the last update of a stream says so; 1.0 has no such field. */
const finalOf = (name: ClientName): true | undefined => (name === '0.3' ? true : undefined)

/** A receiver of push notifications: states by task, in the order in which they came. */
const receiver = {
  origin: '',
  states: new Map<string, string[]>(),
  http: createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text
    })
    request.on('end', () => {
      const { statusUpdate } = JSON.parse(body) as {
        statusUpdate?: { taskId: string; status: { state: string } }
      }
      const { taskId = '', status } = statusUpdate ?? {}
      receiver.states.set(taskId, [...(receiver.states.get(taskId) ?? []), status?.state ?? ''])
      response.writeHead(204).end()
    })
  }),
}

let server: Server
let other: Server

beforeAll(async () => {
  await once(receiver.http.listen(0, '127.0.0.1'), 'listening')
  receiver.origin = `http://127.0.0.1:${(receiver.http.address() as AddressInfo).port}`
  ;[server, other] = await Promise.all([start(), start()])
})

afterAll(() => {
  for (const child of children) child.kill('SIGKILL')
  receiver.http.close()
  rmSync(folder, { recursive: true, force: true })
})

describe.each(CLIENTS)('the client %s', (name: ClientName) => {
  let client: TestClient
  const unique = (what: string): string => `${what}-${name.replace(/\W/g, '')}`

  beforeAll(async () => {
    client = await connect(name, agentUrl(server))
  })

  test('has a conversation with a tool, streamed in chunks', async () => {
    const seen = await all(client.stream({ text: `Please do ${unique('act')}` }))
    expect(states(seen)).toEqual(['submitted', 'working', 'completed'])
    expect(seen.filter(({ kind }) => kind === 'artifact').length).toBeGreaterThan(1)
    expect(joined(seen)).toBe('It is done.')
    expect(count(unique('act'))).toBe(1)
    const [{ taskId, contextId } = { taskId: '', contextId: '' }] = seen
    expect(contextId).not.toBe('')
    expect(seen.every((each) => each.taskId === taskId && each.contextId === contextId)).toBe(true)
    expect(seen.at(-1)?.metadata).toEqual({ reason: 'stop' })
    expect(seen.at(-1)?.final).toBe(finalOf(name))
    const next = await client.send({ text: 'Hello', contextId })
    expect(next).toMatchObject({ state: 'completed', contextId, text: 'Hello.' })
    expect(next.taskId).not.toBe(taskId)
    expect(await client.get(taskId)).toMatchObject({ state: 'completed', text: 'It is done.' })
  })

  test('answers a question of the task, which goes on', async () => {
    const asked = await all(client.stream({ text: `Please do ${unique('pay')}` }))
    expect(states(asked)).toEqual(['submitted', 'working', 'input-required'])
    expect(asked.at(-1)?.question).toContain('pay')
    expect(asked.at(-1)?.final).toBe(finalOf(name))
    expect(count(unique('pay'))).toBe(0)
    const { taskId = '' } = asked[0] ?? {}
    const answered = await all(client.stream({ text: 'yes', taskId }))
    expect(states(answered)).toEqual(['input-required', 'working', 'completed'])
    expect(answered[0]?.taskId).toBe(taskId)
    expect(count(unique('pay'))).toBe(1)
  })

  test('cancels and follows a task that runs, also at a server that does not run it', async () => {
    // Another process learns of a cancel when it renews its lease; once is enough.
    const elsewhere = await connect(name, agentUrl(name === 'JSONRPC' ? other : server))
    const stream = client.stream({ text: `Please do ${unique('hold-cancel')}` })
    const { value: first } = (await stream.next()) as { value: Seen }
    await until('the tool runs', () => count(unique('hold-cancel')) === 1)
    const watched = elsewhere.subscribe(first.taskId)
    expect((await watched.next()).value).toMatchObject({ kind: 'task', state: 'working' })
    expect(await elsewhere.cancel(first.taskId)).toMatchObject({ taskId: first.taskId, state: 'canceled' })
    for (const each of [stream, watched]) expect(states(await all(each)).at(-1)).toBe('canceled')
    await expect(client.cancel(first.taskId)).rejects.toThrow(/ended|cannot be canceled/)
  })
})

test('every client sees its task end after the server was killed in the middle of it', async () => {
  const tasks = await Promise.all(
    CLIENTS.map(async (name) => {
      const client = await connect(name, agentUrl(server))
      const effect = `hold-kill-${name.replace(/\W/g, '')}`
      const stream = client.stream({ text: `Please do ${effect}` })
      const { value } = (await stream.next()) as { value: Seen }
      const cut = all(stream).then(
        (seen) => states(seen),
        () => 'cut',
      )
      return { name, client, effect, cut, taskId: value.taskId }
    }),
  )
  await until('every tool runs', () => tasks.every(({ effect }) => count(effect) === 1))
  const pushed = await officialClient('JSONRPC', agentUrl(server))
  for (const { taskId } of tasks)
    await pushed.createTaskPushNotificationConfig({
      ...{ tenant: '', id: 'one', token: '', authentication: undefined },
      taskId,
      url: `${receiver.origin}/`,
    })
  const { port } = new URL(server.url)
  await server.kill()
  for (const { cut } of tasks) expect(await cut).not.toContain('completed')
  server = await start(Number(port))
  const streams = tasks.map(({ client, taskId }) => client.subscribe(taskId))
  for (const [at, stream] of streams.entries())
    expect((await stream.next()).value).toMatchObject({
      kind: 'task',
      taskId: tasks[at]?.taskId,
      state: 'working',
    })
  writeFileSync(join(folder, 'go'), '')
  for (const [at, stream] of streams.entries()) {
    const seen = await all(stream)
    expect(joined(seen)).toBe('It is done.')
    expect(seen.at(-1)).toMatchObject({ state: 'completed' })
    expect(count(tasks[at]?.effect ?? '')).toBe(1)
  }
  for (const { taskId } of tasks)
    await until(
      'the receiver has the end',
      () => receiver.states.get(taskId)?.at(-1) === 'TASK_STATE_COMPLETED',
    )
  for (const { client, taskId } of tasks)
    expect(await client.get(taskId)).toMatchObject({ state: 'completed', text: 'It is done.' })
})
