/** Cancels of requests that wait, and cancels from another agent object. */
import { describe, expect, it } from 'vitest'
import { END, graph, START, value } from '../../src/graph/index.ts'
import { asking, bench, calls, journal, probe, STORES, until } from './kit.ts'

const question = { kind: 'text', prompt: 'Which colour?' } as const

describe.each(STORES)('a cancel of a conversation that waits, on %s', (_, open) => {
  it('ends the questions of an agent, and the next message is an ordinary one', async () => {
    const { agent, another, store } = bench({
      store: open(),
      script: [calls('ask'), 'Fine.'],
      tools: [asking('ask', question)],
    })
    expect((await agent.executeTurn('Paint it').outcome).status).toBe('input-required')
    await another().cancel('changed my mind')
    expect(await agent.requests()).toEqual([])
    expect((await journal(store)).slice(-6)).toEqual([
      expect.stringContaining('cancel'),
      expect.stringContaining('claim'),
      expect.stringContaining('turn.start'),
      expect.stringMatching(/request.end .* cancelled/),
      expect.stringMatching(/tool.end .* not-run/),
      expect.stringContaining('turn.end cancelled'),
    ])
    expect(await agent.input('Leave it')).toBe('Fine.')
    expect(agent.state.turnCount).toBe(3)
  })

  it('ends the questions of a graph, which asks again with null', async () => {
    const store = open()
    const flow = graph({ state: { colour: value<string>() } })
      .addNode('ask', async (_state, { interrupt }) => ({ colour: await interrupt(question) }))
      .addEdge(START, 'ask')
      .addEdge('ask', END)
      .compile({ store })
    const where = { contextId: 'paint' }
    expect((await flow.invoke({}, where)).status).toBe('input-required')
    await flow.cancel({ ...where, reason: 'enough' })
    expect(await flow.requests(where)).toEqual([])
    await flow.cancel(where)
    expect((await flow.invoke(null, where)).status).toBe('input-required')
    const [asked] = await flow.requests(where)
    const done = await flow.answer({ [asked?.requestId ?? '']: 'red' }, where).outcome
    expect(done.state).toEqual({ colour: 'red' })
  })

  it('does nothing where nothing runs and nothing waits', async () => {
    const { agent, store } = bench({ store: open(), script: ['Hello.'] })
    await agent.executeTurn('Hi').outcome
    await agent.cancel()
    expect(await journal(store)).toHaveLength(6)
  })
})

describe('a cancel from a second agent on the same store', () => {
  it('is heard at once, and not with the next heartbeat', async () => {
    const slow = probe(
      'slow',
      (_, { signal }) =>
        new Promise((resolve) => {
          signal.addEventListener('abort', () => resolve('left'))
        }),
    )
    // The manual clock is not moved: no heartbeat ever comes.
    const { agent, another } = bench({ script: [calls('slow'), 'Done'], tools: [slow] })
    const turn = agent.executeTurn('Hi')
    await until('it runs', () => slow.ran.length === 1)
    await another().cancel('from elsewhere')
    expect((await turn.outcome).status).toBe('cancelled')
  })
})
