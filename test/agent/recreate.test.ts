/** A conversation recreated under an erased contextId, for agents and graphs, new ones and existing ones (R15). */

import { describe, expect, it } from 'vitest'
import { Agent, type AgentConfig, agentNode, agentTool } from '../../src/agent/index.ts'
import { Subscribers } from '../../src/drive/subscribers.ts'
import { END, graph, START, value } from '../../src/graph/index.ts'
import { recreateContext } from '../../src/journal/index.ts'
import { LOCAL_OWNER } from '../../src/protocol/index.ts'
import type { Store } from '../../src/store/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { ScriptedModel } from '../../src/testing/index.ts'
import { defineTool, jsonSchema } from '../../src/tool/index.ts'
import { nothingDriven } from '../drive/nothing-driven.ts'

const contextId = 'talk'
const KEY = { ...LOCAL_OWNER, contextId }

function agentOf(
  store: Store,
  said: ConstructorParameters<typeof ScriptedModel>[0],
  more: Partial<AgentConfig> = {},
) {
  const model = new ScriptedModel(said)
  return { model, agent: new Agent({ contextId, store, model, ...more }) }
}

async function beginAnew(store: Store): Promise<void> {
  await store.erase(KEY)
  await recreateContext(store, KEY)
}

async function typesIn(store: Store): Promise<string[]> {
  return (await store.read(KEY)).map(({ type }) => type)
}

function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { opened: promise, open: () => resolve() }
}

describe('a conversation that begins anew', () => {
  it('is a first one for a new agent: first turn, nothing of the old one in the prompt', async () => {
    const store = memoryStore()
    await agentOf(store, ['Hello.']).agent.executeTurn('The old secret').outcome
    await beginAnew(store)
    const { agent, model } = agentOf(store, ['Hello again.'])
    await agent.start()
    expect(await agent.lastTurn()).toBeUndefined()
    expect(await agent.executeTurn('Who am I?').outcome).toMatchObject({ turn: 1, text: 'Hello again.' })
    expect(JSON.stringify(model.calls)).not.toContain('secret')
    expect(await typesIn(store)).toEqual([
      ...['base', 'input', 'claim', 'turn.start', 'model.start', 'model.end', 'turn.end'],
    ])
  })

  it.each([
    ['idle', true],
    ['never started', false],
  ])('takes nothing from an agent of the old one: %s', async (_, started) => {
    const store = memoryStore()
    const { agent, model } = agentOf(store, ['Hello.', 'Not this.'])
    if (started) await agent.start()
    await agent.executeTurn('One').outcome
    await beginAnew(store)
    for (const turn of [agent.executeTurn('Two'), agent.executeTurn('Three'), agent.executeTurn(null)])
      expect((await turn.outcome).error?.code).toBe('erased')
    expect(model.calls).toHaveLength(1)
    expect(await typesIn(store)).toEqual(['base'])
  })

  it('takes nothing from a turn that was under way, and the turn is told that it was erased', async () => {
    const store = memoryStore()
    const [begun, held] = [gate(), gate()]
    const slow = defineTool({
      name: 'slow',
      description: 'Takes its time',
      input: jsonSchema({ type: 'object' }),
      run: async () => {
        begun.open()
        await held.opened
        return 'the old result'
      },
    })
    const { agent } = agentOf(store, [{ calls: [{ tool: 'slow', args: {} }] }, 'Done.'], { tools: [slow] })
    const turn = agent.executeTurn('Begin')
    await begun.opened
    await beginAnew(store)
    held.open()
    expect((await turn.outcome).error?.code).toBe('erased')
    await agent.shutdown()
    expect(await typesIn(store)).toEqual(['base'])
  })

  it('lets in an agent that has only met the tombstone', async () => {
    const store = memoryStore()
    await agentOf(store, ['Hello.']).agent.executeTurn('One').outcome
    await store.erase(KEY)
    const { agent } = agentOf(store, ['Hello again.'])
    expect((await agent.executeTurn('Two').outcome).error?.code).toBe('erased')
    await recreateContext(store, KEY)
    expect((await agent.executeTurn('Two').outcome).text).toBe('Hello again.')
  })

  it('tells a follower of the old one that it was erased, and nothing of the new one', async () => {
    const store = memoryStore()
    const [begun, held] = [gate(), gate()]
    const slow = defineTool({
      name: 'slow',
      description: 'Takes its time',
      input: jsonSchema({ type: 'object' }),
      run: async () => {
        begun.open()
        await held.opened
        return 'x'
      },
    })
    const first = agentOf(store, [{ calls: [{ tool: 'slow', args: {} }] }], { tools: [slow] }).agent
    const turn = first.executeTurn('Begin')
    await begun.opened
    const waiting = agentOf(store, []).agent.executeTurn('After that')
    for await (const event of waiting) if (event.type === 'input') break
    await beginAnew(store)
    await agentOf(store, ['New.']).agent.executeTurn('Anew').outcome
    held.open()
    const seen: string[] = []
    for await (const event of waiting) seen.push(JSON.stringify(event))
    expect((await waiting.outcome).error?.code).toBe('erased')
    expect((await turn.outcome).error?.code).toBe('erased')
    expect(seen.join()).not.toContain('New.')
  })

  it('is not told to those who were told of the old one, however late they read on', async () => {
    const store = memoryStore()
    await agentOf(store, ['Hello.']).agent.executeTurn('One').outcome
    const audience = new Subscribers({ store, key: KEY }, nothingDriven)
    audience.startFrom((await store.head(KEY))?.seq ?? 0, [])
    await beginAnew(store)
    await expect(audience.catchUp()).rejects.toMatchObject({ code: 'erased' })
  })

  it('has names of its own for what its graph runs below it', async () => {
    const store = memoryStore()
    const model = new ScriptedModel(['old', 'new'])
    const flow = graph({ state: { said: value<string>() } })
      .addNode('work', agentNode({ model }), { input: () => 'Say something', output: (said) => ({ said }) })
      .addEdge(START, 'work')
      .addEdge('work', END)
      .compile({ store })
    expect((await flow.invoke({}, { contextId })).state.said).toBe('old')
    await beginAnew(store)
    expect(await flow.getState({ contextId })).toBeUndefined()
    expect((await flow.invoke({}, { contextId })).state.said).toBe('new')
    const { heads } = await store.list({ owner: LOCAL_OWNER, parent: contextId })
    expect(heads.map(({ key }) => key.contextId)).toHaveLength(1)
  })

  it('gets no sub-conversation from a call of the old one', async () => {
    const store = memoryStore()
    const [begun, held] = [gate(), gate()]
    const helper = agentTool({
      name: 'helper',
      description: 'Helps',
      agent: { model: new ScriptedModel(['Never said.']) },
      prompt: () => 'The old task',
    })
    const { run } = helper
    const frozen = {
      ...helper,
      run: async (...given: Parameters<typeof run>) => {
        begun.open()
        await held.opened
        return run(...given)
      },
    }
    const { agent } = agentOf(store, [{ calls: [{ tool: 'helper', args: { message: 'x' } }] }], {
      tools: [frozen],
    })
    const turn = agent.executeTurn('Begin')
    await begun.opened
    await beginAnew(store)
    held.open()
    await turn.outcome
    await agent.shutdown()
    expect((await store.list({ owner: LOCAL_OWNER, parent: contextId })).heads).toEqual([])
  })
})
