import OpenAI, { APIError } from 'openai'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { HostedAgentConfig } from '../../../src/host/index.ts'
import { ask, defineTool, memoryStore } from '../../../src/index.ts'
import { type OpenAiOptions, openai } from '../../../src/serve/openai/index.ts'
import { ScriptedModel, type ScriptedStep } from '../../../src/testing/index.ts'
import { until } from '../../turn/kit.ts'
import { open } from '../http/kit.ts'

const order = defineTool({
  name: 'order',
  description: 'Orders bags.',
  input: z.object({ bags: z.number() }),
  approve: ({ input }) => input.bags > 10,
  run: ({ bags }) => ({ ordered: bags }),
})

const call = (tool: string, args: object): ScriptedStep => ({ calls: [{ tool, args: args as never }] })
const says = (content: string) => [{ role: 'user' as const, content }]

async function served(
  steps: readonly ScriptedStep[],
  agent: HostedAgentConfig = { tools: [order] },
  options: OpenAiOptions = {},
) {
  const model = new ScriptedModel([...steps])
  const server = await open(
    { store: memoryStore(), agents: { helper: { model, ...agent } } },
    {
      mounts: [openai(options)],
      cors: ['https://app.example'],
      authenticate: ({ headers }) => {
        const actor = /^Bearer (\w+)$/.exec(headers.get('authorization') ?? '')?.[1]
        return actor === undefined || actor === 'wrong' ? undefined : { tenant: 't', actor }
      },
    },
  )
  const as = (apiKey: string, maxRetries = 0) =>
    new OpenAI({ baseURL: `${server.url}/v1`, apiKey, maxRetries })
  return { ...server, model, as, client: as('ada') }
}

const named = (name: string) => ({ headers: { 'x-conversation-id': name } })

