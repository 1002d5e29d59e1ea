/** A config function that throws, or returns a wrong value, fails the turn under its name and blames no model. */
import { describe, expect, it } from 'vitest'
import { END, graph, START, value } from '../../src/graph/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { ScriptedModel } from '../../src/testing/scripted-model.ts'
import { type BenchOptions, bench, calls, journal, probe, said } from './kit.ts'

const refuse = (): never => {
  throw new Error('connection refused')
}

describe('a function of the config that throws', () => {
  it.each<[string, BenchOptions]>([
    ['systemPrompt', { systemPrompt: refuse }],
    ['systemPrompt', { systemPrompt: async () => refuse() }],
    ['systemPrompt', { systemPrompt: refuse, on: { beforeLlm: () => {} } }],
    ['tools', { tools: refuse }],
    ['tools', { tools: refuse, plugins: [{ name: 'p', tools: [probe('look')] }] }],
    ['credentials', { credentials: refuse }],
  ])('fails the turn under its name: %s, %#', async (option, config) => {
    const blamed: unknown[] = []
    const first = new ScriptedModel(['One.'], { name: 'acme/first' })
    const second = new ScriptedModel(['Two.'], { name: 'acme/second' })
    const on = { ...config.on, onError: ({ error }: { error: unknown }) => void blamed.push(error) }
    const { agent, another, store } = bench({ ...config, on, model: [first, second] })
    const { status, error, cause } = await agent.executeTurn('Hi').outcome
    expect([status, error]).toEqual([
      'failed',
      { code: 'option-failed', option, message: `The function ${option} failed: connection refused` },
    ])
    expect(cause).toMatchObject({ message: 'connection refused' })
    expect([first.calls, second.calls, blamed]).toEqual([[], [], []])
    expect((await journal(store)).filter((line) => /model\.|warning/.test(line))).toEqual([])
    const model = new ScriptedModel(['Here again.'])
    const works = { systemPrompt: 'Be brief.', tools: [], credentials: () => undefined, on: {} }
    expect(await another({ ...works, model }).input('Hello?')).toBe('Here again.')
  })

  it('in a later iteration loses no result of a tool', async () => {
    let asked = 0
    const systemPrompt = () => (++asked > 1 ? refuse() : 'Be brief.')
    const { agent, store } = bench({ script: [calls('look')], tools: [probe('look')], systemPrompt })
    expect((await agent.executeTurn('Look').outcome).error).toMatchObject({ code: 'option-failed' })
    expect(await said(store)).toEqual(['user "Look"', 'assistant call_1:look', 'tool call_1:ok'])
  })

  it('is asked when all that was said before is durable', async () => {
    const durable: number[] = []
    const store = memoryStore()
    const systemPrompt = async () => {
      durable.push((await journal(store)).length)
      return 'Be brief.'
    }
    const { agent } = bench({ script: [calls('look'), 'Done.'], tools: [probe('look')], systemPrompt, store })
    await agent.input('Look')
    const lines = await journal(store)
    expect(durable.map((count) => lines[count - 1]?.split(' ')[1])).toEqual(['turn.start', 'tool.end'])
  })

  it('fails a run of a graph under its name', async () => {
    const flow = graph({ state: { n: value<number>() } })
      .addNode('count', () => ({ n: 1 }))
      .addEdge(START, 'count')
      .addEdge('count', END)
      .compile({ credentials: refuse })
    await expect(flow.invoke({ n: 0 })).rejects.toThrow('The function credentials failed: connection refused')
  })
})

describe('a function of the config that returns the wrong thing', () => {
  it.each<[string, object, string]>([
    [
      'tools',
      { tools: () => ({ look: 5 }) },
      'Tool "look" cannot be used: it is neither a tool of the AI SDK nor one of defineTool().',
    ],
    [
      'tools',
      { tools: () => undefined, plugins: [{ name: 'p', tools: [probe('look')] }] },
      'tools must return a list of tools such as [search], not undefined.',
    ],
    ['tools', { tools: () => [probe('look'), probe('look')] }, 'look'],
    ['systemPrompt', { systemPrompt: () => ({ role: 'system' }) }, 'systemPrompt must return a text, not an'],
  ])('fails the turn: %s, %#', async (_, config, message) => {
    const { agent, model } = bench({ script: ['Hi.'], ...config })
    const { error } = await agent.executeTurn('Hi').outcome
    expect(error?.code).toBe('invalid-option')
    expect(error?.message).toContain(message)
    expect(model.calls).toEqual([])
  })
})
