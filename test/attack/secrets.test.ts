/** Where credentials could get into the journal, the events or the next prompt, and do not (R19). */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { Agent } from '../../src/agent/agent.ts'
import { agentTool } from '../../src/agent/index.ts'
import { END, graph, list, START, value } from '../../src/graph/index.ts'
import { type Entry, LOCAL_OWNER } from '../../src/protocol/index.ts'
import type { Store } from '../../src/store/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { ScriptedModel, type ScriptedStep } from '../../src/testing/scripted-model.ts'
import { ask, defineTool, type ToolContext } from '../../src/tool/index.ts'
import { runTurn } from '../../src/turn/index.ts'
import { calls, KEY, probe } from '../turn/kit.ts'

const SECRET = 'tok_8f2e1c0d9b7a'
const PASSWORD = 'n0t/so+secret=pw'
const auth = {
  credentials: { token: SECRET, db: `postgres://app:${encodeURIComponent(PASSWORD)}@db:5432/x` },
}

type Config = Partial<ConstructorParameters<typeof Agent>[0]>

function open(script: readonly ScriptedStep[], config: Config = {}) {
  const store = memoryStore()
  const model = new ScriptedModel(script)
  const another = (more: Config = {}) => new Agent({ contextId: 'talk', store, model, ...config, ...more })
  return { store, model, another, agent: another() }
}

/** Everything that is stored or told, as text; with the prompts unless these are known to hold a secret. */
async function traces(store: Store, ...told: unknown[]): Promise<string> {
  return JSON.stringify([await store.read(KEY), told])
}

function expectClean(text: string): void {
  for (const secret of [SECRET, PASSWORD, encodeURIComponent(PASSWORD)]) expect(text).not.toContain(secret)
  expect(text).not.toContain(Buffer.from(SECRET).toString('base64').slice(0, 12))
}

async function eventsOf(turn: AsyncIterable<unknown>): Promise<unknown[]> {
  const events: unknown[] = []
  for await (const event of turn) events.push(event)
  return events
}

