/** Continuing where a turn stopped: `executeTurn(null)`, pause and resume, shutdown and start, two agents. */
import { describe, expect, it } from 'vitest'
import {
  bench,
  calls,
  entryLines,
  gate,
  journal,
  KEY,
  lines,
  probe,
  promptLines,
  quiet,
  STORES,
  said,
  until,
} from './kit.ts'

const codeOf = async (turn: { outcome: Promise<{ error?: unknown }> }) =>
  ((await turn.outcome).error as { code?: string } | undefined)?.code

describe('executeTurn(null)', () => {
  it('after a failure asks the model again', async () => {
    const { agent, model, store } = bench({ script: [{ error: { status: 400 } }, 'Hello'] })
    await agent.executeTurn('Hi').outcome
    expect(await entryLines(agent.executeTurn(null))).toEqual([
      '7 claim 2',
      '8 turn.start',
      '9 model.start 1',
      '10 model.end "Hello"',
      '11 turn.end stop',
    ])
    expect(promptLines(model, 1)).toEqual(['user "Hi"'])
    expect(await said(store)).toEqual(['user "Hi"', 'assistant "Hello"'])
  })

  it('after a limit goes on with the results', async () => {
    const { agent, model } = bench({
      script: [calls('a'), 'Hello'],
      tools: [probe('a')],
      limits: { iterations: 1 },
    })
    expect((await agent.executeTurn('Hi').outcome).reason).toBe('max-iterations')
    expect((await agent.executeTurn(null).outcome).text).toBe('Hello')
    expect(promptLines(model, 1)).toEqual(['user "Hi"', 'assistant tool-call:a', 'tool tool-result:a'])
  })

  it('after a cancel never lets a prompt end with a reply', async () => {
    const { agent, model, store } = bench({ script: [{ stall: true, after: 'Well, ' }, 'as I said'] })
    const turn = agent.executeTurn('Hi')
    await until('it runs', () => model.calls.length === 1)
    await quiet()
    await turn.cancel()
    await turn.outcome
    expect((await agent.executeTurn(null).outcome).text).toBe('as I said')
    expect(promptLines(model, 1).at(-1)).toMatch(/^user/)
    await said(store)
  })

  it('after a stop, or before anything, is refused and stores nothing', async () => {
    const { agent, store } = bench({ script: ['Hello'] })
    expect(await codeOf(agent.executeTurn(null))).toBe('nothing-to-continue')
    await agent.executeTurn('Hi').outcome
    expect(await codeOf(agent.executeTurn(null))).toBe('nothing-to-continue')
    expect(await journal(store)).toHaveLength(6)
  })

  it('while a turn runs attaches to it', async () => {
    const slow = gate()
    const { agent, model } = bench({ script: [async () => (await slow.promise, 'Hello')] })
    const first = agent.executeTurn('Hi')
    await until('it runs', () => model.calls.length === 1)
    const second = agent.executeTurn(null)
    slow.resolve()
    expect((await second.outcome).turn).toBe(1)
    expect(await entryLines(second)).toEqual((await entryLines(first)).slice(1))
    expect(model.calls).toHaveLength(1)
  })
})

