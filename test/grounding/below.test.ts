/**
 * A model's words are never the person's: arguments that a caller passes to a sub-agent or a graph ground no id there. An
 * id is good below if it is good above, and the journal below says where.
 */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { Agent, type AgentConfig, agentNode, agentTool, type SubAgentConfig } from '../../src/agent/index.ts'
import { END, graph as newGraph, START, value } from '../../src/graph/index.ts'
import { entity } from '../../src/grounding/index.ts'
import { type EntryData, type Ground, LOCAL_OWNER } from '../../src/protocol/index.ts'
import type { Store } from '../../src/store/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { CountingIds, ManualClock, ScriptedModel, type ScriptedStep } from '../../src/testing/index.ts'
import { defineTool, type Tool } from '../../src/tool/index.ts'
import { calls, openSqlite, sqlitePath } from '../turn/kit.ts'
import { cancelTool, listing, order } from './guarded-tools.ts'

const entities = [order]
const ORDERS = [
  { id: 'ord_1', name: 'Chairs' },
  { id: 'ord_2', name: 'Tables' },
]

function shop() {
  const list = listing('list', ORDERS, (rows) => order.rows(rows, { id: 'id', label: 'name' }))
  return { ...cancelTool(), list }
}

const cancelOf = (orderId: string) => calls(['cancel', { orderId }])
const passDown = (message: string) => calls(['sub', { message }])

function below(cancel: Tool, script: readonly ScriptedStep[], more: SubAgentConfig = {}): Tool {
  const agent = { model: new ScriptedModel(script), tools: [cancel], entities, ...more }
  return agentTool({ name: 'sub', description: 'Does it.', agent })
}

function talk(script: readonly ScriptedStep[], tools: readonly Tool[], more: Partial<AgentConfig> = {}) {
  const clock = new ManualClock(1000)
  const store = more.store ?? memoryStore({ clock })
  const config = { contextId: 'talk', store, clock, ids: new CountingIds(), entities, ...more }
  return { agent: new Agent({ ...config, model: new ScriptedModel(script), tools }), store, clock }
}

/** The sources of the ids in a conversation's calls. */
async function grounds(store: Store, contextId: string): Promise<readonly Ground[]> {
  const entries = await store.read({ ...LOCAL_OWNER, contextId })
  return entries.flatMap(({ type, data }) =>
    type === 'tool.start' ? ((data as EntryData['tool.start']).grounds ?? []) : [],
  )
}

const CHILD = 'talk/call_1'

