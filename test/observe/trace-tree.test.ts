/** The trace with what ran below: sub-agents of tools, agents and graphs of nodes. */
import { expect, it } from 'vitest'
import { Agent, agentNode, agentTool, modelNode, pendingCalls, toolNode } from '../../src/agent/index.ts'
import { END, graph, list, START, value } from '../../src/graph/index.ts'
import { readTraceTree, type TraceTree } from '../../src/journal/index.ts'
import { LOCAL_OWNER, type Message } from '../../src/protocol/index.ts'
import type { Store } from '../../src/store/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { ManualClock, ScriptedModel } from '../../src/testing/index.ts'
import type { Tool } from '../../src/tool/index.ts'
import { asking, calls, probe } from '../turn/kit.ts'

function outline({ trace, below }: TraceTree, depth = 0): string[] {
  return trace.flatMap((entry) => {
    const [name, key] =
      entry.type === 'tool_execution'
        ? [entry.tool_name, entry.call_id]
        : 'task' in entry
          ? [entry.name, entry.task]
          : ['', '']
    const inner = below.filter(({ of }) => key !== '' && of === key)
    const line = `${'  '.repeat(depth)}${entry.type}${name === '' ? '' : ` ${name}`}`
    return [line, ...inner.flatMap((child) => outline(child, depth + 1))]
  })
}

/** A model and its tools as two nodes, round after round. */
async function runRounds({
  store,
  model,
  tools,
}: {
  store: Store
  model: ScriptedModel
  tools: Tool[]
}): Promise<void> {
  const flow = graph({ name: 'flow', state: { messages: list<Message>() } })
    .addNode('model', modelNode({ model, tools }))
    .addNode('tools', toolNode({ tools }))
    .addEdge(START, 'model')
    .addConditionalEdges('model', ({ messages }) => (pendingCalls(messages).length > 0 ? 'tools' : END))
    .addEdge('tools', 'model')
    .compile({ store })
  await flow.invoke({ messages: [{ role: 'user', content: 'Go' }] }, { contextId: 'run' })
}

it('nests a sub-agent in its call, and its own calls in it', async () => {
  const store = memoryStore()
  const dig = { model: new ScriptedModel([calls('read'), 'Found']), tools: [probe('read')] }
  const research = agentTool({ name: 'research', description: 'digs', agent: dig })
  const model = new ScriptedModel([{ calls: [{ tool: 'research', args: { message: 'dig' } }] }, 'Done'])
  const agent = new Agent({ contextId: 'talk', store, model, tools: [research] })
  await agent.input('Go')
  expect(outline(await readTraceTree(store, { ...LOCAL_OWNER, contextId: 'talk' }, { turn: 1 }))).toEqual([
    'user_input',
    'llm_call',
    'tool_execution research',
    '  user_input',
    '  llm_call',
    '  tool_execution read',
    '  llm_call',
    '  turn_result',
    'llm_call',
    'turn_result',
  ])
})

it('nests the agents and graphs of nodes in their nodes', async () => {
  const store = memoryStore()
  const state = { text: value<string>() }
  const inner = graph({ name: 'inner', state })
    .addNode('write', async (_, { step }) => ({ text: await step('save', () => 'saved') }))
    .addEdge(START, 'write')
    .addEdge('write', END)
    .compile()
  const flow = graph({ name: 'flow', state })
    .addNode('ask', agentNode({ model: new ScriptedModel(['Hello']) }), {
      input: () => 'Hi',
      output: (text) => ({ text }),
    })
    .addNode('nested', inner)
    .addEdge(START, 'ask')
    .addEdge('ask', 'nested')
    .addEdge('nested', END)
    .compile({ store })
  await flow.invoke({ text: '' }, { contextId: 'run' })
  expect(outline(await readTraceTree(store, { ...LOCAL_OWNER, contextId: 'run' }))).toEqual([
    'user_input',
    'node_execution ask',
    '  user_input',
    '  llm_call',
    '  turn_result',
    'node_execution nested',
    '  user_input',
    '  effect_execution save',
    '  node_execution write',
    '  turn_result',
    'turn_result',
  ])
})

