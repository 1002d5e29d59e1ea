/** A model as a node: one call with the messages of the state, and its reply as the update. */
import { describe, expect, it } from 'vitest'
import { modelNode, pendingCalls } from '../../src/agent/index.ts'
import { END, type Graph, graph, list, START } from '../../src/graph/index.ts'
import { importMessages } from '../../src/journal/index.ts'
import type { Message } from '../../src/protocol/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { ScriptedModel } from '../../src/testing/index.ts'
import { jsonSchema } from '../../src/tool/index.ts'
import { lines } from './kit.ts'
import {
  contextId,
  hello,
  loopOf,
  type Messages,
  resultsIn,
  toolOf,
  typesOf,
  vendorProblems,
} from './nodes-kit.ts'

const where = { contextId }
const tools = [toolOf('look')]

function oneCall(config: Parameters<typeof modelNode>[0], store = memoryStore()): Graph<Messages> {
  return graph<Messages>({ state: { messages: list<Message>() } })
    .addNode('model', modelNode(config))
    .addEdge(START, 'model')
    .addEdge('model', END)
    .compile({ store })
}

const call = (callId: string) => ({ type: 'tool-call', callId, tool: 'look', args: {} }) as const
const result = (callId: string) =>
  ({ type: 'tool-result', callId, tool: 'look', status: 'ok', output: callId }) as const

describe('the reply', () => {
  it('has its calls, which are not run and are the next node’s', async () => {
    const ran: string[] = []
    const look = toolOf('look', () => void ran.push('look'))
    const model = new ScriptedModel([{ text: 'Let me see.', calls: [{ tool: 'look', args: { n: 1 } }] }])
    const flow = oneCall({ model, tools: [look], systemPrompt: 'Be brief.', settings: { temperature: 0 } })
    const { state, usage } = await flow.invoke(hello)
    const [, reply] = state.messages
    expect(ran).toEqual([])
    expect(reply).toMatchObject({
      role: 'assistant',
      model: 'scripted/model',
      content: [
        { type: 'text', text: 'Let me see.' },
        { type: 'tool-call', tool: 'look', args: { n: 1 } },
      ],
    })
    expect(pendingCalls(state.messages)).toEqual([expect.objectContaining({ tool: 'look' })])
    expect(model.calls[0]?.prompt[0]).toEqual({ role: 'system', content: 'Be brief.' })
    expect(usage.inputTokens).toBeGreaterThan(0)
  })

  it('is not asked for where there is no message', async () => {
    const store = memoryStore()
    const model = new ScriptedModel([])
    const { status, error } = await oneCall({ model }, store).stream({ messages: [] }, where).outcome
    expect([status, error?.message]).toEqual([
      'failed',
      expect.stringContaining('has no message that a model could answer'),
    ])
    expect(await typesOf(store, `${contextId}/model.1`)).toEqual(['claim', 'turn.start', 'turn.end'])
  })

  it('reaches the subscribers of the graph as it is written', async () => {
    const flow = oneCall({ model: new ScriptedModel([{ deltas: ['One, ', 'two.'] }]) })
    const told = await lines(flow.stream(hello, where))
    expect(told.filter((line) => line.startsWith('text.delta'))).toEqual([
      ...['text.delta @model.1', 'text.delta @model.1'],
    ])
  })

  it('is tried again as in a turn, and every attempt is in the journal', async () => {
    const store = memoryStore()
    const model = new ScriptedModel([{ error: { status: 503 } }, 'Hi.'])
    const { state } = await oneCall({ model, settings: { maxRetryWaitMs: 0 } }, store).invoke(hello, where)
    expect(state.messages.at(-1)).toMatchObject({ content: [{ type: 'text', text: 'Hi.' }] })
    expect(await typesOf(store, `${contextId}/model.1`)).toEqual([
      ...['claim', 'turn.start', 'model.start', 'model.end', 'model.start', 'model.end', 'turn.end'],
    ])
  })

  it('fails its node if the model does; null asks again', async () => {
    const flow = oneCall({ model: new ScriptedModel([{ error: { status: 400, message: 'no' } }, 'Hi.']) })
    await expect(flow.invoke(hello, where)).rejects.toMatchObject({ code: 'node-failed' })
    const { state } = await flow.invoke(null, where)
    expect(state.messages).toHaveLength(2)
  })
})

describe('hooks of the node', () => {
  it('see one short turn: before and after the call, and its end', async () => {
    const points: string[] = []
    const note = (point: string) => () => void points.push(point)
    const on = {
      beforeIteration: note('beforeIteration'),
      beforeLlm: note('beforeLlm'),
      afterLlm: note('afterLlm'),
      beforeTools: note('beforeTools'),
      beforeEachTool: note('beforeEachTool'),
      afterEachTool: note('afterEachTool'),
      afterTools: note('afterTools'),
      afterIteration: note('afterIteration'),
      onComplete: note('onComplete'),
    }
    await oneCall({ model: new ScriptedModel([{ calls: [{ tool: 'look' }] }]), tools, on }).invoke(hello)
    expect(points).toEqual(['beforeIteration', 'beforeLlm', 'afterLlm', 'afterIteration', 'onComplete'])
  })

  it('edit the arguments of calls, reject calls, and stop: the tools after it see that', async () => {
    const ran: unknown[] = []
    const look = toolOf('look', ({ n }) => void ran.push(n))
    const script = [
      { calls: [1, 2].map((n) => ({ tool: 'look', args: { n } })) },
      { calls: [{ tool: 'look' }] },
    ]
    const outcome = await loopOf(script, {
      tools: [look],
      model: {
        on: {
          afterLlm: ({ reply: { calls }, edit, reject, stop }) => {
            const [first, second] = calls
            if (first === undefined || second === undefined) return stop('enough')
            edit(first.callId, { n: 10 })
            reject(second.callId, 'not that')
          },
        },
      },
    }).invoke(hello)
    expect(ran).toEqual([10])
    expect(resultsIn(outcome)).toEqual([
      'look rejected: not that',
      'look ok: null',
      'look not-run: Not run: afterLlm ended the turn: enough.',
    ])
  })

  it('edit the prompt, which has the messages of the state', async () => {
    const model = new ScriptedModel(['Hi.'])
    const on = {
      beforeLlm: ({
        prompt,
        edit,
      }: {
        prompt: { messages: readonly Message[] }
        edit: (to: object) => void
      }) =>
        edit({ messages: [...prompt.messages, { role: 'user', content: 'And quickly.', by: 'program' }] }),
    }
    await oneCall({ model, on }).invoke(hello)
    expect(JSON.stringify(model.calls[0]?.prompt)).toContain('And quickly.')
  })
})

