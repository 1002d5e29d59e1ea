/** A sub-agent's usage counts in the turn that used it, however its call ends. */
import { describe, expect, it } from 'vitest'
import { Agent, agentNode, agentTool } from '../../src/agent/index.ts'
import { END, graph, START, value } from '../../src/graph/index.ts'
import { loadSession } from '../../src/journal/index.ts'
import { LOCAL_OWNER } from '../../src/protocol/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { ScriptedModel } from '../../src/testing/index.ts'
import { asking, calls } from '../turn/kit.ts'

const usage = { inputTokens: 1000, outputTokens: 0 }
const one = { inputTokens: 1, outputTokens: 0 }
const question = () => asking('quiz', { kind: 'choice', prompt: 'Which?', options: ['a'] })

/** A sub-agent that uses 1000 tokens, asks, and uses 1000 more after the answer. */
function child() {
  const model = new ScriptedModel([
    { ...(calls('quiz') as object), usage },
    { text: 'x', usage },
  ])
  return { model, tools: [question()] }
}

async function asked() {
  const sub = agentTool({ name: 'sub', description: 's', agent: child() })
  const model = new ScriptedModel([
    { calls: [{ tool: 'sub', args: { message: 'x' } }], usage: one },
    { text: 'end', usage: one },
  ])
  const agent = new Agent({ contextId: 'c', tools: [sub], limits: { tokens: 1500 }, model })
  const outcome = await agent.executeTurn('go').outcome
  const total = async () => {
    const { totals } = await loadSession(agent.store, { ...LOCAL_OWNER, contextId: 'c' })
    return totals.usage.inputTokens
  }
  return { agent, outcome, requestId: outcome.requests[0]?.requestId ?? '', total }
}

describe('a sub-agent that asks', () => {
  it('has counted by then, and after the answer only what is new counts', async () => {
    const { agent, outcome, requestId, total } = await asked()
    expect(outcome.usage.inputTokens).toBe(1001)
    const told = await agent.answer({ [requestId]: 'a' }).outcome
    expect([told.status, told.reason, told.usage.inputTokens]).toEqual(['completed', 'stop', 1001])
    expect(await total()).toBe(2002)
  })

  it('counts when the person moves on', async () => {
    const { agent, total } = await asked()
    expect((await agent.executeTurn('never mind').outcome).usage.inputTokens).toBe(1)
    expect(await total()).toBe(1002)
  })

  it('counts when its question is cancelled', async () => {
    const { agent, total } = await asked()
    await agent.cancel()
    expect(await total()).toBe(1001)
  })

  it('counts so in a graph, too', async () => {
    const flow = graph({ name: 'flow', state: { text: value<string>() } })
      .addNode('sub', agentNode(child()), { input: () => 'x', output: (text) => ({ text }) })
      .addEdge(START, 'sub')
      .addEdge('sub', END)
      .compile({ store: memoryStore() })
    const first = await flow.invoke({}, { contextId: 'c' })
    expect(first.usage.inputTokens).toBe(1000)
    const [request] = first.requests
    const told = await flow.answer({ [request?.requestId ?? '']: 'a' }, { contextId: 'c' }).outcome
    expect([told.status, told.usage.inputTokens]).toEqual(['completed', 1000])
    const { totals } = await loadSession(flow.store, { ...LOCAL_OWNER, contextId: 'c' })
    expect(totals.usage.inputTokens).toBe(2000)
  })
})