it('nests each round of a tool node in its task, though the rounds share a conversation', async () => {
  const store = memoryStore()
  const tools = [probe('read'), probe('save')]
  const model = new ScriptedModel([calls('read'), calls('save'), 'Done.'])
  await runRounds({ store, model, tools })
  expect(outline(await readTraceTree(store, { ...LOCAL_OWNER, contextId: 'run' }))).toEqual([
    'user_input',
    ...['node_execution model', '  llm_call', '  turn_result'],
    ...['node_execution tools', '  tool_execution read', '  turn_result'],
    ...['node_execution model', '  llm_call', '  turn_result'],
    ...['node_execution tools', '  tool_execution save', '  turn_result'],
    ...['node_execution model', '  llm_call', '  turn_result'],
    'turn_result',
  ])
})

it('has all rounds that share a conversation, however many entries a read returns', async () => {
  const store = memoryStore()
  const tools = [probe('read')]
  const model = new ScriptedModel([...Array.from({ length: 8 }, () => calls('read')), 'Done.'])
  await runRounds({ store, model, tools })
  const pages: Pick<Store, 'read' | 'list' | 'head'> = {
    read: (key, query) => store.read(key, { ...query, limit: Math.min(query?.limit ?? 10, 10) }),
    list: (query) => store.list(query),
    head: (key) => store.head(key),
  }
  const lines = outline(await readTraceTree(pages, { ...LOCAL_OWNER, contextId: 'run' }))
  expect(lines.filter((line) => line === '  tool_execution read')).toHaveLength(8)
})

it.each([
  ['by retry', 2],
  ['by null', 1],
])('has the work below a node that failed and was tried again %s', async (_, attempts) => {
  const clock = new ManualClock(1000)
  const store = memoryStore({ clock })
  const state = { text: value<string>() }
  let tried = 0
  const inner = graph({ name: 'inner', state })
    .addNode('write', async () => {
      clock.advance(10)
      tried += 1
      if (tried === 1) throw new Error('no')
      return { text: 'yes' }
    })
    .addEdge(START, 'write')
    .addEdge('write', END)
    .compile()
  const flow = graph({ name: 'flow', state })
    .addNode('nested', inner, { retry: { attempts, waitMs: 0 } })
    .addEdge(START, 'nested')
    .addEdge('nested', END)
    .compile({ store, clock })
  const { status } = await flow.stream({}, { contextId: 'run' }).outcome
  if (status === 'failed') await flow.invoke(null, { contextId: 'run' })
  const key = { ...LOCAL_OWNER, contextId: 'run' }
  const { below } = await readTraceTree(store, key)
  const work = ['node_execution write', 'turn_result', 'node_execution write', 'turn_result']
  expect(below.map((child) => outline(child))).toEqual([['user_input', ...work]])
  const last = await readTraceTree(store, key, { turn: 3 - attempts })
  expect(last.below.map((child) => outline(child).slice(-2))).toEqual([work.slice(-2)])
})

it('shows of a sub-agent that asked what happened in the turn', async () => {
  const store = memoryStore()
  const clerk = {
    model: new ScriptedModel([calls('which'), 'That one']),
    tools: [asking('which', { kind: 'text', prompt: 'Which?' })],
  }
  const helper = agentTool({ name: 'helper', description: 'helps', agent: clerk })
  const model = new ScriptedModel([{ calls: [{ tool: 'helper', args: { message: 'help' } }] }, 'Done'])
  const agent = new Agent({ contextId: 'talk', store, model, tools: [helper] })
  const { requests } = await agent.executeTurn('Go').outcome
  const key = { ...LOCAL_OWNER, contextId: 'talk' }
  expect(outline(await readTraceTree(store, key, { turn: 1 }))).toContain('  tool_execution which')
  await agent.answer({ [requests[0]?.requestId ?? '']: 'this' }).outcome
  expect(outline(await readTraceTree(store, key, { turn: 2 }))).toEqual([
    'tool_execution helper',
    '  tool_execution which',
    '  llm_call',
    '  turn_result',
    'llm_call',
    'turn_result',
  ])
})
