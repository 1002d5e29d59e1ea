/** A turn that another agent drives, for a late subscriber: replayed from its start, with an outcome that comes. */
import { describe, expect, it } from 'vitest'
import { bench, calls, entryLines, gate, probe, STORES, until } from './kit.ts'

function working() {
  const { promise, resolve } = gate()
  return { tool: probe('work', () => promise), finish: () => resolve() }
}

describe.each(STORES)('a turn that another agent drives, on %s', (_, open) => {
  it('is told by lastTurn() from its start to its end', async () => {
    const { tool, finish } = working()
    const { agent, another } = bench({
      store: open(),
      script: [calls('work'), 'Done'],
      tools: [tool],
      realTime: true,
    })
    const turn = agent.executeTurn('Hi')
    await until('the tool runs', () => tool.ran.length === 1)
    const last = await another().lastTurn()
    expect([last?.number, last?.isEnded]).toEqual([1, false])
    finish()
    expect((await last?.outcome)?.text).toBe('Done')
    if (last === undefined) throw new Error('there was no turn')
    expect(await entryLines(last)).toEqual((await entryLines(turn)).slice(2))
  })

  it('has its number and its beginning in an agent that starts meanwhile', async () => {
    const { tool, finish } = working()
    const script = [{ text: 'I look.', calls: [{ tool: 'work' }] }, calls('work')]
    const { agent, another } = bench({
      store: open(),
      script,
      tools: [tool],
      realTime: true,
      limits: { iterations: 1 },
    })
    const turn = agent.executeTurn('Hi')
    await until('the tool runs', () => tool.ran.length === 1)
    const other = another()
    await other.start()
    expect(other.turn?.number).toBe(1)
    const followed = other.turn
    finish()
    expect((await followed?.outcome)?.text).toBe('I look.')
    expect((await turn.outcome).text).toBe('I look.')
    await other.shutdown()
  })
})

describe('lastTurn() of a turn that is open', () => {
  it('takes up one that nobody drives', async () => {
    const { tool, finish } = working()
    const { agent, another } = bench({ script: [calls('work'), 'Done'], tools: [tool], realTime: true })
    agent.executeTurn('Hi')
    await until('the tool runs', () => tool.ran.length === 1)
    finish()
    await agent.shutdown()
    const last = await another().lastTurn()
    expect((await last?.outcome)?.text).toBe('Done')
  })

  it('leaves one alone that was paused', async () => {
    const { tool, finish } = working()
    const { agent, another } = bench({ script: [calls('work'), 'Done'], tools: [tool], realTime: true })
    agent.executeTurn('Hi')
    await until('the tool runs', () => tool.ran.length === 1)
    finish()
    await agent.pause()
    const other = another()
    const last = await other.lastTurn()
    expect([last?.number, last?.isEnded]).toEqual([1, false])
    await agent.resume()
    expect((await agent.turn?.outcome)?.text).toBe('Done')
    await other.start()
    expect((await last?.outcome)?.text).toBe('Done')
  })

  it('fails in an agent that is shut down: it is not followed from there', async () => {
    const { tool, finish } = working()
    const { agent, another } = bench({ script: [calls('work'), 'Done'], tools: [tool], realTime: true })
    const turn = agent.executeTurn('Hi')
    await until('the tool runs', () => tool.ran.length === 1)
    const other = another()
    await other.shutdown()
    expect((await (await other.lastTurn())?.outcome)?.error).toMatchObject({ code: 'shutdown' })
    finish()
    await turn.outcome
  })
})
