/** An agent object that lives on while others write: what it says must come from the journal, not from its memory. */
import { expect, it } from 'vitest'
import { Agent } from '../../src/agent/agent.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { ScriptedModel } from '../../src/testing/scripted-model.ts'
import { asking, calls } from '../turn/kit.ts'
import { wait } from './kit.ts'

const question = () => asking('ask', { kind: 'confirmation', prompt: 'Sure?' })

function two(script: ConstructorParameters<typeof ScriptedModel>[0], latencyMs = 0) {
  const model = new ScriptedModel(script, { latencyMs })
  const config = { contextId: 'talk', store: memoryStore(), model, tools: [question()], leaseMs: 300 }
  return { a: new Agent(config), b: new Agent(config) }
}

// JournalState is loaded once and never again: openRequests, checkAnswers and checkContinuation read what was.
it('an answer is taken by an agent that was started before the question was asked', async () => {
  const { a, b } = two([calls('ask'), 'Done.'])
  await b.start()
  const { requests } = await a.executeTurn('x').outcome
  expect((await b.requests()).length).toBe(1)
  const told = await b.answer({ [requests[0]?.requestId ?? '']: true }).outcome
  expect(told).toMatchObject({ reason: 'stop', text: 'Done.' })
})

it('a turn that failed elsewhere can be continued by an agent that was started before', async () => {
  const { a, b } = two([{ error: { status: 400 } }, 'Done.'])
  await b.start()
  await a.executeTurn('x').outcome
  expect(await b.executeTurn(null).outcome).toMatchObject({ reason: 'stop', text: 'Done.' })
})

it('the last turn is that of the journal', async () => {
  const { a, b } = two(['1', '2'])
  await b.input('x')
  await a.input('y')
  expect((await (await b.lastTurn())?.outcome)?.turn).toBe(2)
})

it('compact sees what others have said', async () => {
  const { a, b } = two(['1', '2', '3', '4'])
  await b.start()
  for (const text of ['a', 'b', 'c', 'd']) await a.input(text)
  expect(await b.compact({ keep: 2 })).toBe(true)
})

// Conversation.cancel finds no open turn in a journal that was read before that turn began, and does nothing.
it('cancel reaches the second turn of another agent as it reached the first', async () => {
  const { a, b } = two(() => 'Too late.', 1500)
  const reasons: string[] = []
  for (const text of ['one', 'two']) {
    const turn = a.executeTurn(text)
    await wait(20)
    await b.cancel()
    reasons.push((await turn.outcome).reason)
  }
  expect(reasons).toEqual(['cancelled', 'cancelled'])
})
