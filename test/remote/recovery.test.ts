/** Callers that die, and connections that break, while a remote agent works or waits: its task goes on, each message is received once. */
import { afterEach, expect, test } from 'vitest'
import { Agent, memoryStore, type Store } from '../../src/index.ts'
import { type RemoteAgentOptions, remoteAgent } from '../../src/remote/index.ts'
import { ScriptedModel } from '../../src/testing/index.ts'
import { gate, until } from '../turn/kit.ts'
import { type Behaviour, type SampleAgent, sampleAgent } from './sample-agent.ts'

const closing: SampleAgent[] = []

afterEach(async () => {
  for (const each of closing.splice(0)) await each.close()
})

async function remote(behaviour: Behaviour) {
  const agent = await sampleAgent(behaviour)
  closing.push(agent)
  return agent
}

type Timer = NonNullable<RemoteAgentOptions['timer']>

/** Waits that end at once. */
const HASTY = { wait: async () => {}, after: () => () => {} } as unknown as Timer
/** Time that never comes: an agent with it renews no lease, as if its process had died. */
const STOPPED = { wait: () => new Promise(() => {}), after: () => () => {} } as unknown as Timer

interface Caller {
  readonly url: string
  readonly store?: Store
  readonly fetch?: typeof fetch
  readonly isDying?: boolean
}

const BOOK = { calls: [{ tool: 'travel', args: { message: 'Book a trip' } }] }

function caller({ url, store = memoryStore(), fetch: given, isDying }: Caller) {
  const more = { timer: HASTY, ...(given === undefined ? {} : { fetch: given }) }
  const travel = remoteAgent({ name: 'travel', description: 'Books trips.', url, ...more })
  const model = new ScriptedModel(({ prompt }) => (prompt.at(-1)?.role === 'tool' ? 'Done.' : BOOK))
  const dying = isDying ? { leaseMs: 1, timer: STOPPED } : {}
  return new Agent({ contextId: 'c1', store, model, tools: [travel], ...dying })
}

/** An agent in the place of one that has died: it takes up the open turn. */
async function successor(options: Caller) {
  const agent = caller(options)
  await agent.start()
  return agent
}

async function ends({ store }: Agent) {
  const entries = await store.read({ tenant: 'local', actor: 'local', contextId: 'c1' })
  return entries.filter(({ type }) => type === 'tool.end').map(({ data }) => [data['status'], data['output']])
}

const refused = (): Error => Object.assign(new TypeError('fetch failed'), { code: 'ECONNREFUSED' })
const bodyOf = (init: RequestInit | undefined): string => (typeof init?.body === 'string' ? init.body : '')
const isMessage = (init: RequestInit | undefined): boolean => bodyOf(init).includes('Message')
const isAnswer = (init: RequestInit | undefined): boolean => isMessage(init) && bodyOf(init).includes('Brest')

const asksWhere: Behaviour = ({ isNew, text, artifact, say }) => {
  if (isNew) return say('TASK_STATE_INPUT_REQUIRED', 'Where to?')
  artifact(`To ${text}`)
  say('TASK_STATE_COMPLETED')
}

async function asked(agent: Agent): Promise<string> {
  const { requests } = await agent.executeTurn('Hi').outcome
  return requests[0]?.requestId ?? ''
}

test.each([
  ['is there', 0],
  ['is away at first', 5],
])('a caller that died after the task was known goes on with it; the remote %s', async (_, failures) => {
  const go = gate()
  const { url, received } = await remote(async ({ artifact, say }) => {
    artifact('To Brest')
    await go.promise
    say('TASK_STATE_COMPLETED')
  })
  const dying = caller({ url, isDying: true })
  dying.executeTurn('Hi')
  await expect.poll(() => dying.artifacts.list()).toHaveLength(1)
  let left = failures
  const flaky: typeof fetch = (input, init) => (left-- > 0 ? Promise.reject(refused()) : fetch(input, init))
  const next = await successor({ url, store: dying.store, fetch: flaky })
  go.resolve()
  await next.turn?.outcome
  expect(await ends(next)).toEqual([['ok', 'To Brest']])
  expect(received).toEqual(['Book a trip'])
})