describe('what a model repeats of its system prompt', () => {
  const takes = (seen: unknown[]) =>
    defineTool({
      name: 'call_api',
      description: 'Calls',
      input: z.looseObject({}),
      run: (input, { argumentsKey }) => {
        seen.push(input, argumentsKey.length)
        return 'called'
      },
    })
  const args = { header: `Bearer ${SECRET}`, [SECRET]: { deep: [SECRET] } }
  const script: ScriptedStep[] = [
    { text: `I use ${SECRET}.`, reasoning: `think ${SECRET}`, calls: [{ tool: 'call_api', args }] },
    { calls: [{ tool: SECRET, args: `{"broken ${SECRET}` }] },
    { deltas: ['It was tok_', '8f2e1', `c0d9b7a, or ${Buffer.from(SECRET).toString('base64')}`, '.'] },
  ]

  it('is neither stored nor told nor shown to it again, and its tools get it as it is', async () => {
    const seen: unknown[] = []
    const { agent, store, model } = open(script, {
      systemPrompt: ({ credentials }) => `Use ${String(credentials['token'])}.`,
      tools: [takes(seen)],
    })
    const turn = agent.executeTurn('go', { auth })
    const events = await eventsOf(turn)
    const { text } = await turn.outcome
    // The last character of a base64 text says nothing by itself.
    expect(text).toBe('It was [redacted], or [redacted]Q==.')
    expect(seen).toEqual([args, 32])
    const prompts = model.calls.map(({ prompt }) => prompt.filter(({ role }) => role !== 'system'))
    expectClean(await traces(store, events, text, prompts))
    const told = (events as { type: string; data: { text: string } }[]).filter(
      ({ type }) => type === 'text.delta',
    )
    expect(told.map(({ data }) => data.text).join('')).toBe(
      'I use [redacted].It was [redacted], or [redacted]Q==.',
    )
  })

  it('loses its signature with the secret in a thought', async () => {
    const { agent, store } = open([{ reasoning: `think ${SECRET}`, text: 'ok' }])
    await agent.executeTurn('go', { auth }).outcome
    const end = (await store.read(KEY)).find(({ type }) => type === 'model.end')
    expect(end?.data).toMatchObject({
      content: [{ type: 'reasoning', text: 'think [redacted]' }, { type: 'text' }],
    })
  })

  it('is run with after an approval in the same process', async () => {
    const seen: unknown[] = []
    const pay = defineTool({ ...takes(seen), input: z.looseObject({}), approve: 'always' })
    const { agent, store } = open([script[0] as ScriptedStep, 'done'], { tools: [pay] })
    const asked = await agent.executeTurn('go', { auth }).outcome
    expectClean(await traces(store, asked))
    const id = asked.requests[0]?.requestId ?? ''
    expect(await agent.answer({ [id]: true }, { auth }).outcome).toMatchObject({ reason: 'stop' })
    expect(seen).toEqual([args, 32])
    expectClean(await traces(store))
  })

  it('is not run with after an approval in another process: the model is asked to call again', async () => {
    const seen: unknown[] = []
    const pay = defineTool({ ...takes(seen), input: z.looseObject({}), approve: 'always' })
    const { agent, another, store } = open([script[0] as ScriptedStep, 'done'], { tools: [pay] })
    const asked = await agent.executeTurn('go', { auth }).outcome
    const id = asked.requests[0]?.requestId ?? ''
    expect(await another().answer({ [id]: true }, { auth }).outcome).toMatchObject({ reason: 'stop' })
    expect(seen).toEqual([])
    const end = (await store.read(KEY)).find(({ type }) => type === 'tool.end')
    expect(end?.data).toMatchObject({ status: 'rejected', output: { code: 'redacted-arguments' } })
  })

  it('is not run with after an approval in a process that finds no credentials at all', async () => {
    const seen: unknown[] = []
    const pay = defineTool({ ...takes(seen), input: z.looseObject({}), approve: 'always' })
    const { agent, another, store } = open([script[0] as ScriptedStep, 'done'], {
      tools: [pay],
      credentials: () => auth.credentials,
    })
    const asked = await agent.executeTurn('go').outcome
    const id = asked.requests[0]?.requestId ?? ''
    const without = another({ credentials: () => undefined })
    expect(await without.answer({ [id]: true }).outcome).toMatchObject({ reason: 'stop' })
    expect(seen).toEqual([])
    const end = (await store.read(KEY)).find(({ type }) => type === 'tool.end')
    expect(end?.data).toMatchObject({ status: 'rejected', output: { code: 'redacted-arguments' } })
  })

  it.each([
    ['tool.start', 'a call that was not started is rejected', 'rejected'],
    ['tool.end', 'a started call of a safe tool is unknown', 'unknown'],
  ])('before the %s, by a turn that is resumed without credentials: %s', async (before, _, status) => {
    const seen: unknown[] = []
    const pay = defineTool({ ...takes(seen), input: z.looseObject({}), replay: 'safe' })
    const stored: Entry[] = []
    const model = new ScriptedModel([script[0] as ScriptedStep])
    const { credentials } = auth
    for await (const entries of runTurn({ model, tools: [pay], message: 'go', credentials })) {
      const cut = entries.findIndex(({ type }) => type === before)
      stored.push(...(cut < 0 ? entries : entries.slice(0, cut)))
      if (cut >= 0) break
    }
    seen.splice(0)
    const next = new ScriptedModel(['done'])
    for await (const entries of runTurn({ model: next, tools: [pay], message: null, entries: stored }))
      stored.push(...entries)
    expect(seen).toEqual([])
    expect(stored.find(({ type }) => type === 'tool.end')?.data).toMatchObject({ status })
  })

  it('is unknown if it was started by a process that is gone, even if its tool may be run again', async () => {
    const pay = defineTool({ ...takes([]), input: z.looseObject({}), replay: 'safe' })
    const stored: Entry[] = []
    const model = new ScriptedModel([script[0] as ScriptedStep])
    for await (const entries of runTurn({
      model,
      tools: [pay],
      message: 'go',
      credentials: auth.credentials,
    })) {
      stored.push(...entries)
      if (entries.some(({ type }) => type === 'tool.start')) break
    }
    expectClean(JSON.stringify(stored))
    const next = new ScriptedModel(['done'])
    const again = runTurn({
      ...{ model: next, tools: [pay], message: null, entries: stored, credentials: auth.credentials },
    })
    for await (const entries of again) stored.push(...entries)
    const end = stored.find(({ type }) => type === 'tool.end')
    expect(end?.data).toMatchObject({ status: 'unknown' })
    expect(JSON.stringify(end?.data)).toContain('a credential in its arguments')
  })

  it.each([
    ['with', { auth }],
    ['without', {}],
  ])('may be the mark itself, which is run as it is, %s credentials', async (_, options) => {
    const seen: unknown[] = []
    const written = { note: 'the token is [redacted]' }
    const { agent } = open([{ calls: [{ tool: 'call_api', args: written }] }, 'done'], {
      tools: [takes(seen)],
    })
    await agent.executeTurn('go', options).outcome
    await agent.executeTurn('and', {}).outcome
    expect(seen).toEqual([written, 32])
  })

  it('is given to hooks as it is, and what they make of it is run and not stored', async () => {
    const seen: unknown[] = []
    const { agent, store } = open([script[0] as ScriptedStep, 'done'], {
      tools: [takes(seen)],
      on: {
        beforeEachTool: ({ pending, edit }) => edit({ ...(pending.args as object), more: `x${SECRET}` }),
        afterLlm: ({ add }) => add(`noted ${SECRET}`),
      },
    })
    await agent.executeTurn('go', { auth }).outcome
    expect(seen).toEqual([{ ...args, more: `x${SECRET}` }, 32])
    expectClean(await traces(store))
  })
})