describe('chat completions', () => {
  test('are replies of an agent whose tools run inside, with usage', async () => {
    const { client } = await served([
      { text: 'I order.', calls: [{ tool: 'order', args: { bags: 2 } }] },
      { text: 'Done.', usage: { inputTokens: 20, outputTokens: 3, cachedTokens: 5 } },
    ])
    expect((await client.models.list()).data.map(({ id }) => id)).toEqual(['helper'])
    expect((await client.models.retrieve('helper')).id).toBe('helper')
    const reply = await client.chat.completions.create({ model: 'helper', messages: says('Order 2') })
    expect(reply.choices).toEqual([
      {
        index: 0,
        finish_reason: 'stop',
        logprobs: null,
        message: { role: 'assistant', content: 'I order.\n\nDone.', refusal: null },
      },
    ])
    expect(reply).toMatchObject({
      object: 'chat.completion',
      model: 'helper',
      usage: { prompt_tokens_details: { cached_tokens: 5 } },
    })
    expect(reply.usage?.total_tokens).toBe(
      (reply.usage?.prompt_tokens ?? 0) + (reply.usage?.completion_tokens ?? 0),
    )
  })

  test('are streamed as the same text, with usage at the end', async () => {
    const { client } = await served([
      { text: 'I order.', calls: [{ tool: 'order', args: { bags: 2 } }] },
      { deltas: ['Do', 'ne', '.'] },
    ])
    const stream = await client.chat.completions.create({
      model: 'helper',
      messages: says('Order 2'),
      stream: true,
      stream_options: { include_usage: true },
    })
    let text = ''
    const ends: unknown[] = []
    for await (const { choices, usage } of stream) {
      text += choices[0]?.delta.content ?? ''
      expect(choices[0]?.delta.tool_calls).toBeUndefined()
      if (choices[0]?.finish_reason) ends.push(choices[0].finish_reason)
      if (usage) ends.push(usage.total_tokens > 0)
    }
    expect([text, ends]).toEqual(['I order.\n\nDone.', ['stop', true]])
  })

  test('with a name go on with one conversation, of which only the newest message is taken', async () => {
    const { client, model } = await served(['Hello, Ada.', 'You are Ada.', 'Again.'])
    await client.chat.completions.create({ model: 'helper', messages: says('I am Ada'), user: 'chat-7' })
    const messages = [
      ...says('I am Eve'),
      { role: 'assistant' as const, content: 'Hello, Eve.' },
      ...says('Who am I?'),
    ]
    await client.chat.completions.create({ model: 'helper', messages }, named('chat-7'))
    const prompt = JSON.stringify(model.calls.at(-1)?.prompt)
    expect(prompt).toContain('I am Ada')
    expect(prompt).not.toContain('Eve')
    const again = await client.chat.completions
      .create({ model: 'helper', messages: says('And now?') }, named('helper:chat-7'))
      .asResponse()
    expect(again.headers.get('x-conversation-id')).toBe('helper:chat-7')
    expect(JSON.stringify(model.calls.at(-1)?.prompt)).toContain('Who am I?')
  })

  test('without a name begin a new conversation each, with the history that the client sends', async () => {
    const { client, model, host } = await served(['One.', 'Two.'])
    const send = () =>
      client.chat.completions.create({
        model: 'helper',
        messages: [
          { role: 'system', content: 'Be brief.' },
          ...says('My dog is called Rex.'),
          { role: 'assistant', content: 'Noted.' },
          ...says('What is it called?'),
        ],
      })
    await send()
    const { prompt } = model.calls[0] ?? {}
    expect(prompt?.map(({ role }) => role)).toEqual(['user', 'assistant', 'user'])
    expect(JSON.stringify(prompt)).toMatch(/Rex.*Noted.*Be brief.*What is it called/s)
    await send()
    const { conversations } = await host.reads.list({ tenant: 't', actor: 'ada' }, {})
    expect(conversations).toHaveLength(2)
  })

  test('take images and files', async () => {
    const { client, model } = await served(['A cat.'])
    const url = 'data:image/png;base64,iVBORw0KGgo='
    await client.chat.completions.create({
      model: 'helper',
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is this?' },
            { type: 'image_url', image_url: { url } },
            { type: 'image_url', image_url: { url: 'https://example.com/cat.png' } },
            { type: 'file', file: { filename: 'a.txt', file_data: 'data:text/plain;base64,SGk=' } },
            // As browsers write it.
            { type: 'file', file: { file_data: 'data:text/csv;charset=utf-8;base64,SGk=' } },
          ],
        },
      ],
    })
    const [message] = model.calls[0]?.prompt ?? []
    expect(message?.content).toMatchObject([
      { type: 'text', text: 'What is this?' },
      { mediaType: 'image/png' },
      { mediaType: 'image/*' },
      { mediaType: 'text/plain' },
      { mediaType: 'text/csv' },
    ])
    const input = [{ role: 'user' as const, content: [{ type: 'input_file' as const, file_id: 'file-1' }] }]
    await expect(client.responses.create({ model: 'helper', input })).rejects.toThrow(
      'A part of type "input_file" needs its content: text, image_url or file_data.',
    )
  })

  test('ask a question as text, and take the next message as its answer', async () => {
    const { client, model } = await served([
      call('order', { bags: 40 }),
      'Ordered.',
      call('order', { bags: 50 }),
      'Then not.',
    ])
    const say = async (content: string) =>
      (await client.chat.completions.create({ model: 'helper', messages: says(content) }, named('approvals')))
        .choices[0]?.message.content
    expect(await say('Order 40')).toBe('May "order" be run with {"bags":40}?\nAnswer yes or no.')
    expect(await say('yes')).toBe('Ordered.')
    expect(await say('Order 50')).toContain('{"bags":50}')
    expect(await say('Wait, how much is that?')).toBe('Then not.')
    expect(JSON.stringify(model.calls.at(-1)?.prompt)).toContain('how much is that')
  })

  test('ask one question at a time, with its options', async () => {
    const plan = defineTool({
      name: 'plan',
      description: 'Plans.',
      input: z.object({}),
      run: (_, { answers }) =>
        answers['size'] === undefined
          ? ask([
              { name: 'town', kind: 'choice', prompt: 'Which town?', options: ['Lyon', 'Nantes'] },
              { name: 'size', kind: 'data', prompt: 'How large?', schema: z.object({ m2: z.number() }) },
            ])
          : [answers['town'] as string, answers['size'] as object],
    })
    const { client, host } = await served([call('plan', {}), 'Planned.'], { tools: [plan] })
    const say = async (content: string) =>
      (await client.chat.completions.create({ model: 'helper', messages: says(content), user: 'p' }))
        .choices[0]?.message.content
    expect(await say('Plan')).toBe('Which town?\n1. Lyon\n2. Nantes\nAnswer with a number or a name.')
    expect(await say('2')).toMatch(/^How large\?\nAnswer with JSON that fits .*m2/)
    expect(await say('{"m2": 90}')).toBe('Planned.')
    const trace = await host.reads.trace({ tenant: 't', actor: 'ada', contextId: 'helper:p' })
    expect(JSON.stringify(trace)).toContain('["Nantes",{"m2":90}]')
  })

  test('are not cancelled when the client leaves, unless the mount is told so', async () => {
    const leave = async (options: OpenAiOptions) => {
      const { client, host, http } = await served([{ stall: true, after: 'Once' }], {}, options)
      const stream = await client.chat.completions.create({
        model: 'helper',
        messages: says('A story'),
        stream: true,
        user: 'c',
      })
      for await (const { choices } of stream) if (choices[0]?.delta.content) break
      return { host, http, key: { tenant: 't', actor: 'ada', contextId: 'helper:c' } }
    }
    const cancelled = await leave({ onDisconnect: 'cancel' })
    await until('it is cancelled', async () => {
      const info = await cancelled.host.reads.info(cancelled.key)
      return info?.outcome === 'cancelled'
    })
    const { host, key } = await leave({})
    expect((await host.reads.info(key))?.status).toBe('running')
    await host.cancel(key)
  })
})

