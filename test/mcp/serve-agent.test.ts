/** An agent as an MCP server: messages, progress, questions as forms and as text, cancellation, and a client that leaves. */
import { PassThrough } from 'node:stream'
import { Client } from '@modelcontextprotocol/client'
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { describe, expect, it } from 'vitest'
import { Agent } from '../../src/agent/index.ts'
import { serveAgent } from '../../src/mcp/index.ts'
import { LOCAL_OWNER } from '../../src/protocol/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import type { Store } from '../../src/store/port.ts'
import { faultyStore, ScriptedModel, type ScriptedStep } from '../../src/testing/index.ts'
import { ask, defineTool, jsonSchema, type Tool } from '../../src/tool/index.ts'
import { calls, gate, quiet, until } from '../turn/kit.ts'
import { closed } from './kit.ts'

interface Serving {
  readonly script: readonly ScriptedStep[]
  readonly tools?: readonly Tool[]
  readonly era?: 'auto' | 'legacy'
  /** The answer to a form; without it, the client shows none. */
  readonly fill?: (message: string, schema: unknown) => object
  readonly store?: Store
  readonly onError?: (error: Error) => void
}

/** The agent, and a client of it, over streams of this process. */
async function serving({
  script,
  tools = [],
  era = 'auto',
  fill,
  store = memoryStore(),
  onError = () => {},
}: Serving) {
  const model = new ScriptedModel(script)
  const [up, down] = [new PassThrough(), new PassThrough()]
  const opened: string[] = []
  const open = (conversation: string) => {
    opened.push(conversation)
    return new Agent({ contextId: conversation, store, model, tools })
  }
  const server = closed(
    await serveAgent({ name: 'clerk', version: '1', open, input: up, output: down, onError }),
    (each) => each.close(),
  )
  const client = new Client(
    { name: 'test', version: '1' },
    { capabilities: fill === undefined ? {} : { elicitation: {} }, versionNegotiation: { mode: era } },
  )
  if (fill !== undefined)
    client.setRequestHandler('elicitation/create', ({ params }) => {
      const { message, requestedSchema } = params as { message: string; requestedSchema?: unknown }
      return fill(message, requestedSchema) as { action: 'accept' }
    })
  await client.connect(new StdioServerTransport(down, up))
  const call = (name: string, args: Record<string, unknown>, options = {}) =>
    client.callTool({ name, arguments: args }, options)
  return { client, call, model, up, server, opened, store }
}

const pay = (more: Partial<Pick<Tool, 'approve' | 'preview' | 'run'>> = {}) =>
  defineTool({
    name: 'pay',
    description: 'Pays',
    input: jsonSchema({ type: 'object' }),
    approve: 'always',
    run: () => 'paid',
    ...more,
  })

const MODES = [['auto'], ['legacy']] as const