test('a caller that died before the task was known ends the call as unknown', async () => {
  const { url, received } = await remote(({ say }) => say('TASK_STATE_COMPLETED', 'Booked'))
  const deaf: typeof fetch = async (input, init) => {
    const response = await fetch(input, init)
    return isMessage(init) ? new Promise(() => {}) : response
  }
  const dying = caller({ url, fetch: deaf, isDying: true })
  dying.executeTurn('Hi')
  await until('the message', () => received.length === 1)
  const next = await successor({ url, store: dying.store })
  await next.turn?.outcome
  expect(await ends(next)).toMatchObject([['unknown', expect.anything()]])
  expect(received).toEqual(['Book a trip'])
})

test.each([
  ['connect', 'error'],
  ['read', 'unknown'],
])(
  'a first message whose request fails with EHOSTUNREACH in %s has the outcome %s',
  async (syscall, status) => {
    const { url } = await remote(asksWhere)
    const cut: typeof fetch = async (input, init) => {
      if (!isMessage(init)) return fetch(input, init)
      const cause = Object.assign(new Error('no route'), { code: 'EHOSTUNREACH', syscall })
      throw new TypeError('fetch failed', { cause })
    }
    const agent = caller({ url, fetch: cut })
    await agent.executeTurn('Hi').outcome
    expect((await ends(agent)).map(([each]) => each)).toEqual([status])
  },
)

test('a remote that cannot be reached again ends the call of a successor as unknown, not as failed', async () => {
  const { url } = await remote(async ({ artifact }) => {
    artifact('one')
    await new Promise(() => {})
  })
  const dying = caller({ url, isDying: true })
  dying.executeTurn('Hi')
  await expect.poll(() => dying.artifacts.list()).toHaveLength(1)
  const next = await successor({ url, store: dying.store, fetch: () => Promise.reject(refused()) })
  await next.turn?.outcome
  expect(await ends(next)).toMatchObject([['unknown', expect.anything()]])
})

test.each(['before it is received', 'after it was received'])(
  'an answer whose connection breaks %s is received once',
  async (when) => {
    const { url, received } = await remote(asksWhere)
    let isBroken = false
    const breaking: typeof fetch = async (input, init) => {
      if (!isAnswer(init) || isBroken) return fetch(input, init)
      isBroken = true
      if (when.startsWith('after')) await (await fetch(input, init)).text()
      throw new TypeError('fetch failed')
    }
    const agent = caller({ url, fetch: breaking })
    await agent.answer({ [await asked(agent)]: 'Brest' }).outcome
    expect(await ends(agent)).toEqual([['ok', 'To Brest']])
    expect(received).toEqual(['Book a trip', 'Brest'])
  },
)

test.each(['before it is received', 'after it was received'])(
  'an answer of a caller that died %s is received once',
  async (when) => {
    const { url, received } = await remote(asksWhere)
    const first = caller({ url })
    const requestId = await asked(first)
    await first.shutdown()
    const reached = gate()
    const dead: typeof fetch = async (input, init) => {
      if (!isAnswer(init)) return fetch(input, init)
      if (when.startsWith('after')) await (await fetch(input, init)).text()
      reached.resolve()
      return new Promise(() => {})
    }
    const dying = caller({ url, store: first.store, fetch: dead, isDying: true })
    dying.answer({ [requestId]: 'Brest' })
    await reached.promise
    const next = await successor({ url, store: first.store })
    await next.turn?.outcome
    expect(await ends(next)).toEqual([['ok', 'To Brest']])
    expect(received).toEqual(['Book a trip', 'Brest'])
  },
)

test('an answer to a remote that is away at first is received when it is back', async () => {
  const { url, received } = await remote(asksWhere)
  let left = 0
  const flaky: typeof fetch = (input, init) => (left-- > 0 ? Promise.reject(refused()) : fetch(input, init))
  const agent = caller({ url, fetch: flaky })
  const requestId = await asked(agent)
  left = 5
  await agent.answer({ [requestId]: 'Brest' }).outcome
  expect(await ends(agent)).toEqual([['ok', 'To Brest']])
  expect(received).toEqual(['Book a trip', 'Brest'])
})
