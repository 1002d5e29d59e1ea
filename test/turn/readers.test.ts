/** Many readers of one turn: early, late, slow, gone (R18). Reading starts nothing and stops nothing. */
import { from, lastValueFrom, map, toArray } from 'rxjs'
import { describe, expect, it } from 'vitest'
import type { TurnEvent } from '../../src/protocol/index.ts'
import { bench, calls, entryLines, gate, line, lines, probe, quiet, until } from './kit.ts'

const slowly = () => {
  const more = gate()
  const tool = probe('slow', () => more.promise.then(() => 'done'))
  return {
    more,
    tool,
    ...bench({ script: [{ text: 'Wait', calls: [{ tool: 'slow' }] }, 'Done'], tools: [tool] }),
  }
}

describe('readers of one turn', () => {
  it('all see all of it, whenever they come', async () => {
    const { agent, more, tool } = slowly()
    const turn = agent.executeTurn('Hi')
    const early = lines(turn)
    await until('it runs', () => tool.ran.length === 1)
    const late = entryLines(turn)
    more.resolve()
    const told = await early
    const entries = told.filter((text) => !text.startsWith('-'))
    expect(await late).toEqual(entries)
    expect(await entryLines(turn)).toEqual(entries)
    expect(told).toContain('- text.delta "Wait"')
    expect(entries.at(-1)).toBe('10 turn.end stop')
  })

  it('who are not there do not keep it from ending', async () => {
    const { agent } = bench({ script: ['Hello'] })
    expect((await agent.executeTurn('Hi').outcome).text).toBe('Hello')
  })

  it('who come while something is said get the text so far', async () => {
    const { agent, model, store } = bench({ script: [{ stall: true, after: 'So far so good' }] })
    const turn = agent.executeTurn('Hi')
    await until('it speaks', () => model.calls.length === 1)
    await quiet()
    const seen = async () => {
      const told: string[] = []
      for await (const event of turn) {
        told.push(line(event))
        if (event.type === 'text.delta') return told
      }
      return told
    }
    expect((await seen()).slice(4)).toEqual(['- text.delta "So far so good"'])
    // An inbox entry meanwhile does not end the text that streams.
    const queued = agent.executeTurn('And?')
    await until(
      'it is stored',
      async () => (await store.inbox({ tenant: 'local', actor: 'local', contextId: 'talk' })).length === 1,
    )
    await quiet()
    expect((await seen()).slice(4)).toEqual(['5 input "And?"', '- text.delta "So far so good"'])
    await turn.cancel()
    await turn.outcome
    expect((await queued.outcome).reason).toBe('failed')
  })

  it('who are slow lose no entry, and get what was said in one piece', async () => {
    const deltas = Array.from({ length: 50 }, (_, index) => `${index} `)
    const { agent } = bench({ script: [{ deltas, calls: [{ tool: 'a' }] }, 'Done'], tools: [probe('a')] })
    const turn = agent.executeTurn('Hi')
    const told: string[] = []
    let pieces = 0
    for await (const event of turn) {
      if (event.type === 'text.delta') pieces += 1
      else if (event.type !== 'call.delta') told.push(line(event))
      await quiet()
    }
    expect(told.map((text) => text.split(' ')[0])).toEqual([
      '1',
      '2',
      '3',
      '4',
      '5',
      '6',
      '7',
      '8',
      '9',
      '10',
    ])
    expect(pieces).toBeLessThan(10)
  })

  it('who leave do not disturb the others', async () => {
    const { agent, more, tool } = slowly()
    const turn = agent.executeTurn('Hi')
    const stays = entryLines(turn)
    for await (const event of turn) if (event.type === 'tool.start') break
    await until('it runs', () => tool.ran.length === 1)
    more.resolve()
    expect((await stays).at(-1)).toBe('10 turn.end stop')
    expect((await turn.outcome).reason).toBe('stop')
  })
})

describe('a turn as an observable', () => {
  it('is what rxjs takes it for', async () => {
    const { agent } = bench({ script: ['Hello', 'Again'] })
    const types = from(agent.executeTurn('Hi')).pipe(
      map((event) => event.type),
      toArray(),
    )
    const seen = await lastValueFrom(types)
    expect(seen.filter((type) => !type.endsWith('.delta'))).toEqual([
      'input',
      'claim',
      'turn.start',
      'model.start',
      'model.end',
      'turn.end',
    ])
    expect((await lastValueFrom(from(agent.executeTurn('Hi')))).type).toBe('turn.end')
  })

  it('tells its events and completes', async () => {
    const { agent } = bench({ script: ['Hello'] })
    const seen: string[] = []
    const done = gate()
    const subscription = agent.executeTurn('Hi').subscribe({
      next: ({ type }: TurnEvent) => seen.push(type),
      complete: () => done.resolve(),
    })
    await done.promise
    expect(seen.at(-1)).toBe('turn.end')
    await quiet()
    expect(subscription.closed).toBe(true)
  })

  it('tells nothing more to who has unsubscribed', async () => {
    const { agent, more, tool } = slowly()
    const turn = agent.executeTurn('Hi')
    const seen: string[] = []
    let completed = false
    const subscription = turn.subscribe({
      next: ({ type }: TurnEvent) => seen.push(type),
      complete: () => {
        completed = true
      },
    })
    await until('it runs', () => tool.ran.length === 1)
    await quiet()
    subscription.unsubscribe()
    const before = seen.length
    more.resolve()
    await turn.outcome
    await quiet()
    expect([seen.length, completed, subscription.closed]).toEqual([before, false, true])
  })

  it('completes when it fails, and says so in its outcome', async () => {
    const { agent } = bench({ script: [{ error: { status: 400 } }] })
    const turn = agent.executeTurn('Hi')
    expect((await lastValueFrom(from(turn))).type).toBe('turn.end')
    expect((await turn.outcome).reason).toBe('failed')
  })

  it('is not broken by a listener that throws', async () => {
    const { agent } = bench({ script: ['Hello'] })
    const turn = agent.executeTurn('Hi')
    const failed = gate<unknown>()
    turn.subscribe({
      next: () => {
        throw new Error('mine')
      },
      error: (problem: unknown) => failed.resolve(problem),
    })
    expect(await failed.promise).toMatchObject({ message: 'mine' })
    expect((await turn.outcome).reason).toBe('stop')
  })

  it('of two calls of one tool does not mix up the arguments that the model writes for them', async () => {
    const { agent } = bench({
      script: [calls(['a', { n: 1 }], ['a', { n: 2 }]), 'Done'],
      tools: [probe('a')],
    })
    const turn = agent.executeTurn('Hi')
    expect((await lines(turn)).filter((text) => text.includes('call.delta'))).toEqual([
      '- call.delta "{\\"n\\":1}"',
      '- call.delta "{\\"n\\":2}"',
    ])
  })
})