describe.each(STORES)('an agent on %s', (_, open) => {
  it('needs no start', async () => {
    const { agent } = bench({ store: open(), script: ['Hello'] })
    expect(agent.state.status).toBe('created')
    expect((await agent.executeTurn('Hi').outcome).text).toBe('Hello')
    await agent.start()
    expect(agent.state.status).toBe('ready')
  })

  it('that is paused in a model call parks before the tools, and goes on from there', async () => {
    const slow = gate()
    const tool = probe('a')
    const script = [async () => (await slow.promise, calls('a')), 'Done']
    const { agent, model, store } = bench({ store: open(), script, tools: [tool] })
    const turn = agent.executeTurn('Hi')
    await until('it runs', () => model.calls.length === 1)
    const pausing = agent.pause()
    slow.resolve()
    await pausing
    expect(agent.state.status).toBe('paused')
    expect(await codeOf(agent.executeTurn('No'))).toBe('paused')
    expect((await journal(store)).slice(4)).toEqual(['5 model.end call_1:a', '6 release pause'])
    expect(tool.ran).toEqual([])
    expect(turn.isEnded).toBe(false)
    await agent.resume()
    expect((await entryLines(turn)).slice(6)).toEqual([
      '7 claim 2',
      '8 tool.start call_1 a',
      '9 tool.end call_1 ok',
      '10 model.start 2',
      '11 model.end "Done"',
      '12 turn.end stop',
    ])
    expect(tool.ran).toEqual(['call_1'])
    expect(await said(store)).toEqual([
      'user "Hi"',
      'assistant call_1:a',
      'tool call_1:ok',
      'assistant "Done"',
    ])
  })

  it('that is paused between two groups of calls starts no more of them', async () => {
    const slow = gate()
    const alone = probe('alone', () => slow.promise.then(() => 'done'), { exclusive: true })
    const after = probe('after')
    const { agent, store } = bench({
      store: open(),
      script: [calls('alone', 'after'), 'Done'],
      tools: [alone, after],
    })
    const turn = agent.executeTurn('Hi')
    await until('it runs', () => alone.ran.length === 1)
    const pausing = agent.pause()
    await quiet()
    slow.resolve()
    await pausing
    expect((await journal(store)).slice(5)).toEqual([
      '6 tool.start call_1 alone',
      '7 tool.end call_1 ok',
      '8 release pause',
    ])
    await agent.resume()
    expect((await turn.outcome).text).toBe('Done')
    expect([alone.ran, after.ran]).toEqual([['call_1'], ['call_2']])
    await said(store)
  })

  it('that is paused while tools run waits for them, and parks before the model', async () => {
    const slow = gate()
    const tool = probe('slow', () => slow.promise.then(() => 'done'))
    const { agent, model, store } = bench({ store: open(), script: [calls('slow'), 'Done'], tools: [tool] })
    const turn = agent.executeTurn('Hi')
    await until('it runs', () => tool.ran.length === 1)
    const pausing = agent.pause()
    await quiet()
    slow.resolve()
    await pausing
    expect(model.calls).toHaveLength(1)
    expect((await journal(store)).slice(6)).toEqual([
      '7 tool.end call_1 ok',
      '8 model.start 2',
      '9 release pause',
    ])
    await agent.resume()
    expect((await entryLines(turn)).slice(8)).toEqual([
      '9 release pause',
      '10 claim 2',
      '11 model.start 2',
      '12 model.end "Done"',
      '13 turn.end stop',
    ])
    await said(store)
  })

  it('that is paused while it waits to ask a model again does not wait', async () => {
    const script = [{ error: { status: 503 } }, 'Done']
    const { agent, model, store, clock } = bench({ store: open(), script })
    const turn = agent.executeTurn('Hi')
    await until('it fails', () => model.calls.length === 1)
    await until('it waits', async () => (await journal(store)).length === 5)
    await agent.pause()
    expect(model.calls).toHaveLength(1)
    expect((await journal(store)).at(-1)).toContain('release pause')
    clock.advance(400)
    await agent.resume()
    await quiet()
    clock.advance(599)
    await quiet()
    expect(model.calls).toHaveLength(1)
    clock.advance(1)
    expect((await turn.outcome).text).toBe('Done')
  })

  it('that was shut down refuses, and begins again with start', async () => {
    const { agent, store } = bench({ store: open(), script: ['One', 'Two'] })
    await agent.executeTurn('1').outcome
    await agent.shutdown()
    expect(agent.state.status).toBe('shutdown')
    expect(await codeOf(agent.executeTurn('2'))).toBe('shutdown')
    expect((await journal(store)).slice(6)).toEqual(['7 claim 2', '8 state', '9 release recorded'])
    await agent.start()
    expect((await agent.executeTurn('2').outcome).text).toBe('Two')
  })

  it('that is shut down in mid-turn leaves it to the next one', async () => {
    const slow = gate()
    const tool = probe('slow', () => slow.promise.then(() => 'done'))
    const { agent, another, store } = bench({ store: open(), script: [calls('slow'), 'Done'], tools: [tool] })
    const turn = agent.executeTurn('Hi')
    await until('it runs', () => tool.ran.length === 1)
    const stopping = agent.shutdown()
    slow.resolve()
    await stopping
    expect((await turn.outcome).error).toMatchObject({ code: 'shutdown' })
    const next = another()
    await next.start()
    expect((await next.turn?.outcome)?.text).toBe('Done')
    expect(tool.ran).toEqual(['call_1'])
    expect((await journal(store)).filter((text) => text.includes('turn.end'))).toHaveLength(1)
    await said(store)
  })

  it('shares its conversation with another agent of the same process', async () => {
    const { agent, another, store, model } = bench({
      store: open(),
      script: ['One', 'Two', 'Three', 'Four'],
      realTime: true,
    })
    const other = another()
    await Promise.all([agent.start(), other.start()])
    const turns = [
      agent.executeTurn('1'),
      other.executeTurn('2'),
      agent.executeTurn('3'),
      other.executeTurn('4'),
    ]
    const outcomes = await Promise.all(turns.map((turn) => turn.outcome))
    expect(outcomes.map(({ reason }) => reason)).toEqual(['stop', 'stop', 'stop', 'stop'])
    expect(new Set(outcomes.map(({ turn }) => turn)).size).toBe(4)
    expect(model.calls).toHaveLength(4)
    const entries = await journal(store)
    for (const type of ['turn.start', 'turn.end'])
      expect(entries.filter((text) => text.includes(type))).toHaveLength(4)
    expect(await said(store)).toHaveLength(8)
  })

  it('follows the turn of another agent from start to end', async () => {
    const slow = gate()
    const tool = probe('slow', () => slow.promise.then(() => 'done'))
    const { agent, another, model } = bench({
      store: open(),
      script: [calls('slow'), 'Done'],
      tools: [tool],
      realTime: true,
    })
    const turn = agent.executeTurn('Hi')
    await until('it runs', () => tool.ran.length === 1)
    const other = another()
    await other.start()
    const followed = other.turn
    slow.resolve()
    expect((await followed?.outcome)?.text).toBe('Done')
    expect((await turn.outcome).text).toBe('Done')
    expect(tool.ran).toEqual(['call_1'])
    expect(model.calls).toHaveLength(2)
  })
})

