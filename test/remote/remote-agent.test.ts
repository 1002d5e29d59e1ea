import { InMemoryTaskStore } from '@a2a-js/sdk/server'
import { afterEach, describe, expect, test } from 'vitest'
import { runWithApprovals } from '../../src/drive/index.ts'
import { END, graph, START, value } from '../../src/graph/index.ts'
import { Agent, memoryStore } from '../../src/index.ts'
import { type RemoteAgentOptions, remoteAgent, remoteNode } from '../../src/remote/index.ts'
import type { RemoteMessage } from '../../src/remote/remote-message.ts'
import { ScriptedModel } from '../../src/testing/index.ts'
import { until } from '../turn/kit.ts'
import { type Behaviour, type SampleAgent, sampleAgent } from './sample-agent.ts'

const closing: SampleAgent[] = []

afterEach(async () => {
  for (const each of closing.splice(0)) await each.close()
})

async function remote(behaviour: Behaviour, options: Parameters<typeof sampleAgent>[1] = {}) {
  const agent = await sampleAgent(behaviour, options)
  closing.push(agent)
  return agent
}

const BOOK = { calls: [{ tool: 'travel', args: { message: 'Book a trip' } }] }

function caller(url: string, more: Partial<RemoteAgentOptions> = {}, script: unknown[] = [BOOK, 'Done.']) {
  const travel = remoteAgent({ name: 'travel', description: 'Books trips.', url, ...more })
  const model = new ScriptedModel(script as ConstructorParameters<typeof ScriptedModel>[0])
  return new Agent({ contextId: 'c1', store: memoryStore(), model, tools: [travel] })
}

/** Waits for nothing, and reports each wait. */
function timerThat(onWait: (ms: number) => void): NonNullable<RemoteAgentOptions['timer']> {
  return { wait: async (ms) => onWait(ms), after: () => () => {} }
}

/** A remote agent whose tasks cannot be subscribed to. */
const noSubscription: typeof fetch = async (input, init) => {
  const body = typeof init?.body === 'string' ? init.body : '{}'
  const { id, method } = JSON.parse(body) as { id?: number; method?: string }
  if (method !== 'SubscribeToTask') return fetch(input, init)
  const error = { code: -32_004, message: 'There are no subscriptions here.' }
  return Response.json({ jsonrpc: '2.0', id, error })
}

async function ends(agent: Agent) {
  const entries = await agent.store.read({ tenant: 'local', actor: 'local', contextId: 'c1' })
  return entries.filter(({ type }) => type === 'tool.end').map(({ data }) => [data['status'], data['output']])
}

