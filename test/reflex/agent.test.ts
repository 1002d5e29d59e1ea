/** An agent that needs no key: the embedded model with real tools, a real store and real turns. */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { Agent, defineTool, memoryStore, toolResult } from '../../src/index.ts'

const state = new Map([
  ['w-1', 'closed'],
  ['w-2', 'closed'],
  ['w-3', 'closed'],
])
const names = new Map([
  ['w-1', 'North window'],
  ['w-2', 'South window'],
  ['w-3', 'Skylight'],
])

const list = defineTool({
  name: 'list_windows',
  description: 'Lists the windows of the house.',
  input: z.object({}),
  run: () => ({ windows: [...state].map(([id, now]) => ({ id, name: names.get(id) ?? '', state: now })) }),
})

const open = defineTool({
  name: 'tilt_window',
  description: 'Tilts a window.',
  input: z.object({
    windowId: z.string().describe('The id of the window'),
    degrees: z.number().int().optional(),
  }),
  run: ({ windowId, degrees }) => {
    if (!state.has(windowId)) throw new Error(`There is no window ${windowId}.`)
    state.set(windowId, `open ${degrees ?? 10}`)
    return { id: windowId, state: state.get(windowId) ?? '' }
  },
})

describe('an agent with the model reflex', () => {
  it('lists, acts on one by its name, then on another by its place', async () => {
    const agent = new Agent({
      contextId: 'house',
      store: memoryStore(),
      model: 'reflex',
      tools: [list, open],
    })
    expect(await agent.input('Which windows are there?')).toBe(
      'windows:\n  - North window (w-1), state: closed\n  - South window (w-2), state: closed\n  - Skylight (w-3), state: closed',
    )
    expect(await agent.input('tilt the skylight to 30 degrees, please')).toBe('id: w-3\nstate: open 30')
    expect(await agent.input('and the second one')).toBe('id: w-2\nstate: open 30')
    expect([...state.values()]).toEqual(['closed', 'open 30', 'open 30'])
  })

  it('says what a tool has to say to people, also of earlier turns and after a restart', async () => {
    const weigh = defineTool({
      name: 'weigh_parcel',
      description: 'Weighs the parcel.',
      input: z.object({}),
      run: () => toolResult({ grams: 1200 }, 'It weighs 1.2 kg.'),
    })
    const store = memoryStore()
    const config = { contextId: 'parcel', store, model: 'reflex', tools: [weigh] }
    expect(await new Agent(config).input('Weigh the parcel')).toBe('It weighs 1.2 kg.')
    expect(await new Agent(config).input('Weigh the parcel again')).toBe('It weighs 1.2 kg.')
  })

  it('looks a thing up that it has never seen, in a turn of its own', async () => {
    const agent = new Agent({
      contextId: 'fresh',
      store: memoryStore(),
      model: 'reflex',
      tools: [list, open],
    })
    const outcome = await agent.executeTurn('Could you tilt the north window?').outcome
    expect(outcome).toMatchObject({ status: 'completed', text: 'id: w-1\nstate: open 10' })
    expect(outcome.usage.inputTokens).toBeGreaterThan(0)
    expect(outcome.usage.costUsd).toBe(0)
  })

  it('says plainly that a tool failed', async () => {
    const agent = new Agent({
      contextId: 'wrong',
      store: memoryStore(),
      model: 'reflex',
      tools: [list, open],
    })
    expect(await agent.input('tilt window w-99')).toMatch(
      /^tilt_window did not work: .*There is no window w-99\./,
    )
  })

  it('says plainly that a call was not approved or is denied, without the advice for models', async () => {
    const shut = defineTool({
      name: 'shut_gate',
      description: 'Shuts the gate.',
      input: z.object({}),
      approve: 'always',
      run: () => 'shut',
    })
    const config = { store: memoryStore(), model: 'reflex', tools: [shut] }
    const agent = new Agent({ ...config, contextId: 'declined' })
    const { requests } = await agent.executeTurn('shut the gate').outcome
    const answers = { [requests[0]?.requestId ?? '']: { approved: false, reason: 'not yet' } }
    expect((await agent.answer(answers).outcome).text).toBe('shut_gate did not work: Not approved (not yet).')
    const plugins = [{ name: 'policy', approve: () => ({ decision: 'deny' as const, reason: 'Too late.' }) }]
    expect(await new Agent({ ...config, contextId: 'denied', plugins }).input('shut the gate')).toBe(
      'shut_gate did not work: Denied by policy: Too late.',
    )
  })

  it('asks, and goes on with the answer', async () => {
    const agent = new Agent({
      contextId: 'asked',
      store: memoryStore(),
      model: 'reflex',
      tools: [list, open],
    })
    expect(await agent.input('tilt the window')).toMatch(/Which one do you mean\?$/)
    expect(await agent.input('the south one')).toMatch(/^id: w-2/)
  })

  it('needs no tools to say that it has none', async () => {
    const agent = new Agent({ contextId: 'bare', store: memoryStore(), model: 'reflex' })
    expect(await agent.input('hello')).toBe('Hello. I can only call tools, and I have none here.')
  })
})
