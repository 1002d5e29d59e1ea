/** The journal as three stores: a write through one is visible to the agent and to the others. */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { personGrants } from '../../src/agent/grants.ts'
import { Agent, agentTool, viewsOf } from '../../src/agent/index.ts'
import type { Message } from '../../src/protocol/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { ScriptedModel } from '../../src/testing/index.ts'
import { defineTool } from '../../src/tool/index.ts'

function open() {
  const store = memoryStore()
  return { store, ...viewsOf(store) }
}

const exchange: Message[] = [
  { role: 'user', content: 'What is it?' },
  {
    role: 'assistant',
    content: [
      { type: 'text', text: 'Let me see.' },
      { type: 'tool-call', callId: 'a', tool: 'look', args: {} },
    ],
  },
  {
    role: 'tool',
    content: [{ type: 'tool-result', callId: 'a', tool: 'look', status: 'ok', output: 'red' }],
  },
  { role: 'assistant', content: [{ type: 'text', text: 'It is red.' }] },
]

describe('the message store', () => {
  it('keeps what was said elsewhere, and the agent goes on from there', async () => {
    const { store, messageStore } = open()
    await messageStore.append('c', exchange)
    expect(await messageStore.getAll('c')).toEqual(exchange)
    const model = new ScriptedModel(['As I said.'])
    const agent = new Agent({ store, contextId: 'c', model })
    expect(await agent.input('Say it again')).toBe('As I said.')
    expect(model.calls[0]?.prompt).toHaveLength(5)
    expect(agent.state.turnCount).toBe(2)
    expect(await messageStore.count('c')).toBe(6)
  })

  it('gives the newest by number and by tokens, and never half a round', async () => {
    const { messageStore } = open()
    await messageStore.append('c', [...exchange, { role: 'user', content: 'Thanks' }])
    expect(await messageStore.getRecent('c', { maxMessages: 1 })).toEqual([
      { role: 'user', content: 'Thanks' },
    ])
    const roles = (messages: readonly Message[]) => messages.map(({ role }) => role)
    for (let most = 1; most <= 5; most++) {
      const found = roles(await messageStore.getRecent('c', { maxMessages: most }))
      expect(found[0]).not.toBe('tool')
    }
    expect(roles(await messageStore.getRecent('c', { maxTokens: 16 }))).toEqual(['assistant', 'user'])
    expect(await messageStore.getRecent('c', { maxTokens: 0 })).toEqual([])
  })

  it('compacts and clears', async () => {
    const { messageStore } = open()
    for (let n = 0; n < 5; n++) await messageStore.append('c', exchange)
    expect(await messageStore.compact('c', { keep: 4 })).toBe(true)
    expect(await messageStore.getAll('c')).toEqual(exchange)
    expect(await messageStore.compact('c', { keep: 4 })).toBe(false)
    await messageStore.clear('c')
    expect(await messageStore.getAll('c')).toEqual([])
  })

  it('appends nothing while a turn is open or waits for an answer', async () => {
    const { messageStore, store } = open()
    const send = defineTool({
      name: 'send',
      description: 'Sends.',
      input: z.object({}),
      approve: 'always',
      run: () => 'sent',
    })
    const model = new ScriptedModel([{ calls: [{ tool: 'send', args: {} }] }, 'Done'])
    const agent = new Agent({ store, contextId: 'c', model, tools: [send] })
    const { requests } = await agent.executeTurn('Hi').outcome
    await expect(messageStore.append('c', exchange)).rejects.toMatchObject({ code: 'in-use' })
    expect((await agent.answer({ [requests[0]?.requestId ?? '']: true }).outcome).text).toBe('Done')
    await messageStore.append('c', exchange)
  })

  it('returns whole messages for a fraction', async () => {
    const { messageStore } = open()
    await messageStore.append('c', exchange)
    await messageStore.append('c', exchange)
    expect(await messageStore.getRecent('c', { maxMessages: 1.5 })).toHaveLength(1)
  })

  it('leaves out a result that nobody asked for', async () => {
    const { messageStore } = open()
    await messageStore.append('c', exchange.slice(2))
    expect(await messageStore.getAll('c')).toEqual(exchange.slice(3))
  })
})

