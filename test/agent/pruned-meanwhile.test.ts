/** An agent whose conversation another process continued and pruned goes on from there. */
import { expect, it } from 'vitest'
import { Agent, LOCAL_OWNER, memoryStore } from '../../src/index.ts'
import { pruneContext } from '../../src/journal/index.ts'
import { ScriptedModel } from '../../src/testing/index.ts'

it('an agent that has seen nothing since a prune runs its next turn', async () => {
  const store = memoryStore()
  const open = async (...script: string[]): Promise<Agent> => {
    const agent = new Agent({ contextId: 'c', store, model: new ScriptedModel(script) })
    await agent.start()
    return agent
  }
  const [idle, other] = [await open('one', 'five'), await open('two', 'three', 'four')]
  await idle.executeTurn('1').outcome
  for (const message of ['2', '3', '4']) await other.executeTurn(message).outcome
  await pruneContext(store, { ...LOCAL_OWNER, contextId: 'c' }, { keepTurns: 1 })
  const { reason, text } = await idle.executeTurn('5').outcome
  expect([reason, text]).toEqual(['stop', 'five'])
  for (const agent of [idle, other]) await agent.shutdown()
})
