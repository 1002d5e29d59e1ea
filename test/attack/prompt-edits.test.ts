/** What hooks make of a prompt, and what they cannot make of it. */
import { expect, it } from 'vitest'
import type { Hooks } from '../../src/hook/index.ts'
import { bench, probe } from '../turn/kit.ts'

it.each([
  ['a system prompt that is no text', { system: 5 }],
  ['tools that are no list', { tools: 'look' }],
  ['a tool that is no name', { tools: [5] }],
  ['a part that there is not', { sytem: 'Be brief.' }],
  ['nothing', undefined],
  ['messages that are no list', { messages: 'Hi' }],
])('%s is refused, and names the hook', async (_, changes) => {
  const on: Hooks = { beforeLlm: ({ edit }) => edit(changes as never) }
  const { agent, model } = bench({ script: ['Done'], tools: [probe('look')], on })
  expect(await agent.executeTurn('Hi').outcome).toMatchObject({
    reason: 'failed',
    error: { hook: 'beforeLlm' },
  })
  expect(model.calls).toHaveLength(0)
})

it('taking all messages away fails the turn, and says why', async () => {
  const on: Hooks = { beforeLlm: ({ edit }) => edit({ messages: [] }) }
  const { agent } = bench({ script: ['Done'], on })
  expect((await agent.executeTurn('Hi').outcome).error?.message).toContain(
    'no message that a model could answer',
  )
})