describe('the prompt', () => {
  const round = (n: number): readonly Message[] => [
    { role: 'user', content: `Question ${n}.` },
    { role: 'assistant', content: [call(`c${n}`), call(`d${n}`)] },
    { role: 'tool', content: [result(`c${n}`), result(`d${n}`)] },
    { role: 'assistant', content: [{ type: 'text', text: `Answer ${n}.` }] },
  ]

  it.each([1, 2, 3, 4, 5, 6, 7, 8, 9])(
    'is a window of %i messages that splits no round',
    async (maxMessages) => {
      const messages = [...[1, 2, 3].flatMap(round), { role: 'user', content: 'And now?' } as const]
      const model = new ScriptedModel(['Hi.'])
      await oneCall({ model, tools, maxMessages }).invoke({ messages })
      const prompt = model.calls[0]?.prompt ?? []
      expect(prompt[0]?.role).toBe('user')
      expect(prompt.at(-1)).toMatchObject({ content: [{ text: 'And now?' }] })
      const asked = prompt.flatMap(({ role, content }) => (role === 'assistant' ? partIds(content) : []))
      const answered = prompt.flatMap(({ role, content }) => (role === 'tool' ? partIds(content) : []))
      expect(answered).toEqual(asked)
    },
  )

  it.each([
    [
      'a call without a result',
      [
        { role: 'user', content: 'x' },
        { role: 'assistant', content: [call('c1')] },
      ],
    ],
    [
      'results in several messages',
      [
        { role: 'user', content: 'x' },
        { role: 'assistant', content: [call('c1'), call('c2')] },
        { role: 'tool', content: [result('c2')] },
        { role: 'user', content: 'meanwhile' },
        { role: 'tool', content: [result('c1')] },
      ],
    ],
    [
      'a result of no call',
      [
        { role: 'user', content: 'x' },
        { role: 'tool', content: [result('c9')] },
      ],
    ],
    [
      'a reply first',
      [
        { role: 'assistant', content: [{ type: 'text', text: 'Welcome.' }] },
        { role: 'user', content: 'x' },
      ],
    ],
    [
      'a reply last',
      [
        { role: 'user', content: 'x' },
        { role: 'assistant', content: [{ type: 'text', text: 'Hm.' }] },
      ],
    ],
    [
      'a reply as a text',
      [
        { role: 'user', content: 'x' },
        { role: 'assistant', content: 'Hm.' },
        { role: 'user', content: 'y' },
      ],
    ],
  ] as unknown as readonly [string, readonly Message[]][])(
    'is legal for every vendor with %s',
    async (_, messages) => {
      const model = new ScriptedModel(['Hi.'])
      const seen: Message[] = []
      const on = {
        beforeLlm: ({ prompt }: { prompt: { messages: readonly Message[] } }) =>
          void seen.push(...prompt.messages),
      }
      await oneCall({ model, tools, on }).invoke({ messages })
      expect(await vendorProblems(seen, tools)).toEqual([])
      expect(model.calls).toHaveLength(1)
    },
  )

  it('begins as the last one did, so that a vendor’s cache holds', async () => {
    const model = new ScriptedModel([{ calls: [{ tool: 'look' }] }, { calls: [{ tool: 'look' }] }, 'Done.'])
    await loopOf(model, { tools }).invoke(hello)
    const [first, second, third] = model.calls.map(({ prompt }) => JSON.stringify(prompt).slice(0, -1))
    expect(second?.startsWith(first ?? '-')).toBe(true)
    expect(third?.startsWith(second ?? '-')).toBe(true)
  })

  it('without any message fails the node', async () => {
    await expect(oneCall({ model: new ScriptedModel(['Hi.']) }).invoke({})).rejects.toThrow(
      'no message that a model could answer',
    )
  })
})

it('the messages of a run can be imported into an agent', async () => {
  const model = new ScriptedModel([{ calls: [{ tool: 'look' }] }, 'Done.'])
  const { state } = await loopOf(model, { tools }).invoke(hello)
  expect(importMessages(state.messages)).toMatchObject({
    format: 'holdfast',
    repairs: [],
    messages: state.messages,
  })
})

it('an output schema is refused', () => {
  const output = jsonSchema({ type: 'object' })
  expect(() => modelNode({ output } as never)).toThrow(
    'output cannot be set for modelNode(): use agentNode()',
  )
})

it('an option of rounds is refused', () => {
  expect(() => modelNode({ toolConcurrency: 1 } as never)).toThrow(
    'toolConcurrency cannot be set for modelNode(), which runs no calls: give it to toolNode()',
  )
})

function partIds(content: unknown): readonly string[] {
  return (content as readonly { readonly toolCallId?: string }[]).flatMap(
    ({ toolCallId }) => toolCallId ?? [],
  )
}