describe('responses', () => {
  test('are built by the full sequence of events', async () => {
    const { client } = await served([call('order', { bags: 2 }), { deltas: ['Do', 'ne', '.'] }])
    const stream = client.responses.stream({ model: 'helper', input: 'Order 2' })
    const types: string[] = []
    const numbers: number[] = []
    for await (const { type, sequence_number: at } of stream) {
      if (type !== types.at(-1)) types.push(type)
      numbers.push(at)
    }
    expect(types).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ])
    expect(numbers).toEqual(numbers.map((_, at) => at))
    const final = await stream.finalResponse()
    expect(final).toMatchObject({ status: 'completed', output_text: 'Done.' })
    expect(await client.responses.retrieve(final.id)).toMatchObject({ id: final.id, output_text: 'Done.' })
    const replayed = await client.responses.retrieve(final.id, { stream: true })
    let text = ''
    for await (const event of replayed) if (event.type === 'response.output_text.delta') text += event.delta
    expect(text).toBe('Done.')
  })

  test('continue the conversation of the response before, and only its newest', async () => {
    const { client, model, as } = await served(['Hello, Ada.', 'You are Ada.'])
    const first = await client.responses.create({
      model: 'helper',
      input: 'I am Ada',
      instructions: 'Be kind.',
    })
    expect(first).toMatchObject({
      status: 'completed',
      output_text: 'Hello, Ada.',
      previous_response_id: null,
    })
    expect(JSON.stringify(model.calls[0]?.prompt)).toContain('Be kind.')
    const next = { model: 'helper', input: 'Who am I?', previous_response_id: first.id }
    await expect(as('eve').responses.create(next)).rejects.toMatchObject({
      status: 400,
      code: 'previous_response_not_found',
    })
    await expect(as('eve').responses.retrieve(first.id)).rejects.toMatchObject({ status: 404 })
    const second = await client.responses.create(next)
    expect(second).toMatchObject({ output_text: 'You are Ada.', previous_response_id: first.id })
    expect(JSON.stringify(model.calls[1]?.prompt)).toContain('I am Ada')
    await expect(client.responses.create(next)).rejects.toMatchObject({
      status: 409,
      code: 'previous_response_not_newest',
    })
  })

  test('are cancelled by their id', async () => {
    const { client } = await served([{ stall: true, after: 'Once' }])
    const stream = await client.responses.create({ model: 'helper', input: 'A story', stream: true })
    const statuses: unknown[] = []
    let id = ''
    for await (const event of stream) {
      if (event.type === 'response.created') id = event.response.id
      if (event.type === 'response.output_text.delta' && statuses.length === 0)
        statuses.push((await client.responses.cancel(id)).status)
      if (event.type === 'response.incomplete') statuses.push(event.response.status)
    }
    expect(statuses).toEqual(['cancelled', 'cancelled'])
  })
})