describe('a turn with credentials', () => {
  it('waits for them in a process that has none, and never stores them', async () => {
    const seen: string[][] = []
    const tool = probe('a', (_, { credentials }) => {
      seen.push(Object.keys(credentials))
      return 'done'
    })
    const { agent, another, store } = bench({ script: [calls('a'), calls('a'), 'Done'], tools: [tool] })
    const auth = { credentials: { token: 'open-sesame' } }
    const turn = agent.executeTurn('Hi', { auth, manual: true })
    while ((await turn.step()).next !== 'tools');
    await agent.shutdown()
    const next = another()
    await next.start()
    const followed = next.turn
    expect((await followed?.outcome)?.requests).toMatchObject([{ kind: 'auth', from: 'credentials' }])
    expect((await entryLines(next.executeTurn(null, { auth }))).slice(2, 4)).toEqual([
      '17 request.end credentials-1 answered',
      '18 tool.start call_2 a',
    ])
    expect(seen).toEqual([['token'], ['token']])
    expect(JSON.stringify(await store.read(KEY))).not.toContain('sesame')
    await said(store)
  })
})

describe('a refused turn', () => {
  const refused = async (
    turn: ReturnType<ReturnType<typeof bench>['agent']['executeTurn']>,
    code: string,
  ) => {
    expect(await lines(turn)).toEqual([`- turn.refused ${code}`])
    expect(await turn.outcome).toMatchObject({ reason: 'failed', turn: 0, text: '', error: { code } })
  }

  it('has one event and an outcome, and nothing is stored', async () => {
    const { agent, store } = bench({ script: [] })
    await refused(agent.executeTurn(''), 'invalid-option')
    await refused(agent.executeTurn('   '), 'invalid-option')
    await refused(agent.executeTurn([]), 'invalid-option')
    await refused(agent.executeTurn('Hi', { auth: { actor: 'mallory' } }), 'forbidden')
    await refused(agent.executeTurn('Hi', { auth: { tenant: 'elsewhere' } }), 'forbidden')
    await refused(agent.executeTurn('Hi', { metadata: { big: 1n } as never }), 'invalid-option')
    expect(await store.head({ tenant: 'local', actor: 'local', contextId: 'talk' })).toBeUndefined()
  })

  it('is cancelled if its signal was aborted before, and nothing is stored', async () => {
    const { agent, store } = bench({ script: [] })
    const { outcome } = agent.executeTurn('Hi', { signal: AbortSignal.abort() })
    expect(await outcome).toMatchObject({
      status: 'cancelled',
      reason: 'cancelled',
      turn: 0,
      error: { code: 'cancelled' },
    })
    await expect(agent.input('Hi', { signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: 'cancelled',
    })
    expect(await store.head({ tenant: 'local', actor: 'local', contextId: 'talk' })).toBeUndefined()
  })

  it('of a guest is not refused if the agent lets them in', async () => {
    const { agent, store } = bench({ script: ['Hello'], allow: ({ actor }) => actor === 'guest' })
    expect((await agent.executeTurn('Hi', { auth: { actor: 'guest', scopes: ['read'] } }).outcome).text).toBe(
      'Hello',
    )
    const [, , start] = await store.read({ tenant: 'local', actor: 'local', contextId: 'talk' })
    expect(start?.data).toMatchObject({ principal: { tenant: 'local', actor: 'guest', scopes: ['read'] } })
  })
})