describe('the artifact store', () => {
  it('saves files and data, version after version, and lists them', async () => {
    const { artifactStore, store } = open()
    await artifactStore.save('c', 'note', 'one')
    await artifactStore.save('c', 'note', 'two')
    await artifactStore.save('c', 'bytes', new Uint8Array([1, 2, 3]))
    await artifactStore.save('c', 'data', { a: [1] })
    expect(await artifactStore.get('c', 'note')).toBe('two')
    expect(await artifactStore.get('c', 'bytes')).toEqual(new Uint8Array([1, 2, 3]))
    expect(await artifactStore.get('c', 'data')).toEqual({ a: [1] })
    expect(await artifactStore.get('c', 'none')).toBe(undefined)
    expect((await artifactStore.list('c')).map(({ artifactId, version }) => [artifactId, version])).toEqual([
      ['bytes', 1],
      ['data', 1],
      ['note', 2],
    ])
    await artifactStore.delete('c', 'note')
    expect(await artifactStore.get('c', 'note')).toBe(undefined)
    expect((await store.head({ tenant: 'local', actor: 'local', contextId: 'c' }))?.lease).toBe(undefined)
  })

  it('is empty after a clear, and begins again', async () => {
    const { artifactStore, messageStore } = open()
    await artifactStore.save('c', 'note', 'one')
    await messageStore.clear('c')
    expect(await artifactStore.list('c')).toEqual([])
    expect(await artifactStore.get('c', 'note')).toBe(undefined)
    await artifactStore.save('c', 'note', 'new')
    expect(await artifactStore.get('c', 'note')).toBe('new')
  })
})

describe('the state store', () => {
  it('tells what the journal says, and keeps metadata', async () => {
    const { store, stateStore, messageStore } = open()
    expect(await stateStore.load('c')).toBe(undefined)
    await messageStore.append('c', exchange)
    await stateStore.save('c', { metadata: { title: 'Colours' } })
    expect(await stateStore.load('c')).toMatchObject({
      contextId: 'c',
      turnCount: 1,
      status: 'ready',
      metadata: { title: 'Colours' },
    })
    const agent = new Agent({ store, contextId: 'c' })
    await agent.start()
    expect(agent.state).toMatchObject({ status: 'ready', turnCount: 1, metadata: { title: 'Colours' } })
    expect((await stateStore.list()).map(({ contextId }) => contextId)).toEqual(['c'])
    await stateStore.delete('c')
    expect(await stateStore.list()).toEqual([])
  })

  it('lists conversations, and neither sub-agents nor the journals of a person', async () => {
    const { store, stateStore } = open()
    const helper = agentTool({
      name: 'helper',
      description: 'Helps.',
      agent: { model: new ScriptedModel(['Helped.']) },
    })
    const model = new ScriptedModel([{ calls: [{ tool: 'helper', args: { message: 'Help' } }] }, 'Done.'])
    await new Agent({ store, contextId: 'c', model, tools: [helper] }).input('Hi')
    const owner = { tenant: 'local', actor: 'local' }
    await personGrants(store, owner).add(['read_file: a.txt'], 5)
    expect((await stateStore.list()).map(({ contextId }) => contextId)).toEqual(['c'])
  })

  it('refuses a state without metadata', async () => {
    const { stateStore } = open()
    await expect(stateStore.save('c', { title: 'Colours' } as never)).rejects.toMatchObject({
      code: 'invalid-option',
      message: 'metadata must be an object that JSON can carry.',
    })
    expect(await stateStore.load('c')).toBe(undefined)
  })

  it('sees nothing of another owner', async () => {
    const { store, messageStore } = open()
    await messageStore.append('c', exchange)
    const other = viewsOf(store, { tenant: 'local', actor: 'eve' })
    expect(await other.messageStore.getAll('c')).toEqual([])
    expect(await other.stateStore.list()).toEqual([])
  })
})

it('append() says what it takes', async () => {
  const { messageStore } = viewsOf(memoryStore())
  await expect(messageStore.append('a', undefined as never)).rejects.toThrow(
    'append() takes a list of messages, not undefined.',
  )
})