describe('a remote agent as a tool', () => {
  test.each(['JSONRPC', 'HTTP+JSON'] as const)(
    'over %s, with its artifact as the result',
    async (transport) => {
      const { url, received } = await remote(
        async ({ artifact, say }) => {
          artifact('To ')
          artifact('Brest', true)
          say('TASK_STATE_COMPLETED')
        },
        { transport },
      )
      const agent = caller(url)
      await agent.executeTurn('Hi').outcome
      expect(await ends(agent)).toEqual([['ok', 'To Brest']])
      expect(received).toEqual(['Book a trip'])
    },
  )

  test('that gives without end is left, and its outcome is unknown', async () => {
    const chunk = 'x'.repeat(4 * 1024 * 1024)
    const { url, received } = await remote(async ({ artifact, say }) => {
      for (let at = 0; at < 10; at++) artifact(chunk, at > 0)
      say('TASK_STATE_COMPLETED')
    })
    const agent = caller(url)
    await agent.executeTurn('Hi').outcome
    const [[status, output] = []] = await ends(agent)
    expect([status, JSON.stringify(output)]).toEqual(['unknown', expect.stringContaining('more than 32 MB')])
    expect(received).toEqual(['Book a trip'])
  })

  test('gives data, failures and rejections as they are', async () => {
    const { url } = await remote(({ text, data, say }) => {
      if (text === 'data') data({ price: 7 })
      say(
        text === 'fail'
          ? 'TASK_STATE_FAILED'
          : text === 'no'
            ? 'TASK_STATE_REJECTED'
            : 'TASK_STATE_COMPLETED',
        text,
      )
    })
    const calls = ['data', 'fail', 'no'].map((message) => ({ tool: 'travel', args: { message } }))
    const agent = caller(url, {}, [{ calls }, 'Done.'])
    await agent.executeTurn('Hi').outcome
    const found = await ends(agent)
    expect(found).toHaveLength(3)
    expect(found).toEqual(
      expect.arrayContaining([
        ['ok', { text: 'data', data: [{ price: 7 }] }],
        ['error', { error: 'fail', state: 'failed' }],
        ['error', { error: 'no', state: 'rejected' }],
      ]),
    )
  })

  test('its questions are questions here, one after the other, on the same task', async () => {
    const { url, received } = await remote(({ text, isNew, artifact, say }) => {
      if (isNew) return say('TASK_STATE_INPUT_REQUIRED', 'Where to?')
      if (text === 'Brest') return say('TASK_STATE_INPUT_REQUIRED', 'When?')
      artifact(`Booked for ${text}`)
      say('TASK_STATE_COMPLETED')
    })
    const agent = caller(url)
    for (const [prompt, answer] of [
      ['Where to?', 'Brest'],
      ['When?', 'Monday'],
    ] as const) {
      const [request] =
        answer === 'Brest' ? (await agent.executeTurn('Hi').outcome).requests : await agent.requests()
      expect(request).toMatchObject({ kind: 'text', prompt, about: { remoteAgent: 'travel' } })
      await agent.answer({ [request?.requestId ?? '']: answer }).outcome
    }
    expect(received).toEqual(['Book a trip', 'Brest', 'Monday'])
    expect(await ends(agent)).toEqual([['ok', 'Booked for Monday']])
  })

  test('questions in data are asked as they are; those that cannot be are asked as text, and grant nothing', async () => {
    const requests = [
      { requestId: 'r1', kind: 'choice', prompt: 'Which?', options: ['red', 'blue'] },
      {
        requestId: 'r2',
        kind: 'confirmation',
        prompt: 'Sure?',
        about: {
          tool: 'pay',
          args: { sum: 7 },
          grants: ['shell *'],
          runBy: 'client',
          preview: { text: '+7' },
        },
      },
    ]
    const broken = [{ requestId: 'r1', kind: 'choice', prompt: 'Which?' }]
    const { url, received } = await remote(({ isNew, text, artifact, say }) => {
      if (isNew) return say('TASK_STATE_INPUT_REQUIRED', 'Which? Sure?', { requests })
      if (text === '') return say('TASK_STATE_INPUT_REQUIRED', 'And which?', { requests: broken })
      artifact(`Booked ${text}`)
      say('TASK_STATE_COMPLETED')
    })
    const agent = caller(url)
    const [which, sure] = (await agent.executeTurn('Hi').outcome).requests
    expect(which).toMatchObject({ kind: 'choice', prompt: 'Which?', options: ['red', 'blue'] })
    expect(sure).toMatchObject({ kind: 'confirmation', prompt: 'Sure?' })
    const shown = { tool: 'pay', args: { sum: 7 }, preview: { text: '+7' } }
    expect(sure?.about).toEqual({ remoteAgent: 'travel', ...shown })
    const answers = { [which?.requestId ?? '']: 'red', [sure?.requestId ?? '']: true }
    const [text] = (await agent.answer(answers).outcome).requests
    expect(text).toMatchObject({ kind: 'text', prompt: 'And which?' })
    await agent.answer({ [text?.requestId ?? '']: 'green' }).outcome
    expect(received).toEqual(['Book a trip', '{"answers":{"r1":"red","r2":true}}', 'green'])
    expect(await ends(agent)).toEqual([['ok', 'Booked green']])
  })

  test('a request to sign in is confirmed by the person, and the task goes on by itself', async () => {
    let signedIn = (): void => {}
    const { url, received } = await remote(async ({ artifact, say }) => {
      say('TASK_STATE_AUTH_REQUIRED', 'Open https://login.example')
      await new Promise<void>((resolve) => {
        signedIn = resolve
      })
      artifact('Booked')
      say('TASK_STATE_COMPLETED')
    })
    const agent = caller(url)
    const { reason, requests } = await agent.executeTurn('Hi').outcome
    const [request] = requests
    expect([reason, request?.kind]).toEqual(['auth-required', 'auth'])
    expect(request?.prompt).toContain('https://login.example')
    signedIn()
    await agent.answer({ [request?.requestId ?? '']: 'yes' }).outcome
    expect(received).toEqual(['Book a trip'])
    expect(await ends(agent)).toEqual([['ok', 'Booked']])
  })

  test('a lost connection is followed again, and the message is sent once', async () => {
    const steps: (() => void)[] = []
    const pause = () => new Promise<void>((resolve) => steps.push(resolve))
    const sample = await remote(async ({ artifact, say }) => {
      artifact('one ')
      await pause()
      artifact('two', true)
      say('TASK_STATE_COMPLETED')
    })
    const agent = caller(sample.url)
    const turn = agent.executeTurn('Hi')
    await until('a step', () => steps.length === 1)
    await expect.poll(() => agent.artifacts.list()).toHaveLength(1)
    sample.cut()
    steps[0]?.()
    await turn.outcome
    expect(sample.received).toEqual(['Book a trip'])
    expect(await ends(agent)).toEqual([['ok', 'one two']])
  })

  test('a task that works longer than the tries is asked for until it ends, where there is no subscription', async () => {
    const working = Promise.withResolvers<void>()
    const sample = await remote(async ({ artifact, say }) => {
      artifact('one')
      await working.promise
      artifact(' two', true)
      say('TASK_STATE_COMPLETED')
    })
    const waits: number[] = []
    const timer = timerThat((ms) => {
      if (waits.push(ms) === 20) working.resolve()
    })
    const agent = caller(sample.url, { timer, fetch: noSubscription })
    const turn = agent.executeTurn('Hi')
    await expect.poll(() => agent.artifacts.list()).toHaveLength(1)
    sample.cut()
    await turn.outcome
    expect(await ends(agent)).toEqual([['ok', 'one two']])
    expect(sample.received).toEqual(['Book a trip'])
    expect(waits.slice(0, 9)).toEqual([250, 500, 1000, 2000, 4000, 8000, 16_000, 32_000, 32_000])
  })

  test('a question that was answered is not asked again by a task that works on without a subscription', async () => {
    const working = Promise.withResolvers<void>()
    const sample = await remote(async ({ isNew, artifact, say }) => {
      if (isNew) return say('TASK_STATE_INPUT_REQUIRED', 'Where to?')
      say('TASK_STATE_WORKING')
      artifact('one')
      await working.promise
      say('TASK_STATE_COMPLETED')
    })
    let waits = 0
    const timer = timerThat(() => {
      waits += 1
      if (waits === 20) working.resolve()
    })
    const agent = caller(sample.url, { timer, fetch: noSubscription })
    const [question] = (await agent.executeTurn('Hi').outcome).requests
    const turn = agent.answer({ [question?.requestId ?? '']: 'Brest' })
    for await (const { type } of turn) if (type === 'tool.progress') sample.cut()
    expect(await ends(agent)).toEqual([['ok', 'one']])
    expect(sample.received).toEqual(['Book a trip', 'Brest'])
  })

  test('a remote that dies in mid-task ends the call as unknown', async () => {
    const sample = await remote(async ({ artifact }) => {
      artifact('one')
      await new Promise(() => {})
    })
    const waits: number[] = []
    const timer = timerThat((ms) => waits.push(ms))
    const agent = caller(sample.url, { timer })
    const turn = agent.executeTurn('Hi')
    await expect.poll(() => agent.artifacts.list()).toHaveLength(1)
    await sample.close()
    await turn.outcome
    const [[status, output] = []] = await ends(agent)
    expect(status).toBe('unknown')
    expect(JSON.stringify(output)).toContain('cannot be reached')
    expect(waits).toHaveLength(8)
  })

  test('a remote that has forgotten the task ends the call as unknown', async () => {
    const sample = await remote(async ({ artifact }) => {
      artifact('one')
      await new Promise(() => {})
    })
    const agent = caller(sample.url)
    const turn = agent.executeTurn('Hi')
    await expect.poll(() => agent.artifacts.list()).toHaveLength(1)
    const port = Number(new URL(sample.url).port)
    await sample.close()
    await remote(() => {}, { port, store: new InMemoryTaskStore() })
    await turn.outcome
    expect(JSON.stringify(await ends(agent))).toContain('does not know the task')
  })

  test('nothing listens: an error, and nothing was sent', async () => {
    const agent = caller('http://127.0.0.1:9')
    await agent.executeTurn('Hi').outcome
    const [[status] = []] = await ends(agent)
    expect(status).toBe('error')
  })

  test('has an address without credentials, which no error repeats', () => {
    for (const url of ['ftp://agents.example', 'agents.example', 'https://me@agents.example'])
      expect(() => caller(url)).toThrow(`${JSON.stringify(url)} is no address of a remote agent.`)
    for (const url of ['https://me:s3cret@agents.example', 'https://:s3cret@agents.example'])
      expect(() => caller(url)).toThrow(/^"agents\.example" is no address of a remote agent\./)
  })

  test('a cancelled turn cancels the task', async () => {
    const sample = await remote(async ({ artifact }) => {
      artifact('one')
      await new Promise(() => {})
    })
    const agent = caller(sample.url)
    const turn = agent.executeTurn('Hi')
    await expect.poll(() => agent.artifacts.list()).toHaveLength(1)
    await agent.cancel()
    await turn.outcome
    await until('the cancel', () => sample.received.includes('(cancel)'))
  })

  test('a card without an end is not read to its end', async () => {
    const sample = await remote(({ say }) => say('TASK_STATE_COMPLETED', 'Hi'))
    let sent = 0
    const endless: typeof fetch = async (input, init) => {
      const response = await fetch(input, init)
      if (!response.url.includes('.well-known')) return response
      const body = new ReadableStream<Uint8Array>({
        pull: (controller) => {
          sent += 65_536
          controller.enqueue(new Uint8Array(65_536).fill(32))
        },
      })
      return new Response(body, { headers: { 'content-type': 'application/json' } })
    }
    const agent = caller(sample.url, { fetch: endless })
    await agent.executeTurn('Hi').outcome
    expect(JSON.stringify(await ends(agent))).toContain('has more than 1000000 bytes')
    expect(sent).toBeLessThan(3_000_000)
  })

  test('credentials go to the origin of the address only', async () => {
    const other = await remote(({ say }) => say('TASK_STATE_COMPLETED', 'Hi'))
    const sample = await remote(({ say }) => say('TASK_STATE_COMPLETED', 'Hi'))
    const headers = () => ({ authorization: 'Bearer secret' })
    const good = caller(sample.url, { headers })
    await good.executeTurn('Hi').outcome
    expect(sample.authorizations).toEqual(['Bearer secret', 'Bearer secret'])
    // A card that leads elsewhere.
    const lying: typeof fetch = async (input, init) => {
      const response = await fetch(input, init)
      if (!response.url.includes('.well-known')) return response
      return new Response((await response.text()).replaceAll(sample.url, other.url), {
        headers: { 'content-type': 'application/json' },
      })
    }
    const agent = caller(sample.url, { headers, fetch: lying })
    await agent.executeTurn('Hi').outcome
    const found = await ends(agent)
    expect(JSON.stringify(found)).toContain('names another origin')
    // Nothing was sent.
    expect(found).toMatchObject([['error', {}]])
    expect(other.authorizations).toEqual([])
  })

  test.each(['ftp://x', 'agents.example', 'https://user:pw@agents.example'])('%s is no address', (url) => {
    expect(() => caller(url)).toThrow('is no address of a remote agent')
  })
})

