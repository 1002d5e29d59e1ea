/** A real provider package against a real server: the requests on the wire, and broken replies. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { LanguageModel, ModelDelta, ModelReply, ModelRequest } from '../../src/model/index.ts'
import { resolveModel } from '../../src/model/index.ts'
import type { AssistantPart, JsonObject, Message, ToolCallPart } from '../../src/protocol/index.ts'
import { askOnce, failing } from './ask-once.ts'

type Answer = (response: ServerResponse, request: IncomingMessage) => void

let server: Server
let model: LanguageModel
let baseURL = ''
let answers: Answer[] = []
let bodies: Record<string, unknown>[] = []

beforeAll(async () => {
  server = createServer((request, response) => {
    let text = ''
    request.on('data', (chunk: Buffer) => {
      text += chunk.toString()
    })
    request.on('end', () => {
      bodies.push(JSON.parse(text) as Record<string, unknown>)
      answers.shift()?.(response, request)
    })
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as AddressInfo
  baseURL = `http://127.0.0.1:${port}/v1`
  model = await resolveModel('local-model', { baseURL })
})

afterAll(() => {
  server.closeAllConnections()
  server.close()
})

beforeEach(() => {
  answers = []
  bodies = []
})

function event(response: ServerResponse, delta: object, more: object = {}): void {
  const choices = [{ index: 0, delta, finish_reason: null, ...more }]
  response.write(`data: ${JSON.stringify({ id: 'c1', created: 1, model: 'local-model', choices })}\n\n`)
}

function begin(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
}

function end(response: ServerResponse, reason: string): void {
  event(response, {}, { finish_reason: reason })
  const usage = {
    prompt_tokens: 20,
    completion_tokens: 5,
    total_tokens: 25,
    prompt_tokens_details: { cached_tokens: 16 },
  }
  response.write(`data: ${JSON.stringify({ id: 'c1', created: 1, choices: [], usage })}\n\n`)
  response.end('data: [DONE]\n\n')
}

function refuse(status: number, error: object, headers: Record<string, string> = {}): Answer {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(JSON.stringify({ type: 'error', error }))
  }
}

const question: Message[] = [{ role: 'user', content: 'weather?' }]
const parameters = { type: 'object', properties: { city: { type: 'string' } } }

function ask(more: Partial<ModelRequest> = {}): Promise<ModelReply> {
  return askOnce(model, { messages: question, ...more })
}

describe('over the wire', () => {
  it('a text comes back with its usage', async () => {
    answers = [
      (response) => {
        begin(response)
        for (const content of ['It ', 'rains', '.']) event(response, { role: 'assistant', content })
        end(response, 'stop')
      },
    ]
    const deltas: ModelDelta[] = []
    const reply = await ask({
      system: 'be brief',
      settings: { temperature: 0.5, maxOutputTokens: 7 },
      onDelta: (delta) => deltas.push(delta),
    })
    expect(reply).toEqual({
      content: [{ type: 'text', text: 'It rains.' }],
      finish: 'stop',
      model: 'openai-compatible/local-model',
      usage: { inputTokens: 20, outputTokens: 5, cachedTokens: 16, costUsd: 0 },
    })
    expect(deltas.map(({ text }) => text)).toEqual(['It ', 'rains', '.'])
    expect(bodies).toEqual([
      {
        model: 'local-model',
        messages: [
          { role: 'system', content: 'be brief' },
          { role: 'user', content: 'weather?' },
        ],
        temperature: 0.5,
        max_tokens: 7,
        stream: true,
        stream_options: { include_usage: true },
      },
    ])
  })

  it('a call comes back, and goes out again with its result under our id (R10)', async () => {
    const call = (fields: object) => ({ tool_calls: [{ index: 0, ...fields }] })
    answers = [
      (response) => {
        begin(response)
        const named = {
          id: 'chatcmpl-tool-7',
          type: 'function',
          function: { name: 'weather', arguments: '' },
        }
        event(response, call(named))
        event(response, call({ function: { arguments: '{"city":' } }))
        event(response, call({ function: { arguments: '"Rome"}' } }))
        end(response, 'tool_calls')
      },
      (response) => {
        begin(response)
        event(response, { content: 'Sunny' })
        end(response, 'stop')
      },
    ]
    const tools = [{ name: 'weather', description: 'Looks outside', parameters }]
    const first = await ask({ tools })
    expect([first.finish, first.content]).toEqual([
      'tool-calls',
      [
        {
          type: 'tool-call',
          callId: 'call_1',
          providerId: 'chatcmpl-tool-7',
          tool: 'weather',
          args: { city: 'Rome' },
        },
      ],
    ])
    const result = {
      type: 'tool-result',
      callId: 'call_1',
      tool: 'weather',
      status: 'ok',
      output: 'sun',
    } as const
    const messages: Message[] = [
      ...question,
      { role: 'assistant', content: first.content, model: first.model },
      { role: 'tool', content: [result] },
    ]
    const second = await ask({ tools, messages })
    expect(second.content).toEqual([{ type: 'text', text: 'Sunny' }])
    expect(bodies[1]?.['messages']).toEqual([
      { role: 'user', content: 'weather?' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Rome"}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'call_1', content: 'sun' },
    ])
    expect(bodies[1]?.['tools']).toEqual([
      { type: 'function', function: { name: 'weather', description: 'Looks outside', parameters } },
    ])
  })

  it('a 429 says how long to wait', async () => {
    answers = [refuse(429, { message: 'Rate limit reached' }, { 'retry-after': '7' })]
    const failure = await failing(ask())
    expect([failure.kind, failure.retryable, failure.retryAfterMs]).toEqual(['rate-limit', true, 7000])
    expect(failure.toData()).toEqual({ kind: 'rate-limit', message: 'Rate limit reached', status: 429 })
  })

  it('a 400 says that the context is too long', async () => {
    answers = [refuse(400, { message: 'Too long', code: 'context_length_exceeded' })]
    const failure = await failing(ask())
    expect([failure.kind, failure.retryable, failure.status]).toEqual(['context-length', false, 400])
  })

  it('nobody answers', async () => {
    const nowhere = await resolveModel('local-model', { baseURL: 'http://127.0.0.1:1/v1' })
    const failure = await failing(ask({ model: nowhere }))
    expect([failure.kind, failure.retryable]).toEqual(['network', true])
  })

  it('an abort in the middle closes the connection', async () => {
    const closed = Promise.withResolvers<void>()
    answers = [
      (response, request) => {
        begin(response)
        event(response, { content: 'so far' })
        request.socket.once('close', () => closed.resolve())
      },
    ]
    const controller = new AbortController()
    const failure = await failing(ask({ signal: controller.signal, onDelta: () => controller.abort() }))
    expect([failure.kind, failure.partial]).toEqual(['aborted', [{ type: 'text', text: 'so far' }]])
    await closed.promise
  })

  it('a stream that breaks in the middle is cut off', async () => {
    answers = [
      (response) => {
        begin(response)
        event(response, { content: 'half' })
        setTimeout(() => response.socket?.destroy(), 20)
      },
    ]
    const failure = await failing(ask())
    expect([failure.kind, failure.retryable, failure.partial]).toEqual([
      'cut-off',
      true,
      [{ type: 'text', text: 'half' }],
    ])
  })

  it('a stream that ends politely in the middle is cut off too', async () => {
    answers = [
      (response) => {
        begin(response)
        event(response, { content: 'half' })
        response.end()
      },
    ]
    const failure = await failing(ask())
    expect([failure.kind, failure.partial]).toEqual(['cut-off', [{ type: 'text', text: 'half' }]])
  })
})

describe('each vendor', () => {
  /** A conversation with three models, the called one among them. */
  function talk(name: string): Message[] {
    const call = (callId: string, providerId: string, provider?: JsonObject): ToolCallPart => {
      const part = { type: 'tool-call', callId, providerId, tool: 'weather', args: { city: 'Rome' } } as const
      return provider === undefined ? part : { ...part, provider }
    }
    const result = (callId: string, output: string): Message => ({
      role: 'tool',
      content: [{ type: 'tool-result', callId, tool: 'weather', status: 'ok', output }],
    })
    const foreign: AssistantPart = {
      type: 'reasoning',
      text: 'foreign thought',
      provider: { acme: { signature: 'foreign signature' } },
    }
    const thought: Record<string, JsonObject> = {
      openai: { openai: { itemId: 'rs_1', reasoningEncryptedContent: 'own signature' } },
      anthropic: { anthropic: { signature: 'own signature' } },
      google: { google: { thoughtSignature: 'own signature' } },
    }
    const provider = thought[name.slice(0, name.indexOf('/'))] ?? {}
    const own: AssistantPart = { type: 'reasoning', text: 'own thought', provider }
    return [
      ...question,
      { role: 'assistant', model: 'acme/m1', content: [foreign, call('call_1', 'foreign_id')] },
      result('call_1', 'rain'),
      {
        role: 'assistant',
        model: name,
        content: [own, call('call_2', 'own_id', name.startsWith('google') ? provider : undefined)],
      },
      result('call_2', 'sun'),
    ]
  }

  it.each([
    ['openai/gpt-5', 'call_'],
    ['anthropic/claude-sonnet-4-5', 'call_'],
    ['google/gemini-2.5-pro', 'weather'],
  ])('%s gets what is its own, and nothing of another model (R10)', async (name, id) => {
    answers = [refuse(400, { message: 'enough', code: 400, status: 'x', type: 'x' })]
    const asked = await resolveModel(name, { apiKey: 'k', baseURL })
    const tools = [{ name: 'weather', description: 'Looks outside', parameters }]
    const failure = await failing(ask({ model: asked, messages: talk(name), tools }))
    expect([failure.kind, failure.message]).toEqual(['invalid', 'enough'])
    const text = JSON.stringify(bodies[0])
    expect(text).not.toContain('foreign')
    expect(text).not.toContain('own_id')
    expect(text).toContain('own signature')
    const found = [id === 'call_' ? 'call_1' : id, id === 'call_' ? 'call_2' : id, 'rain', 'sun']
    expect(found.filter((word) => !text.includes(word))).toEqual([])
    expect(bodies[0]?.['store']).toBe(name.startsWith('openai') ? false : undefined)
  })
})