describe('a sub-agent', () => {
  it('does not take what a model passes down for what the person wrote', async () => {
    const { cancelled, cancel } = shop()
    const sub = below(cancel, [cancelOf('ord_5'), 'Not done.'])
    const { agent, store } = talk([passDown('cancel ord_5'), 'Sorry.'], [sub])
    await agent.input('Cancel my last order')
    expect(cancelled).toEqual([])
    const [input] = await store.read({ ...LOCAL_OWNER, contextId: CHILD })
    expect(input?.data['origin']).toEqual({ contextId: 'talk', callId: 'call_1' })
  })

  it('takes an id that the person wrote above', async () => {
    const { cancelled, cancel } = shop()
    const sub = below(cancel, [cancelOf('ord_5'), 'Done.'])
    const { agent, store } = talk([passDown('cancel it'), 'Done.'], [sub])
    await agent.input('Cancel ord_5')
    expect(cancelled).toEqual(['ord_5'])
    expect(await grounds(store, CHILD)).toEqual([
      { path: 'orderId', entity: 'order', id: 'ord_5', source: 'said', above: { contextId: 'talk', seq: 3 } },
    ])
  })

  it('takes what tools have shown above: by its id, its label and its place', async () => {
    const { cancelled, cancel, list } = shop()
    const sub = below(cancel, [cancelOf('ord_1'), cancelOf('tables'), cancelOf('the second one'), 'Done.'])
    const { agent, store } = talk([calls('list'), 'There.', passDown('cancel them'), 'Done.'], [list, sub])
    await agent.input('List my orders')
    await agent.input('Cancel all of them')
    expect(cancelled).toEqual(['ord_1', 'ord_2', 'ord_2'])
    const [first, ...others] = await grounds(store, 'talk/call_2')
    expect(first).toMatchObject({ id: 'ord_1', source: 'seen', above: { contextId: 'talk' } })
    expect(others.map(({ source, said }) => [source, said])).toEqual([
      ['label', 'tables'],
      ['ordinal', 'the second one'],
    ])
    const end = (await store.read({ ...LOCAL_OWNER, contextId: 'talk' })).find(
      ({ type }) => type === 'tool.end',
    )
    expect(first?.above?.seq).toBe(end?.seq)
  })

  it('knows what is chosen above, and that it wins', async () => {
    const { cancelled, cancel, list } = shop()
    const model = new ScriptedModel([cancelOf('ord_2'), cancelOf('ord_1'), 'Done.'])
    const sub = below(cancel, [], { model })
    const { agent, store } = talk([calls('list'), 'There.', passDown('cancel ord_2'), 'Done.'], [list, sub])
    await agent.input('List my orders')
    await agent.select(order.select('ord_1', { label: 'Chairs' }))
    await agent.input('Cancel it')
    expect(cancelled).toEqual(['ord_1'])
    expect(JSON.stringify(model.calls[0]?.prompt)).toContain('Active order: Chairs (ID: ord_1)')
    expect(await grounds(store, 'talk/call_2')).toMatchObject([
      { id: 'ord_1', source: 'state', above: { contextId: 'talk' } },
    ])
  })

  it('asks the person where a label above is that of two things, and the answer decides', async () => {
    const { cancelled, cancel } = shop()
    const twins = defineTool({
      name: 'list',
      description: 'Lists orders.',
      input: z.object({}),
      run: () => ['ord_7', 'ord_8'],
      returns: (rows) => order.rows(rows, { id: (id) => id, label: () => 'Lamps' }),
    })
    const sub = below(cancel, [cancelOf('Lamps'), 'Done.'])
    const { agent } = talk([calls('list'), passDown('cancel the lamps'), 'Done.'], [twins, sub])
    const { requests } = await agent.executeTurn('Cancel the lamps').outcome
    expect(requests[0]?.options).toEqual(['Lamps (ord_7)', 'Lamps (ord_8)'])
    await agent.answer({ [requests[0]?.requestId ?? '']: 'Lamps (ord_8)' }).outcome
    expect(cancelled).toEqual(['ord_8'])
  })

  it('of a sub-agent knows what is known at the top, and nothing that is made up on the way', async () => {
    for (const [words, wanted] of [
      ['Cancel ord_5', ['ord_5']],
      ['Cancel my last order', []],
    ] as const) {
      const { cancelled, cancel } = shop()
      const inner = below(cancel, [cancelOf('ord_5'), 'Done.'])
      const outer = below(inner, [passDown('cancel ord_5'), 'Done.'])
      const { agent, store } = talk([passDown('cancel ord_5 at once'), 'Done.'], [outer])
      await agent.input(words)
      expect(cancelled).toEqual(wanted)
      const known = (await grounds(store, 'talk/call_1/call_2')).map(({ above }) => above?.contextId)
      expect(known).toEqual(wanted.map(() => 'talk'))
    }
  })

  it('that is refused an id is told what is near it above', async () => {
    const { cancelled, cancel, list } = shop()
    const model = new ScriptedModel([cancelOf('ord_11'), 'Which one?'])
    const sub = below(cancel, [], { model })
    const { agent } = talk([calls('list'), passDown('cancel ord_11'), 'Hm.'], [list, sub])
    await agent.input('Cancel my last order')
    expect(cancelled).toEqual([])
    expect(JSON.stringify(model.calls[1]?.prompt)).toContain('ord_1')
  })

  it('takes an id that was said or chosen above no longer when it has expired there', async () => {
    const { cancelled, cancel, list } = shop()
    const sub = below(cancel, [cancelOf('ord_1'), 'No.'])
    const { agent, clock } = talk([calls('list'), 'There.', passDown('cancel ord_1'), 'No.'], [list, sub])
    await agent.input('List my orders')
    clock.advance(8 * 3_600_000)
    await agent.input('Cancel the first')
    expect(cancelled).toEqual([])
  })

  it.each(['off', 'warn'] as const)(
    'that declares an entity with the policy %s obeys a caller that enforces it, at any depth',
    async (policy) => {
      const { cancelled, cancel } = shop()
      const lax = { entities: [entity('order', { policy })] }
      const direct = below(cancel, [cancelOf('ord_9'), 'Sorry.'], lax)
      await talk([passDown('Cancel ord_9'), 'Sorry.'], [direct]).agent.input('Cancel my last order')
      const deep = below(
        below(cancel, [cancelOf('ord_9'), 'Sorry.'], lax),
        [passDown('ord_9'), 'Sorry.'],
        lax,
      )
      await talk([passDown('Cancel ord_9'), 'Sorry.'], [deep]).agent.input('Cancel my last order')
      expect(cancelled).toEqual([])
      await talk([passDown('Cancel ord_9'), 'Done.'], [below(cancel, [cancelOf('ord_9'), 'Done.'], lax)], {
        entities: [],
      }).agent.input('Cancel my last order')
      expect(cancelled).toEqual(['ord_9'])
    },
  )

  it('that declares an entity more strictly than its caller keeps to that', async () => {
    const { cancelled, cancel } = shop()
    const sub = below(cancel, [cancelOf('ord_9'), 'Sorry.'])
    const lax = { entities: [entity('order', { policy: 'off' })] }
    await talk([passDown('Cancel ord_9'), 'Sorry.'], [sub], lax).agent.input('Cancel my last order')
    expect(cancelled).toEqual([])
  })

  it('shows its caller what its tools have shown', async () => {
    const { cancelled, cancel, list } = shop()
    const sub = below(list, [calls('list'), 'Chairs (ord_1) and tables (ord_2).'])
    const { agent } = talk([passDown('list them'), cancelOf('ord_2'), 'Done.'], [sub, cancel])
    await agent.input('Cancel the tables')
    expect(cancelled).toEqual(['ord_2'])
  })

  it('goes on after a crash, in another process, as it would have gone on without', async () => {
    const path = sqlitePath()
    for (const [contextId, words, wanted] of [
      ['a', 'Cancel ord_5', ['ord_5']],
      ['b', 'Cancel my last order', []],
    ] as const) {
      const { cancelled, cancel } = shop()
      const store = openSqlite(path)
      const stuck = below(cancel, [], { model: new ScriptedModel(() => new Promise(() => {})) })
      const first = talk([passDown('cancel ord_5')], [stuck], { store, contextId, leaseMs: 1 })
      const turn = first.agent.executeTurn(words)
      for await (const event of turn) if (event.type === 'model.start' && event.path?.length === 1) break
      await store.close()
      const sub = below(cancel, [cancelOf('ord_5'), 'Done.'])
      const again = talk(['Done.'], [sub], { store: openSqlite(path), contextId })
      await again.agent.start()
      await again.agent.turn?.outcome
      expect(cancelled).toEqual(wanted)
    }
  })
})