describe('a remote agent as a node', () => {
  type Wish = { readonly wish?: string | undefined }
  const textOf = ({ wish = '' }: Wish): string | RemoteMessage => wish
  const flow = (url: string, input = textOf) =>
    graph({ state: { wish: value<string>(), trip: value<string>('') } })
      .addNode(
        'travel',
        remoteNode({
          name: 'travel',
          url,
          input,
          output: (trip) => ({ trip }),
        }),
      )
      .addEdge(START, 'travel')
      .addEdge('travel', END)
      .compile({ store: memoryStore() })

  test('asks, is answered, and updates the state', async () => {
    const { url, received } = await remote(({ isNew, text, artifact, say }) => {
      if (isNew) return say('TASK_STATE_INPUT_REQUIRED', 'Where to?')
      artifact(`To ${text}`)
      say('TASK_STATE_COMPLETED')
    })
    const run = flow(url)
    const { requests } = await run.stream({ wish: 'A trip' }, { contextId: 'g1' }).outcome
    expect(requests).toMatchObject([{ kind: 'text', prompt: 'Where to?' }])
    const { state } = await run.answer({ [requests[0]?.requestId ?? '']: 'Brest' }, { contextId: 'g1' })
      .outcome
    expect(state).toEqual({ wish: 'A trip', trip: 'To Brest' })
    expect(received).toEqual(['A trip', 'Brest'])
  })

  test('asks with the whole message where a policy asks', async () => {
    const { url, received } = await remote(({ say }) => say('TASK_STATE_COMPLETED', 'Booked'))
    const wish = 'A trip '.repeat(100)
    const approvals = {
      policies: [{ name: 'careful', decide: () => ({ decision: 'ask' as const }) }],
      granted: async () => [],
    }
    const run = flow(url, ({ wish: text = '' }) => ({ text, data: { bags: 2 } }))
    const begun = () => run.stream({ wish }, { contextId: 'g3' }).outcome
    const { requests } = await runWithApprovals(approvals, begun)
    expect(requests).toMatchObject([
      {
        kind: 'confirmation',
        about: { remoteAgent: 'travel', tool: 'travel', args: { message: wish, data: { bags: 2 } } },
      },
    ])
    expect(received).toEqual([])
  })

  test('fails if the task fails', async () => {
    const { url } = await remote(({ say }) => say('TASK_STATE_FAILED', 'No seats'))
    const outcome = await flow(url).stream({ wish: 'A trip' }, { contextId: 'g2' }).outcome
    expect(outcome).toMatchObject({ status: 'failed' })
    expect(JSON.stringify(outcome.error)).toContain('No seats')
  })
})
