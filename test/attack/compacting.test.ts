/** What a compaction is asked for with, and what is left when it is called off. */
import { expect, it } from 'vitest'
import type { AutoCompact } from '../../src/turn/index.ts'
import { bench, journal, until } from '../turn/kit.ts'

it('a summary that is called off leaves the journal as it is', async () => {
  const { agent, store, model } = bench({ script: ['A', 'B', { stall: true }] })
  for (const text of ['1', '2']) await agent.input(text)
  const before = await journal(store)
  const over = new AbortController()
  const compacting = agent.compact({ strategy: 'summary', keep: 1, signal: over.signal })
  await until('the summary is asked for', () => model.calls.length === 3)
  over.abort()
  expect(await compacting).toBe(false)
  expect(await journal(store)).toEqual(before)
})

it('a compaction that was called off before it began does nothing', async () => {
  const { agent, store } = bench({ script: ['A', 'B'] })
  for (const text of ['1', '2']) await agent.input(text)
  const before = await journal(store)
  expect(await agent.compact({ keep: 1, signal: AbortSignal.abort() })).toBe(false)
  expect(await journal(store)).toEqual(before)
})

const WRONG: readonly (readonly [string, object, string])[] = [
  ['an option that there is not', { kep: 1 }, 'Did you mean keep?'],
  ['a model that is none', { strategy: 'summary', model: 5 }, 'model must be'],
  ['a list of models', { strategy: 'summary', model: ['openai/gpt-5'] }, 'model must be one model'],
  ['instructions that are no text', { strategy: 'summary', instructions: 5 }, 'instructions must be a text'],
]

it.each(WRONG)('%s is refused, whoever asks', async (_, options, said) => {
  const { agent } = bench({ script: ['A', 'B'] })
  for (const text of ['1', '2']) await agent.input(text)
  await expect(agent.compact({ keep: 1, ...options })).rejects.toMatchObject({
    code: 'invalid-option',
    message: expect.stringContaining(said) as unknown,
  })
  expect(() => bench({ autoCompact: options as AutoCompact })).toThrow(said)
})

it('what a model says that cannot summarise does not take the place of a conversation', async () => {
  const { agent, store } = bench({
    model: 'reflex',
    autoCompact: { strategy: 'summary', overMessages: 2, keep: 1 },
  })
  for (const text of ['My name is Ada.', 'I live in Oslo.', 'And you?']) await agent.input(text)
  expect((await journal(store)).filter((line) => line.includes('compact'))).toEqual([
    expect.stringContaining('warning compaction-failed'),
    expect.stringContaining('warning compaction-failed'),
  ])
  expect(await agent.compact({ strategy: 'summary', keep: 1 })).toBe(false)
  expect(JSON.stringify(await agent.getMessages())).toContain('Ada')
})
