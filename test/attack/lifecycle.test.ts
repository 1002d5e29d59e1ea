/** The verbs of an agent's life in an inconvenient order. */
import { expect, it } from 'vitest'
import { Agent } from '../../src/agent/agent.ts'
import { takeOver } from '../../src/agent/operator.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { ScriptedModel } from '../../src/testing/scripted-model.ts'
import { calls, KEY, probe, quiet } from '../turn/kit.ts'
import { soon, wait } from './kit.ts'

const slow = (latencyMs = 50) => ScriptedModel.forever('ok', { latencyMs })

// Agent.#start sets `ready` whatever happened meanwhile.
it('a pause during start is a pause', async () => {
  const agent = new Agent({ contextId: 'talk', model: slow() })
  const starting = agent.start()
  await agent.pause()
  await starting
  expect(agent.state.status).toBe('paused')
})

it('a shutdown during start is a shutdown, and turns are refused', async () => {
  const agent = new Agent({ contextId: 'talk', model: slow() })
  const starting = agent.start()
  await agent.shutdown()
  await starting
  expect(agent.state.status).toBe('shutdown')
  expect(await soon(agent.executeTurn('x').outcome)).toMatchObject({ error: { code: 'shutdown' } })
})

// Agent.shutdown looks at this.#conversation again after it has waited: by then it is the new one, and that is closed.
it('a start that does not wait for the shutdown begins a life of its own', async () => {
  const agent = new Agent({ contextId: 'talk', model: slow() })
  const turn = agent.executeTurn('x')
  await wait(20)
  const ending = agent.shutdown()
  await agent.start()
  await ending
  expect(await soon(turn.outcome)).not.toBe('never')
  expect(await soon(agent.executeTurn('y').outcome)).toMatchObject({ reason: 'stop' })
})

// Agent.cancel sees only what is in the journal; what was asked for a moment ago is not.
it('cancel right after executeTurn cancels that turn', async () => {
  const agent = new Agent({ contextId: 'talk', model: slow() })
  const turn = agent.executeTurn('x')
  await agent.cancel()
  expect((await turn.outcome).reason).toBe('cancelled')
})

// Each resume is a claim, and saying that the model will be asked is no progress: six pauses end the turn (R7).
it('a turn that is paused and resumed often is not given up', async () => {
  const agent = new Agent({ contextId: 'talk', model: slow() })
  const turn = agent.executeTurn('x')
  for (let times = 0; times < 8; times++) {
    await agent.pause()
    await agent.resume()
  }
  expect(await turn.outcome).toMatchObject({ reason: 'stop', text: 'ok' })
})

// fold: only a call that was thinking is taken back by a claim, not one that failed and waits to be made again.
it('a crash while a model call waits to be repeated does not cost an iteration', async () => {
  const store = memoryStore()
  const model = new ScriptedModel([{ error: { status: 503, retryAfter: 0.3 } }, 'Finally.'])
  const config = { contextId: 'talk', store, model, limits: { iterations: 1 } }
  new Agent(config).executeTurn('x')
  await quiet()
  await takeOver(store, KEY)
  const next = new Agent(config)
  await next.start()
  expect(await next.turn?.outcome).toMatchObject({ reason: 'stop', text: 'Finally.' })
})

// think() begins again with the first model and attempt 1: what the journal says is tried next is not read.
it('what was decided about retries holds after a pause', async () => {
  const model = ScriptedModel.forever({ error: { status: 503, retryAfter: 1 } })
  const other = new ScriptedModel(['From the other.'], { name: 'other/model' })
  const agent = new Agent({ contextId: 'talk', model: [model, other], settings: { retries: 1 } })
  agent.executeTurn('x')
  for (let times = 0; times < 4; times++) {
    await wait(20)
    await agent.pause()
    await agent.resume()
  }
  await agent.shutdown()
  expect(model.calls.length).toBeLessThanOrEqual(2)
})

// Turn.subscribe: what `error` throws is a rejection that nobody handles, and that ends the process.
it('an observer that throws in `error` does no harm', async () => {
  const unhandled: unknown[] = []
  const note = (error: unknown) => unhandled.push(error)
  process.on('unhandledRejection', note)
  const agent = new Agent({ contextId: 'talk', model: ScriptedModel.forever('ok') })
  const turn = agent.executeTurn('x')
  const fail = () => {
    throw new Error('observer')
  }
  turn.subscribe({ next: fail, error: fail })
  await turn.outcome
  await wait(10)
  process.off('unhandledRejection', note)
  expect(unhandled).toEqual([])
})

// Waiting inside of a tool for the turn that runs the tool never ends, and nothing says so.
it.each([
  ['executeTurn', (agent: Agent) => agent.executeTurn('inner').outcome],
  ['saveState', (agent: Agent) => agent.saveState({ a: 1 })],
  ['pause', (agent: Agent) => agent.pause()],
  ['clear', (agent: Agent) => agent.clear()],
])('%s of its own agent inside of a tool does not hang', async (_, act) => {
  const model = new ScriptedModel(({ prompt }) => (prompt.at(-1)?.role === 'tool' ? 'Done.' : calls('act')))
  const agent: Agent = new Agent({
    contextId: 'talk',
    model,
    tools: [probe('act', async () => JSON.stringify(await act(agent)) ?? '')],
  })
  expect(await soon(agent.executeTurn('outer').outcome)).not.toBe('never')
})

// The pump drives whatever is open; a turn that is played by hand is no exception.
it('a turn by hand stands still when another message is queued', async () => {
  const model = new ScriptedModel([calls('look'), 'One.', 'Two.'])
  const agent = new Agent({ contextId: 'talk', model, tools: [probe('look')] })
  const turn = agent.executeTurn('x', { manual: true })
  await turn.step()
  agent.executeTurn('y')
  await quiet()
  expect(turn.isEnded).toBe(false)
})

// Conversation.close refuses every handle; what is in the inbox already is not "never begun, nothing stored".
it('a queued message is not called refused while it is stored and will be played', async () => {
  const agent = new Agent({ contextId: 'talk', model: slow() })
  agent.executeTurn('one')
  const queued = agent.executeTurn('two')
  await wait(20)
  await agent.shutdown()
  const told: string[] = []
  for await (const { type } of queued) told.push(type)
  const stored = (await agent.store.read(KEY)).filter(({ type }) => type === 'input').length
  expect([stored, told.includes('turn.refused')]).not.toEqual([2, true])
})