type Careless = (context: ToolContext) => unknown

/** Ways in which a tool says too much. */
const CARELESS: Readonly<Record<string, Careless>> = {
  'a password of a connection': () => `cannot reach db as app/${PASSWORD}`,
  'an encoded password': () => ({ url: `x?p=${new URLSearchParams({ a: PASSWORD }).toString()}` }),
  'base64 of an account': () => Buffer.from(`app:${SECRET}`).toString('base64url'),
  'a long error': () => {
    throw new Error(`${'x'.repeat(3990)}${SECRET}`)
  },
  'a cause of a cause': () => {
    throw new Error('a', { cause: new AggregateError([new Error(`${'y'.repeat(3994)}${SECRET}`)], 'b') })
  },
  'a long name of an error': () => {
    throw Object.assign(new Error('a'), {
      name: `${'z'.repeat(495)}${SECRET}`,
      code: `${'z'.repeat(495)}${SECRET}`,
    })
  },
  'a long result': () => `${'x'.repeat(1995)}${SECRET}${'y'.repeat(300_000)}`,
  'a path of an issue': () => ({ [SECRET]: () => {} }),
  'a name of a question': () => ask({ kind: 'text', prompt: 'which?', name: SECRET }),
  'a question': () => ask({ kind: 'choice', prompt: `which ${SECRET}?`, options: [SECRET], name: 'which' }),
  'two chunks of a file': async ({ artifacts }) => {
    await artifacts.createFile('log')
    for (const piece of ['a ', SECRET.slice(0, 5), SECRET.slice(5), ' b ', ...`${SECRET} c`.split('')])
      await artifacts.appendFile('log', piece)
    await artifacts.complete('log')
    return (await artifacts.read('log')).content
  },
}

describe.each(Object.entries(CARELESS))('a tool that gives away %s', (_, run) => {
  it('does not give it to the journal, the events or the model', async () => {
    const { agent, store, model } = open([calls('leak'), 'done'], {
      tools: [probe('leak', (__, c) => run(c))],
    })
    const turn = agent.executeTurn(`go with ${SECRET}`, { auth, metadata: { trace: `t-${SECRET}` } })
    const events = await eventsOf(turn)
    const outcome = await turn.outcome
    expect(outcome.error).toBeUndefined()
    const files = await agent.artifacts.list()
    const contents = await Promise.all(files.map(({ artifactId }) => agent.artifacts.read(artifactId)))
    expectClean(await traces(store, events, outcome, model.calls, contents))
  })
})

it('a secret that is written piece by piece leaves at most 7 of its characters', async () => {
  const { agent } = open([calls('leak'), 'done'], {
    tools: [probe('leak', (_, c) => CARELESS['two chunks of a file']?.(c))],
  })
  await agent.executeTurn('go', { auth }).outcome
  const { content } = await agent.artifacts.read('log')
  expect((content as string).replaceAll(/(\[redacted\])+/g, '*')).toBe('a tok_8* b tok_8f2* c')
})

describe('credentials that cannot be found again', () => {
  it.each([
    ['a short one', { user: 'bob' }, 'credentials.user has 3 characters'],
    ['a function', { token: () => SECRET }, 'credentials.token is a function'],
  ])('are refused before anything is stored: %s', async (_, credentials, message) => {
    const { agent, store } = open(['ok'])
    const outcome = await agent.executeTurn('go', { auth: { credentials } }).outcome
    expect(outcome).toMatchObject({ reason: 'failed', turn: 0, error: { code: 'invalid-option' } })
    expect(outcome.error?.message).toContain(message)
    expect(await store.head(KEY)).toBeUndefined()
  })

  it('end the turn when they are looked up', async () => {
    const { agent } = open(['ok'], { credentials: () => ({ pin: '1234' }) })
    const outcome = await agent.executeTurn('go').outcome
    expect(outcome.error?.message).toContain('credentials.pin has 4 characters')
  })

  it('are refused in a file of the message, from which nothing can be cut', async () => {
    const { agent, store } = open(['ok'])
    const data = Buffer.from(`key=${SECRET}`).toString('base64')
    const message = [{ type: 'file', mediaType: 'text/plain', data }] as const
    const outcome = await agent.executeTurn(message, { auth }).outcome
    expect(outcome.error?.message).toContain('A file of the message contains one of the credentials')
    expect(await store.head(KEY)).toBeUndefined()
  })
})