describe('a request that is sent again', () => {
  test('under one Idempotency-Key begins one turn', async () => {
    const { client, model } = await served(['Once.', 'Twice.'])
    const send = async (text: string) =>
      (
        await client.chat.completions.create(
          { model: 'helper', messages: [{ role: 'system', content: 'Be brief.' }, ...says(text)] },
          { headers: { 'idempotency-key': 'k-1' } },
        )
      ).choices[0]?.message.content
    expect([await send('Hi'), await send('Hi')]).toEqual(['Once.', 'Once.'])
    expect(model.calls).toHaveLength(1)
    await expect(send('Ho')).rejects.toMatchObject({ status: 409, code: 'key-reused' })
  })

  test.each([[{}], [{ user: 'named' }]])(
    'by the package itself begins one turn, and an equal request later another: %j',
    async (name) => {
      const { url, model } = await served(['Once.', 'Twice.'])
      let isLost = true
      const client = new OpenAI({
        baseURL: `${url}/v1`,
        apiKey: 'ada',
        maxRetries: 1,
        fetch: async (input, init) => {
          const response = await fetch(input, init)
          if (!isLost) return response
          isLost = false
          await response.text()
          throw new TypeError('fetch failed')
        },
      })
      const send = async () =>
        (await client.chat.completions.create({ model: 'helper', messages: says('Hi'), ...name })).choices[0]
          ?.message.content
      expect(await send()).toBe('Once.')
      expect(model.calls).toHaveLength(1)
      expect(await send()).toBe('Twice.')
    },
  )

  test('by the package, after another request to the conversation, gets the turn of its first attempt', async () => {
    const { client, model } = await served(['One.', 'Two.', 'Three.'])
    const send = async (text: string, retries: string) =>
      (
        await client.chat.completions.create(
          { model: 'helper', messages: says(text), user: 'shared' },
          { headers: { 'x-stainless-retry-count': retries } },
        )
      ).choices[0]?.message.content
    expect([await send('1', '0'), await send('2', '0'), await send('1', '1')]).toEqual([
      'One.',
      'Two.',
      'One.',
    ])
    expect(model.calls).toHaveLength(2)
  })

  test('does not answer a question twice', async () => {
    const { client, model } = await served([
      call('order', { bags: 40 }),
      call('order', { bags: 50 }),
      'Done.',
    ])
    const send = async (content: string, key: string) =>
      (
        await client.chat.completions.create(
          { model: 'helper', messages: says(content) },
          { headers: { 'idempotency-key': key, 'x-conversation-id': 'q' } },
        )
      ).choices[0]?.message.content
    await send('Order 40, then 50', 'k-1')
    expect(await send('yes', 'k-2')).toContain('{"bags":50}')
    expect(await send('yes', 'k-2')).toContain('{"bags":50}')
    expect(model.calls).toHaveLength(2)
    expect(await send('yes', 'k-3')).toBe('Done.')
  })
})

describe('a failure', () => {
  test('has the form and status of the API', async () => {
    const { client, as } = await served([{ error: { status: 400, message: 'The provider refuses.' } }])
    const create = (body: object, using = client) =>
      using.chat.completions
        .create({ model: 'helper', messages: says('Hi'), ...body } as never)
        .then(() => undefined)
        .catch((error: unknown) => {
          const { status, code, type } = error as APIError
          return [status, code, type]
        })
    expect(await create({}, as('wrong'))).toEqual([401, 'unauthorized', 'authentication_error'])
    expect(await create({ model: 'gpt' })).toEqual([404, 'model_not_found', 'invalid_request_error'])
    expect(await create({ messages: [] })).toEqual([400, 'invalid-request', 'invalid_request_error'])
    expect(await create({ tools: [{ type: 'function', function: { name: 'x' } }] })).toEqual([
      400,
      'unsupported_parameter',
      'invalid_request_error',
    ])
    const failed = await create({})
    expect(failed).toMatchObject([500, expect.any(String), 'server_error'])
  })

  test('of a streamed turn reaches the reader', async () => {
    const { client } = await served([
      { error: { status: 400, message: 'No.' } },
      { error: { status: 400, message: 'No.' } },
    ])
    const chat = await client.chat.completions.create({ model: 'helper', messages: says('Hi'), stream: true })
    await expect(
      (async () => {
        for await (const _ of chat);
      })(),
    ).rejects.toBeInstanceOf(APIError)
    const types: string[] = []
    const stream = await client.responses.create({ model: 'helper', input: 'Hi', stream: true })
    for await (const { type } of stream) types.push(type)
    expect(types.at(-1)).toBe('response.failed')
  })
})

describe('a page of another origin', () => {
  const origin = 'https://app.example'

  test('may send every header of the openai package, and read those of the reply', async () => {
    const { url, client } = await served(['Hi.'])
    const sent: string[] = []
    const inPage = client.withOptions({
      fetch: (input, init) => {
        sent.push(...new Headers(init?.headers).keys())
        return fetch(input, {
          ...init,
          headers: { ...Object.fromEntries(new Headers(init?.headers)), origin },
        })
      },
    })
    const { response } = await inPage.chat.completions
      .create({ model: 'helper', messages: says('Hello') }, { ...named('1'), idempotencyKey: 'k' })
      .withResponse()
    expect(response.headers.get('access-control-expose-headers')).toContain('x-conversation-id')
    // Accept needs no permission, and a page sends its own User-Agent.
    const asked = sent.filter((name) => name !== 'accept' && name !== 'user-agent')
    expect(asked).toContain('x-stainless-retry-count')
    const preflight = await fetch(`${url}/v1/chat/completions`, {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': asked.join(','),
      },
    })
    expect(preflight.status).toBe(204)
    expect((preflight.headers.get('access-control-allow-headers') ?? '').split(', ')).toEqual(
      expect.arrayContaining(asked),
    )
  })
})