describe('an agent that a tool makes by itself', () => {
  it('knows what is known above, and does not take the tool’s words for the person’s', async () => {
    for (const [words, wanted] of [
      ['Cancel ord_5', ['ord_5']],
      ['Cancel my last order', []],
    ] as const) {
      const { cancelled, cancel } = shop()
      const sub = defineTool({
        name: 'sub',
        description: 'Does it.',
        input: z.object({ message: z.string() }),
        run: async ({ message }) => {
          const model = new ScriptedModel([cancelOf('ord_5'), 'Done.'])
          return new Agent({ contextId: 'other', model, tools: [cancel], entities }).input(message)
        },
      })
      const { agent } = talk([passDown('cancel ord_5'), 'Done.'], [sub])
      await agent.input(words)
      expect(cancelled).toEqual(wanted)
    }
  })

  it('and that somebody else talks to meanwhile knows nothing of it', async () => {
    const { cancelled, cancel } = shop()
    const other = new Agent({
      contextId: 'other',
      model: new ScriptedModel(['Hello.', cancelOf('ord_5'), 'Done.']),
      tools: [cancel],
      entities,
    })
    const sub = defineTool({
      name: 'sub',
      description: 'Does it.',
      input: z.object({ message: z.string() }),
      run: async ({ message }) => {
        await other.input(message)
        return 'Done.'
      },
    })
    const { agent } = talk([passDown('hello'), 'Done.'], [sub])
    await agent.input('Say hello about ord_5')
    await other.input('Cancel my last order')
    expect(cancelled).toEqual([])
  })
})

