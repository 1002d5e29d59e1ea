/** Kept because it holds: a cancel at every event of a turn with sub-agents three deep (R9, R14). */
import { expect, it } from 'vitest'
import { Agent } from '../../src/agent/agent.ts'
import { agentTool } from '../../src/agent/agent-tool.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { ScriptedModel, type ScriptedStep } from '../../src/testing/scripted-model.ts'
import type { Tool } from '../../src/tool/index.ts'
import { calls, journal, probe, said } from '../turn/kit.ts'

const until = (step: ScriptedStep) =>
  new ScriptedModel(({ prompt }) => (prompt.at(-1)?.role === 'tool' ? 'Done.' : step))

const down = (tool: string) => calls([tool, { message: 'x' }])

function stack(): Agent {
  const leaf = probe('leaf', async (_, { progress }) => {
    progress(1)
    return 'leaf'
  })
  const sub = (name: string, step: ScriptedStep, tools: readonly Tool[]) =>
    agentTool({ name, description: name, agent: { model: until(step), tools } })
  const third = sub('third', calls('leaf', 'leaf'), [leaf])
  const second = sub('second', down('third'), [third])
  const first = sub('first', down('second'), [second])
  const step = { text: 'Thinking.', calls: [{ tool: 'first', args: { message: 'x' } }, { tool: 'leaf' }] }
  return new Agent({ contextId: 'talk', store: memoryStore(), model: until(step), tools: [first, leaf] })
}

it('a cancel at any event ends the turn once, and the next turn goes well', async () => {
  for (let at = 0, more = true; more; at++) {
    const agent = stack()
    const turn = agent.executeTurn('x')
    let events = 0
    for await (const _ of turn) if (events++ === at) void turn.cancel()
    more = events > at
    const next = await agent.executeTurn('y').outcome
    const ends = (await journal(agent.store)).filter((line) => line.includes(' turn.end '))
    expect([at, ends.length, next.reason]).toEqual([at, 2, 'stop'])
    await said(agent.store)
  }
})