describe.each(MODES)('a served agent (%s)', (era) => {
  it('replies, remembers the conversation, and reports its tools as progress', async () => {
    const { client, call, model, opened } = await serving({
      era,
      script: [calls(['pay', {}]), 'Paid.', 'As I said.'],
      tools: [pay({ approve: 'never' })],
    })
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(['send_message', 'answer_request'])
    const described = tools.map(({ inputSchema }) => inputSchema.properties?.['conversation'])
    expect(described).toMatchObject([
      { description: expect.stringContaining('Leave it out to begin a new one.') },
      { description: 'The conversation of the request, from the result that has it.' },
    ])
    const progress: unknown[] = []
    const first = await call(
      'send_message',
      { message: 'Pay' },
      { onprogress: (value: unknown) => progress.push(value) },
    )
    const { conversation } = first.structuredContent as { conversation: string }
    expect(first).toMatchObject({
      content: [{ text: `Paid.\n\nConversation: ${conversation}` }],
      structuredContent: { status: 'completed', text: 'Paid.', requests: [] },
    })
    expect(progress).toMatchObject([{ progress: 1, message: 'Runs pay' }])
    await call('send_message', { message: 'What did you say?', conversation })
    expect(JSON.stringify(model.calls.at(-1)?.prompt)).toContain('Paid.')
    expect(new Set(opened)).toEqual(new Set([conversation]))
  })

  it('asks the person by forms of the client', async () => {
    const seen: string[] = []
    const book = defineTool({
      name: 'book',
      description: 'Books',
      input: jsonSchema({ type: 'object' }),
      run: (_, { answers }) =>
        answers['when'] === undefined
          ? ask([
              { kind: 'choice', name: 'when', prompt: 'When?', options: ['18:00', 20] },
              {
                kind: 'data',
                name: 'who',
                prompt: 'Who?',
                schema: { type: 'object', properties: { name: { type: 'string' } } },
              },
            ])
          : JSON.stringify([answers['when'], answers['who']]),
    })
    const { call, model } = await serving({
      era,
      script: [calls(['pay', {}], ['book', {}]), 'Done.'],
      tools: [pay(), book],
      fill: (message) => {
        seen.push(message)
        if (message === 'When?') return { action: 'accept', content: { answer: '20' } }
        if (message === 'Who?') return { action: 'accept', content: { name: 'Ada' } }
        return { action: 'accept', content: { approved: true } }
      },
    })
    expect(await call('send_message', { message: 'Go' })).toMatchObject({
      structuredContent: { text: 'Done.' },
    })
    expect(seen.toSorted()).toEqual(['May "pay" be run?', 'When?', 'Who?'])
    expect(JSON.stringify(model.calls.at(-1)?.prompt)).toContain('[20,{\\"name\\":\\"Ada\\"}]')
  })

  it('asks with all the arguments of a call, and with its preview', async () => {
    const long = { note: `${'a'.repeat(600)}*\u202Eb*` }
    const tool = pay({ preview: () => '-old\n+new' })
    const asked = `\n{"note":"${'a'.repeat(600)}*\\u{202e}b*"}\n-old\n+new`
    const seen: string[] = []
    const fill = (message: string) => {
      seen.push(message)
      return { action: 'accept', content: { approved: true } }
    }
    const script = [calls(['pay', long]), 'Paid.']
    const form = await serving({ era, script, tools: [tool], fill })
    await form.call('send_message', { message: 'Pay' })
    expect(seen).toEqual([expect.stringContaining(asked)])
    const text = await serving({ era, script, tools: [tool] })
    const { structuredContent } = await text.call('send_message', { message: 'Pay' })
    expect(structuredContent).toMatchObject({ requests: [{ prompt: expect.stringContaining(asked) }] })
  })

  it('asks by text where the client shows no forms, or the person leaves one', async () => {
    for (const fill of [undefined, () => ({ action: 'cancel' })]) {
      const { call } = await serving({
        era,
        script: [calls(['pay', {}]), 'Paid.'],
        tools: [pay()],
        ...(fill === undefined ? {} : { fill }),
      })
      const waiting = await call('send_message', { message: 'Pay', conversation: 'c-1' })
      expect(waiting).toMatchObject({
        structuredContent: {
          status: 'input-required',
          requests: [{ kind: 'confirmation', prompt: 'May "pay" be run?' }],
        },
      })
      const { requests } = waiting.structuredContent as { requests: { request: string }[] }
      const answer = { conversation: 'c-1', request: requests[0]?.request, answer: true }
      expect(await call('answer_request', answer)).toMatchObject({ structuredContent: { text: 'Paid.' } })
      expect(await call('answer_request', answer)).toMatchObject({ isError: true })
    }
  })

  it('takes an answer that the model of a client writes as a text', async () => {
    for (const [answer, output, status] of [
      ['true', 'Paid.', 'ok'],
      ['yes', 'Paid.', 'ok'],
      ['no', 'Not paid.', 'rejected'],
    ] as const) {
      const script = [calls(['pay', {}]), output]
      const { call, store } = await serving({ era, script, tools: [pay()] })
      const waiting = await call('send_message', { message: 'Pay', conversation: 'c-1' })
      const { requests } = waiting.structuredContent as { requests: { request: string }[] }
      const given = { conversation: 'c-1', request: requests[0]?.request, answer }
      expect(await call('answer_request', given)).toMatchObject({ structuredContent: { text: output } })
      const entries = await store.read({ ...LOCAL_OWNER, contextId: 'c-1' })
      const statuses = entries.flatMap(({ type, data }) => (type === 'tool.end' ? [data['status']] : []))
      expect(statuses).toEqual([status])
    }
  })

  it('cancels the turn with the call', async () => {
    const begun = gate()
    const stopped = gate()
    const wait = pay({
      approve: 'never',
      run: async (_, { signal }) => {
        begun.resolve()
        await new Promise<void>((end) => signal.addEventListener('abort', () => end(), { once: true }))
        stopped.resolve()
        signal.throwIfAborted()
      },
    })
    const { call } = await serving({ era, script: [calls(['pay', {}]), 'Never.'], tools: [wait] })
    const abort = new AbortController()
    const ended = call('send_message', { message: 'Pay' }, { signal: abort.signal }).catch(() => 'cancelled')
    await begun.promise
    abort.abort()
    expect(await ended).toBe('cancelled')
    await stopped.promise
  })
})