describe('secrets of a model', () => {
  const settings = {
    apiKey: 'sk-model-8f2e1c0d',
    baseURL: 'https://proxy:pr0xy-passw0rd@llm.example/v1',
    headers: { 'x-team': 'team-secret-77', 'content-type': 'application/json' },
  }

  it('are not stored, whoever quotes them', async () => {
    const words = [settings.apiKey, 'pr0xy-passw0rd', 'team-secret-77']
    const model = new ScriptedModel([
      { error: { status: 400, message: `${'x'.repeat(490)}${settings.apiKey}` } },
      { calls: [{ tool: 'leak', args: { a: settings.baseURL } }] },
      `I am ${words.join(' and ')}, application/json`,
    ])
    const store = memoryStore()
    const tools = [probe('leak', () => ({ env: words }))]
    const chosen = { model, settings: { ...settings, retries: 1, maxRetryWaitMs: 1 } }
    const agent = new Agent({ contextId: 'talk', store, model: [chosen, chosen], tools })
    const outcome = await agent.executeTurn('go').outcome
    expect(outcome.text).toContain('application/json')
    const text = await traces(store, outcome)
    for (const word of words) expect(text).not.toContain(word)
    expect(text).not.toContain('sk-model')
  })
})

it('a reason to cancel does not store them', async () => {
  const { agent, store } = open([{ stall: true }])
  const turn = agent.executeTurn('go', { auth })
  for await (const event of turn) if (event.type === 'model.start') break
  await turn.cancel(`the token ${SECRET} has expired`)
  expect(await turn.outcome).toMatchObject({ reason: 'cancelled' })
  expectClean(await traces(store))
})

it('a tool whose name is part of a credential can be called', async () => {
  const credentials = { token: 'postgres', other: 'tool-call', more: 'input-required', last: 'assistant' }
  const { agent } = open([calls('postgres_query'), 'done'], {
    tools: [probe('postgres_query', () => 'rows')],
  })
  expect(await agent.executeTurn('go', { auth: { credentials } }).outcome).toMatchObject({ text: 'done' })
})

it('a sub-agent stores and says none of it', async () => {
  const model = new ScriptedModel([calls('leak'), `below: ${SECRET}`])
  const leak = probe('leak', (_, { credentials }) => credentials)
  const research = agentTool({ name: 'research', description: 'Looks up', agent: { model, tools: [leak] } })
  const args = { message: `use ${SECRET}` }
  const { agent, store } = open([{ calls: [{ tool: 'research', args }] }, 'done'], { tools: [research] })
  const turn = agent.executeTurn('go', { auth })
  const events = await eventsOf(turn)
  expect(await turn.outcome).toMatchObject({ reason: 'stop' })
  const { heads } = await store.list({ owner: LOCAL_OWNER, parent: 'talk' })
  const below = await Promise.all(heads.map(({ key }) => store.read(key)))
  expect(below.flat().length).toBeGreaterThan(5)
  expectClean(await traces(store, events, below, model.calls))
})

describe('a graph', () => {
  const contextId = 'talk'
  const state = { said: value<string>(), notes: list<string>() }

  it('stores none of it in its values, updates, effects and errors', async () => {
    const store = memoryStore()
    const flow = graph({ state })
      .addNode('work', async ({ said }, { credentials, step, progress }) => {
        progress({ credentials: [...Object.values(credentials)] as never })
        const echoed = await step('call', () => `${said} ${PASSWORD}`)
        return { notes: [echoed, SECRET] }
      })
      .addNode('fail', () => {
        throw new Error(`${'x'.repeat(3990)}${SECRET}`)
      })
      .addEdge(START, 'work')
      .addEdge('work', 'fail')
      .addEdge('fail', END)
      .compile({ store })
    const run = flow.stream({ said: `with ${SECRET}` }, { contextId, auth, metadata: { trace: SECRET } })
    const events = await eventsOf(run)
    const outcome = await run.outcome
    expect(outcome.state.notes).toEqual(['with [redacted] [redacted]', '[redacted]'])
    expectClean(await traces(store, events, outcome))
  })

  it.each([
    ['a key of a step', 'key of a step', ({ step }: never) => (step as Step)(`to ${SECRET}`, () => 'x')],
    [
      'a name of a question',
      'name of a question',
      ({ interrupt }: never) => (interrupt as Ask)({ kind: 'text', prompt: '?', name: SECRET }),
    ],
  ])('does not take one as %s', async (_, what, run) => {
    const store = memoryStore()
    const flow = graph({ state })
      .addNode('work', (__, context) => run(context as never) as never)
      .addEdge(START, 'work')
      .addEdge('work', END)
      .compile({ store })
    const outcome = await flow.stream({}, { contextId, auth }).outcome
    expect(outcome.error?.message).toContain(`${what} contains one of the credentials`)
    expectClean(await traces(store, outcome))
  })
})

type Step = (key: string, effect: () => string) => Promise<string>
type Ask = (question: object) => Promise<string>
