/** Credentials last for one turn, in memory; a later turn that continues its calls needs them too (R19). */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { Agent } from '../../src/agent/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { CountingIds, ScriptedModel } from '../../src/testing/index.ts'
import { defineTool } from '../../src/tool/index.ts'

const auth = { credentials: { token: 'sentinel-0123456789' } }

function open() {
  const seen: unknown[] = []
  const fetchIt = defineTool({
    name: 'fetch_it',
    description: 'Fetches',
    input: z.object({}),
    approve: 'always',
    run: (_, { credentials }) => {
      seen.push(credentials['token'])
      return 'fetched'
    },
  })
  const store = memoryStore()
  const model = new ScriptedModel([{ calls: [{ tool: 'fetch_it', args: {} }] }, 'Here it is.'])
  const ids = new CountingIds()
  const agent = () => new Agent({ contextId: 'c', store, model, tools: [fetchIt], ids })
  return { agent: agent(), another: agent, seen, store }
}

describe('a call that was asked for with credentials', () => {
  it('runs with those that come with the answer', async () => {
    const { agent, seen } = open()
    expect(await agent.executeTurn('Fetch it', { auth }).outcome).toMatchObject({ reason: 'input-required' })
    expect(await agent.answer({ 'call_1/approval': true }, { auth }).outcome).toMatchObject({
      reason: 'stop',
    })
    expect(seen).toEqual(['sentinel-0123456789'])
  })

  it('is not run without: who approves without them is told that they are needed', async () => {
    const { another, seen, agent } = open()
    await agent.executeTurn('Fetch it', { auth }).outcome
    const parked = await another().answer({ 'call_1/approval': true }).outcome
    expect(parked).toMatchObject({
      reason: 'auth-required',
      requests: [{ kind: 'auth', from: 'credentials' }],
    })
    expect(seen).toEqual([])
    expect(await another().executeTurn(null, { auth }).outcome).toMatchObject({
      reason: 'stop',
      text: 'Here it is.',
    })
    expect(seen).toEqual(['sentinel-0123456789'])
  })

  it('does not make a new message need them', async () => {
    const { another, seen, agent } = open()
    await agent.executeTurn('Fetch it', { auth }).outcome
    expect(await another().executeTurn('Never mind').outcome).toMatchObject({ reason: 'stop' })
    expect(seen).toEqual([])
  })
})