describe('a turn with many questions', () => {
  it('asks all of them by forms of an older client', async () => {
    const rounds = Array.from({ length: 9 }, () => calls(['pay', {}]))
    const { call } = await serving({
      era: 'legacy',
      script: [...rounds, 'Paid.'],
      tools: [pay()],
      fill: () => ({ action: 'accept', content: { approved: true } }),
    })
    expect(await call('send_message', { message: 'Pay' })).toMatchObject({
      structuredContent: { text: 'Paid.' },
    })
  })
})

describe('a client that leaves', () => {
  it('in mid-turn leaves the turn open, and the next message finds the conversation', async () => {
    const begun = gate()
    const go = gate()
    const run = async () => {
      begun.resolve()
      await go.promise
      return 'paid'
    }
    const { call, up, server, store } = await serving({
      script: [calls(['pay', {}]), 'Paid.'],
      tools: [pay({ approve: 'never', run })],
    })
    void call('send_message', { message: 'Pay', conversation: 'c-1' }).catch(() => {})
    await begun.promise
    up.end()
    await until('the server notices', () => up.readableEnded)
    await quiet()
    go.resolve()
    await server.closed
    const model = new ScriptedModel(['Paid before.'])
    const agent = new Agent({ contextId: 'c-1', store, model, tools: [pay()] })
    await agent.start()
    expect((await agent.turn?.outcome)?.text).toBe('Paid before.')
  })
})

describe('a cancellation that cannot be stored', () => {
  it('is reported, and the server goes on', async () => {
    const problems: string[] = []
    const [begun, go] = [gate(), gate()]
    let isFull = false
    const run = async () => {
      begun.resolve()
      await go.promise
      return 'paid'
    }
    const { call } = await serving({
      script: [calls(['pay', {}]), 'Paid.', 'As before.'],
      tools: [pay({ approve: 'never', run })],
      store: faultyStore(memoryStore(), [{ at: () => isFull, how: 'refuse' }]),
      onError: ({ message }) => problems.push(message),
    })
    const abort = new AbortController()
    const cancelled = call('send_message', { message: 'Pay', conversation: 'c-1' }, { signal: abort.signal })
    const ended = cancelled.catch(() => 'cancelled')
    await begun.promise
    isFull = true
    abort.abort()
    expect(await ended).toBe('cancelled')
    await until('it is reported', () => problems.length > 0)
    isFull = false
    go.resolve()
    expect(await call('send_message', { message: 'And?', conversation: 'c-1' })).toMatchObject({
      structuredContent: { text: 'As before.' },
    })
  })
})

describe('the words of a client', () => {
  it('are those of a program, except in a form', async () => {
    const { call, store } = await serving({
      script: [calls(['pay', {}]), 'Paid.'],
      tools: [pay()],
      fill: () => ({ action: 'accept', content: { approved: true } }),
    })
    await call('send_message', { message: 'Pay', conversation: 'c-1' })
    const entries = await store.read({ ...LOCAL_OWNER, contextId: 'c-1' })
    const posted = entries.filter(({ type }) => type === 'input' || type === 'request.end')
    expect(posted.map(({ type, data }) => [type, 'origin' in (data as object)])).toEqual([
      ['input', true],
      ['request.end', false],
    ])
  })
})
