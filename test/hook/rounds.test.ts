/** Several functions for one hook, calls one after the other, and hooks of turns that end early. */
import { describe, expect, it } from 'vitest'
import { takeOver } from '../../src/agent/index.ts'
import { bench, calls, journal, KEY, probe, promptLines, until } from '../turn/kit.ts'
import { everywhere } from './kit.ts'

describe('a list of functions for one hook', () => {
  it('runs in the order of the list, also for hooks that close something', async () => {
    const told: string[] = []
    const say = (text: string) => () => void told.push(text)
    const { agent } = bench({
      script: [calls('a'), 'Done'],
      tools: [probe('a')],
      on: { beforeLlm: [say('b1'), say('b2')], afterTools: [say('a1'), say('a2')], onComplete: say('end') },
      plugins: [
        { name: 'first', on: { beforeLlm: [say('p1'), say('p2')], afterTools: [say('p3'), say('p4')] } },
      ],
    })
    await agent.executeTurn('Hi').outcome
    const beforeLlm = ['p1', 'p2', 'b1', 'b2']
    expect(told).toEqual([...beforeLlm, 'a1', 'a2', 'p3', 'p4', ...beforeLlm, 'end'])
  })

  it('lets each function find what those before it have changed', async () => {
    const { agent, model } = bench({
      script: ['Done'],
      on: {
        beforeLlm: [
          ({ prompt, edit }) => edit({ system: `${prompt.system}one` }),
          async ({ prompt, edit }) => edit({ system: `${prompt.system} two` }),
        ],
      },
    })
    await agent.executeTurn('Hi').outcome
    expect(promptLines(model, 0)[0]).toBe('system "one two"')
  })

  it('may be empty, and has only functions', async () => {
    const { agent } = bench({ script: ['Done'], on: { afterTools: [] } })
    expect(await agent.input('Hi')).toBe('Done')
    const wrong = { afterTools: [() => {}, 'reflect'] } as never
    expect(() => bench({ on: wrong })).toThrow(/afterTools must be a function or a list of functions/)
  })
})

describe('toolConcurrency: 1', () => {
  const three = (told: string[], different = {}) =>
    bench({
      script: [calls('a', 'b', 'c'), 'Done'],
      tools: ['a', 'b', 'c'].map((name) => probe(name, () => void told.push(`run ${name}`))),
      toolConcurrency: 1,
      ...different,
    })

  it('takes one call after the other: before, run, after', async () => {
    const told: string[] = []
    const { agent, store } = three(told, {
      on: {
        beforeTools: () => void told.push('before all'),
        beforeEachTool: ({ pending }: { pending: { tool: string } }) =>
          void told.push(`before ${pending.tool}`),
        afterEachTool: ({ result }: { result: { tool: string } }) => void told.push(`after ${result.tool}`),
        afterTools: () => void told.push('after all'),
      },
    })
    await agent.executeTurn('Hi').outcome
    expect(told).toEqual([
      'before all',
      ...['a', 'b', 'c'].flatMap((name) => [`before ${name}`, `run ${name}`, `after ${name}`]),
      'after all',
    ])
    const lines = (await journal(store)).map((line) => line.split(' ').slice(1, 3).join(' '))
    expect(lines.filter((line) => line.startsWith('tool.'))).toEqual(
      ['call_1', 'call_2', 'call_3'].flatMap((callId) => [`tool.start ${callId}`, `tool.end ${callId}`]),
    )
  })

  it('shows the hook before a call a journal that has the result of the call before it', async () => {
    const ends: number[] = []
    const { agent, store } = three([], {
      on: {
        beforeEachTool: async () => {
          ends.push((await journal(store)).filter((line) => line.includes('tool.end')).length)
        },
      },
    })
    await agent.executeTurn('Hi').outcome
    expect(ends).toEqual([0, 1, 2])
  })

  it('stops between two calls when the hook after the first says so', async () => {
    const told: string[] = []
    const { agent } = three(told, {
      on: { afterEachTool: ({ stop }: { stop: (reason: string) => void }) => stop('enough') },
    })
    await agent.executeTurn('Hi').outcome
    expect(told).toEqual(['run a'])
  })

  it('runs no two at the same time, and 2 runs no three', async () => {
    for (const toolConcurrency of [1, 2]) {
      let [running, most] = [0, 0]
      const slow = async () => {
        running += 1
        most = Math.max(most, running)
        await new Promise((resolve) => setImmediate(resolve))
        running -= 1
        return 'done'
      }
      const tools = ['a', 'b', 'c', 'd', 'e'].map((name) => probe(name, slow))
      const script = [calls('a', 'b', 'c', 'd', 'e'), 'Done']
      const { agent } = bench({ script, tools, toolConcurrency })
      expect((await agent.executeTurn('Hi').outcome).text).toBe('Done')
      expect(most).toBe(toolConcurrency)
      expect(tools.map(({ ran }) => ran.length)).toEqual([1, 1, 1, 1, 1])
    }
  })

  it('goes on with all calls that a driver with more at once had started', async () => {
    const tools = ['a', 'b', 'c'].map((name) => {
      const tool = probe(name, () => (tool.ran.length === 1 ? new Promise(() => {}) : 'done'), {
        replay: 'safe',
      })
      return tool
    })
    const { agent, another, store } = bench({ script: [calls('a', 'b', 'c'), 'Done'], tools, realTime: true })
    agent.executeTurn('Hi')
    await until('all run', () => tools.every(({ ran }) => ran.length === 1))
    await takeOver(store, KEY)
    const next = another({ toolConcurrency: 1 })
    await next.start()
    expect((await next.turn?.outcome)?.text).toBe('Done')
    expect(tools.map(({ ran }) => ran.length)).toEqual([2, 2, 2])
  })

  it.each([0, 1.5, -1, '1', null])('refuses %j', (toolConcurrency) => {
    expect(() => bench({ toolConcurrency: toolConcurrency as never })).toThrow(/toolConcurrency must be/)
  })
})

