import { expect, it } from 'vitest'
import { Agent, memoryStore } from '../../src/index.ts'
import { ScriptedModel } from '../../src/testing/scripted-model.ts'
import { KEY, until } from '../turn/kit.ts'

function open(store = memoryStore()) {
  const model = new ScriptedModel([{ stall: true, after: 'Hm' }, 'Second.'])
  return { store, agent: new Agent({ contextId: KEY.contextId, store, model }) }
}

it('a cancel of a turn by its number reaches no other, in any object', async () => {
  const { store, agent } = open()
  const { agent: other } = open(store)
  const turn = agent.executeTurn('One')
  await until('the turn runs', async () => (await store.head(KEY))?.turn === 1)
  for (const each of [agent, other]) {
    await each.cancel('wrong', { turn: 0 })
    await each.cancel('wrong', { turn: 2 })
  }
  expect((await store.read(KEY)).map(({ type }) => type)).not.toContain('cancel')
  await other.cancel('right', { turn: 1 })
  expect((await turn.outcome).status).toBe('cancelled')
  await agent.cancel('too late', { turn: 1 })
  expect((await agent.executeTurn('Two').outcome).text).toBe('Second.')
})

it('a cancel of the turn that comes next reaches it before it has begun', async () => {
  const { agent } = open()
  const turn = agent.executeTurn('One')
  await agent.cancel('early', { turn: 1 })
  expect((await turn.outcome).status).toBe('cancelled')
})

it('refuses a turn that is no number', async () => {
  await expect(open().agent.cancel('x', { turn: '1' as never })).rejects.toThrow('turn must be a number')
})