describe('a graph', () => {
  const channels = { question: value<string>(), answer: value<string>() }
  function desk() {
    return newGraph({ name: 'desk', state: channels })
  }

  function cancelling(cancel: Tool, orderId = 'ord_5') {
    const model = new ScriptedModel([cancelOf(orderId), 'Done.'])
    return agentNode({ model, tools: [cancel], entities })
  }

  const mapping = {
    input: ({ question }: { question?: string | undefined }) => question ?? 'Cancel it',
    output: (answer: string) => ({ answer }),
  }

  it('takes what it is given for its caller’s words', async () => {
    const { cancelled, cancel } = shop()
    const store = memoryStore()
    const graph = desk()
      .addNode('act', cancelling(cancel), mapping)
      .addEdge(START, 'act')
      .addEdge('act', END)
      .compile({ store })
    await graph.invoke({ question: 'Cancel ord_5, please' }, { contextId: 'run' })
    expect(cancelled).toEqual(['ord_5'])
    expect(await grounds(store, 'run/act.1')).toMatchObject([{ source: 'said', above: { contextId: 'run' } }])
  })

  it('does not take what a node makes of it for anybody’s', async () => {
    const { cancelled, cancel } = shop()
    const graph = desk()
      .addNode('think', () => ({ question: 'Cancel ord_5' }))
      .addNode('act', cancelling(cancel), mapping)
      .addEdge(START, 'think')
      .addEdge('think', 'act')
      .addEdge('act', END)
      .compile()
    await graph.invoke({ question: 'Cancel my last order' })
    expect(cancelled).toEqual([])
  })

  it('takes the ids that a node vouches for, by id and by label, in it and after it', async () => {
    const { cancelled, cancel } = shop()
    const graph = desk()
      .addNode('find', async (_, context) => {
        context.vouch(order.rows(ORDERS, { id: 'id', label: 'name' }))
        return { answer: await context.run('now', cancelling(cancel, 'ord_1'), 'Cancel the first') }
      })
      .addNode('act', cancelling(cancel, 'Tables'), mapping)
      .addEdge(START, 'find')
      .addEdge('find', 'act')
      .addEdge('act', END)
      .compile()
    await graph.invoke({ question: 'Cancel my orders' })
    expect(cancelled).toEqual(['ord_1', 'ord_2'])
  })

  it('refuses to vouch for what is no thing', async () => {
    const graph = desk()
      .addNode('find', (_, context) => context.vouch(['ord_1'] as never))
      .addEdge(START, 'find')
      .addEdge('find', END)
      .compile()
    await expect(graph.invoke({})).rejects.toThrow(/vouch/)
  })

  it('knows in one node what tools have shown in another', async () => {
    const { cancelled, cancel, list } = shop()
    const finding = agentNode({
      model: new ScriptedModel([calls('list'), 'ord_1 and ord_2']),
      tools: [list],
      entities,
    })
    const graph = desk()
      .addNode('find', finding, { ...mapping, output: (question: string) => ({ question }) })
      .addNode('act', cancelling(cancel, 'ord_2'), mapping)
      .addEdge(START, 'find')
      .addEdge('find', 'act')
      .addEdge('act', END)
      .compile()
    await graph.invoke({ question: 'Cancel the tables' })
    expect(cancelled).toEqual(['ord_2'])
  })

  it('takes what a person answers for the person’s words', async () => {
    const { cancelled, cancel } = shop()
    const graph = desk()
      .addNode('ask', async (_, { interrupt }) => ({
        question: `Cancel ${await interrupt({ kind: 'text', prompt: 'Which order?' })}`,
      }))
      .addNode('act', cancelling(cancel), mapping)
      .addEdge(START, 'ask')
      .addEdge('ask', 'act')
      .addEdge('act', END)
      .compile()
    const { requests } = await graph.invoke({ question: 'Cancel an order' }, { contextId: 'run' })
    await graph.answer({ [requests[0]?.requestId ?? '']: 'ord_5' }, { contextId: 'run' }).outcome
    expect(cancelled).toEqual(['ord_5'])
  })

  it('below a graph knows what is known above, and does not take its words for a person’s', async () => {
    for (const [question, wanted] of [
      ['Cancel ord_5', ['ord_5']],
      ['Cancel my last order', []],
    ] as const) {
      const { cancelled, cancel } = shop()
      const inner = desk()
        .addNode('act', cancelling(cancel), mapping)
        .addEdge(START, 'act')
        .addEdge('act', END)
        .compile()
      const outer = newGraph({ name: 'outer', state: { words: value<string>(), answer: value<string>() } })
        .addNode('below', inner, {
          input: () => ({ question: 'Cancel ord_5' }),
          output: ({ answer }: { answer?: string | undefined }) => ({ answer: answer ?? '' }),
        })
        .addEdge(START, 'below')
        .addEdge('below', END)
        .compile()
      await outer.invoke({ words: question })
      expect(cancelled).toEqual(wanted)
    }
  })

  it('that a tool of an agent runs knows what the person said to the agent', async () => {
    for (const [words, wanted] of [
      ['Cancel ord_5', ['ord_5']],
      ['Cancel my last order', []],
    ] as const) {
      const { cancelled, cancel } = shop()
      const graph = desk()
        .addNode('act', cancelling(cancel), mapping)
        .addEdge(START, 'act')
        .addEdge('act', END)
        .compile()
      const sub = defineTool({
        name: 'sub',
        description: 'Does it.',
        input: z.object({ message: z.string() }),
        run: async ({ message }) => (await graph.invoke({ question: message })).status,
      })
      const { agent } = talk([passDown('cancel ord_5'), 'Done.'], [sub])
      await agent.input(words)
      expect(cancelled).toEqual(wanted)
    }
  })
})