describe('a turn that a hook stopped', () => {
  it('says who stopped it and why, here and when it is told again', async () => {
    const { agent, another } = bench({
      script: ['Hello', 'Hello again'],
      plugins: [
        {
          name: 'guard',
          on: { afterUserInput: ({ stop, turn }) => (turn === 1 ? stop('not now') : undefined) },
        },
      ],
    })
    const { reason, stopped } = await agent.executeTurn('Hi').outcome
    expect([reason, stopped]).toEqual(['stop', { by: 'guard/afterUserInput', reason: 'not now' }])
    const again = await another().lastTurn()
    expect((await again?.outcome)?.stopped).toEqual({ by: 'guard/afterUserInput', reason: 'not now' })
    expect((await agent.executeTurn('Hi').outcome).stopped).toBeUndefined()
  })

  it('goes on with null, in another process too, and no further once the model is done', async () => {
    const told: string[] = []
    const { agent, another, model } = bench({
      script: [calls('a', 'b'), 'Done'],
      tools: [probe('a', () => void told.push('a')), probe('b', () => void told.push('b'))],
      on: { beforeTools: ({ stop, turn }) => (turn === 1 ? stop() : undefined) },
    })
    expect((await agent.executeTurn('Hi').outcome).stopped).toEqual({ by: 'beforeTools' })
    expect(told).toEqual([])
    const other = another()
    expect((await other.executeTurn(null).outcome).text).toBe('Done')
    expect(promptLines(model, 1).at(-1)).toMatch(/^tool/)
    expect((await other.executeTurn(null).outcome).error?.code).toBe('nothing-to-continue')
  })
})

describe('a cancelled turn', () => {
  it('tells afterEachTool and onError of the calls that have ended, and of no others', async () => {
    const told: string[] = []
    const quick = probe('quick')
    const slow = probe(
      'slow',
      (_, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(new Error('interrupted')))
        }),
    )
    const { agent, store } = bench({
      script: [calls('quick', 'slow', 'late'), 'Done'],
      tools: [quick, slow, probe('late', undefined, { exclusive: true })],
      on: everywhere(told),
    })
    const turn = agent.executeTurn('Hi')
    await until('the slow one runs', () => slow.ran.length === 1)
    await turn.cancel()
    expect((await turn.outcome).status).toBe('cancelled')
    const ended = told.filter((line) => line.startsWith('afterEachTool') || line.startsWith('onError'))
    expect(ended).toEqual(['afterEachTool call_1:ok', 'onError tool', 'afterEachTool call_2:error'])
    expect(told.some((line) => line.startsWith('onComplete'))).toBe(false)
    expect((await journal(store)).at(-1)).toMatch(/turn.end cancelled/)
  })

  it('stays cancelled if such a hook throws or never ends', async () => {
    for (const afterEachTool of [
      () => {
        throw new Error('no')
      },
      () => new Promise<void>(() => {}),
    ]) {
      const slow = probe(
        'slow',
        (_, { signal }) =>
          new Promise((resolve) => {
            signal.addEventListener('abort', () => resolve('left'))
          }),
      )
      const { agent } = bench({
        script: [calls('slow'), 'Done'],
        tools: [slow],
        on: { afterEachTool },
        graceMs: 20,
        realTime: true,
      })
      const turn = agent.executeTurn('Hi')
      await until('it runs', () => slow.ran.length === 1)
      await turn.cancel()
      expect((await turn.outcome).status).toBe('cancelled')
    }
  })
})
